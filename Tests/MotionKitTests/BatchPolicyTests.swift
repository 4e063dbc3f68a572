import BrokerTestSupport
import IMUDrivers
import MotionCore
import Testing

@testable import MotionKit

/// Requirement: pauses are long at rest and only there, and do not alternate.
@Suite struct BatchPolicyTests {
    /// A policy whose sensor is polled when it asks for it.
    private struct Rig {
        var policy = BatchPolicy()
        var now = Timestamp(seconds: 100)
        /// What the driver permits at rest beyond 20 ms.
        var reprieve = 0.07

        /// Polls for so many seconds. Returns the last pause in milliseconds.
        @discardableResult
        mutating func run(_ seconds: Double, isActive: Bool = false) -> Double {
            let end = now.advanced(bySeconds: seconds)
            var pause = 0.0
            repeat {
                var poll = IMUPoll(next: now.advanced(bySeconds: 0.02))
                poll.reprieve = reprieve
                let next = policy.next(after: poll, isActive: isActive, at: now)
                pause = (1e6 * next.seconds(since: now)).rounded() / 1000
                now = next
            } while now < end
            return pause
        }

        static func resting() -> Rig {
            var rig = Rig()
            rig.run(2)
            return rig
        }
    }

    @Test func startsShortAndGetsLongAfterASecondOfRest() {
        var rig = Rig()
        #expect(rig.run(0) == 20)
        #expect(rig.run(0.9) == 20)
        #expect(rig.run(0.2) == 90)
        #expect(rig.run(60) == 90)
    }

    @Test func getsShortWithTheFirstBatchOfActivity() {
        var rig = Rig.resting()
        #expect(rig.run(0, isActive: true) == 20)
        #expect(rig.run(10, isActive: true) == 20)
    }

    @Test func doesNotAlternate() {
        var rig = Rig.resting()
        for _ in 0..<20 {
            #expect(rig.run(0, isActive: true) == 20)
            // Noise shows a movement now and then.
            #expect(rig.run(0.9) == 20)
        }
        #expect(rig.run(0.3) == 90)
    }

    @Test func neverPausesLongerThanTheDriverPermits() {
        var rig = Rig.resting()
        rig.reprieve = 0.02
        #expect(rig.run(1) == 40)
        // No period is known, or the sensor is lost.
        rig.reprieve = 0
        #expect(rig.run(1) == 20)
    }
}

/// Requirement: the pipeline knows from the samples of one batch that something happens.
@Suite final class ActivityTests {
    private var pipeline = MotionPipeline()

    /// What the samples show: a movement, and a gesture in progress or possible.
    private func activity(_ samples: [MotionSample]) -> (movement: Bool, gesture: Bool) {
        for sample in samples { pipeline.process(sample) { _ in } }
        return (!pipeline.takeStillness(), pipeline.expectsGesture())
    }

    @Test func restIsNoActivity() {
        var movement = Movement()
        #expect(activity(movement.rest(2)) == (true, false), "the start is not at rest")
        #expect(activity(movement.rest(1)) == (false, false))
        #expect(activity([]) == (false, false))
    }

    @Test func aShakeShowsInItsFirstBatchAndStaysUntilItsEnd() {
        var movement = Movement()
        _ = activity(movement.rest(3))
        #expect(activity(movement.shake(0.02)).movement)
        _ = activity(movement.shake(1))
        #expect(activity(movement.shake(0.02)) == (true, true))
        // It is open until nothing has moved for a while.
        #expect(activity(movement.rest(0.1)).gesture)
        _ = activity(movement.rest(3))
        #expect(activity(movement.rest(1)) == (false, false))
    }

    @Test func aSoftBlowIsAPossibleTap() {
        var movement = Movement()
        _ = activity(movement.rest(3))
        var samples = movement.rest(0.05)
        samples[8].acceleration.z += 0.7
        let activity = activity(samples)
        #expect(activity == (false, true))
    }

