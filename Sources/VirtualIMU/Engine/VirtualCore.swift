internal import MotionCore

/// The inside of a virtual chip, as a `FaultSchedule` uses it.
protocol FaultTarget: Sendable {
    /// The register that identifies the chip.
    var identityRegister: UInt8 { get }

    /// Whether the outputs repeat their last values, and whether no samples are taken.
    var isFrozen: Bool { get set }
    var isStalled: Bool { get set }

    /// Advances to `instant` and takes the samples that are due.
    mutating func advance(to instant: Timestamp)

    /// Applies a fault event now.
    mutating func apply(_ event: FaultEvent)

    /// Reads or writes neighbouring registers in one transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer)
    mutating func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>)
}

/// The inside of a virtual chip of any kind, as `VirtualIMUChip` uses it.
protocol SimulatedChip: FaultTarget {
    var engine: SensorEngine { get set }

    /// Whether the chip connects the devices on its auxiliary bus with the host's bus.
    var connectsAuxiliaryBus: Bool { get }
}

extension SimulatedChip {
    var isFrozen: Bool {
        get { engine.isFrozen }
        set { engine.isFrozen = newValue }
    }
    var isStalled: Bool {
        get { engine.isStalled }
        set { engine.isStalled = newValue }
    }
}

/// An engine with the registers of one kind of chip.
struct VirtualCore<Registers: VirtualRegisters>: SimulatedChip {
    var engine: SensorEngine
    private var registers: Registers

    /// Creates a chip that was just powered.
    init(_ registers: Registers, _ engine: SensorEngine) {
        self.registers = registers
        self.engine = engine
        self.registers.powerCycle(&self.engine)
    }

    var identityRegister: UInt8 { registers.identityRegister }
    var connectsAuxiliaryBus: Bool { registers.connectsAuxiliaryBus(at: engine.now) }

    mutating func advance(to instant: Timestamp) {
        engine.skipInvisibleSamples(until: instant, retaining: registers.retainedSamples)
        while let sample = engine.nextSample(until: instant) {
            if registers.raisesPin { engine.wire?.raise(at: sample.time) }
            registers.take(sample, &engine)
        }
        registers.completePendingChanges(&engine)
    }

    mutating func apply(_ event: FaultEvent) {
        switch event {
        case .brownOut: registers.powerCycle(&engine)
        case .fifoOverflow: registers.overflow()
        case .fifoSlip(let bytes): registers.dropOldest(bytes)
        case .bitFlip(let register, let bit): registers.flip(bit: bit, of: register, &engine)
        case .temperatureJump(let difference): engine.temperatureError += difference
        case .temperatureGlitch(let difference, let samples): engine.glitch = (difference, samples)
        }
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) {
        registers.read(register & registers.readMask, into: buffer, &engine)
    }

    mutating func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>) {
        var address = register & 0x7F
        for value in values {
            if !registers.registers.isResetting(at: engine.now) { registers.write(address, value, &engine) }
            address = registers.address(after: address)
        }
    }
}
