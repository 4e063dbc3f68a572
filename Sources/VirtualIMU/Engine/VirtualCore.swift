internal import IMUDrivers
internal import MotionCore

/// The inside of a virtual chip of any kind, as its shell sees it.
protocol SimulatedChip: Sendable {
    var engine: SensorEngine { get set }

    /// The register that says who is there.
    var identityRegister: UInt8 { get }

    /// Lets time pass until `instant`: takes the samples that are due.
    mutating func advance(to instant: Timestamp)

    /// Lets an event happen now.
    mutating func suffer(_ event: FaultEvent)

    /// Answers a read, or takes a write, of neighbouring registers in one transaction.
    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer)
    mutating func write(_ register: UInt8, _ values: UnsafeBufferPointer<UInt8>)
}

/// An engine with the registers of one kind of chip in front of it.
struct VirtualCore<Registers: VirtualRegisters>: SimulatedChip {
    var engine: SensorEngine
    private var registers: Registers

    /// Makes a chip that was just powered.
    init(_ registers: Registers, _ engine: SensorEngine) {
        self.registers = registers
        self.engine = engine
        self.registers.powerCycle(&self.engine)
    }

    var identityRegister: UInt8 { registers.identityRegister }

    mutating func advance(to instant: Timestamp) {
        engine.skipUnseenSamples(until: instant, remembering: registers.remembered)
        while let sample = engine.nextSample(until: instant) {
            if registers.raisesPin { engine.wire?.raise(at: sample.time) }
            registers.take(sample, &engine)
        }
        registers.settle(&engine)
    }

    mutating func suffer(_ event: FaultEvent) {
        switch event {
        case .brownOut: registers.powerCycle(&engine)
        case .fifoOverflow: registers.overflow()
        case .fifoSlip(let bytes): registers.slip(bytes)
        case .bitFlip(let register, let bit): registers.flip(bit: bit, of: register, &engine)
        case .temperatureJump(let difference): engine.temperatureError += difference
        }
    }

    mutating func read(_ register: UInt8, into buffer: UnsafeMutableRawBufferPointer) {
        registers.read(register & 0x7F, into: buffer, &engine)
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
    /// Lets time pass until `now`, with all that happens to the chip meanwhile; says how the transaction that begins then
    /// fails, if it does.
    mutating func beginTransaction(with chip: inout any SimulatedChip, at now: Timestamp) -> BusError? {
        while let due = nextAction(until: now) {
            chip.advance(to: due.time)
            switch due.action {
            case .freeze(let isFrozen): chip.engine.isFrozen = isFrozen
            case .stall(let isStalled): chip.engine.isStalled = isStalled
            case .event(let event): chip.suffer(event)
            }
        }
        chip.advance(to: now)
        let (failure, thaws) = transaction(at: now)
        thawsAfterTransaction = thaws
        return failure
    }

    /// Ends the transaction, and the conditions that it was the last one of.
    mutating func endTransaction(with chip: inout any SimulatedChip) {
        removeExhausted()
        guard thawsAfterTransaction else { return }
        chip.engine.isFrozen = false
        chip.engine.isStalled = false
    }
}
