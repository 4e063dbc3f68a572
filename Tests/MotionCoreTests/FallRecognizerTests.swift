import MotionCore
import Testing
import VirtualIMU

/// Falls: a long one begins in the air, a short one at its impact, and every one is closed.
@Suite struct FallRecognizerTests {
    private static let tilted = Posed(Quaternion(roll: 0.7, pitch: -0.4, yaw: 0.2))
    /// Sensor axes that are the body's in another order and with other signs.
    private static let mount = Matrix3(Vector3(0, 0, -1), Vector3(-1, 0, 0), Vector3(0, 1, 0))

    @Test func dropBeginsInAirAndEndsAtImpact() throws {
        var feed = TrajectoryFeed()
        feed.rest(3)
        let start = feed.time
        feed.follow(Drop(height: 0.8, bounces: 0), Rest(1))
        let events = feed.events(of: .fall)
        #expect(events.map(\.phase) == [.began, .ended])
        let began = try #require(events.first)
        let ended = try #require(events.last)
        // 0.8 m takes 0.404 s.
        #expect(began.timestamp.seconds - start > 0.15 && began.timestamp.seconds - start < 0.26)
        #expect(ended.timestamp.seconds - start > 0.404 && ended.timestamp.seconds - start < 0.65)
        #expect(abs((ended.duration ?? 0) - 0.404) < 0.025)
        #expect(abs((ended.height ?? 0) - 0.8) < 0.1)
        #expect((ended.strength ?? 0) > 6 * standardGravity)
        #expect(ended.reason == nil)
    }

    @Test(arguments: [20.0, 25, 50, 100, 400, 1000])
    func recognisesDropAtEverySampleRate(rate: Double) {
        for height in rate < 25 ? [0.5, 1, 1.8] : [0.3, 0.5, 1, 1.8] {
            var feed = TrajectoryFeed(rate: rate, mount: Self.mount)
            feed.follow(Self.tilted, seconds: 3)
            feed.follow(Drop(height: height, bounces: 0), Rest(1.5))
            let events = feed.events(of: .fall)
            #expect(events.map(\.phase) == [.began, .ended], "\(height) m at \(rate) Hz")
            let duration = (2 * height / standardGravity).squareRoot()
            #expect(abs((events.last?.duration ?? 0) - duration) < 0.02 + 1 / rate, "\(height) m at \(rate) Hz")
        }
    }

    @Test(arguments: [true, false])
    func recognisesShortDropByImpact(hasGyroscope: Bool) {
        var feed = TrajectoryFeed(hasGyroscope: hasGyroscope)
        feed.rest(3)
        let start = feed.time
        feed.follow(Drop(height: 0.1, bounces: 0), Rest(1))
        let events = feed.events(of: .fall)
        #expect(events.map(\.phase) == [.began, .ended])
        let began = events.first?.timestamp.seconds ?? 0
        #expect(began - start > 0.142)
        let duration = events.last?.duration ?? 0
        #expect(abs(duration - 0.143) < 0.025)
    }

