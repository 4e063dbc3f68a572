internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Compares a group of registers with what was written, when it is due: parts brown out, and flip registers.
    ///
    /// It comes before the FIFO is read, so that samples of a chip found changed are not delivered.
    mutating func checkHealth() throws(IMUFault) {
        let now = clock.now()
        guard now >= healthDue else { return }
        healthDue = now.advanced(bySeconds: DriverTiming.healthInterval)
        // Slow polls look at several groups, so that none is left alone for half a second and more.
        let groups = min(4, max(1, Int((settings.batchInterval / DriverTiming.healthInterval).rounded(.up))))
        for _ in 0..<groups {
            guard let group = part.healthGroup(healthGroup) else {
                healthGroup = 0
                return
            }
            try checkGroup(group)
            healthGroup = part.healthGroup(healthGroup + 1) == nil ? 0 : healthGroup + 1
        }
    }

    /// Tells a chip that was reset from one that stands still, once no frame has come for too long.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        let patience = max(DriverTiming.shortestStall, DriverTiming.stalledPeriods * estimator.period)
        guard now.seconds(since: lastFill) > patience else { return }
        try checkAllGroups()
        throw .stalled
    }

    /// Whether the chip still is as it was set: what a reset chip answers is no frame.
    mutating func checkAllGroups() throws(IMUFault) {
        var number = 0
        while let group = part.healthGroup(number) {
            try checkGroup(group)
            number += 1
        }
    }

    private mutating func checkGroup(_ group: ChipRegisters) throws(IMUFault) {
        // One odd reading may be the bus's fault.
        guard try changedRegister(in: group) != nil, let register = try changedRegister(in: group) else { return }
        throw .configurationLost(register: register)
    }

    /// The first register of a group that does not hold what it should.
    private mutating func changedRegister(in group: ChipRegisters) throws(IMUFault) -> UInt8? {
        do throws(BusError) {
            try readGroup(group.first, count: group.count)
        } catch {
            throw .bus(error)
        }
        for offset in 0..<group.count {
            let register = group.first + UInt8(offset)
            let differs = (buffer.registers[offset] ^ part.expected(register)) & part.mask(register)
            if differs != 0 { return register }
        }
        return nil
    }

    /// Asks for the temperature once a second where the FIFO does not tell it.
    mutating func readTemperatureWhereItIsDue() throws(IMUFault) {
        guard let registers = fifo.temperature else { return }
        let now = clock.now()
        guard now >= temperatureDue else { return }
        temperatureDue = now.advanced(bySeconds: DriverTiming.temperatureInterval)
        do throws(BusError) {
            try readGroup(registers.first, count: registers.count)
            separateTemperature = part.temperature(UnsafeRawBufferPointer(buffer.registers))
        } catch {
            throw .bus(error)
        }
    }
}
