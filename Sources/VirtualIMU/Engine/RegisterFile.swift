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

    subscript(address: Int) -> UInt8 {
        get { content[address] }
        set { content[address] = newValue }
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
