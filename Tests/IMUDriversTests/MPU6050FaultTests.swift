import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: a fault of the bus or the chip is a state with a deadline and a recovery, and never causes a wrong
/// sample.
@Suite struct MPU6050FaultTests {
    private let noAnswer = BusError(.notAcknowledged, code: 121)

    /// An aborted transfer, which may have consumed some bytes.
    private let broken = BusError(.inputOutput, code: 5)

    @Test("Repeats a count that fails briefly at once, and loses nothing", arguments: [1, 2])
    func passingFailure(times: Int) {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        for _ in 0..<times { rig.script.read(0x72, count: 2, failing: noAnswer) }
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 3)
        #expect(rig.status.busErrors.notAcknowledged == UInt64(times))
        #expect(rig.status.gaps == 0)
    }

    @Test("A poll that fails completely leaves the samples in the FIFO for the next one")
    func failedPoll() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        for _ in 0..<2 { rig.script.read(0x72, count: 2, failing: BusError(.timedOut)) }
        #expect(rig.poll().event == .none)
        rig.advance()
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 7)
        #expect(rig.status.gaps == 0)
    }

    @Test("A bus that fails for 0.2 s leaves the samples in the FIFO")
    func failedPolls() {
        let rig = MPU6050Rig()
        rig.stream()
        let start = rig.clock.now()
        while rig.clock.now().seconds(since: start) < 0.18 {
            rig.advance(expectingHealth: false)
            // The count, or the registers that are due for a check.
            if !rig.noteHealthCheck(failing: noAnswer, times: 3) {
                for _ in 0..<3 { rig.script.read(0x72, count: 2, failing: noAnswer) }
            }
            #expect(rig.poll().event == .none)
        }
        rig.advance()
        let due = rig.due
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count == due && due > 30)
        #expect(rig.status.gaps == 0 && rig.status.recoveries == 0)
    }

    @Test("If the bus fails for longer, the chip counts as lost; it comes back with a reported gap")
    func unplugged() throws {
        let rig = MPU6050Rig()
        rig.stream()
        let last = try #require(rig.samples.last).timestamp
        var event = SensorEvent.none
        let start = rig.clock.now()
        while event == .none && rig.clock.now().seconds(since: start) < 1 {
            rig.advance(expectingHealth: false)
            if !rig.noteHealthCheck(failing: broken, times: 3) {
                for _ in 0..<3 { rig.script.read(0x72, count: 2, failing: broken) }
            }
            event = rig.poll().event
        }
        #expect(rig.clock.now().seconds(since: start) < 0.3)
        #expect(event == .failed(.bus(BusError(.inputOutput, code: 5))))
        #expect(rig.status.state == .recovering)
        // A wrong board is plugged in, then the right one. Each fault is reported once.
        rig.script.read(0x75, 0x33)
        #expect(rig.advanceAndPoll().event == .failed(.identity(found: 0x33)))
        rig.script.read(0x75, 0x33)
        #expect(rig.advanceAndPoll().event == .none)
        guard case .streaming(let gap) = rig.stream() else {
            Issue.record("the end of the outage was not reported")
            return
        }
        #expect(gap > 0.4 && gap < rig.clock.now().seconds(since: last))
        #expect(rig.status.recoveries == 1)
        #expect(rig.status.gaps == 1)
    }

    @Test(
        "A missing adapter ends the stream at once", arguments: [.absent, .busy, .unsupported] as [BusError.Kind])
    func lastingFailure(kind: BusError.Kind) {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.script.read(0x72, count: 2, failing: BusError(kind))
        #expect(rig.poll().event == .failed(.bus(BusError(kind))))
    }

    @Test("Repeats a burst that has consumed nothing: it was not acknowledged, or the count shows it")
    func repeatedBurst() {
        for (error, isCountedAgain) in [(noAnswer, false), (broken, true)] {
            let rig = MPU6050Rig()
            rig.stream()
            rig.advance()
            let frames = TestFrame.run(rig.due)
            rig.script.expectCount(14 * frames.count)
            for _ in 0..<2 {
                rig.script.read(0x74, count: 14 * frames.count, failing: error)
                if isCountedAgain { rig.script.expectCount(14 * frames.count) }
            }
            rig.script.read(0x74, frames.flatMap(\.bytes))
            rig.script.expectRanges()
            #expect(rig.poll().event == .none)
            #expect(rig.samples.count == frames.count)
            #expect(rig.status.busErrors.total == 2)
            #expect(rig.status.busErrors.notAcknowledged == (isCountedAgain ? 0 : 2))
            #expect(rig.status.gaps == 0)
        }
    }

    @Test("Never repeats a burst that failed half-way, but restarts the FIFO")
    func failedBurst() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.script.expectCount(14 * rig.due)
        rig.script.read(0x74, count: 14 * rig.due, failing: broken)
        rig.script.expectCount(14 * rig.due - 14)
        rig.expectFIFOStart()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.isEmpty)
        rig.advance()
        rig.expectDue()
        guard case .gap(_, .bus(broken)) = rig.poll().event else {
            Issue.record("the gap was not reported")
            return
        }
        #expect(rig.samples.first?.flags.contains(.afterGap) == true)
        #expect(rig.status.gaps == 1)
    }

    @Test("Delivers what was read before a burst failed")
    func failedSecondBurst() {
        let short = MPU6050Rig(maximumReadLength: 14)
        short.bringUp()
        short.advance(lateBy: 0.07)
        let frames = TestFrame.run(short.due)
        short.script.expectCount(14 * frames.count)
        for frame in frames.dropLast() { short.script.read(0x74, frame.bytes) }
        short.script.read(0x74, count: 14, failing: broken)
        short.script.expectCount(7)
        short.script.expectRanges()
        short.expectFIFOStart()
        #expect(short.poll().event == .streaming(afterGap: 0))
        #expect(short.samples.count >= 3)
    }

    @Test("Repeated interruptions without a sample bring the chip up from scratch")
    func repeatedInterruptions() {
        let rig = MPU6050Rig()
        rig.stream()
        for attempt in 0..<3 {
            rig.advance()
            for _ in 0..<2 { rig.script.expectCount(0xFFFF) }
            if attempt < 2 { rig.expectFIFOStart() }
            let event = rig.poll().event
            #expect(event == (attempt == 2 ? .failed(.misaligned) : .none))
        }
        #expect(rig.status.state == .recovering)
    }

    @Test("Detects a reset chip by its registers, and does not deliver its samples")
    func configurationLost() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance(lateBy: 0.1, expectingHealth: false)
        rig.script.read(0x19, [0, 0, 0, 0])
        rig.script.read(0x19, [0, 0, 0, 0])
        #expect(rig.poll().event == .failed(.configurationLost(register: 0x19)))
        #expect(rig.samples.isEmpty)
        #expect(rig.status.lastFault == .configurationLost(register: 0x19))
    }

    @Test("Checks the ranges before it delivers, and does not deliver samples of another range")
    func rangeChanged() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.expectFIFO(TestFrame.run(rig.due), isDelivered: false)
        for _ in 0..<2 { rig.script.read(0x1B, [0x10, 0x10]) }
        #expect(rig.poll().event == .failed(.configurationLost(register: 0x1B)))
        #expect(rig.samples.isEmpty)
    }

    @Test("If the bus fails before the check of the ranges, the samples wait for it; without an answer they are lost")
    func rangesUnanswered() {
        let rig = MPU6050Rig()
        rig.stream()
        for isAnswered in [true, false] {
            rig.advance()
            let due = rig.due
            rig.expectFIFO(TestFrame.run(due), isDelivered: false)
            for _ in 0..<3 { rig.script.read(0x1B, count: 2, failing: noAnswer) }
            #expect(rig.poll().event == .none)
            #expect(rig.samples.isEmpty)
            let read = rig.clock.now()
            guard isAnswered else {
                var event = SensorEvent.none
                while event == .none && rig.clock.now().seconds(since: read) < 1 {
                    rig.advance(expectingHealth: false)
                    for _ in 0..<3 { rig.script.read(0x1B, count: 2, failing: noAnswer) }
                    event = rig.poll().event
                    #expect(rig.samples.isEmpty)
                }
                #expect(event == .failed(.bus(noAnswer)))
                continue
            }
            rig.advance(expectingHealth: false)
            rig.script.expectRanges()
            #expect(rig.poll().event == .none)
            #expect(rig.samples.count == due)
            #expect(rig.samples.allSatisfy { $0.timestamp < read })
        }
        #expect(rig.status.gaps == 0)
    }

    @Test("Checks every group of registers within half a second")
    func healthRound() {
        let rig = MPU6050Rig()
        rig.stream()
        let start = rig.clock.now()
        // The rig expects the groups in sequence. A missing check fails at the end of the script.
        while rig.healthGroup < 5 {
            rig.advance()
            rig.expectDue()
            rig.poll()
        }
        #expect(rig.clock.now().seconds(since: start) < 0.5)
        #expect(rig.status.state == .streaming)
    }

    @Test(
        "A register that reads wrong once counts as a bus error; a count read with it is not believed, but an overflow is",
        arguments: [nil, 14, 1036])
    func flickeringRegister(count: Int?) {
        let rig = MPU6050Rig(joinsReads: count != nil)
        rig.stream()
        rig.advance(lateBy: 0.1, expectingHealth: false)
        rig.script.read(0x19, [4, 2, 0x10, 0x10])
        if let count { rig.script.expectCount(count) }
        rig.script.expectHealth(1)
        if count == 1036 {
            rig.expectFIFOStart()
        } else {
            rig.expectDue()
        }
        #expect(rig.poll().event == .none)
        #expect(rig.status.state == .streaming)
        #expect(rig.status.misalignments == (count == 1036 ? 1 : 0))
    }

    @Test(
        "Without samples for too long, distinguishes a chip that lost its power from one that stalled",
        arguments: [true, false])
    func stalled(isAsleep: Bool) {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.script.expectCount(0)
        #expect(rig.poll().event == .none)
        rig.advance(lateBy: 0.04)
        rig.script.expectCount(0)
        if isAsleep {
            for _ in 0..<2 { rig.script.read(0x6A, [0x00, 0x40, 0x00]) }
        } else {
            for group in 0..<4 { rig.script.expectHealth(group) }
        }
        #expect(rig.poll().event == .failed(isAsleep ? .configurationLost(register: 0x6A) : .stalled))
    }

    @Test("After a pause at rest, a chip counts as stalled no sooner than in motion: one wrong count is not enough")
    func stalledAtRest() {
        let rig = MPU6050Rig()
        rig.stream()
        let start = rig.clock.now()
        while rig.reprieve == 0 && rig.clock.now().seconds(since: start) < 12 {
            rig.advance()
            rig.expectDue()
            rig.poll()
        }
        #expect(rig.reprieve > 0.06)
        rig.advance(lateBy: rig.reprieve)
        rig.script.expectCount(0)
        #expect(rig.poll().event == .none)
        rig.advance()
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 18)

        rig.advance(lateBy: rig.reprieve)
        let silent = rig.clock.now()
        var event = SensorEvent.none
        while event == .none && rig.clock.now().seconds(since: silent) < 1 {
            rig.script.expectCount(0)
            let isOver = rig.clock.now().seconds(since: silent) > 0.03
            if isOver { for group in 0..<4 { rig.script.expectHealth(group) } }
            event = rig.poll().event
            if event == .none { rig.advance() }
        }
        #expect(event == .failed(.stalled))
        #expect(rig.clock.now().seconds(since: silent) < 0.05)
    }

    @Test("A chip that repeats a frame for a third of a second counts as frozen, and no repetition is delivered")
    func frozen() {
        let rig = MPU6050Rig()
        rig.stream()
        let start = rig.clock.now()
        var event = SensorEvent.none
        var samples = 0
        while event == .none && rig.clock.now().seconds(since: start) < 3 {
            rig.advance()
            rig.expectFIFO([TestFrame](repeating: TestFrame(), count: rig.due))
            event = rig.poll().event
            samples += rig.samples.count
        }
        #expect(event == .failed(.stalled))
        #expect(rig.clock.now().seconds(since: start) < 0.5)
        #expect(samples <= 1)
    }

    @Test(
        "A frame repeated by chance is delivered, with its own timestamp, together with the next different one",
        arguments: 1...4)
    func repeatedByChance(times: Int) {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        let first = TestFrame(rotation: (1, 2, 3))
        let frames = [first] + [TestFrame](repeating: first, count: times)
        rig.advance(lateBy: 0.03)
        var all = TestFrame.run(rig.due - frames.count) + frames
        rig.expectFIFO(all)
        rig.poll()
        // The repetitions are held back; the first frame is not.
        #expect(rig.samples.count == all.count - times)
        let last = rig.samples.last?.timestamp
        rig.advance()
        all = TestFrame.run(rig.due)
        rig.expectFIFO(all)
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count == times + all.count)
        #expect(rig.samples.prefix(times).allSatisfy { $0.rotationRate.z == rig.samples[0].rotationRate.z })
        for (index, sample) in rig.samples.enumerated() {
            let since = sample.timestamp.seconds(since: last ?? sample.timestamp)
            #expect(abs(since - 0.005 * Double(index + 1)) < 0.001)
        }
        #expect(rig.status.gaps == 0 && rig.status.lastFault == nil)
    }

    @Test("Discards repetitions that exceed chance, and reports the gap")
    func frozenForAMoment() {
        let rig = MPU6050Rig()
        rig.stream()
        let start = rig.clock.now()
        var held = 0
        while rig.clock.now().seconds(since: start) < 0.1 {
            rig.advance()
            held += rig.due
            rig.expectFIFO([TestFrame](repeating: TestFrame(rotation: (1, 2, 3)), count: rig.due))
            rig.poll()
        }
        rig.advance()
        rig.expectDue()
        guard case .gap(_, .stalled) = rig.poll().event else {
            Issue.record("the gap was not reported")
            return
        }
        #expect(rig.samples.first?.flags.contains(.afterGap) == true)
        // The first of them could not be distinguished from a measurement.
        #expect(rig.status.lostSamples == UInt64(held - 1))
        #expect(rig.status.state == .streaming)
    }
}
