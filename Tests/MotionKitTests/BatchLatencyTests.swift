import IMUDrivers
import MotionCore
import MotionTestSupport
import Testing
import VirtualIMU

@testable import MotionKit

/// Requirement: the pauses at rest delay neither shakes nor taps by more than the polls of a short pause differ.
@Suite struct BatchLatencyTests {
    /// A movement that repeats after so many seconds, with a rest before each time that is long enough for long pauses.
    private struct Spaced: Trajectory {
        let movement: VirtualTrajectory
        let period: Double
        /// No multiple of a pause.
        let rest = 12.0137

        var duration: Double { .infinity }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            let cycle = (time / (period + rest)).rounded(.down)
            let time = max(0, time - cycle * (period + rest) - rest)
            return movement.trajectory.motion(at: cycle * period + time, from: pose)
        }
    }

    /// When each event is known, seconds, on a host that polls as the sensor thread does and is up to 3 ms late. Expects at most
    /// 16 polls in the last second of each rest if the pauses are long then, at least 40 otherwise.
    private static func events(
        of movement: Spaced, batch: Double?, seconds: Double
    ) -> [(event: GestureEvent, time: Double)] {
        var settings = IMUSettings()
        settings.batchInterval = batch
        let clock = ManualClock()
        let chip = VirtualIMUChip(trajectory: movement, start: clock.now())
        var driver = MPU6050(
            bus: VirtualBus(chip, clock: clock), clock: clock, settings: settings, line: NoDataReadyLine())
        var pipeline = MotionPipeline()
        var policy = BatchPolicy()
        var samples = SampleBatch(capacity: 128)
        var events: [(GestureEvent, Double)] = []
        var polls = 0
        let start = clock.now()
        var random: UInt64 = 7
        let end = clock.now().advanced(bySeconds: seconds)
        while clock.now() < end {
            let poll = driver.poll(into: &samples)
            for index in 0..<samples.count {
                pipeline.process(samples[index]) { events.append(($0, clock.now().seconds)) }
            }
            samples.removeAll()
            let cycle = clock.now().seconds(since: start)
                .truncatingRemainder(dividingBy: movement.period + movement.rest)
            if cycle > movement.rest - 1, cycle < movement.rest { polls += 1 }
            let next = policy.next(after: poll, &pipeline, wantsSamples: false, at: clock.now())
            random = random &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
            clock.advance(to: next.advanced(bySeconds: 0.003 * Double(random >> 11) / 9_007_199_254_740_992))
        }
        let rests = seconds / (movement.period + movement.rest)
        #expect(batch == nil ? Double(polls) <= 16 * rests : Double(polls) >= 40 * rests, "\(polls)")
        return events
    }

    /// By how much the pauses at rest delay the beginning of each gesture of a movement that repeats after `period` seconds, in
    /// ascending order. Twenty times.
    private func delays(of movement: VirtualTrajectory, every period: Double, _ gesture: Gesture) -> [Double] {
        let movement = Spaced(movement: movement, period: period)
        let times = [0.02, nil].map { batch in
            Self.events(of: movement, batch: batch, seconds: 20 * (period + movement.rest))
                .filter { $0.event.gesture == gesture && [.began, .recognized].contains($0.event.phase) }.map(\.time)
        }
        #expect(times[0].count == times[1].count)
        return zip(times[0], times[1]).map { $1 - $0 }.sorted()
    }

    @Test(arguments: [(.shake, 5), (.demo, 9.5)] as [(VirtualTrajectory, Double)])
    func shakesBeginAsEarly(movement: VirtualTrajectory, period: Double) {
        let delays = delays(of: movement, every: period, .shake)
        #expect(delays.count >= 19)
        // The polls come at other times, up to a short pause sooner or later.
        #expect(delays.allSatisfy { abs($0) < 0.025 }, "\(delays)")
        #expect(abs(delays.reduce(0, +) / Double(delays.count)) < 0.006, "\(delays)")
    }

    @Test(arguments: [VirtualTrajectory.tap, .softTap, .doubleTap])
    func tapsFromRestAreHardlyLater(movement: VirtualTrajectory) {
        let delays = delays(of: movement, every: 3, .tap)
        #expect(delays.count >= 19)
        #expect(delays[delays.count / 2] < 0.006, "\(delays)")
        #expect(delays.allSatisfy { $0 < 0.03 }, "\(delays)")
    }

    /// What is decided by the first samples of a movement waits for the end of the pause.
    @Test(
        arguments: [
            (.bump, 4, .impact), (.carry, 20, .motion), (.flickLeft, 4, .flick), (.turnLeft, 3, .turn),
            (.fall, 6, .fall),
        ] as [(VirtualTrajectory, Double, Gesture)])
    func nothingWaitsLongerThanThePause(movement: VirtualTrajectory, period: Double, gesture: Gesture) {
        let delays = delays(of: movement, every: period, gesture)
        #expect(delays.count >= 19)
        #expect(delays.allSatisfy { $0 < 0.09 }, "\(delays)")
        #expect(delays[delays.count / 2] < 0.045, "\(delays)")
    }
}
