internal import IMUDrivers
internal import MotionCore

/// The inside of a virtual chip, as a `FaultSchedule` uses it.
protocol FaultTarget {
    /// Whether the outputs repeat their last values, and whether no samples are taken.
    var isFrozen: Bool { get set }
    var isStalled: Bool { get set }

    /// Advances to `instant` and takes the samples that are due.
    mutating func advance(to instant: Timestamp)

    /// Applies a fault event now.
    mutating func apply(_ event: FaultEvent)
}

/// The inside of a virtual chip of any kind, as `VirtualIMUChip` uses it.
protocol SimulatedChip: FaultTarget, Sendable {
    var engine: SensorEngine { get set }

    /// The register that identifies the chip.
    var identityRegister: UInt8 { get }

    /// Whether the chip connects the devices on its auxiliary bus with the host's bus.
    var connectsAuxiliaryBus: Bool { get }

    /// Reads or writes neighbouring registers in one transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer)
    mutating func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>)
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
            registers.write(address, value, &engine)
            address = registers.address(after: address)
        }
    }
}

extension FaultSchedule {
    /// Advances the chip to `now` with everything that is scheduled until then.
    mutating func advance<Chip: FaultTarget>(_ chip: inout Chip, to now: Timestamp) {
        while let due = nextAction(until: now) {
            chip.advance(to: due.time)
            switch due.action {
            case .freeze(let isFrozen): chip.isFrozen = isFrozen
            case .stall(let isStalled): chip.isStalled = isStalled
            case .event(let event): chip.apply(event)
            }
        }
        chip.advance(to: now)
    }

    /// Advances the chip to `now`; returns the error of the transaction that begins now, if any.
    mutating func beginTransaction<Chip: FaultTarget>(with chip: inout Chip, at now: Timestamp) -> BusError? {
        advance(&chip, to: now)
        let (failure, endsFreeze) = transaction(at: now)
        endsFreezeAfterTransaction = endsFreeze
        return failure
    }

    /// Ends the transaction, and the conditions for which it was the last one.
    mutating func endTransaction<Chip: FaultTarget>(with chip: inout Chip) {
        removeExhausted()
        guard endsFreezeAfterTransaction else { return }
        chip.isFrozen = false
        chip.isStalled = false
    }
}
