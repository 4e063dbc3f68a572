internal import MotionCore

extension MagnetometerDriver where Bus: ~Copyable {
    /// Reopens the bus of a lost part.
    mutating func reopen() throws(MagnetometerFault) {
        do throws(BusError) {
            try bus.reopen()
        } catch {
            status.busErrors.count(error)
            throw .bus(error)
        }
    }

    /// Identifying: reads the identity, and starts the bring-up of a part that has it. Nothing is written to another one.
    mutating func identify() throws(MagnetometerFault) {
        status.state = .identifying
        try checkIdentity(Part.identity)
        if let second = Part.secondIdentity { try checkIdentity(second) }
        status.state = .starting
        part = Part()
        step = 0
        waitEnd = nil
        isInterrupted = false
        try start()
    }

    private mutating func checkIdentity(_ wanted: RegisterSetting) throws(MagnetometerFault) {
        let found = try get(wanted.register)
        guard wanted.holds(in: found) else { throw .identity(found: found.bits) }
    }

    /// Starting: runs the steps up to the next wait.
    mutating func start() throws(MagnetometerFault) {
        while let current = part.step(step) {
            switch current {
            case .write(let register, let value): try put(register, value)
            case .wait(let seconds):
                step += 1
                due = clock.now().advanced(bySeconds: seconds)
                return
            case .waitFor(let wanted, let interval, let limit):
                guard try isReached(wanted, within: limit) else {
                    due = clock.now().advanced(bySeconds: interval)
                    return
                }
            case .readTrim(let registers):
                try getGroup(registers)
                if let wrong = part.takeTrim(UnsafeRawBufferPointer(buffer.bytes)) { throw .trim(found: wrong) }
            case .verify(let registers):
                try getGroup(registers)
                try verify(registers, at: 0)
            case .configure: try configure()
            }
            step += 1
        }
        status.state = .measuring
        let now = clock.now()
        lastMeasurement = now
        lastAnswer = now
        repetitions = 0
        due = now.advanced(bySeconds: Part.figures.interval)
    }

    /// Whether a register has the awaited value. The first read comes after the first pause, not immediately.
    private mutating func isReached(
        _ wanted: RegisterSetting, within limit: Double
    ) throws(MagnetometerFault) -> Bool {
        guard let end = waitEnd else {
            waitEnd = clock.now().advanced(bySeconds: limit)
            return false
        }
        do throws(BusError) {
            if wanted.holds(in: try read(wanted.register)) {
                waitEnd = nil
                return true
            }
        } catch {
            // A part in reset may not answer. If it never does, the deadline ends the wait.
            if error.isLasting { throw .bus(error) }
        }
        guard clock.now() < end else { throw .deadline }
        return false
    }

    /// Writes the table's registers and reads them back, one at a time.
    private mutating func configure() throws(MagnetometerFault) {
        let count = registers.count
        for index in 0..<count where registers[index].stage == .configuration {
            let setting = registers[index].setting
            try put(setting.register, setting.set)
            let found = try get(setting.register)
            guard setting.holds(in: found) else {
                throw .readBack(register: setting.register.number, wrote: setting.set.bits, read: found.bits)
            }
        }
    }

    /// Checks registers that were read into the buffer from `offset` on.
    private func verify(_ run: ChipRegisters, at offset: Int) throws(MagnetometerFault) {
        if let register = changedRegister(in: run, at: offset) { throw .configurationLost(register: register.number) }
    }

    /// The first of the registers read into the buffer from `offset` on that has the wrong content.
    func changedRegister(in run: ChipRegisters, at offset: Int) -> RegisterAddress? {
        registers.changedRegister(
            in: run, reading: UnsafeRawBufferPointer(rebasing: buffer.bytes[offset..<offset + run.count]))
    }
}
