internal import MotionCore

extension MPU6050 where Bus: ~Copyable {
    /// Registers whose content the stream depends on, in groups of neighbours.
    private static func healthGroup(_ number: Int) -> (first: UInt8, count: Int) {
        switch number & 3 {
        case 0: (MPU6050Register.userControl, 3)
        case 1: (MPU6050Register.sampleRateDivider, 4)
        case 2: (MPU6050Register.fifoEnable, 1)
        default: (MPU6050Register.interruptPin, 2)
        }
    }

    /// Compares a group of registers with what was written, when it is due: parts brown out, and flip registers.
    ///
    /// It comes before the FIFO is read, so that samples of a chip found changed are not delivered.
    mutating func checkHealth() throws(IMUFault) {
        let now = clock.now()
        guard now >= healthDue else { return }
        healthDue = now.advanced(bySeconds: MPU6050Timing.healthInterval)
        // Slow polls look at several groups, so that none is left alone for half a second and more.
        let groups = min(4, max(1, Int((settings.batchInterval / MPU6050Timing.healthInterval).rounded(.up))))
        for _ in 0..<groups {
            guard try checkGroup(Self.healthGroup(healthGroup)) else { return }
            healthGroup &+= 1
        }
    }

    /// Tells a chip that was reset from one that stands still, once no frame has come for too long.
    mutating func checkForStall(at now: Timestamp) throws(IMUFault) {
        let patience = max(MPU6050Timing.shortestStall, MPU6050Timing.stalledPeriods * estimator.period)
        guard now.seconds(since: lastFill) > patience else { return }
        for group in 0..<4 {
            _ = try checkGroup(Self.healthGroup(group))
        }
        throw .stalled
    }

    /// Checks one group; returns false where the bus did not let it, which the reading of the FIFO will notice too.
    private mutating func checkGroup(_ group: (first: UInt8, count: Int)) throws(IMUFault) -> Bool {
        guard let register = changedRegister(in: group) else { return true }
        // One odd reading may be the bus's fault.
        guard register.isRead, let again = changedRegister(in: group), again.isRead else { return false }
        throw .configurationLost(register: again.number)
    }

    /// The first register of a group that does not hold what it should, or that a group could not be read.
    private mutating func changedRegister(in group: (first: UInt8, count: Int)) -> (number: UInt8, isRead: Bool)? {
        do throws(BusError) {
            try readGroup(group.first, count: group.count)
        } catch {
            return (group.first, false)
        }
        for offset in 0..<group.count {
            let register = group.first + UInt8(offset)
            if buffer.registers[offset] != configuration.value(of: register) { return (register, true) }
        }
        return nil
    }
}
