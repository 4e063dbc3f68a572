import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: the chip is brought up by states with deadlines, within 300 ms, and every register is verified.
@Suite struct MPU6050BringUpTests {
    @Test("Writes the registers in order from the first poll to the first sample, in well under 300 ms")
    func bringUp() {
        let rig = MPU6050Rig()
        let start = rig.clock.now()
        #expect(rig.status.state == .asleep)
        rig.script.expectIdentification()
        rig.advanceAndPoll()
        #expect(rig.status.state == .resetting)
        rig.script.expectReset()
        rig.advanceAndPoll()
        #expect(rig.status.state == .waking)
        rig.script.expectConfiguration()
        rig.advanceAndPoll()
        #expect(rig.status.state == .settling)
        rig.noteFIFOStart()
        var event = SensorEvent.none
        while rig.samples.isEmpty && rig.clock.now().seconds(since: start) < 0.3 {
            rig.advance()
            rig.expectDue()
            event = rig.poll().event
        }
        #expect(rig.clock.now().seconds(since: start) < 0.3)
        #expect(event == .streaming(afterGap: 0))
        #expect(rig.status.state == .streaming)
        #expect(rig.driver.info.identity == 0x68)
        #expect(rig.driver.info.nominalRate == 200)
        #expect(rig.driver.info.bandwidth == 98)
    }

    @Test("Does not use the bus before the first poll")
    func noInputOutputInInit() {
        let rig = MPU6050Rig()
        #expect(rig.script.remaining == 0)
        #expect(rig.status.state == .asleep)
    }

    @Test("Discards samples from the gyroscope's start-up")
    func startUpIsDiscarded() {
        let rig = MPU6050Rig()
        rig.bringUp()
        // At 20 ms and 40 ms it is too early for any frame, even for zeros from registers that are not filled yet.
        let zeros = TestFrame(acceleration: (0, 0, 0), temperature: 0, rotation: (0, 0, 0))
        for frame in [zeros, TestFrame()] {
            rig.advance()
            rig.expectFIFO([TestFrame](repeating: frame, count: rig.due))
            #expect(rig.poll().event == .none)
            #expect(rig.samples.isEmpty)
        }
        #expect(rig.status.state == .settling)
    }

    @Test(
        "Refuses another chip, reports it once, and retries after growing pauses",
        arguments: [0x33, 0x47, 0xFF] as [UInt8])
    func wrongIdentity(found: UInt8) {
        let rig = MPU6050Rig()
        var pauses: [Double] = []
        for attempt in 0..<7 {
            rig.script.read(0x75, found)
            let poll = rig.advanceAndPoll()
            #expect(poll.event == (attempt == 0 ? .failed(.identity(found: found)) : .none))
            pauses.append(poll.next.seconds(since: rig.clock.now()))
        }
        #expect(rig.status.state == .recovering)
        for (pause, expected) in zip(pauses, [0.025, 0.05, 0.1, 0.2, 0.2, 0.2, 0.2]) {
            #expect(abs(pause - expected) < 1e-6)
        }
        rig.bringUp()
        #expect(rig.status.state == .settling)
    }

    @Test("A poll before the pause has passed does nothing")
    func earlyPollWhileRecovering() {
        let rig = MPU6050Rig()
        rig.script.read(0x75, 0x42)
        let next = rig.advanceAndPoll().next
        #expect(rig.poll().next == next)
    }

    @Test("Tries a chip that does not answer three times at once, then again after a pause; counts each failure")
    func absentChip() {
        let rig = MPU6050Rig()
        for _ in 0..<3 { rig.script.read(0x75, failing: BusError(.notAcknowledged, code: 121)) }
        #expect(rig.advanceAndPoll().event == .failed(.bus(BusError(.notAcknowledged, code: 121))))
        #expect(rig.status.busErrors.notAcknowledged == 3)
        #expect(rig.status.busErrors.total == 3)
    }

    @Test("Tries a failed transfer three times at once, and a timeout twice, but once while the bus stays stuck")
    func repetition() {
        let rig = MPU6050Rig()
        for _ in 0..<3 { rig.script.read(0x75, failing: BusError(.inputOutput, code: 5)) }
        #expect(rig.advanceAndPoll().event == .failed(.bus(BusError(.inputOutput, code: 5))))
        for _ in 0..<2 { rig.script.read(0x75, failing: BusError(.timedOut, code: 110)) }
        #expect(rig.advanceAndPoll().event == .failed(.bus(BusError(.timedOut, code: 110))))
        rig.script.read(0x75, failing: BusError(.timedOut, code: 110))
        #expect(rig.advanceAndPoll().event == .none)
        #expect(rig.status.busErrors.inputOutput == 3 && rig.status.busErrors.timedOut == 3)
        // It answers again: the next timeout is repeated.
        rig.script.expectIdentification()
        rig.advanceAndPoll()
        rig.script.read(0x6B, failing: BusError(.timedOut, code: 110))
        rig.script.read(0x6B, 0x80)
        #expect(rig.advanceAndPoll().event == .none)
        #expect(rig.status.state == .resetting)
    }

