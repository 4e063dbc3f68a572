package import MotionCore

/// The MPU-6050's test of itself: electrostatic forces move its proof masses, and the factory has noted how far they should.
///
/// Like the driver it does what is due whenever it is polled, and never waits:
///
///     idle -> resetting -> starting -> before -> response -> after -> clearing -> done
///
/// The chip is measured at rest before the response and after it: that way a slow drift cancels, and a board that was moved
/// meanwhile is found out. At the end, and after a failure where the bus allows it, the chip is reset: asleep, as after
/// power-on. Source: RM-MPU-6000A-00 r4.2, p. 9 to 11; PS-MPU-6000A-00 r3.4, p. 12, 13.
package struct MPU6050SelfTest<Bus: RegisterBus & ~Copyable, Clock: MonotonicClock>: ~Copyable {
    /// What came of it; `nil` until it is done.
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

    /// Makes a test that has not touched the bus yet.
    package init(bus: consuming Bus, clock: Clock) {
        // The ranges that the factory's figures are for (RM p. 10, 11), at a rate that every bus carries.
        var settings = IMUSettings()
        settings.rate = 200
        settings.accelerometerRange = 8 * standardGravity
        settings.gyroscopeRange = 250 * radiansPerDegree
        self.bus = bus
        self.clock = clock
        part = MPUFamily(settings: settings)
        buffer = FrameBuffer(bytes: 14)
    }

    /// Does what is due, and says when to poll next; `nil` where the test is done and `report` is there.
    ///
    /// - Throws: what stands between the test and its end; the next `poll` begins it anew.
    package mutating func poll() throws(IMUFault) -> Timestamp? {
        do throws(IMUFault) {
            switch state {
            case .idle: return try identify()
            case .resetting: return try isResetDone() ? wake() : nextLook
            case .starting: return try start()
            case .measuring(let phase): return try measure(phase)
            case .clearing: return try isResetDone() ? finish() : nextLook
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
    /// Idle: asks who is there, and orders the reset if it is the right one.
    private mutating func identify() throws(IMUFault) -> Timestamp {
        let identity = try read(MPU6050Register.whoAmI)
        guard identity == MPU6050Value.identity else { throw .identity(found: identity) }
        return try reset(then: .resetting)
    }

    private mutating func reset(then next: State) throws(IMUFault) -> Timestamp {
        state = next
        try write(MPU6050Register.powerManagement1, MPU6050Value.deviceReset)
        deadline = clock.now().advanced(bySeconds: MPU6050Timing.resetDeadline)
        return nextLook
    }

    /// When to look again whether a reset is done.
    private var nextLook: Timestamp { clock.now().advanced(bySeconds: MPU6050Timing.resetPoll) }

    /// Resetting and clearing: whether the chip has woken to its defaults, asleep (RM p. 8, 40).
    private mutating func isResetDone() throws(IMUFault) -> Bool {
        do throws(IMUFault) {
            if try read(MPU6050Register.powerManagement1) == MPU6050Value.sleep.bits { return true }
        } catch {
            // A chip in reset may not answer; whether it comes back is for the deadline to tell.
            if case .bus(let error) = error, error.isLasting { throw .bus(error) }
        }
        guard clock.now() < deadline else { throw .deadline(.resetting) }
        return false
    }

    /// Ends the sleep that follows a reset; the clock needs a moment to settle.
    private mutating func wake() throws(IMUFault) -> Timestamp {
        state = .starting
        try write(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock)
        return clock.now().advanced(bySeconds: MPU6050Timing.clockSettling)
    }

    /// Starting: sets rate, low-pass and ranges, and reads what the factory noted.
    private mutating func start() throws(IMUFault) -> Timestamp {
        try configure(MPU6050Register.powerManagement1, MPU6050Value.gyroscopeClock, isWritten: true)
        try configure(MPU6050Register.sampleRateDivider, part.configuration.sampleRateDivider)
        try configure(MPU6050Register.configuration, part.configuration.lowPass)
        try readGroup(
            MPU6050Register.selfTestX, into: UnsafeMutableRawBufferPointer(rebasing: buffer.registers[0..<4]))
        trim = MPU6050FactoryTrim(
            x: buffer.registers[0], y: buffer.registers[1], z: buffer.registers[2], a: buffer.registers[3])
        return try enter(.before)
    }

    /// Switches the forces on or off, and leaves the proof masses and filters time to settle.
    private mutating func enter(_ phase: Phase) throws(IMUFault) -> Timestamp {
        try configure(MPU6050Register.gyroscopeConfiguration, gyroscopeBits(in: phase))
        try configure(MPU6050Register.accelerometerConfiguration, accelerometerBits(in: phase))
        statistics = RestStatistics()
        state = .measuring(phase)
        return clock.now().advanced(bySeconds: MPU6050SelfTestTiming.settling)
    }

    /// Measuring: takes a sample, and goes on to the next phase when there are enough.
    private mutating func measure(_ phase: Phase) throws(IMUFault) -> Timestamp? {
        let now = clock.now()
        try readGroup(MPU6050Register.accelerometerOutput, into: buffer.bytes)
        // What cannot be a frame never changes, and is found to be frozen in the end.
        let frame = part.frame(UnsafeRawBufferPointer(buffer.bytes), at: 0) ?? ChipFrame(ax: 0, ay: 0, az: 0)
        statistics.add(part.sample(of: frame, at: now))
        guard statistics.count >= MPU6050SelfTestTiming.samples else {
            return now.advanced(bySeconds: 1 / part.rate)
        }
        guard !statistics.isFrozen else { throw .stalled }
        // What a chip measured that has lost its supply meanwhile is worth nothing.
        try verify(MPU6050Register.gyroscopeConfiguration, gyroscopeBits(in: phase))
        try verify(MPU6050Register.accelerometerConfiguration, accelerometerBits(in: phase))
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

    /// Clearing: the chip sleeps; all there is to know is known.
    private mutating func finish() -> Timestamp? {
        report = MPU6050SelfTestReport(before: before, response: response, after: statistics, trim: trim)
        state = .done
        return nil
    }

    /// Resets the chip, unless nothing was written to it yet; the test begins anew.
    private mutating func abandon() {
        if case .idle = state { return }
        state = .idle
        // The fault that is being told weighs more than one of this last attempt.
        do throws(BusError) {
            try bus.write(MPU6050Register.powerManagement1.number, MPU6050Value.deviceReset.bits)
        } catch {}
    }

    private func gyroscopeBits(in phase: Phase) -> RegisterValue {
        part.configuration.gyroscopeRangeBits | (phase == .response ? MPU6050Value.selfTest : .none)
    }

    private func accelerometerBits(in phase: Phase) -> RegisterValue {
        part.configuration.accelerometerRangeBits | (phase == .response ? MPU6050Value.selfTest : .none)
    }
}

// Transactions: all of them may be repeated where nobody answered or the bus was lost, as in the driver.
extension MPU6050SelfTest where Bus: ~Copyable {
    private var attempts: Int { 3 }

    /// Writes a register, unless that has been done, and reads it back.
    private mutating func configure(
        _ register: RegisterAddress, _ value: RegisterValue, isWritten: Bool = false
    ) throws(IMUFault) {
        if !isWritten { try write(register, value) }
        let found = try read(register)
        guard found == value.bits else {
            throw .readBack(register: register.number, wrote: value.bits, read: found)
        }
    }

    /// Checks that a register still holds what was written to it.
    private mutating func verify(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        guard try read(register) == value.bits else { throw .configurationLost(register: register.number) }
    }

    private mutating func write(_ register: RegisterAddress, _ value: RegisterValue) throws(IMUFault) {
        var attempt = 1
        while true {
            do throws(BusError) {
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
            do throws(BusError) {
                return try bus.read(register.number, into: group)
            } catch {
                guard error.isPassing && attempt < attempts else { throw .bus(error) }
                attempt += 1
            }
        }
    }
}

extension BusError {
    /// Whether the same transaction may succeed at once: a timeout has taken long enough already.
    fileprivate var isPassing: Bool { kind == .notAcknowledged || kind == .arbitrationLost }
}

/// How the self-test measures.
enum MPU6050SelfTestTiming {
    /// Seconds from switching the forces until the output is steady, the gyroscope's start-up included; InvenSense's own
    /// motion driver waits 0.05.
    static var settling: Double { 0.2 }
    /// Samples a phase: 0.2 s of them.
    static var samples: Int { 40 }
}
