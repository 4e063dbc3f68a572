internal import MotionCore

extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// Compares one group of registers with the table, if that is due: chips brown out, and registers flip bits.
    ///
    /// It runs before the FIFO is read, so that samples of a misconfigured chip are not delivered.
    mutating func checkHealth() throws(IMUFault) {
        guard health.isDue(at: clock.now()) else { return }
        // Slow polls check several groups, so that no group goes unchecked for much more than half a second.
        let late = min(4, max(1, Int((settings.batchInterval / DriverTiming.healthInterval).rounded(.up))))
        let count = plan.registers.groupCount
        guard count > 0 else { return }
        let groups = late * HealthCheck.groupsAtOnce(of: count)
        try restoreKept()
        defer { selectFirstBank() }
        for _ in 0..<min(groups, count) {
            try check(plan.registers.group(health.group))
            health.advance(of: count)
        }
    }

    /// Restores the kept register, if there is one and the chip has changed it. The stream continues.
    private mutating func restoreKept() throws(IMUFault) {
        guard let kept, try get(kept.register) != kept.value else { return }
        // A single wrong reading may be a bus error.
        if try get(kept.register) != kept.value { try put(kept.register, kept.value) }
    }

    /// If no frame has arrived for too long, distinguishes a chip that was reset from one that has stalled.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        let timeout = max(DriverTiming.shortestStall, DriverTiming.stalledPeriods * estimator.period)
        guard now.seconds(since: progress.lastFill) > timeout else { return }
        try checkAllGroups()
        throw .stalled
    }

    /// Checks all registers. A chip that was reset does not send frames.
    mutating func checkAllGroups() throws(IMUFault) {
        defer { selectFirstBank() }
        let count = plan.registers.groupCount
        for number in 0..<count { try check(plan.registers.group(number)) }
    }

    /// Checks the registers with the ranges, which determine what a count means.
    mutating func checkRanges() throws(IMUFault) {
        defer { selectFirstBank() }
        let count = plan.registers.rangeCount
        for number in 0..<count { try check(plan.registers.range(number)) }
    }

    private mutating func check(_ group: ChipRegisters) throws(IMUFault) {
        // A single wrong reading may be a bus error.
        guard try changedRegister(in: group) != nil, let register = try changedRegister(in: group) else { return }
        throw .configurationLost(register: register.number)
    }

    /// The first register of a group whose content is wrong.
    private mutating func changedRegister(in group: ChipRegisters) throws(IMUFault) -> RegisterAddress? {
        do throws(BusError) {
            try readGroup(group)
        } catch {
            throw .bus(error)
        }
        return plan.registers.changedRegister(in: group, reading: UnsafeRawBufferPointer(buffer.registers))
    }

    /// Reads the temperature once a second if the FIFO does not carry it.
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
