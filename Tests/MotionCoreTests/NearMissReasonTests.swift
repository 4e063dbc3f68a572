import Foundation
import MotionCore
import Testing
import VirtualIMU

/// Requirement: a near miss names what a person can change about the movement, in figures that make sense.
@Suite struct NearMissReasonTests {
    private typealias Movement = @Sendable (Double) -> Vector3

    /// Feeds linear acceleration, from and to rest, and returns what was almost a gesture.
    private static func misses(
        _ gesture: Gesture, _ parts: [(seconds: Double, movement: Movement)],
        settings: MotionSettings = MotionSettings()
    ) -> (misses: [NearMiss], events: [GestureEvent]) {
        var feed = MovementFeed(settings)
        feed.rest(3)
        for part in parts {
            for index in 0..<Int((part.seconds * feed.rate).rounded()) {
                let force = Vector3(0, 0, standardGravity) + part.movement(Double(index) / feed.rate)
                feed.take(
                    MotionSample(
                        timestamp: Timestamp(seconds: feed.time), acceleration: force, rotationRate: .zero,
                        flags: .rotationRate))
                feed.time += 1 / feed.rate
            }
        }
        feed.rest(2)
        return (feed.misses.filter { $0.gesture == gesture }, feed.events(of: gesture))
    }

    private static func sine(_ peak: Double, _ frequency: Double, _ axis: Vector3 = Vector3(0.8, 0.6, 0)) -> Movement {
        { axis * (peak * sin(2 * .pi * frequency * $0)) }
    }

    private func shake(_ seconds: Double, _ movement: @escaping Movement) throws -> NearMiss {
        let result = Self.misses(.shake, [(seconds, movement)])
        #expect(result.events.isEmpty)
        return try #require(result.misses.last)
    }

    // MARK: Shakes

    @Test func shakeOfThreeSwingsLacksFourth() throws {
        let miss = try shake(0.3, Self.sine(10, 5))
        #expect(miss.reason == .tooFewReversals && miss.unit == .one)
        #expect(miss.value == 3 && miss.limit == 4)
    }

    @Test func hardShakeOfTwoSwingsLacksThird() throws {
        let miss = try shake(0.2, Self.sine(25, 5))
        #expect(miss.reason == .tooFewReversals && miss.value == 2 && miss.limit == 3)
    }

    /// So hard that it begins with the third swing, and then it is over.
    @Test func shakeThatBeginsAndStopsIsTooShort() {
        let events = Self.misses(.shake, [(0.3, Self.sine(25, 5))]).events
        #expect(events.map(\.phase) == [.began, .cancelled])
        #expect(events.last?.reason == .tooShort && events.last?.reversals == 2)
    }

    @Test func gentleShakeLacksStrength() throws {
        let miss = try shake(1.4, Self.sine(5, 3.5))
        #expect(miss.reason == .tooWeak && miss.unit == .acceleration)
        #expect(miss.value > 3 && miss.value < miss.limit && miss.limit < 7)
    }

    @Test func circleIsNotAlongOneLine() throws {
        let miss = try shake(1.5) {
            Vector3(8 * sin(2 * .pi * 3.5 * $0), 8 * cos(2 * .pi * 3.5 * $0) * min(1, 5 * $0), 0)
        }
        #expect(miss.reason == .notAlongOneLine && miss.unit == .angle)
        #expect(miss.value > 35 * radiansPerDegree && miss.value < 60 * radiansPerDegree && miss.value > miss.limit)
    }

    /// Strong, but one swing a second.
    @Test func slowSwingsHaveTheirTime() throws {
        let miss = try shake(4, Self.sine(5, 0.9))
        #expect(miss.reason == .wrongPace && miss.unit == .seconds)
        #expect(abs(miss.value - 0.55) < 0.06 && miss.limit == 0.39)
    }

    /// No hand reaches more than 40 m/s²: it is no limit that a person could reach.
    @Test func limitsAreWithinReachOfHand() {
        var seen: Set<NearMiss.Reason> = []
        for peak in [3.0, 6, 12, 25] {
            for frequency in [0.8, 1.5, 2.5, 4, 6, 9, 13] {
                for axis in [Vector3(1, 0, 0), Vector3(0, 0, 1), Vector3(0, 0.6, 0.8)] {
                    for swings in [2.5, 3, 4.2, 9] {
                        let seconds = swings / frequency / 2
                        let parts: [(Double, Movement)] = [
                            (
                                seconds,
                                { t in
                                    Self.sine(peak, frequency, axis)(t)
                                        + Self.sine(0.3 * peak, 2.7 * frequency, Vector3(0.36, -0.48, 0.8))(t)
                                }
                            )
                        ]
                        for miss in Self.misses(.shake, parts).misses {
                            seen.insert(miss.reason)
                            #expect(miss.unit != .acceleration || !(miss.limit > 40), "\(miss)")
                        }
                    }
                }
            }
        }
        #expect(seen.isSuperset(of: [.tooWeak, .tooFewReversals]), "\(seen)")
    }

