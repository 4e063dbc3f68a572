internal import MotionCore

extension MPU6050 where Bus: ~Copyable {
    /// Identifying: asks who is there, and orders the reset if it is the right one.
    mutating func identify() throws(IMUFault) -> IMUPoll {
        status.state = .identifying
        let identity = try get(MPU6050Register.whoAmI)
        info.identity = identity
        guard identity == MPU6050Value.identity else { throw .identity(found: identity) }

        status.state = .resetting
        try put(MPU6050Register.powerManagement1, MPU6050Value.deviceReset)
        let now = clock.now()
        deadline = now.advanced(bySeconds: MPU6050Timing.resetDeadline)
        return IMUPoll(next: now.advanced(bySeconds: MPU6050Timing.resetPoll))
    }

    /// Resetting: waits until the bit has cleared itself, then wakes the chip.
    mutating func awaitReset() throws(IMUFault) -> IMUPoll {
        var isDone = false
        do throws(BusError) {
            isDone = try read(MPU6050Register.powerManagement1) & MPU6050Value.deviceReset == 0
        } catch {
            // A chip in reset may not answer; whether it comes back is for the deadline to tell.
            if error.isLasting { throw .bus(error) }
        }
        let now = clock.now()
        guard isDone else {
            guard now < deadline else { throw .deadline(.resetting) }
            return IMUPoll(next: now.advanced(bySeconds: MPU6050Timing.resetPoll))
        }
        status.state = .waking
        deadline = now.advanced(bySeconds: MPU6050Timing.resetDeadline)
        return try wake()
    }

    /// Waking: ends the sleep that follows a reset; the clock needs a moment to settle.
    private mutating func wake() throws(IMUFault) -> IMUPoll {
        try put(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock)
        let now = clock.now()
        settledAt = now.advanced(bySeconds: MPU6050Timing.gyroscopeStartUp)
        return IMUPoll(next: now.advanced(bySeconds: MPU6050Timing.clockSettling))
    }

    /// Configuring: writes every register, reads it back, and starts the FIFO.
    ///
    /// Some parts take writes only a while after their reset: until the deadline a register that did not keep its value
    /// means to try again.
    mutating func configure() throws(IMUFault) -> IMUPoll {
        do throws(IMUFault) {
            try verify(MPU6050Register.powerManagement1)
            status.state = .configuring
            try configure(MPU6050Register.powerManagement2)
            try configure(MPU6050Register.sampleRateDivider)
            try configure(MPU6050Register.configuration)
            try configure(MPU6050Register.gyroscopeConfiguration)
            try configure(MPU6050Register.accelerometerConfiguration)
            try configure(MPU6050Register.interruptPin)
            try configure(MPU6050Register.interruptEnable)
        } catch {
            guard case .readBack = error, clock.now() < deadline else { throw error }
            return try wake()
        }
        try startFIFO()
        try verify(MPU6050Register.fifoEnable)
        try verify(MPU6050Register.userControl)
        status.state = .settling
        repetitions = 0
        lastFrame = nil
        healthGroup = 0
        healthDue = clock.now().advanced(bySeconds: MPU6050Timing.healthInterval)
        return IMUPoll(next: nextLook())
    }

    /// Empties the FIFO and starts it: numbers and phase of the samples begin anew.
    mutating func startFIFO() throws(IMUFault) {
        try put(MPU6050Register.fifoEnable, 0)
        try put(MPU6050Register.userControl, MPU6050Value.fifoReset)
        let temperature: Int16
        do throws(BusError) {
            try readGroup(MPU6050Register.temperature, count: 2)
            temperature = Int16(bitPattern: UInt16(buffer.registers[0]) << 8 | UInt16(buffer.registers[1]))
        } catch {
            throw .bus(error)
        }
        // Just after waking the register may still hold its reset value; the first frame then sets the standard.
        lastTemperature = temperature != 0 && MPU6050Frame.isPlausible(temperature: temperature) ? temperature : nil
        try put(MPU6050Register.fifoEnable, MPU6050Value.motionAndTemperature)
        try put(MPU6050Register.userControl, MPU6050Value.fifoOn)
        estimator.restart()
        taken = 0
        unevenPolls = 0
        lastFill = clock.now()
    }

    private mutating func configure(_ register: UInt8) throws(IMUFault) {
        try put(register, configuration.value(of: register))
        try verify(register)
    }

    private mutating func verify(_ register: UInt8) throws(IMUFault) {
        let wanted = configuration.value(of: register)
        let found = try get(register)
        guard found == wanted else { throw .readBack(register: register, wrote: wanted, read: found) }
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