    @Test func ignoresTinyDrop() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Drop(height: 0.005, bounces: 0), Rest(2))
        #expect(feed.events(of: .fall).isEmpty)
    }

    @Test func recognisesFallOfSpinningBoard() {
        for radius in [0.005, 0.015, 0.025] {
            var feed = TrajectoryFeed()
            feed.rest(3)
            for _ in 0..<80 { feed.take(Vector3(10 * 10 * radius, 0.3, -0.2), Vector3(0, 7.07, 7.07)) }
            for _ in 0..<3 { feed.take(Vector3(0, 30, 70), .zero) }
            feed.rest(1)
            #expect(feed.events(of: .fall).map(\.phase) == [.began, .ended], "\(radius) m")
        }
    }

    @Test func recognisesThrowsButNotHops() {
        for (height, spin, isFall) in [(0.03, 0.0, false), (0.05, 0, false), (0.5, 0, true), (0.8, 6.3, true)] {
            var feed = TrajectoryFeed()
            feed.follow(Rest(3), Throw(height: height, spin: spin), Rest(2))
            #expect(feed.events(of: .fall).map(\.phase) == (isFall ? [.began, .ended] : []), "\(height) m")
        }
    }

    @Test func doesNotTakeShakingOrWalkingForFall() {
        var feed = TrajectoryFeed()
        feed.rest(3)
        for frequency in [2.0, 3, 5] {
            for axis in [Vector3(0, 0, 1), Vector3(1, 0, 0.3)] {
                feed.follow(Shake(axis: axis, amplitude: 1.5 * standardGravity, frequency: frequency, cycles: 8))
                feed.rest(2)
            }
        }
        feed.follow(Walk(duration: 20))
        #expect(feed.events(of: .fall).isEmpty)
    }

    @Test func longBounceIsAnotherFallWithoutCooldown() {
        for (cooldown, count) in [(0.0, 2), (1.0, 1)] {
            var settings = GestureSettings()
            settings.fall.common.cooldown = cooldown
            var feed = TrajectoryFeed(settings: settings)
            feed.follow(Rest(3), Drop(height: 1.2, restitution: 0.5, bounces: 1), Rest(2))
            let began = feed.events(of: .fall).filter { $0.phase == .began }.count
            #expect(began == count)
        }
        // The usual bounce of a board does not fly for that long.
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Drop(height: 0.5), Rest(2))
        #expect(feed.events(of: .fall).map(\.phase) == [.began, .ended])
    }

    @Test func cancelsFallWithoutLanding() {
        var feed = TrajectoryFeed()
        feed.rest(3)
        for _ in 0..<60 { feed.take(Vector3(0.3, 0, 0.2), .zero) }
        // Back to rest without an impact.
        feed.rest(2)
        var events = feed.events(of: .fall)
        #expect(events.map(\.phase) == [.began, .cancelled])
        #expect(events.last?.reason == .tooWeak)
        feed.events = []
        feed.rest(2)
        for _ in 0..<500 { feed.take(Vector3(0.3, 0, 0.2), .zero) }
        feed.rest(2)
        events = feed.events(of: .fall)
        #expect(events.map(\.phase) == [.began, .cancelled])
        #expect(events.last?.reason == .tooLong)
    }

    @Test func fallInterruptsShake() {
        var feed = TrajectoryFeed()
        feed.follow(Rest(3), Shake(axis: Vector3(1, 0, 0), amplitude: 2 * standardGravity, frequency: 5, cycles: 4))
        feed.follow(Drop(height: 2, bounces: 0), Rest(1))
        let phases = feed.events.filter { [.shake, .fall].contains($0.gesture) }.map { ($0.gesture, $0.phase) }
        #expect(phases.contains { $0 == (.shake, .cancelled) || $0 == (.shake, .ended) })
        #expect(phases.contains { $0 == (.fall, .ended) })
        if let fall = phases.firstIndex(where: { $0 == (.fall, .began) }) {
            #expect(!phases[fall...].contains { $0.0 == .shake && $0.1 == .ended })
        }
    }

    @Test func higherSensitivityCatchesAllThatLowerDoes() {
        expectHigherSensitivityCatchesMore([0.02, 0.05, 0.08, 0.12, 0.2, 0.3, 0.5], "m") { height, sensitivity in
            TrajectoryFeed.recognises(
                .fall, at: sensitivity, Rest(3), Drop(height: height, contact: 0.03, bounces: 0), Rest(1))
        }
    }

    @Test func appliesSettingsDuringFall() {
        var feed = TrajectoryFeed()
        feed.rest(3)
        feed.follow(Drop(height: 1, bounces: 0), seconds: 0.3)
        var settings = MotionSettings()
        settings.gestures.fall.common.sensitivity = 2
        feed.pipeline.apply(settings) { _ in }
        for _ in 0..<30 { feed.take(.zero, .zero) }
        feed.take(Vector3(0, 0, 70), .zero)
        feed.rest(1)
        #expect(feed.events(of: .fall).map(\.phase) == [.began, .ended])
    }

    @Test func reportsNearMissReasons() {
        var feed = TrajectoryFeed()
        feed.rest(3)
        for _ in 0..<32 { feed.take(Vector3(0.5, 0, 0), .zero) }
        feed.rest(2)
        #expect(feed.misses.contains { $0.gesture == .fall && $0.reason == .tooShort && $0.value < $0.limit })
        // Up and down with 3 g, then free: the board was not released from rest.
        feed.misses = []
        for index in 0..<600 { feed.take(Vector3(0, 0, index / 20 % 2 == 0 ? 35 : 6), .zero) }
        for _ in 0..<90 { feed.take(Vector3(0.5, 0, 0), .zero) }
        #expect(feed.misses.contains { $0.gesture == .fall && $0.reason == .noQuietBefore && $0.value > $0.limit })
        #expect(feed.events(of: .fall).isEmpty)
    }
}