    @Test("Does not repeat a failure that does not pass", arguments: [.absent, .accessDenied] as [BusError.Kind])
    func noRepetition(kind: BusError.Kind) {
        let rig = MPU6050Rig()
        rig.script.read(0x75, failing: BusError(kind))
        #expect(rig.advanceAndPoll().event == .failed(.bus(BusError(kind))))
        #expect(rig.status.busErrors.total == 1)
    }

    @Test("Waits for a chip that does not answer while it resets")
    func noAnswerDuringReset() {
        let rig = MPU6050Rig()
        rig.script.expectIdentification()
        rig.advanceAndPoll()
        for _ in 0..<3 { rig.script.read(0x6B, failing: BusError(.notAcknowledged)) }
        #expect(rig.advanceAndPoll().event == .none)
        rig.script.read(0x6B, 0x80)
        #expect(rig.advanceAndPoll().event == .none)
        #expect(rig.status.state == .resetting)
        rig.script.expectReset()
        rig.advanceAndPoll()
        #expect(rig.status.state == .waking)
    }

    @Test("A reset that never ends hits its deadline")
    func resetDeadline() {
        let rig = MPU6050Rig()
        rig.script.expectIdentification()
        rig.advanceAndPoll()
        let start = rig.clock.now()
        var event = SensorEvent.none
        while event == .none && rig.clock.now().seconds(since: start) < 1 {
            rig.script.read(0x6B, 0x80)
            event = rig.advanceAndPoll().event
        }
        #expect(event == .failed(.deadline(.resetting)))
        #expect(rig.clock.now().seconds(since: start) < 0.2)
    }

    @Test(
        "Retries a register that does not keep its value until the deadline, then reports it",
        arguments: [0x1A, 0x1C] as [UInt8])
    func readBack(register: UInt8) {
        let rig = MPU6050Rig()
        rig.script.expectIdentification()
        rig.script.expectReset()
        rig.advanceAndPoll()
        rig.advanceAndPoll()
        let registers: [(UInt8, UInt8)] = [(0x6C, 0), (0x19, 4), (0x1A, 2), (0x1B, 0x18), (0x1C, 0x10)]
        var wrote: UInt8 = 0
        for attempt in 0..<2 {
            rig.script.read(0x6B, 0x01)
            for (number, value) in registers where number != 0x1C || register == 0x1C {
                if number > register && number < 0x6B { continue }
                rig.script.write(number, value)
                rig.script.read(number, number == register ? 0x55 : value)
                if number == register { wrote = value }
            }
            if attempt == 0 {
                rig.script.write(0x6B, 0x01)
                #expect(rig.advanceAndPoll().event == .none)
            }
        }
        let event = rig.advanceAndPoll(lateBy: 0.2).event
        #expect(event == .failed(.readBack(register: register, wrote: wrote, read: 0x55)))
    }

    @Test("Detects a chip that stays asleep")
    func staysAsleep() {
        let rig = MPU6050Rig()
        rig.script.expectIdentification()
        rig.script.expectReset()
        rig.advanceAndPoll()
        rig.advanceAndPoll()
        rig.script.read(0x6B, 0x40)
        #expect(rig.advanceAndPoll(lateBy: 0.2).event == .failed(.readBack(register: 0x6B, wrote: 0x01, read: 0x40)))
    }

    @Test("Stopping puts the chip to sleep, and the next poll starts it again")
    func stopAndRestart() throws {
        let rig = MPU6050Rig()
        rig.stream()
        #expect(rig.status.state == .streaming)
        rig.script.write(0x6B, 0x41)
        try rig.driver.stop()
        #expect(rig.status.state == .asleep)
        try rig.driver.stop()
        rig.bringUp()
        var event = SensorEvent.none
        for _ in 0..<10 where event == .none {
            rig.advance()
            rig.expectDue()
            event = rig.poll().event
        }
        #expect(event == .streaming(afterGap: 0))
        #expect(rig.samples.first?.flags.contains(.afterGap) == true)
        #expect(rig.status.recoveries == 0)
        #expect(rig.status.gaps == 0)
    }

    @Test("Stopping throws if the bus fails, and the driver is asleep all the same")
    func failingStop() {
        let rig = MPU6050Rig()
        rig.stream()
        for _ in 0..<2 { rig.script.write(0x6B, 0x41, failing: BusError(.timedOut)) }
        #expect(throws: BusError(.timedOut)) { try rig.driver.stop() }
        #expect(rig.status.state == .asleep)
    }
}
