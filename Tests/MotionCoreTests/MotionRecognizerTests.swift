import MotionCore
import Testing
import VirtualIMU

/// Movement and stillness: begins at once, ends after a while, and agrees with the published state.
@Suite struct MotionRecognizerTests {
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func beginsWhenPickedUpAndEndsAtRest(rate: Double) throws {
        for hasGyroscope in [true, false] {
            var feed = TrajectoryFeed(rate: rate, mount: Self.mount, hasGyroscope: hasGyroscope)
            feed.rest(6)
            let start = feed.time
            feed.follow(Slide(axis: Vector3(0, 0, 1), distance: 0.4, duration: 1.2))
            feed.follow(Turn(axis: Vector3(1, 1, 0), angle: 1, duration: 1))
            let end = feed.time
            feed.rest(4)
            let events = feed.events(of: .motion)
            #expect(events.map(\.phase) == [.began, .ended], "\(rate) Hz")
            let began = try #require(events.first).timestamp.seconds - start
            let ended = try #require(events.last).timestamp.seconds - end
            #expect(began < 0.35, "\(rate) Hz")
            #expect(ended > 1.4 && ended < 2.8, "\(rate) Hz")
            let duration = events.last?.duration ?? 0
            #expect(abs(duration - 2) < 0.6, "\(rate) Hz")
        }
    }

    @Test func slowTurnIsMovement() {
        for (axis, hasGyroscope) in [(Vector3(0, 0, 1), true), (Vector3(1, 0, 0), true), (Vector3(1, 0, 0), false)] {
            var feed = TrajectoryFeed(hasGyroscope: hasGyroscope)
            feed.rest(6)
            // 10 °/s on average.
            feed.follow(Turn(axis: axis, angle: .pi / 3, duration: 6))
            #expect(feed.events(of: .motion).map(\.phase) == [.began])
            feed.rest(4)
            #expect(feed.events(of: .motion).map(\.phase) == [.began, .ended])
        }
    }

    @Test func ignoresNoiseBiasAndDrift() {
        var feed = TrajectoryFeed(accelerationNoise: 0.08, rotationRateNoise: 0.003)
        for index in 0..<12_000 {
            // A bias of 3 °/s, and the force drifts by 0.5 m/s² within a minute.
            feed.take(
                Vector3(0.5 * Double(index) / 12_000, 0.2, standardGravity), Vector3(0.03, -0.04, 0.02))
        }
        #expect(feed.events(of: .motion).isEmpty)
        #expect(!feed.state.isMoving)
    }

    @Test func runningMachineIsNotMovementButShakeIs() {
        for frequency in [9.0, 13, 25] {
            var feed = TrajectoryFeed()
            feed.follow(Rest(4), Shake(axis: Vector3(1, 0.3, 0.5), amplitude: 2.5, frequency: frequency, cycles: 200))
            feed.rest(3)
            #expect(feed.events(of: .motion).isEmpty, "\(frequency) Hz")
            feed.follow(
                Shake(axis: Vector3(1, 0.3, 0.5), amplitude: 15, frequency: frequency, cycles: 2 * frequency))
            #expect(feed.events(of: .motion).map(\.phase) == [.began], "\(frequency) Hz")
        }
    }

    @Test func walkingIsOneMovement() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(4), Walk(duration: 20), Rest(4))
        #expect(feed.events(of: .motion).map(\.phase) == [.began, .ended])
    }

    @Test func publishedStateAgreesWithGesture() {
        var feed = TrajectoryFeed()
        feed.rest(4)
        var agrees = true
        var isOpen = false
        for index in 0..<2000 {
            let angle = 0.3 * Double(min(max(index - 200, 0), 200)) / 200
            feed.take(
                Quaternion(roll: angle, pitch: 0, yaw: 0).unrotate(Vector3(0, 0, standardGravity)),
                Vector3(angle > 0 && angle < 0.3 ? 0.3 : 0, 0, 0))
            if let last = feed.events(of: .motion).last { isOpen = last.phase == .began }
            agrees = agrees && feed.state.isMoving == isOpen
        }
        #expect(agrees)
        #expect(feed.events(of: .motion).count == 2)
    }

    @Test func movementDuringWhichTheGestureIsEnabledIsNotReported() {
        var settings = MotionSettings()
        settings.gestures.motion.common.isEnabled = false
        var feed = TrajectoryFeed(settings: settings.gestures)
        feed.rest(4)
        feed.follow(Walk(duration: 30), seconds: 5)
        #expect(feed.events(of: .motion).isEmpty)
        #expect(feed.state.isMoving)
        settings.gestures.motion.common.isEnabled = true
        feed.pipeline.apply(settings) { _ in }
        feed.follow(Walk(duration: 30), seconds: 5)
        #expect(feed.state.isMoving)
        feed.rest(5)
        #expect(feed.events(of: .motion).isEmpty && !feed.state.isMoving)
        feed.follow(Walk(duration: 30), seconds: 5)
        #expect(feed.events(of: .motion).map(\.phase) == [.began])
    }

    @Test func appliesStillnessSetting() {
        var settings = GestureSettings()
        settings.motion.stillness = 6
        var feed = TrajectoryFeed(settings: settings)
        feed.rest(4)
        for _ in 0..<3 {
            feed.follow(Turn(axis: Vector3(0, 0, 1), angle: 1, duration: 1), Rest(4))
        }
        #expect(feed.events(of: .motion).map(\.phase) == [.began])
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore([0.002, 0.005, 0.01, 0.02, 0.05, 0.1], "m") { distance, sensitivity in
            let slide = Slide(axis: Vector3(0, 1, 0), distance: distance, duration: 0.6)
            return TrajectoryFeed.recognises(.motion, at: sensitivity, Rest(3), slide, Rest(1))
        }
    }
}
