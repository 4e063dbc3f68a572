internal import MotionCore

/// A chip's registers: their contents, their defaults after power-on or a reset, and the state of a reset.
struct RegisterFile {
    private var content: [UInt8]
    private let defaults: [UInt8: UInt8]
    private var resetEnd: Timestamp?

    /// Creates `count` registers in the power-on state: zero, except for the `defaults`.
    init(count: Int, defaults: [UInt8: UInt8]) {
        content = [UInt8](repeating: 0, count: count)
        self.defaults = defaults
        setDefaults()
    }

    /// The number of registers: a power of two if the chip ignores the upper bits of an address.
    var count: Int { content.count }

    subscript(address: Int) -> UInt8 {
        get { content[address] }
        set { content[address] = newValue }
    }

    /// Inverts a bit, 0 to 7.
    mutating func flip(bit: UInt8, of address: Int) { content[address] ^= 1 << (bit & 7) }

    /// Stores a value in the registers `address` and `address + 1`, low byte first.
    mutating func storeLittleEndian(_ value: Int16, at address: Int) {
        content[address] = UInt8(truncatingIfNeeded: value)
        content[address + 1] = UInt8(truncatingIfNeeded: value >> 8)
    }

    /// The same, high byte first.
    mutating func storeBigEndian(_ value: Int16, at address: Int) {
        storeLittleEndian(value.byteSwapped, at: address)
    }

    /// Stores bytes from `address` on.
    mutating func store(_ bytes: [UInt8], at address: Int) {
        for (index, byte) in bytes.enumerated() { content[address + index] = byte }
    }

    /// Restores the power-on state.
    mutating func powerUp() {
        setDefaults()
        resetEnd = nil
    }

    /// Begins a reset that ends at `end`.
    mutating func reset(until end: Timestamp) {
        setDefaults()
        resetEnd = end
    }

    /// Whether a reset is in progress at an instant.
    func isResetting(at now: Timestamp) -> Bool { resetEnd.map { now < $0 } ?? false }

    /// Whether a reset has ended by an instant; true only once per reset.
    mutating func hasEndedReset(by now: Timestamp) -> Bool {
        guard let resetEnd, resetEnd <= now else { return false }
        self.resetEnd = nil
        return true
    }

    private mutating func setDefaults() {
        for index in content.indices { content[index] = 0 }
        for (register, value) in defaults { content[Int(register)] = value }
    }
}
