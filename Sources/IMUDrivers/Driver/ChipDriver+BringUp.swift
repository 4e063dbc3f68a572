internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Restarts the bring-up of a lost chip, after reopening the bus.
    mutating func restartBringUp() throws(IMUFault) -> IMUPoll {
        do throws(BusError) {
            try bus.reopen()
        } catch {
            status.busErrors.count(error)
            throw .bus(error)
        }
        return try identify()
    }

    /// Identifying: reads the identity and starts the bring-up script if the chip belongs to the family.
    mutating func identify() throws(IMUFault) -> IMUPoll {
        status.state = .identifying
        var identity = try get(Part.identityRegister).bits
        if let register = Part.bankRegister, Part(identity: identity, settings: settings) == nil {
            let isInOtherBank = bringUp.mayHaveOtherBank ? true : try isBankAbandoned()
            if isInOtherBank {
                // There, the register has another content.
                try put(register, .none)
                identity = try get(Part.identityRegister).bits
            }
        }
        info.identity = identity
        guard let found = Part(identity: identity, settings: settings) ?? assumedPart else {
            throw .identity(found: identity)
        }
        if found.rate != part.rate {
            estimator = SamplePeriodEstimator(nominalPeriod: 1 / found.rate)
            status.period = 1 / found.rate
        }
        part = found
        fifo = found.fifo
        plan.replace(with: found)
        info = IMUInfo(found, identity: identity)
        bringUp.begin()
        kept = nil
        return try runBringUp()
    }

    /// Whether another bank is selected: by a program that used this driver and ended, or by this driver, if a write that
    /// should have selected bank 0 was lost. It only reads.
    private mutating func isBankAbandoned() throws(IMUFault) -> Bool {
        for settings in Part.abandonedBanks {
            // A chip that this driver has identified before needs no other proof than its bank register.
            let proof = bringUp.hasIdentified ? settings.prefix(1) : settings[...]
            var isShown = true
            for setting in proof where isShown { isShown = setting.holds(in: try get(setting.register)) }
            if isShown { return true }
        }
        return false
    }

    /// The part that the user's `assumedIdentity` setting names, for a chip with an unknown identity.
    private var assumedPart: Part? {
        settings.assumedIdentity.flatMap { Part(identity: $0, settings: settings) }
    }

    /// Resetting, waking, configuring: runs the script up to the next wait.
    mutating func runBringUp() throws(IMUFault) -> IMUPoll {
        let end = plan.bringUp.count
        while bringUp.step < end {
            switch plan.bringUp[bringUp.step] {
            case .enter(let state):
                status.state = state
                if state == .waking { bringUp.noteWaking(at: clock.now()) }
            case .wait(let seconds):
                bringUp.advance()
                return IMUPoll(next: clock.now().advanced(bySeconds: seconds))
            case .waitFor(let wanted, let interval, let limit):
                if let poll = try look(for: wanted, every: interval, within: limit) { return poll }
            case let step:
                do throws(IMUFault) {
                    try perform(step)
                } catch {
                    guard case .readBack = error, bringUp.wakeAgain(at: clock.now()) else { throw error }
                    continue
                }
            }
            bringUp.advance()
        }
        bringUp.finish()
        return try beginStream()
    }

    /// Performs a step that does not wait.
    private mutating func perform(_ step: ChipStep) throws(IMUFault) {
        switch step {
        case .write(let register, let value): try put(register, value)
        case .attempt(let register, let value): try attempt(register, value)
        case .read(let register): _ = try get(register)
        case .keep(let register): kept = KeptRegister(register: register, value: try get(register))
        case .discardCount: try discardCount()
        case .apply(let stage): try perform(stage, isWritten: true, isReadBack: false)
        case .configure(let stage): try perform(stage, isWritten: true, isReadBack: true)
        case .verify(let stage): try perform(stage, isWritten: false, isReadBack: true)
        case .check(let setting): try verify(setting)
        case .noteTemperature(let register): try noteTemperature(register)
        case .settle(let seconds): progress.settle(until: clock.now().advanced(bySeconds: seconds))
        case .enter, .waitFor, .wait: break
        }
    }

    /// Writes the table's registers of a stage, reads them back, or both, one register at a time.
    private mutating func perform(_ stage: RegisterStage, isWritten: Bool, isReadBack: Bool) throws(IMUFault) {
        let count = plan.registers.count
        for index in 0..<count {
            let row = plan.registers[index]
            guard row.stage == stage else { continue }
            if isWritten { try put(row.setting.register, row.setting.set) }
            if isReadBack { try verify(row.setting) }
        }
    }

    /// Checks whether a register has the awaited value. Returns the next poll if not, `nil` if it has.
    private mutating func look(
        for wanted: RegisterSetting, every interval: Double, within limit: Double
    ) throws(IMUFault) -> IMUPoll? {
        // The first read comes after the first pause, not immediately.
        if bringUp.beginWaiting(from: clock.now(), for: limit) {
            return IMUPoll(next: clock.now().advanced(bySeconds: interval))
        }
        do throws(BusError) {
            if wanted.holds(in: try read(wanted.register)) { return nil }
        } catch {
            // A chip in reset may not answer. If it never does, the deadline ends the wait.
            if error.isLasting { throw .bus(error) }
        }
        let now = clock.now()
        guard !bringUp.isOverdue(at: now) else { throw .deadline(status.state) }
        return IMUPoll(next: now.advanced(bySeconds: interval))
    }

    /// Starts the FIFO of a configured chip.
    private mutating func beginStream() throws(IMUFault) -> IMUPoll {
        try startFIFO(samplesOn: false)
        try perform(.verify(.fifo))
        status.state = .settling
        repetition.reset()
        health.begin(at: clock.now())
        thermometer.begin(at: clock.now())
        return IMUPoll(next: nextRead())
    }

    /// Empties and starts the FIFO. The numbering of samples restarts, and their phase too unless the chip `samplesOn`.
    mutating func startFIFO(samplesOn: Bool) throws(IMUFault) {
        thermometer.forgetReference()
        let count = plan.startFIFO.count
        for index in 0..<count { try perform(plan.startFIFO[index]) }
        estimator.restart(samplesOn: samplesOn)
        restartLine()
        repetition.releaseHeld()
        progress.begin(at: clock.now())
    }

    /// Writes a register without requiring an acknowledgement.
    private mutating func attempt(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        do throws(BusError) {
            try select(register.bank)
            try bus.write(register.number, value.bits)
        } catch {
            guard error.isLasting else { return }
            status.busErrors.count(error)
            throw .bus(error)
        }
    }

    private mutating func discardCount() throws(IMUFault) {
        do throws(BusError) {
            try readGroup(fifo.count)
        } catch {
            throw .bus(error)
        }
    }

    private mutating func noteTemperature(_ register: RegisterAddress) throws(IMUFault) {
        do throws(BusError) {
            try readGroup(ChipRegisters(first: register, count: 2))
        } catch {
            throw .bus(error)
        }
        let raw = Int16(bitPattern: UInt16(buffer.registers[0]) << 8 | UInt16(buffer.registers[1]))
        thermometer.noteStart(raw: raw, celsius: part.celsius(raw))
    }

    /// Reads a register and checks its value.
    private mutating func verify(_ setting: RegisterSetting) throws(IMUFault) {
        let found = try get(setting.register)
        guard setting.holds(in: found) else {
            throw .readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
        }
    }
}

extension BusError {
    /// Whether the cause lies with the adapter or with permissions, rather than with a chip that is briefly busy or
    /// absent.
    var isLasting: Bool {
        switch kind {
        case .notAcknowledged, .arbitrationLost, .timedOut, .inputOutput: false
        case .busy, .accessDenied, .absent, .unsupported, .other: true
        }
    }
}
