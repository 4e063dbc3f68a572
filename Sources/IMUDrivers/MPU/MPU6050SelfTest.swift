package import MotionCore

/// The MPU-6050's self-test: electrostatic forces move the proof masses, and the response is compared with the one
/// recorded at the factory.
///
/// Like the driver, it performs the due work each time it is polled, and never waits:
///
///     idle -> resetting -> starting -> before -> response -> after -> clearing -> done
///
/// The output at rest is measured before and after the response. That cancels slow drift and detects a board that was
/// moved. At the end the chip is reset, so that it sleeps as after power-on; after a failure too, if the bus allows it.
/// Source: RM-MPU-6000A-00 r4.2, p. 9 to 11; PS-MPU-6000A-00 r3.4, p. 12, 13.
package struct MPU6050SelfTest<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock>: ~Copyable {
    /// The result; `nil` until the test is done.
    package private(set) var report: MPU6050SelfTestReport?

    private enum State {
        case idle
        case resetting
        case starting
        case measuring(Phase)
        case clearing
        case done
    }

    private enum Phase {
        case before
        case response
        case after
    }

    private var bus: Bus
    private let clock: Clock
    private let part: MPUFamily
    private let buffer: FrameBuffer
    private var state = State.idle
    private var deadline = Timestamp(nanoseconds: 0)
    private var trim = MPU6050FactoryTrim(x: 0, y: 0, z: 0, a: 0)
    private var statistics = RestStatistics()
    private var before = RestStatistics()
    private var response = RestStatistics()

    /// Creates a test. It does not use the bus before the first `poll`.
    package init(bus: consuming Bus, clock: Clock) {
        // The ranges that the factory's values refer to (RM p. 10, 11), at a rate that every bus can carry.
        var settings = IMUSettings()
        settings.rate = 200
        settings.accelerometerRange = 8 * standardGravity
        settings.gyroscopeRange = 250 * radiansPerDegree
        self.bus = bus
        self.clock = clock
        part = MPUFamily(settings: settings)
        buffer = FrameBuffer(bytes: 14)
    }

    /// Performs the work due now and returns when to poll next; `nil` once the test is done and `report` is set.
    ///
    /// - Throws: the fault that aborted the test; the next `poll` starts it from scratch.
    package mutating func poll() throws(IMUFault) -> Timestamp? {
        do {
            switch state {
            case .idle: return try identify()
            case .resetting: return try isResetDone() ? wake() : nextCheck
            case .starting: return try start()
            case .measuring(let phase): return try measure(phase)
            case .clearing: return try isResetDone() ? finish() : nextCheck
            case .done: return nil
            }
        } catch {
            abandon()
            throw error
        }
    }
}

// The states.
extension MPU6050SelfTest where Bus: ~Copyable {
    /// Idle: reads the identity, and resets the chip if it is an MPU-6050.
    private mutating func identify() throws(IMUFault) -> Timestamp {
        let identity = try read(MPUFamily.identityRegister)
        guard identity == MPUFamily.identity else { throw .identity(found: identity) }
        return try reset(then: .resetting)
    }

    private mutating func reset(then next: State) throws(IMUFault) -> Timestamp {
        state = next
        try write(MPUFamily.power, MPUFamily.deviceReset)
        deadline = clock.now().advanced(bySeconds: MPU6050Timing.resetDeadline)
        return nextCheck
    }

    /// When to check again whether a reset is done.
    private var nextCheck: Timestamp { clock.now().advanced(bySeconds: MPU6050Timing.resetPoll) }

    /// Resetting and clearing: whether the chip has returned to its defaults, in which it sleeps (RM p. 8, 40).
    private mutating func isResetDone() throws(IMUFault) -> Bool {
        do {
            if try read(MPUFamily.power) == MPUFamily.sleep.bits { return true }
        } catch {
            // A chip in reset may not answer. If it never does, the deadline ends the wait.
            if case .bus(let error) = error, error.isLasting { throw .bus(error) }
        }
        guard clock.now() < deadline else { throw .deadline(.resetting) }
        return false
    }

    /// Ends the sleep that follows a reset. The clock needs a moment to settle.
    private mutating func wake() throws(IMUFault) -> Timestamp {
        state = .starting
        try write(MPUFamily.power, MPUFamily.gyroscopeClock)
        return clock.now().advanced(bySeconds: MPU6050Timing.clockSettling)
    }