    @Test func aTiltThatLastsIsNoActivity() {
        var movement = Movement()
        _ = activity(movement.rest(3))
        #expect(activity(movement.roll(by: 60)).movement)
        _ = activity(movement.rest(5))
        #expect(pipeline.openGestures == .tilt)
        #expect(activity(movement.rest(1)) == (false, false))
    }

    @Test func samplesThatCannotBeAndGapsAreNoRest() {
        var movement = Movement()
        _ = activity(movement.rest(3))
        #expect(activity(movement.rest(0.1)) == (false, false))
        // The sensor was away.
        _ = movement.rest(5)
        #expect(activity(movement.rest(0.1)).movement)
    }
}

/// Requirement: the sensor thread wakes up seldom at rest, and as soon as somebody wants samples as often as in motion.
@Suite(.timeLimit(.minutes(1))) struct RestingThreadTests {
    private let rig = BrokerTestSupport.Rig()

    /// The polls in so many seconds.
    private func polls(_ manager: MotionManager, in seconds: Double) async throws -> Int {
        let before = manager.loopCount
        try await Task.sleep(for: .seconds(seconds))
        return manager.loopCount - before
    }

    /// Whether it polls as often as in motion, at least as soon as the machine is not too busy.
    private func isQuick(_ manager: MotionManager) async throws -> Bool {
        for _ in 0..<40 where try await polls(manager, in: 0.4) > 10 { return true }
        return false
    }

    /// Whether it makes the pauses of rest, at least after a while.
    private func isSlow(_ manager: MotionManager) async throws -> Bool {
        for _ in 0..<20 where try await polls(manager, in: 1) < 16 { return true }
        return false
    }

    @Test func pausesAtRestUntilSomebodyWantsSamples() async throws {
        let manager = rig.manager(sensor: .virtual("rest"))
        try await manager.start()
        #expect(try await isQuick(manager))
        #expect(try await isSlow(manager))
        let handler = manager.addSampleHandler { _ in }
        #expect(try await isQuick(manager))
        handler.remove()
        manager.updateInterval = 0.05
        #expect(try await isQuick(manager))
        manager.updateInterval = 0.1
        #expect(try await isSlow(manager))
        // A restart begins as the first start did.
        manager.stop()
        try await manager.start()
        #expect(try await isQuick(manager))
    }

    @Test func statesAreRareAtRestUnlessAHandlerAsksForMore() async throws {
        let manager = rig.manager(sensor: .virtual("rest"))
        manager.restingInterval = 1
        let states = Counter()
        let handler = manager.addMotionHandler { _ in states.countUp() }
        try await manager.start()
        #expect(await eventually { states.value > 10 }, "the first seconds are no rest")
        #expect(try await isSlow(manager))
        let before = states.value
        try await Task.sleep(for: .seconds(3))
        #expect((1...5).contains(states.value - before))
        let other = manager.addMotionHandler(every: 0.2) { _ in }
        #expect(await eventually { states.value - before > 15 })
        for token in [handler, other] { token.remove() }
    }

    /// A pause that is not ended has a poll in so short a time in one of seven cases only.
    @Test func theFirstOfThemDoNotWaitForTheEndOfThePause() async throws {
        let manager = rig.manager(sensor: .virtual("rest"))
        try await manager.start()
        try await Task.sleep(for: .seconds(10))
        var early = 0
        for _ in 0..<20 where early < 3 {
            try await Task.sleep(for: .seconds(1.5))
            let before = manager.loopCount
            let handler = manager.addMeasuredSampleHandler { _ in }
            try await Task.sleep(for: .seconds(0.015))
            early = manager.loopCount > before ? early + 1 : 0
            handler.remove()
        }
        #expect(early == 3)
    }

    @Test func keepsAnIntervalOfTheSettings() async throws {
        let manager = rig.manager(sensor: .virtual("rest"))
        manager.imu.batchInterval = 0.02
        try await manager.start()
        try await Task.sleep(for: .seconds(10))
        #expect(try await isQuick(manager))
    }
}
