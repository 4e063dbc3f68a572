internal import MotionCore

/// The registers and the FIFO of one kind of chip. Time, sensors, wire and faults belong to the engine.
protocol VirtualRegisters: Sendable {
    /// The register that identifies the chip.
    var identityRegister: UInt8 { get }

    /// The bits of a register's number that matter in a read; bit 7 does only on some chips.
    var readMask: UInt8 { get }

    /// The number of samples that can be read some time after they were taken: those that fit into the FIFO, plus a
    /// margin.
    var retainedSamples: Int { get }

    /// Whether the next sample raises the data-ready pin.
    var raisesPin: Bool { get }

    /// Whether the chip connects the devices on its auxiliary bus with the host's bus.
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool

    /// Restores the power-on state; also called for a new chip.
    mutating func powerCycle(_ engine: inout SensorEngine)

    /// Answers one read transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine)

    /// Writes one byte; the next one of the same transaction goes to `address(after:)`.
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout SensorEngine)
    func address(after register: UInt8) -> UInt8

    /// Stores a sample that is due.
    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine)

    /// Completes internal changes that are due by the engine's `now`.
    mutating func completePendingChanges(_ engine: inout SensorEngine)

    /// Puts frames into the FIFO, if it is on, until the first one is lost.
    mutating func overflow()

    /// Drops the FIFO's oldest bytes.
    mutating func dropOldest(_ bytes: Int)

    /// Inverts a bit of a register and applies the consequences.
    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine)
}

extension VirtualRegisters {
    var readMask: UInt8 { 0x7F }
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool { false }
    func address(after register: UInt8) -> UInt8 { (register + 1) & 0x7F }
    mutating func completePendingChanges(_ engine: inout SensorEngine) {}
}

/// A value in counts of `scale`, saturated at the limits.
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