    /// Starting: sets rate, low-pass and ranges, and reads the factory's self-test codes.
    private mutating func start() throws(IMUFault) -> Timestamp {
        try configure(MPUFamily.power, MPUFamily.gyroscopeClock, isWritten: true)
        try configure(MPUFamily.dividerRegister, part.sampleRateDivider)
        try configure(MPUFamily.lowPassRegister, part.lowPass)
        // SELF_TEST_X, _Y, _Z, _A (RM p. 9).
        try readGroup(0x0D, into: UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<4]))
        trim = MPU6050FactoryTrim(
            x: buffer.registers[0], y: buffer.registers[1], z: buffer.registers[2], a: buffer.registers[3])
        return try enter(.before)
    }

    /// Switches the forces on or off, and lets the proof masses and filters settle.
    private mutating func enter(_ phase: Phase) throws(IMUFault) -> Timestamp {
        try configure(MPUFamily.gyroscope, gyroscopeBits(in: phase))
        try configure(MPUFamily.accelerometer, accelerometerBits(in: phase))
        statistics = RestStatistics()
        state = .measuring(phase)
        return clock.now().advanced(bySeconds: MPU6050SelfTestTiming.settling)
    }

    /// Measuring: takes a sample, and moves on to the next phase once there are enough.
    private mutating func measure(_ phase: Phase) throws(IMUFault) -> Timestamp? {
        let now = clock.now()
        // ACCEL_XOUT_H …: accelerometer, temperature and gyroscope in 14 bytes (RM p. 29 to 31).
        try readGroup(0x3B, into: buffer.bytes)
        // Data that is not a valid frame never changes, so it is reported as frozen in the end.
        let frame = part.frame(UnsafeRawBufferPointer(buffer.bytes), at: 0) ?? ChipFrame(ax: 0, ay: 0, az: 0)
        let celsius = frame.temperature.map(part.celsius) ?? .nan
        statistics.add(ChipTraits(part).sample(of: frame, at: now, temperature: celsius))
        guard statistics.count >= MPU6050SelfTestTiming.samples else {
            return now.advanced(bySeconds: 1 / part.rate)
        }
        guard !statistics.isFrozen else { throw .stalled }
        // The measurement is void if the chip has lost its supply meanwhile.
        try verify(MPUFamily.gyroscope, gyroscopeBits(in: phase))
        try verify(MPUFamily.accelerometer, accelerometerBits(in: phase))
        switch phase {
        case .before:
            before = statistics
            return try enter(.response)
        case .response:
            response = statistics
            return try enter(.after)
        case .after:
            return try reset(then: .clearing)
        }
    }

    /// Clearing: the chip sleeps, and the report is complete.
    private mutating func finish() -> Timestamp? {
        report = MPU6050SelfTestReport(before: before, response: response, after: statistics, trim: trim)
        state = .done
        return nil
    }

    /// Resets the chip, unless nothing has been written to it. The test then starts from scratch.
    private mutating func abandon() {
        if case .idle = state { return }
        state = .idle
        // The fault being thrown matters more than a failure of this last write.
        do {
            try bus.write(MPUFamily.power.number, MPUFamily.deviceReset.bits)
        } catch {}
    }

    private func gyroscopeBits(in phase: Phase) -> RegisterValue {
        part.gyroscopeBits | (phase == .response ? MPUFamily.selfTest : .none)
    }

    private func accelerometerBits(in phase: Phase) -> RegisterValue {
        part.accelerometerBits | (phase == .response ? MPUFamily.selfTest : .none)
    }
}

// Transactions, with retries if the address was not acknowledged or arbitration was lost, as in the driver.
extension MPU6050SelfTest where Bus: ~Copyable {
    private var attempts: Int { 3 }

    /// Writes a register, unless `isWritten`, and reads it back.
    private mutating func configure(
        _ register: RegisterAddress, _ value: RegisterValue, isWritten: Bool = false
    ) throws(IMUFault) {
        if !isWritten { try write(register, value) }
        let found = try read(register)
        guard found == value.bits else {
            throw .readBack(register: register.number, wrote: value.bits, read: found)
        }
    }

    /// Checks that a register still holds the written value.
    private mutating func verify(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        guard try read(register) == value.bits else { throw .configurationLost(register: register.number) }
    }

    private mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        var attempt = 1
        while true {
            do {
                return try bus.write(register.number, value.bits)
            } catch {
                guard error.isPassing && attempt < attempts else { throw .bus(error) }
                attempt += 1
            }
        }
    }

    private mutating func read(_ register: RegisterAddress) throws(IMUFault) -> UInt8 {
        try readGroup(register, into: UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<1]))
        return buffer.registers[0]
    }

    private mutating func readGroup(
        _ register: RegisterAddress, into group: UnsafeMutableRawBufferPointer
    ) throws(IMUFault) {
        var attempt = 1
        while true {
            do {
                return try bus.read(register.number, into: group)
            } catch {
                guard error.isPassing && attempt < attempts else { throw .bus(error) }
                attempt += 1
            }
        }
    }
}

extension BusError {
    /// Whether a retry may succeed immediately. A timeout has already taken long enough.
    fileprivate var isPassing: Bool { kind == .notAcknowledged || kind == .arbitrationLost }
}

/// Timing of the self-test.
enum MPU6050SelfTestTiming {
    /// Seconds from switching the forces until the output is steady, including the gyroscope's start-up. InvenSense's
    /// own motion driver waits 0.05.
    static var settling: Double { 0.2 }
    /// Samples per phase: 0.2 s at 200 Hz.
    static var samples: Int { 40 }
}
