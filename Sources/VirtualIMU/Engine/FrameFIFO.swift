/// A FIFO that drops its oldest frame as a whole if there is no room for another one.
struct FrameFIFO {
    /// The largest number of bytes, and the bytes of a frame.
    let capacity: Int
    let frameLength: Int

    private var bytes: [UInt8] = []
    private var start = 0

    init(capacity: Int, frameLength: Int) {
        self.capacity = capacity
        self.frameLength = frameLength
        bytes.reserveCapacity(4 * capacity)
    }

    /// The number of bytes.
    var count: Int { bytes.count - start }

    /// Appends a frame.
    mutating func append(_ frame: [UInt8]) {
        if count + frame.count > capacity { start += frameLength }
        if start > 2 * capacity {
            bytes.removeFirst(start)
            start = 0
        }
        bytes += frame
    }

    /// Removes and returns the oldest byte; `nil` if the FIFO is empty.
    mutating func removeFirst() -> UInt8? {
        guard start < bytes.count else { return nil }
        defer { start += 1 }
        return bytes[start]
    }

    /// Drops the oldest `count` bytes unread.
    mutating func drop(_ count: Int) {
        start += max(0, min(count, self.count))
    }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        start = 0
    }
}
