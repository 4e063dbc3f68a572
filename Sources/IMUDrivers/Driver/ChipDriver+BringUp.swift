internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Looks for a chip that was lost: first for the way to it.
    mutating func beginAnew() throws(IMUFault) -> IMUPoll {
        do throws(BusError) {
            try bus.reopen()
        } catch {
            status.busErrors.count(error)
            throw .bus(error)
        }
        return try identify()
    }

    /// Identifying: asks who is there, and begins its script if it is one of the family.
    mutating func identify() throws(IMUFault) -> IMUPoll {
        status.state = .identifying
        let identity = try get(Part.identityRegister)
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
        info = IMUInfo(found, identity: identity)
        step = 0
        wakingStep = 0
        patienceEnd = clock.now()
        return try goOn()
    }

    /// What the user says that a chip of an unknown number is.
    private var assumedPart: Part? {
        settings.assumedIdentity.flatMap { Part(identity: $0, settings: settings) }
    }

    /// Resetting, waking, configuring: carries out the script up to the next wait.
    mutating func goOn() throws(IMUFault) -> IMUPoll {
        while let next = part.bringUp(step) {
            switch next {
            case .enter(let state):
                status.state = state
                if state == .waking {
                    wakingStep = step
                    if clock.now() > patienceEnd {
                        patienceEnd = clock.now().advanced(bySeconds: DriverTiming.registerPatience)
                    }
                }
            case .wait(let seconds):
                step += 1
                return IMUPoll(next: clock.now().advanced(bySeconds: seconds))
            case .waitFor(let register, let value, let mask, let interval, let limit):
                if let poll = try look(for: register, value, mask: mask, every: interval, within: limit) { return poll }
            default:
                do throws(IMUFault) {
                    try carryOut(next)
                } catch {
                    guard case .readBack = error, wakingStep > 0, clock.now() < patienceEnd else { throw error }
                    step = wakingStep
                    continue
                }
            }
            step += 1
        }
        return try beginStream()
    }

    /// A step that takes no time.
    private mutating func carryOut(_ step: ChipStep) throws(IMUFault) {
        switch step {
        case .write(let register, let value):
            try put(register, value)
        case .set(let register, let value, let mask):
            try put(register, value)
            try verify(register, value, mask)
        case .check(let register, let value, let mask):
            try verify(register, value, mask)
        case .noteTemperature(let register):
            try noteTemperature(register)
        case .settle(let seconds):
            settledAt = clock.now().advanced(bySeconds: seconds)
        case .enter, .waitFor, .wait:
            break
        }
    }

    /// Looks whether a register is as awaited: the next look where it is not yet, `nil` where it is.
    private mutating func look(
        for register: UInt8, _ value: UInt8, mask: UInt8, every interval: Double, within limit: Double
    ) throws(IMUFault) -> IMUPoll? {
        guard let awaitedStep, awaitedStep == step else {
            // Not at once: the first look comes after the first pause.
            self.awaitedStep = step
            deadline = clock.now().advanced(bySeconds: limit)
            return IMUPoll(next: clock.now().advanced(bySeconds: interval))
        }
        var isDone = false
        do throws(BusError) {
            isDone = try read(register) & mask == value
        } catch {
            // A chip in reset may not answer; whether it comes back is for the deadline to tell.
            if error.isLasting { throw .bus(error) }
        }
        if isDone {
            self.awaitedStep = nil
            return nil
        }
        let now = clock.now()
        guard now < deadline else { throw .deadline(status.state) }
        return IMUPoll(next: now.advanced(bySeconds: interval))
    }

    /// Starts the FIFO of a chip that is configured.
    private mutating func beginStream() throws(IMUFault) -> IMUPoll {
        try startFIFO()
        var index = 0
        while let step = part.confirmFIFO(index) {
            try carryOut(step)
            index += 1
        }
        status.state = .settling
        repetitions = 0
        heldFrames = 0
        lastFrame = nil
        healthGroup = 0
        healthDue = clock.now().advanced(bySeconds: DriverTiming.healthInterval)
        temperatureDue = clock.now()
        return IMUPoll(next: nextLook())
    }

    /// Empties the FIFO and starts it: numbers and phase of the samples begin anew.
    mutating func startFIFO() throws(IMUFault) {
        lastTemperature = nil
        var index = 0
        while let step = part.startFIFO(index) {
            try carryOut(step)
            index += 1
        }
        estimator.restart()
        restartLine()
        taken = 0
        unevenPolls = 0
        heldFrames = 0
        lastFill = clock.now()
        lastAnswer = lastFill
    }

    private mutating func noteTemperature(_ register: UInt8) throws(IMUFault) {
        do throws(BusError) {
            try readGroup(register, count: 2)
        } catch {
            throw .bus(error)
        }
        let raw = Int16(bitPattern: UInt16(buffer.registers[0]) << 8 | UInt16(buffer.registers[1]))
        let celsius = part.celsius(raw)
        // Just after waking the register may still hold its reset value; the first frame then sets the standard.
        lastTemperature = raw != 0 && DriverTiming.plausibleTemperatures.contains(celsius) ? celsius : nil
    }

    private mutating func verify(_ register: UInt8, _ wanted: UInt8, _ mask: UInt8) throws(IMUFault) {
        let found = try get(register)
        guard found & mask == wanted & mask else { throw .readBack(register: register, wrote: wanted, read: found) }
    }
}

extension BusError {
    /// Whether the failure lies with the adapter or with rights rather than with a chip that is busy or gone for a moment.
    var isLasting: Bool {
        switch kind {
        case .notAcknowledged, .arbitrationLost, .timedOut, .inputOutput: false
        case .busy, .accessDenied, .absent, .unsupported, .other: true
        }
    }
}
