internal import MotionCore

/// The registers and the FIFO of one kind of chip: all that is its own. Time, sensors, wire and faults are the engine's.
protocol VirtualRegisters: Sendable {
    /// The register that says who is there.
    var identityRegister: UInt8 { get }

    /// Samples that can still be seen some time after they were taken: those that fit into the FIFO, and some more.
    var remembered: Int { get }

    /// Whether the next sample lets the data-ready pin rise.
    var raisesPin: Bool { get }

    /// Everything is as after power-on. It is what a chip begins with, too.
    mutating func powerCycle(_ engine: inout SensorEngine)

    /// Answers one read, in one transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine)

    /// Takes one byte; the next of the same transaction goes to `address(after:)`.
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine)
    func address(after register: UInt8) -> UInt8

    /// Takes a sample that is due.
    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine)

    /// What was to happen by itself by the engine's `now` happens.
    mutating func settle(_ engine: inout SensorEngine)

    /// Puts frames into the FIFO, if it is on, until the first is lost.
    mutating func overflow()

    /// Loses the FIFO's oldest bytes.
    mutating func slip(_ bytes: Int)

    /// Inverts a bit of a register, with all that follows from it.
    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine)
}

extension VirtualRegisters {
    func address(after register: UInt8) -> UInt8 { (register + 1) & 0x7F }
    mutating func settle(_ engine: inout SensorEngine) {}
}

/// A value as counts of `scale`, within the limits that it saturates at.
func counts(_ value: Double, scale: Double, within limits: ClosedRange<Double> = -32767...32767) -> Int16 {
    let value = value / scale
    return value.isFinite ? Int16(max(limits.lowerBound, min(limits.upperBound, value.rounded()))) : 0
}

extension Array where Element == UInt8 {
    /// Appends a value, low byte first.
    mutating func appendLittleEndian(_ value: Int16) {
        append(UInt8(truncatingIfNeeded: value))
        append(UInt8(truncatingIfNeeded: value >> 8))
    }
}
