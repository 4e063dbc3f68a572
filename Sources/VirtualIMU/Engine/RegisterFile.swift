internal import MotionCore

/// A chip's registers: what they hold, what they hold after power-on or a reset, and whether a reset is under way.
struct RegisterFile {
    private var content: [UInt8]
    private let defaults: [UInt8: UInt8]
    private var resetEnd: Timestamp?

    /// Makes so many registers, as they are after power-on: zero, but for the `defaults`.
    init(count: Int, defaults: [UInt8: UInt8]) {
        content = [UInt8](repeating: 0, count: count)
        self.defaults = defaults
        setDefaults()
    }

    subscript(address: Int) -> UInt8 {
        get { content[address] }
        set { content[address] = newValue }
    }

    /// Power comes back.
    mutating func powerUp() {
        setDefaults()
        resetEnd = nil
    }

    /// A reset begins that takes until `end`.
    mutating func reset(until end: Timestamp) {
        setDefaults()
        resetEnd = end
    }

    /// Whether a reset is under way at an instant.
    func isResetting(at now: Timestamp) -> Bool { resetEnd.map { now < $0 } ?? false }

    /// Whether a reset has ended by an instant, which is told once.
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
