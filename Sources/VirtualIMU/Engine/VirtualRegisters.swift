internal import MotionCore

/// The registers of one kind of chip. Time, sensors, wire and faults belong to the engine.
protocol EngineRegisters: Sendable {
    associatedtype Engine: ChipEngine

    var registers: RegisterFile { get set }

    /// The register that identifies the chip.
    var identityRegister: UInt8 { get }

    /// Applies the defaults, which the registers have after power-on, also of a new chip, and after a reset.
    mutating func begin(_ engine: inout Engine)

    /// Answers one read transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout Engine)

    /// Writes one byte, unless a reset is in progress.
    mutating func write(_ register: UInt8, _ value: UInt8, _ engine: inout Engine)

    /// Sets clock and filters according to the registers.
    mutating func configure(_ engine: inout Engine)
}

/// What is behind the registers of a chip.
protocol ChipEngine {
    /// The instant up to which the chip has been simulated.
    var now: Timestamp { get }
}

extension EngineRegisters {
    /// Restores the power-on state.
    mutating func powerCycle(_ engine: inout Engine) {
        registers.powerUp()
        begin(&engine)
    }

    /// Begins a reset that takes this many seconds.
    mutating func reset(for seconds: Double, _ engine: inout Engine) {
        registers.reset(until: engine.now.advanced(bySeconds: seconds))
        begin(&engine)
    }
}

/// The registers and the FIFO of a chip with motion sensors.
protocol VirtualRegisters: EngineRegisters where Engine == SensorEngine {
    /// The bits of a register's number that matter in a read; bit 7 does only on some chips.
    var readMask: UInt8 { get }

    /// The number of samples that can be read some time after they were taken: those that fit into the FIFO, plus a
    /// margin.
    var retainedSamples: Int { get }

    /// Whether the next sample raises the data-ready pin.
    var raisesPin: Bool { get }

    /// Whether the chip connects the devices on its auxiliary bus with the host's bus.
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool

    /// A byte of a read transaction; the next one comes from `address(after:)`.
    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8

    /// Where the next byte of a transaction goes to.
    func address(after register: UInt8) -> UInt8

    /// Applies the consequences of a register that is no longer `before`.
    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine)

    /// Stores a sample that is due.
    mutating func take(_ sample: SensorEngine.Sample, _ engine: inout SensorEngine)

    /// Completes internal changes that are due by the engine's `now`.
    mutating func completePendingChanges(_ engine: inout SensorEngine)

    /// Puts frames into the FIFO, if it is on, until the first one is lost.
    mutating func overflow()

    /// Drops the FIFO's oldest bytes.
    mutating func dropOldest(_ bytes: Int)
}

extension VirtualRegisters {
    var readMask: UInt8 { 0x7F }
    var raisesPin: Bool { false }
    func connectsAuxiliaryBus(at now: Timestamp) -> Bool { false }
    func address(after register: UInt8) -> UInt8 { (register + 1) & 0x7F }
    mutating func completePendingChanges(_ engine: inout SensorEngine) {}

    mutating func applySideEffects(of address: UInt8, before: UInt8, _ engine: inout SensorEngine) {
        configure(&engine)
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer, _ engine: inout SensorEngine) {
        var address = register
        for index in buffer.indices {
            buffer[index] = readByte(address, at: engine.now)
            address = self.address(after: address)
        }
    }

    mutating func readByte(_ address: UInt8, at now: Timestamp) -> UInt8 { registers[Int(address)] }

    /// Inverts a bit of a register and applies the consequences.
    mutating func flip(bit: UInt8, of register: UInt8, _ engine: inout SensorEngine) {
        let address = Int(register) & (registers.count - 1)
        let before = registers[address]
        registers.flip(bit: bit, of: address)
        applySideEffects(of: UInt8(address), before: before, &engine)
    }
}

/// A chip that copies its output registers into a FIFO of bytes.
protocol ByteFIFORegisters: VirtualRegisters {
    var fifo: ByteFIFO { get set }

    /// The newest frame.
    var frame: FrameWriter { get set }

    /// Whether frames are written into the FIFO.
    var fills: Bool { get }

    /// The bytes that are written into the FIFO at once.
    var wordLength: Int { get }

    /// Appends a byte to the FIFO.
    mutating func push(_ byte: UInt8)
}

extension ByteFIFORegisters {
    var wordLength: Int { 1 }

    mutating func completePendingChanges(_ engine: inout SensorEngine) { writeFrame(until: engine.now, engine) }

    /// Writes the words of the newest frame that are due at `instant` into the FIFO; all of them for `nil`.
    mutating func writeFrame(until instant: Timestamp?, _ engine: SensorEngine) {
        guard fills else { return }
        let duration = engine.imperfections.fifoWriteTime
        for index in frame.takeDue(at: instant, taking: duration, word: wordLength) { push(frame.bytes[index]) }
    }

    /// Repeats the newest frame until one no longer fits.
    mutating func overflow() {
        guard fills else { return }
        let filler = frame.bytes.isEmpty ? [UInt8](repeating: 0, count: wordLength) : frame.bytes
        for _ in 0...(fifo.capacity - fifo.count) / filler.count {
            for byte in filler { push(byte) }
        }
    }

    mutating func dropOldest(_ bytes: Int) { fifo.drop(bytes) }
}

/// The limits of a 16-bit number.
let wholeRange = -32768.0...32767

/// A value in counts of `scale`, saturated at the limits.
func counts(_ value: Double, scale: Double = 1, within limits: ClosedRange<Double> = -32767...32767) -> Int16 {
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
