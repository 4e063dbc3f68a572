import Foundation
import MotionCore
import Testing

/// Each gate of shakes with movements that differ in nothing else: one that it lets pass and one that only it refuses.
@Suite struct ShakeGateTests {
    /// A board that lies tilted and is moved along one line; forces in g. Falls are off, so that they exclude nothing.
    private struct Feed: ~Copyable {
        var feed: TrajectoryFeed
        static let up = Vector3(0.36, 0.48, 0.8)
        static let line = Vector3(0.8, -0.6, 0)

        init(rest seconds: Double = 3, _ shake: ShakeSettings = ShakeSettings()) {
            var settings = GestureSettings()
            settings.fall.common.isEnabled = false
            settings.shake = shake
            feed = TrajectoryFeed(settings: settings, hasGyroscope: false, accelerationNoise: 0.01)
            rest(seconds)
        }

        /// Follows a force along the line as a function of the seconds since the call.
        mutating func move(_ seconds: Double, _ force: (Double) -> Double) {
            for index in 0..<Int((seconds * 200).rounded()) {
                feed.take((Self.up + Self.line * force(Double(index) / 200)) * standardGravity, .zero)
            }
        }

        mutating func rest(_ seconds: Double) { move(seconds) { _ in 0 } }

        mutating func free(_ seconds: Double) {
            for _ in 0..<Int((seconds * 200).rounded()) { feed.take(.zero, .zero) }
        }

        /// Swings to and fro, each half a period.
        mutating func swing(_ count: Double, peak: Double, frequency: Double = 4) {
            move(0.5 * count / frequency) { peak * sin(2 * .pi * frequency * $0) }
        }

        var events: [GestureEvent] { feed.events(of: .shake) }
        var phases: [GesturePhase] { events.map(\.phase) }
        var reasons: [NearMiss.Reason] { feed.misses.filter { $0.gesture == .shake }.map(\.reason) }
    }

    /// What follows a fall at once is bouncing, however much it looks like a shake.
    @Test func ignoresShakeStraightAfterFall() {
        for (pause, isShake) in [(0.3, false), (1.6, true)] {
            var board = Feed()
            board.free(0.35)
            board.rest(pause)
            board.swing(4, peak: 9, frequency: 5)
            board.rest(1.5)
            #expect(board.phases == (isShake ? [.began, .ended] : []), "after \(pause) s")
            #expect(board.reasons.contains(.partOfFall) == !isShake, "after \(pause) s")
        }
    }

    @Test func fourSwingsConfirmShake() {
        for (count, end) in [(3.0, GesturePhase.cancelled), (4, .ended), (5, .ended)] {
            var board = Feed()
            board.swing(count, peak: 5)
            board.rest(1.5)
            #expect(board.phases == [.began, end], "\(count) swings")
            #expect(board.events.last?.reversals == Int(count) - 1, "\(count) swings")
        }
    }

    /// A movement that was too weak for many swings does not become a shake.
    @Test func longMovementDoesNotBecomeShake() {
        for (count, isShake) in [(4.0, true), (18, false)] {
            var board = Feed()
            board.swing(count, peak: 0.46)
            board.swing(6, peak: 0.85)
            board.rest(1.5)
            #expect(board.phases == (isShake ? [.began, .ended] : []), "\(count) swings")
        }
    }

    /// Without a quiet moment in the last 12 s, a shake must stand out.
    @Test func unquietShakeMustStandOut() {
        for (before, isShake) in [(0.1, true), (0.33, true), (0.9, false)] {
            var board = Feed(rest: 1)
            // Up and down, not along the line of the shake.
            for index in 0..<2800 {
                let force = before * sin(2 * .pi * 2.2 * Double(index) / 200)
                board.feed.take(Feed.up * (standardGravity * (1 + force)), .zero)
            }
            board.swing(8, peak: 2.6)
            board.rest(1.5)
            #expect(board.phases.contains(.began) == isShake, "\(before) g")
        }
    }

    /// Even after a quiet time, a shake does not begin in the middle of a stronger movement in another direction.
    @Test func ignoresShakeInMiddleOfStrongerMovement() {
        var shake = ShakeSettings()
        shake.common.sensitivity = 10
        for (push, isShake) in [(0.5, true), (3.5, false)] {
            var board = Feed(rest: 3, shake)
            for index in 0..<160 {
                let across = index < 90 ? min(push, 0.35) : index < 150 ? push : 0
                board.feed.take((Feed.up + Vector3(-0.48, -0.64, 0.6) * across) * standardGravity, .zero)
            }
            board.swing(8, peak: 2.5)
            board.rest(1.5)
            #expect(board.phases.contains(.began) == isShake, "\(push) g")
        }
    }

    /// A shake after which weaker swings continue is over, and the swings do not continue it.
    @Test func weakSwingsDoNotContinueShake() {
        for (peak, isOver) in [(0.9, true), (1.8, false)] {
            var board = Feed()
            board.swing(8, peak: 3)
            board.swing(16, peak: peak)
            board.rest(2)
            #expect(board.phases == [.began, .ended], "\(peak) g")
            let seconds = (board.events.last?.timestamp.seconds ?? 0) - (board.events.first?.timestamp.seconds ?? 0)
            #expect((seconds < 1.6) == isOver, "\(peak) g: \(seconds) s")
        }
    }

    @Test func nextShakeNeedsQuietAfterLast() {
        for (pause, count) in [(0.5, 1), (1.2, 2)] {
            var board = Feed()
            board.swing(8, peak: 3)
            board.rest(pause)
            board.swing(8, peak: 3)
            board.rest(2)
            let began = board.phases.filter { $0 == .began }.count
            #expect(began == count, "\(pause) s")
        }
    }
}
