/// The chip's FIFO: 1024 bytes, of which the oldest go when there is no room (RM p. 44, PS section 7.13).
struct ByteFIFO {
    /// Bytes that it holds at most.
    static let capacity = 1024

    private var bytes = [UInt8](repeating: 0, count: ByteFIFO.capacity)
    private var start = 0

    /// What an empty FIFO answers: the byte that was read last.
    private(set) var lastRead: UInt8 = 0

    /// Bytes that it holds.
    private(set) var count = 0

    /// Appends a byte; returns false where the oldest had to go for it.
    mutating func append(_ byte: UInt8) -> Bool {
        bytes[(start + count) % Self.capacity] = byte
        guard count == Self.capacity else {
            count += 1
            return true
        }
        start = (start + 1) % Self.capacity
        return false
    }

    /// Takes the oldest byte.
    mutating func removeFirst() -> UInt8 {
        guard count > 0 else { return lastRead }
        lastRead = bytes[start]
        start = (start + 1) % Self.capacity
        count -= 1
        return lastRead
    }

    /// Loses the oldest `bytes` without anybody having read them.
    mutating func drop(_ bytes: Int) {
        let lost = max(0, min(bytes, count))
        start = (start + lost) % Self.capacity
        count -= lost
    }

    /// Forgets everything.
    mutating func removeAll() {
        count = 0
    }
}
