import MotionCore
import Testing
import VirtualIMU

/// Flips: every held side once, half turns as one flip, nothing on an edge.
@Suite struct FlipRecognizerTests {
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))
    private static let axes = [Vector3(1, 0, 0), Vector3(-1, 0, 0), Vector3(0, 1, 0), Vector3(0, -1, 0)]

    /// The upward side after a turn of a flat board by `angle` about `axis`.
    private static func side(after axis: Vector3, angle: Double) -> BodySide {
        BodySide(nearestTo: Quaternion(angle: angle, axis: axis).unrotate(Vector3(0, 0, 1)))
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func reportsEverySide(rate: Double) {
        for hasGyroscope in [true, false] {
            for (axis, angle) in Self.axes.flatMap({ axis in [0.5, 1].map { (axis, $0 * Double.pi) } }) {
                for duration in [0.4, 1.5] {
                    var feed = TrajectoryFeed(rate: rate, mount: Self.mount, hasGyroscope: hasGyroscope)
                    feed.follow(Rest(2), Turn(axis: axis, angle: angle, duration: duration), Rest(2))
                    let events = feed.events(of: .flip)
                    #expect(events.count == 1, "\(rate) Hz, \(axis), \(angle), \(duration) s, \(hasGyroscope)")
                    #expect(events.first?.phase == .recognized)
                    #expect(events.first?.from == .plusZ)
                    #expect(events.first?.to == Self.side(after: axis, angle: angle))
                    #expect(abs((events.first?.angle ?? 0) - angle) < 1e-9)
                }
            }
        }
    }

    @Test func recognisesSlowFlips() {
        for angle in [0.5 * Double.pi, .pi] {
            var feed = TrajectoryFeed()
            feed.follow(Rest(2), Turn(axis: Vector3(0, 1, 0), angle: angle, duration: 10), Rest(2))
            #expect(feed.events(of: .flip).map(\.angle) == [angle])
        }
    }

    @Test func sideHeldInBetweenMakesTwoFlips() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(2), Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5), Rest(1))
        feed.follow(Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5), Rest(1))
        #expect(feed.events(of: .flip).map(\.to) == [.plusY, .minusZ])
        feed.events = []
        // A shorter rest in between does not count.
        feed.follow(Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5), Rest(0.1))
        feed.follow(Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5), Rest(1))
        #expect(feed.events(of: .flip).map(\.angle) == [.pi])
        #expect(feed.misses.contains { $0.gesture == .flip && $0.reason == .notStill })
    }

    @Test func reportsNothingOnEdge() {
        var feed = TrajectoryFeed(accelerationNoise: 0.3)
        feed.follow(Rest(2), Turn(axis: Vector3(1, 0, 0), angle: .pi / 4, duration: 1), Rest(3))
        for _ in 0..<10 {
            feed.follow(Turn(axis: Vector3(1, 0, 0), angle: 0.04, duration: 0.5), Rest(1))
            feed.follow(Turn(axis: Vector3(1, 0, 0), angle: -0.04, duration: 0.5), Rest(1))
        }
        #expect(feed.events(of: .flip).isEmpty)
    }

    @Test func doesNotTakeShakingOrFlatTurnForFlip() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(2), Shake(axis: Vector3(1, 0, 0), amplitude: 30, frequency: 4, cycles: 12))
        feed.follow(Turn(axis: Vector3(0, 0, 1), angle: 3, duration: 1), Rest(2))
        #expect(feed.events(of: .flip).isEmpty)
    }

    @Test func appliesHoldTimeAndSensitivity() {
        // A hold time longer than the rest, then a short one.
        var settings = MotionSettings()
        settings.gestures.flip.holdTime = 3
        var feed = TrajectoryFeed(settings: settings.gestures)
        feed.follow(Rest(4), Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5), Rest(1))
        #expect(feed.events(of: .flip).isEmpty)
        settings.gestures.flip.holdTime = 0.3
        feed.pipeline.apply(settings) { _ in }
        feed.rest(1)
        #expect(feed.events(of: .flip).count == 1)
        let turn = Turn(axis: Vector3(1, 0, 0), angle: .pi / 2, duration: 0.5)
        expectHigherSensitivityCatchesMore([0.02, 0.05, 0.1, 0.15, 0.2, 0.3], "rad") { wobble, sensitivity in
            settings.gestures.flip.common.sensitivity = sensitivity
            var feed = TrajectoryFeed(settings: settings.gestures)
            feed.follow(
                Rest(2), turn, Oscillation(axis: Vector3(1, 0, 0), amplitude: wobble, frequency: 2, duration: 4))
            return !feed.events(of: .flip).isEmpty
        }
    }
}

/// Tilts: begun beyond the angle, ended below it, with the true angle, even if the board is shaken.
@Suite struct TiltRecognizerTests {
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func reportsTrueAngle(rate: Double) throws {
        for hasGyroscope in [true, false] {
            for degrees in [35.0, 50, 120] {
                var feed = TrajectoryFeed(rate: rate, mount: Self.mount, hasGyroscope: hasGyroscope)
                feed.rest(3)
                let start = feed.time
                let turn = Turn(axis: Vector3(1, -1, 0), angle: degrees * radiansPerDegree, duration: 1)
                feed.follow(turn, Rest(2))
                feed.follow(Turn(axis: Vector3(1, -1, 0), angle: -degrees * radiansPerDegree, duration: 1), Rest(1.5))
                let events = feed.events(of: .tilt)
                #expect(events.map(\.phase) == [.began, .ended], "\(rate) Hz, \(degrees)°")
                let began = try #require(events.first)
                let now = turn.motion(at: began.timestamp.seconds - start).attitude.inclination(to: .identity)
                // Without a gyroscope it waits until the angle has settled.
                let error = (hasGyroscope ? 3.0 : 5) * radiansPerDegree
                #expect(abs((began.angle ?? 0) - now) < error, "\(rate) Hz, \(degrees)°")
                #expect((events.last?.angle ?? 1) < 25 * radiansPerDegree)
                #expect((events.last?.duration ?? 0) > 2 && (events.last?.duration ?? 0) < 4)
            }
        }
    }

