/// A chip's FIFO. When it is full, a new byte replaces the oldest one (RM p. 44, PS section 7.13).
struct ByteFIFO {
    /// The largest number of bytes.
    let capacity: Int

    private var bytes: [UInt8]
    private var start = 0

    /// The last byte that was read, which an empty FIFO returns again.
    private(set) var lastRead: UInt8 = 0

    /// The number of bytes.
    private(set) var count = 0

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
        return false
    }

    /// Removes and returns the oldest byte.
    mutating func removeFirst() -> UInt8 {
        guard count > 0 else { return lastRead }
        lastRead = bytes[start]
        start = (start + 1) % capacity
        count -= 1
        return lastRead
    }

    /// Drops the oldest `bytes` unread.
    mutating func drop(_ bytes: Int) {
        let lost = max(0, min(bytes, count))
        start = (start + lost) % capacity
        count -= lost
    }

    /// Forgets everything.
    mutating func removeAll() {
        count = 0
    }
}