    // MARK: Other gestures

    @Test func pushIsSetInMotion() throws {
        // A knock, after which the board slides on.
        let parts: [(Double, Movement)] = [
            (0.02, { Vector3(0, 0, -14 * sin(.pi * $0 / 0.02)) }), (0.1, { _ in Vector3(0, 0, -3.6) }),
        ]
        let miss = try #require(Self.misses(.tap, parts).misses.first)
        #expect(miss.reason == .setInMotion && miss.unit == .acceleration && miss.value > miss.limit, "\(miss)")
    }

    @Test func tapThatDoesNotStandOutIsNotWeak() throws {
        var settings = MotionSettings()
        settings.gestures.tap.common.sensitivity = 1
        // A machine hums with 1 m/s² until the knock.
        let parts: [(Double, Movement)] = [
            (3, Self.sine(1, 37, Vector3(0, 0, 1))), (0.01, { Vector3(0, 0, -5 * sin(.pi * $0 / 0.01)) }),
        ]
        let result = Self.misses(.tap, parts, settings: settings)
        let miss = try #require(result.misses.last, "\(result)")
        #expect(miss.timestamp.seconds > 11 && miss.reason == .noQuietBefore && miss.value > miss.limit, "\(result)")
    }

    @Test func turningBoardHasRate() throws {
        var feed = MovementFeed()
        feed.rest(3)
        let wobble = Superposed(
            Turn(axis: Vector3(0, 0, 1), angle: 4, duration: 2),
            MotionSequence([Rest(1), Tap(axis: Vector3(0, 0, -1), amplitude: 20), Rest(1)]))
        feed.move(wobble, seconds: 2)
        feed.rest(1)
        let miss = try #require(feed.misses.first { $0.gesture == .tap })
        #expect(miss.reason == .noQuietBefore && miss.unit == .rate && miss.value > miss.limit, "\(miss)")
    }

    /// A blow among violent movements: it was strong enough, but did not stand out.
    @Test func impactThatDoesNotStandOutIsNotWeak() throws {
        var settings = MotionSettings()
        settings.gestures.impact.threshold = 15
        let parts: [(Double, Movement)] = [
            (2, Self.sine(12, 5)), (0.01, { Vector3(0, 0, -18 * sin(.pi * $0 / 0.01)) }), (0.2, { _ in .zero }),
        ]
        let misses = Self.misses(.impact, parts, settings: settings).misses
        let miss = try #require(misses.last)
        #expect(miss.reason == .noQuietBefore && miss.value > miss.limit, "\(misses)")
    }

    @Test func fallAfterPushMustLastLonger() throws {
        let fall: Movement = { _ in Vector3(0, 0, -0.95 * standardGravity) }
        let parts: [(Double, Movement)] = [
            (0.2, { Vector3(0, 0, 14 * sin(.pi * $0 / 0.2)) }), (0.26, fall),
            (0.3, { Vector3(0, 0, 7 * sin(.pi * $0 / 0.3)) }),
        ]
        let miss = try #require(Self.misses(.fall, parts).misses.first)
        #expect(miss.reason == .tooShort && miss.value < miss.limit, "\(miss)")
        #expect(miss.limit > 0.3)
    }

    /// Told once, whether the side is held at last or left.
    @Test(arguments: [false, true])
    func sideThatIsNotHeldStillIsToldInTime(leaves: Bool) {
        let x = Vector3(1, 0, 0)
        var feed = MovementFeed()
        feed.move(Rest(3), Turn(axis: x, angle: .pi / 2, duration: 0.5))
        // It sways by 29°.
        for _ in 0..<4 {
            feed.move(Turn(axis: x, angle: 0.5, duration: 0.25), Turn(axis: x, angle: -0.5, duration: 0.25))
        }
        #expect(feed.events(of: .flip).isEmpty)
        #expect(feed.reasons(.flip) == [.notStill])
        if leaves { feed.move(Turn(axis: x, angle: .pi / 2, duration: 0.5)) }
        feed.rest(2)
        #expect(feed.events(of: .flip).map(\.to) == [leaves ? .minusZ : .plusY])
        #expect(feed.reasons(.flip) == [.notStill])
    }

    @Test func slowTurnHasRate() throws {
        var settings = MotionSettings()
        settings.gestures.turn.mode = .free
        var feed = MovementFeed(settings)
        feed.move(Rest(3), Turn(axis: Vector3(0, 0, 1), angle: 0.9, duration: 3), Rest(1))
        let miss = try #require(feed.misses.first { $0.gesture == .turn && $0.reason == .tooWeak })
        #expect(miss.unit == .rate && miss.value < miss.limit)
    }
}