    @Test func staysSteadyWhileShakingWalkingAndAtLimit() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Shake(axis: Vector3(1, 0, 0), amplitude: 20, frequency: 4, cycles: 12), Walk(duration: 10))
        feed.rest(2)
        #expect(feed.events(of: .tilt).isEmpty)
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: 33 * radiansPerDegree, duration: 1), Rest(1))
        for _ in 0..<5 {
            feed.follow(Oscillation(axis: Vector3(0, 1, 0), amplitude: 0.07, frequency: 1, duration: 3))
            feed.follow(Shake(axis: Vector3(1, 0, 0), amplitude: 15, frequency: 4, cycles: 8))
        }
        #expect(feed.events(of: .tilt).map(\.phase) == [.began])
    }

    /// A tilt begins beyond the angle, but ends only when the body is put back farther: beyond the hysteresis.
    @Test func tiltEndsBelowHysteresisOnly() {
        var feed = TrajectoryFeed()
        feed.rest(3)
        var last = 0.0
        for (degrees, expected) in [
            (28.5, []), (31.5, [GesturePhase.began]), (28.5, [.began]), (26.5, [.began]), (33, [.began]),
            (23.5, [.began, .ended]), (28.5, [.began, .ended]), (31.5, [.began, .ended, .began]),
        ] {
            let angle = (degrees - last) * radiansPerDegree
            feed.follow(Turn(axis: Vector3(0.8, -0.6, 0), angle: angle, duration: 0.8), Rest(1.5))
            last = degrees
            #expect(feed.events(of: .tilt).map(\.phase) == expected, "\(degrees)°")
        }
    }

    @Test func newReferenceEndsTilt() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Turn(axis: Vector3(0, 1, 0), angle: 1, duration: 1), Rest(1))
        feed.pipeline.takeReference()
        feed.rest(1)
        var phases = feed.events(of: .tilt).map(\.phase)
        #expect(phases == [.began, .ended])
        // Heading does not matter; another tilt does.
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: -1, duration: 1), Rest(1))
        phases = feed.events(of: .tilt).map(\.phase)
        #expect(phases == [.began, .ended, .began])
        let angle = feed.events(of: .tilt).last?.angle ?? 0
        #expect(abs(angle - 1) < 0.6)
    }

    @Test func doesNotTakeHeadingForTilt() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Turn(axis: Vector3(0, 0, 1), angle: 3, duration: 1), Rest(1))
        #expect(feed.events(of: .tilt).isEmpty)
    }

    @Test func appliesSettings() {
        var settings = MotionSettings()
        settings.gestures.tilt.angle = 60 * radiansPerDegree
        var feed = TrajectoryFeed(settings: settings.gestures)
        feed.follow(Rest(3), Turn(axis: Vector3(0, 1, 0), angle: 50 * radiansPerDegree, duration: 1), Rest(1))
        #expect(feed.events(of: .tilt).isEmpty)
        settings.gestures.tilt.angle = 40 * radiansPerDegree
        feed.pipeline.apply(settings) { _ in }
        // Nothing has moved.
        feed.rest(1)
        #expect(feed.events(of: .tilt).isEmpty)
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: -50 * radiansPerDegree, duration: 1), Rest(1))
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: 50 * radiansPerDegree, duration: 1))
        #expect(feed.events(of: .tilt).map(\.phase) == [.began])
    }

    @Test func tiltEndsWhenThePolicyTakesAnotherReference() {
        var settings = MotionSettings()
        var feed = TrajectoryFeed(settings: settings.gestures)
        feed.follow(Rest(3), Turn(axis: Vector3(0, 1, 0), angle: 50 * radiansPerDegree, duration: 1))
        settings.reference = .start
        feed.pipeline.apply(settings) { _ in }
        feed.rest(10)
        #expect(feed.events(of: .tilt).map(\.phase) == [.began, .ended] && feed.state.tilt < 1 * radiansPerDegree)
    }

    @Test func reportsNearMissReasons() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Turn(axis: Vector3(0, 1, 0), angle: 28 * radiansPerDegree, duration: 1))
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: -28 * radiansPerDegree, duration: 1))
        #expect(feed.misses.contains { $0.gesture == .tilt && $0.reason == .tooSmallAngle && $0.value < $0.limit })
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: 34 * radiansPerDegree, duration: 0.25))
        feed.follow(Turn(axis: Vector3(0, 1, 0), angle: -34 * radiansPerDegree, duration: 0.25), Rest(1))
        #expect(feed.misses.contains { $0.gesture == .tilt && $0.reason == .tooShort && $0.value < $0.limit })
        #expect(feed.events(of: .tilt).isEmpty)
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore([0.05, 0.1, 0.2, 0.4, 0.8], "s") { seconds, sensitivity in
            TrajectoryFeed.recognises(
                .tilt, at: sensitivity, Rest(2), Turn(axis: Vector3(0, 1, 0), angle: 0.8, duration: 0.2),
                Rest(seconds), Turn(axis: Vector3(0, 1, 0), angle: -0.8, duration: 0.2), Rest(1))
        }
    }
}
