import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing

/// Requirement: only whole, valid frames are delivered, in SI units, with the times of their measurement.
@Suite struct MPU6050StreamingTests {
    @Test("Delivers a frame's values on their axes, in SI units")
    func values() {
        let rig = MPU6050Rig()
        rig.stream(TestFrame(acceleration: (1000, -2000, 4096), temperature: -4260, rotation: (-164, 328, -820)))
        let sample = rig.samples[0]
        let g = 9.80665
        #expect(abs(sample.acceleration.x - 1000 * g / 4096) < 1e-12)
        #expect(abs(sample.acceleration.y + 2000 * g / 4096) < 1e-12)
        #expect(abs(sample.acceleration.z - g) < 1e-12)
        #expect(abs(sample.rotationRate.x + 10 * Double.pi / 180) < 1e-12)
        #expect(abs(sample.rotationRate.y - 20 * Double.pi / 180) < 1e-12)
        #expect(abs(sample.rotationRate.z + 50 * Double.pi / 180) < 1e-12)
        #expect(abs(sample.temperature - 24.000588) < 1e-6)
        #expect(sample.flags == .rotationRate)
    }

    @Test("Timestamps are corrected by the low-pass delay, evenly spaced and earlier than the read")
    func timestamps() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.expectDue()
        rig.poll()
        #expect(rig.samples.count >= 3)
        for sample in rig.samples {
            #expect(sample.timestamp <= rig.clock.now().advanced(bySeconds: -0.0028 + 1e-9))
            #expect(sample.timestamp > rig.clock.now().advanced(bySeconds: -0.0028 - 0.03))
        }
        for (first, second) in zip(rig.samples, rig.samples.dropFirst()) {
            #expect(abs(second.timestamp.seconds(since: first.timestamp) - 0.005) < 0.0003)
        }
    }

    @Test("Reads in pieces of whole frames on a bus with short transactions")
    func splitReads() {
        let rig = MPU6050Rig(maximumReadLength: 32)
        rig.bringUp()
        for late in [0, 0.05] {
            rig.advance(lateBy: late)
            let frames = TestFrame.run(rig.due)
            rig.script.expectCount(14 * frames.count)
            for first in stride(from: 0, to: frames.count, by: 2) {
                let piece = frames[first..<min(first + 2, frames.count)]
                rig.script.read(0x74, piece.flatMap(\.bytes))
            }
            rig.script.expectRanges()
            rig.noteTaken(frames.count)
            rig.poll()
            guard late > 0 else { continue }
            // The first of them are from the gyroscope's start-up.
            #expect(rig.samples.count >= 3)
            for (sample, frame) in zip(rig.samples.reversed(), frames.reversed()) {
                #expect(abs(sample.acceleration.x - Double(frame.acceleration.0) * 9.80665 / 4096) < 1e-9)
            }
        }
    }

    @Test("Reads the ranges in one transaction with the frames, before them, and apart if that has failed, once")
    func joinedReads() {
        let rig = MPU6050Rig(joinsReads: true)
        rig.stream()
        rig.advance()
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 3)
        // A value that is wrong once is read again.
        rig.advance()
        let due = TestFrame.run(rig.due)
        rig.script.expectCount(14 * due.count)
        rig.script.read(0x1B, [0x18, 0x11])
        rig.script.expectBursts(due, isLate: false, isDelivered: false)
        rig.script.expectRanges()
        rig.noteTaken(due.count)
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count == due.count)
        // What is not acknowledged has consumed nothing.
        rig.advance()
        rig.script.expectCount(14 * rig.due)
        rig.script.read(0x1B, count: 2, failing: BusError(.notAcknowledged))
        rig.script.expectBursts(TestFrame.run(rig.due), isLate: false, isDelivered: false)
        rig.script.expectRanges()
        rig.noteTaken(rig.due)
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 3)
        rig.advance()
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.status.busErrors.total == 1 && rig.status.gaps == 0)
    }

    @Test("Samples whose ranges are wrong in the transaction with them are not delivered")
    func joinedWrongRange() {
        let rig = MPU6050Rig(joinsReads: true)
        rig.stream()
        rig.advance()
        let due = TestFrame.run(rig.due)
        rig.script.expectCount(14 * due.count)
        rig.script.read(0x1B, [0x10, 0x10])
        rig.script.expectBursts(due, isLate: false, isDelivered: false)
        for _ in 0..<2 { rig.script.read(0x1B, [0x10, 0x10]) }
        #expect(rig.poll().event == .failed(.configurationLost(register: 0x1B)))
        #expect(rig.samples.isEmpty)
    }

    @Test("A full batch leaves the rest in the FIFO, to be read at once")
    func smallBatch() {
        let rig = MPU6050Rig(capacity: 30)
        rig.stream()
        rig.advance(lateBy: 0.2)
        let frames = TestFrame.run(rig.due)
        rig.script.expectCount(14 * frames.count)
        rig.script.expectBursts(Array(frames[..<30]), isLate: true)
        let poll = rig.poll()
        #expect(rig.samples.count == 30)
        #expect(poll.next == rig.clock.now())
        rig.script.expectFIFO(Array(frames[30...]))
        rig.poll()
        #expect(rig.samples.count == frames.count - 30)
        #expect(rig.status.gaps == 0)
    }

    @Test("Polls follow the batch interval", arguments: [0.01, 0.02, 0.05])
    func pace(interval: Double) {
        var settings = IMUSettings()
        settings.batchInterval = interval
        let rig = MPU6050Rig(settings: settings)
        rig.stream()
        rig.advance()
        rig.expectDue()
        let poll = rig.poll()
        // Give or take half a sample, so that reads fall on both sides of a sample's completion.
        #expect(abs(poll.next.seconds(since: rig.clock.now()) - interval) < 0.0051)
    }

    @Test("Repeats a count that shows a partial frame, and the frames are whole")
    func countMidFrame() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.script.expectCount(14 * rig.due - 8)
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 3)
        // Partial frames twice in a row: waits a moment, reads nothing, and continues.
        rig.advance()
        rig.script.expectCount(14 * rig.due + 2)
        rig.script.expectCount(14 * rig.due + 8)
        let poll = rig.poll()
        #expect(poll.event == .none && rig.samples.isEmpty)
        #expect(poll.next.seconds(since: rig.clock.now()) < 0.0015)
        rig.advance()
        rig.expectDue()
        rig.poll()
        #expect(rig.samples.count >= 3)
        #expect(rig.status.misalignments == 0)
    }

    @Test("A count that keeps showing a partial frame means lost framing")
    func countStaysMidFrame() {
        let rig = MPU6050Rig()
        rig.stream()
        for attempt in 0..<3 {
            rig.advance()
            rig.script.expectCount(14 * rig.due + 2)
            rig.script.expectCount(14 * rig.due + 2)
            if attempt == 2 { rig.expectFIFOStart() }
            rig.poll()
            #expect(rig.samples.isEmpty)
        }
        #expect(rig.status.misalignments == 1)
        rig.advance()
        rig.expectDue()
        guard case .gap(let seconds, .misaligned) = rig.poll().event else {
            Issue.record("the gap was not reported")
            return
        }
        #expect(seconds > 0.01 && seconds < 0.1)
        #expect(rig.samples.map { $0.flags.contains(.afterGap) } == [true] + rig.samples.dropFirst().map { _ in false })
    }

    /// 60 frames are 300 ms; the chip would need an oscillator that is many times as fast.
    @Test("Repeats a count that is ahead of the clock; if it stays, delivers nothing of it", arguments: [1, 120])
    func countAheadOfClock(polls: Int) {
        let rig = MPU6050Rig()
        rig.stream()
        // The period is an assumption in the first 1.5 s, and measured after that.
        for _ in 1..<polls {
            rig.advance()
            rig.expectDue()
            rig.poll()
        }
        rig.advance()
        rig.script.expectCount(14 * 60)
        rig.expectDue()
        #expect(rig.poll().event == .none)
        #expect(rig.samples.count >= 3 && rig.status.misalignments == 0)

        rig.advance()
        rig.script.expectCount(14 * 60)
        rig.script.expectCount(14 * 62)
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.samples.isEmpty && rig.status.misalignments == 1)
        rig.advance()
        rig.expectDue()
        guard case .gap(_, .misaligned) = rig.poll().event else {
            Issue.record("the gap was not reported")
            return
        }
        #expect(rig.samples.allSatisfy { $0.timestamp <= rig.clock.now() })
    }

    @Test(
        "An overflow empties the FIFO, delivers nothing of it, and is reported as a gap", arguments: [1012, 1022, 1024])
    func overflow(count: Int) throws {
        let rig = MPU6050Rig()
        rig.stream()
        let last = try #require(rig.samples.last).timestamp
        rig.advance(lateBy: 0.5)
        rig.script.expectCount(count)
        // A count that shows a partial frame is read again.
        if count % 14 != 0 { rig.script.expectCount(1024) }
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.samples.isEmpty)
        #expect(rig.status.overflows == 1)
        #expect(rig.status.lastFault == .overflow)
        rig.advance()
        rig.expectDue()
        let event = rig.poll().event
        let gap = try #require(rig.samples.first).timestamp.seconds(since: last)
        #expect(event == .gap(gap, .overflow))
        #expect(gap > 0.5 && gap < 0.6)
        #expect(rig.status.gaps == 1)
        #expect(abs(Double(rig.status.lostSamples) - (gap / 0.005 - 1)) < 2)
        #expect(rig.status.state == .streaming)
    }

    @Test("Discards a FIFO that may have overflowed during the read")
    func overflowDuringRead() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance(lateBy: 0.3)
        rig.script.transactionTime = 0.05
        // After the first short burst it is already certain.
        rig.script.expectCount(14 * rig.due)
        rig.script.expectBursts(TestFrame.run(9), isLate: true, isDelivered: false)
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.samples.isEmpty)
        #expect(rig.status.overflows == 1)
    }

    @Test("A count beyond the FIFO's size, read twice, is invalid")
    func impossibleCount() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        for _ in 0..<2 { rig.script.expectCount(0xFFFF) }
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.samples.isEmpty)
        #expect(rig.status.misalignments == 1)
    }

    @Test("Rejects invalid frames together with all frames of the same read", arguments: [0, 2, 3])
    func misalignedFrames(position: Int) {
        let wrong = [
            TestFrame(temperature: -4260 + 801), TestFrame(temperature: -4260 - 801),
            TestFrame(acceleration: (0, 0, 0), temperature: 0, rotation: (0, 0, 0)),
            TestFrame(acceleration: (-1, -1, -1), temperature: -1, rotation: (-1, -1, -1)),
            // 0xEFEF: an empty FIFO that repeats a byte which looks like a temperature.
            TestFrame(acceleration: (-4113, -4113, -4113), temperature: -4113, rotation: (-4113, -4113, -4113)),
        ]
        for frame in wrong {
            let rig = MPU6050Rig()
            rig.stream()
            rig.advance(lateBy: 0.005)
            var frames = TestFrame.run(rig.due)
            frames[position] = frame
            rig.expectFIFO(frames, isDelivered: false)
            rig.expectFIFOStart()
            #expect(rig.poll().event == .none)
            #expect(rig.samples.isEmpty)
            #expect(rig.status.misalignments == 1)
            #expect(rig.status.lastFault == .misaligned)
        }
    }

    @Test("Detects framing lost by one byte or one value at once", arguments: [1, 2, 7])
    func slippedStream(bytes: Int) {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        let length = 14 * rig.due
        let stream = TestFrame.run(rig.due + 1).flatMap(\.bytes)
        rig.script.expectCount(length)
        rig.script.read(0x74, Array(stream[bytes..<bytes + length]))
        rig.expectFIFOStart()
        rig.poll()
        #expect(rig.samples.isEmpty)
        #expect(rig.status.misalignments == 1)
    }

    @Test("Accepts a slowly changing temperature")
    func warming() {
        let rig = MPU6050Rig()
        rig.stream()
        var temperature: Int16 = -4260
        for _ in 0..<4 {
            rig.advance()
            rig.expectFIFO(
                (0..<rig.due).map { _ in
                    temperature += 700
                    return TestFrame(temperature: temperature)
                })
            rig.poll()
            #expect(rig.samples.count >= 3)
        }
        #expect(rig.status.misalignments == 0)
    }

    @Test("A raw temperature of zero, as after waking, is no reference for the frames")
    func temperatureOfReset() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance()
        rig.expectFIFO([TestFrame(temperature: -4260 + 801)] + TestFrame.run(rig.due - 1), isDelivered: false)
        rig.expectFIFOStart(temperature: 0)
        rig.poll()
        rig.advance()
        let due = rig.due
        rig.expectDue()
        rig.poll()
        #expect(rig.samples.count == due)
        #expect(rig.status.misalignments == 1)
    }

    @Test("Flags clipped axes individually, and counts clipped samples")
    func clipping() {
        let rig = MPU6050Rig()
        rig.stream()
        rig.advance(lateBy: 0.004)
        rig.expectFIFO([
            TestFrame(acceleration: (32767, 0, 0)), TestFrame(acceleration: (0, -32768, 0)),
            TestFrame(rotation: (0, -32768, 32760)), TestFrame(acceleration: (32758, 0, 0)),
        ])
        rig.poll()
        let expected: [MotionSample.Flags] = [
            [.rotationRate, .accelerationClipped(axis: 0)], [.rotationRate, .accelerationClipped(axis: 1)],
            [.rotationRate, .rotationRateClipped(axis: 1), .rotationRateClipped(axis: 2)], .rotationRate,
        ]
        #expect(rig.samples.map(\.flags) == expected)
        #expect(rig.status.clippedSamples == 3)
        #expect(rig.status.clippedAccelerations == 2)
        #expect(rig.status.clippedRotationRates == 1)
    }
}
