internal import MotionCore

/// A FIFO that drops its oldest frame as a whole if there is no room for another one.
struct FrameFIFO {
    /// The bytes of a frame.
    let frameLength: Int
    private var content: ByteFIFO

    /// Creates an empty FIFO of `capacity` bytes.
    init(capacity: Int, frameLength: Int) {
        self.frameLength = frameLength
        content = ByteFIFO(capacity: capacity)
    }

    /// The largest number of bytes, and the number of bytes.
    var capacity: Int { content.capacity }
    var count: Int { content.count }

    /// Appends a frame.
    mutating func append(_ frame: [UInt8]) {
        if count + frame.count > capacity { content.drop(frameLength) }
        for byte in frame { _ = content.append(byte) }
    }

    /// Removes and returns the oldest byte; `nil` if the FIFO is empty.
    mutating func removeFirst() -> UInt8? { count > 0 ? content.removeFirst() : nil }

    /// Drops the oldest `count` bytes unread.
    mutating func drop(_ count: Int) { content.drop(count) }

    mutating func removeAll() { content.removeAll() }
}

/// A chip's FIFO. When it is full, a new byte replaces the oldest one (RM p. 44, PS section 7.13).
struct ByteFIFO {
    /// The largest number of bytes.
    let capacity: Int

    private var bytes: [UInt8]
    private var start = 0

    /// The last byte that was read, which an empty FIFO returns again.
    private(set) var lastRead: UInt8 = 0

    /// The number of bytes, and of those that have left the FIFO since it was cleared.
    private(set) var count = 0
    private(set) var removed = 0

    /// Creates an empty FIFO; 1024 bytes as in an MPU-6050.
    init(capacity: Int = 1024) {
        self.capacity = capacity
        bytes = [UInt8](repeating: 0, count: capacity)
    }

    /// Appends a byte; returns false if it replaced the oldest one.
    mutating func append(_ byte: UInt8) -> Bool {
        bytes[(start + count) % capacity] = byte
        guard count == capacity else {
            count += 1
            return true
        }
        start = (start + 1) % capacity
        removed += 1
        return false
    }

    /// Removes and returns the oldest byte.
    mutating func removeFirst() -> UInt8 {
        guard count > 0 else { return lastRead }
        lastRead = bytes[start]
        drop(1)
        return lastRead
    }

    /// Drops the oldest `bytes` unread.
    mutating func drop(_ bytes: Int) {
        let lost = max(0, min(bytes, count))
        start = (start + lost) % capacity
        count -= lost
        removed += lost
    }

    /// Forgets everything.
    mutating func removeAll() {
        count = 0
        removed = 0
    }
}

/// The newest frame while it is being written into a FIFO, byte by byte or word by word, within a short time.
struct FrameWriter {
    /// The frame.
    private(set) var bytes: [UInt8] = []
    private var written = 0
    private var time = Timestamp(nanoseconds: 0)

    /// Begins a frame measured at `time`.
    mutating func begin(at time: Timestamp) {
        bytes.removeAll(keepingCapacity: true)
        written = 0
        self.time = time
    }

    /// Appends to the frame.
    mutating func append(_ byte: UInt8) { bytes.append(byte) }

    /// Discards the rest of the frame.
    mutating func discardRest() { written = bytes.count }

    /// The range of `bytes` to write into the FIFO now, in whole words of `word` bytes: what has been written at
    /// `instant` if the whole frame takes `duration` seconds. For `nil`, all that is left.
    mutating func takeDue(at instant: Timestamp?, taking duration: Double, word: Int = 1) -> Range<Int> {
        var end = bytes.count
        if let instant, duration > 0 {
            let part = instant.seconds(since: time) / duration
            if part < 1 { end = Int(part * Double(bytes.count / word)) * word }
        }
        let due = written..<max(written, end)
        written = due.upperBound
        return due
    }
}
