/// A chip's FIFO, of whose bytes the oldest go when there is no room (RM p. 44, PS section 7.13).
struct ByteFIFO {
    /// Bytes that it holds at most.
    let capacity: Int

    private var bytes: [UInt8]
    private var start = 0

    /// What an empty FIFO answers: the byte that was read last.
    private(set) var lastRead: UInt8 = 0

    /// Bytes that it holds.
    private(set) var count = 0

    /// Makes an empty one: 1024 bytes in an MPU-6050.
    init(capacity: Int = 1024) {
        self.capacity = capacity
        bytes = [UInt8](repeating: 0, count: capacity)
    }

    /// Appends a byte; returns false where the oldest had to go for it.
    mutating func append(_ byte: UInt8) -> Bool {
        bytes[(start + count) % capacity] = byte
        guard count == capacity else {
            count += 1
            return true
        }
        start = (start + 1) % capacity
        return false
    }

    /// Takes the oldest byte.
    mutating func removeFirst() -> UInt8 {
        guard count > 0 else { return lastRead }
        lastRead = bytes[start]
        start = (start + 1) % capacity
        count -= 1
        return lastRead
    }

    /// Loses the oldest `bytes` without anybody having read them.
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
