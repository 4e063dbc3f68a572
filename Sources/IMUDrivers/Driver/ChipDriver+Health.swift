internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Compares a group of registers with the table, when it is due: parts brown out, and flip registers.
    ///
    /// It comes before the FIFO is read, so that samples of a chip found changed are not delivered.
    mutating func checkHealth() throws(IMUFault) {
        guard health.isDue(at: clock.now()) else { return }
        // Slow polls look at several groups, so that none is left alone for half a second and more.
        let groups = min(4, max(1, Int((settings.batchInterval / DriverTiming.healthInterval).rounded(.up))))
        let count = plan.registers.groupCount
        guard count > 0 else { return }
        for _ in 0..<groups {
            try checkGroup(health.group)
            health.advance(of: count)
        }
    }

    /// Tells a chip that was reset from one that stands still, once no frame has come for too long.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        let patience = max(DriverTiming.shortestStall, DriverTiming.stalledPeriods * estimator.period)
        guard now.seconds(since: progress.lastFill) > patience else { return }
        try checkAllGroups()
        throw .stalled
    }

    /// Whether the chip still is as it was set: what a reset chip answers is no frame.
    mutating func checkAllGroups() throws(IMUFault) {
        let count = plan.registers.groupCount
        for number in 0..<count { try checkGroup(number) }
    }

    private mutating func checkGroup(_ number: Int) throws(IMUFault) {
        // One odd reading may be the bus's fault.
        guard try changedRegister(inGroup: number) != nil, let register = try changedRegister(inGroup: number) else {
            return
        }
        throw .configurationLost(register: register.number)
    }

    /// The first register of a group that does not hold what it should.
    private mutating func changedRegister(inGroup number: Int) throws(IMUFault) -> RegisterAddress? {
        let group = plan.registers.group(number)
        do throws(BusError) {
            try readGroup(group)
        } catch {
            throw .bus(error)
        }
        return plan.registers.changedRegister(in: group, reading: UnsafeRawBufferPointer(buffer.registers))
    }

    /// Asks for the temperature once a second, if the FIFO does not have it.
    mutating func readTemperatureIfDue() throws(IMUFault) {
        guard let registers = fifo.temperature else { return }
        guard thermometer.isDue(at: clock.now()) else { return }
        do throws(BusError) {
            try readGroup(registers)
        } catch {
            throw .bus(error)
        }
        thermometer.noteSeparate(celsius: part.temperature(UnsafeRawBufferPointer(buffer.registers)))
    }
}
