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

        init(rest seconds: Double = 3, _ shake: ShakeSettings = ShakeSettings(), rate: Double = 200) {
            var settings = GestureSettings()
            settings.fall.common.isEnabled = false
            settings.shake = shake
            feed = TrajectoryFeed(settings: settings, rate: rate, hasGyroscope: false, accelerationNoise: 0.01)
            rest(seconds)
        }

        /// Follows a force along the line, and one upward, as functions of the seconds since the call.
        mutating func move(_ seconds: Double, upward: (Double) -> Double = { _ in 0 }, _ force: (Double) -> Double) {
            for index in 0..<Int((seconds * feed.rate).rounded()) {
                let time = Double(index) / feed.rate
                feed.take((Self.up * (1 + upward(time)) + Self.line * force(time)) * standardGravity, .zero)
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
            board.move(14, upward: { before * sin(2 * .pi * 2.2 * $0) }, { _ in 0 })
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
        for (pause, count) in [(0.15, 1), (0.5, 2), (1.2, 2)] {
            var board = Feed()
            board.swing(8, peak: 3)
            board.rest(pause)
            board.swing(8, peak: 3)
            board.rest(2)
            let began = board.phases.filter { $0 == .began }.count
            #expect(began == count, "\(pause) s")
        }
    }

    /// Somebody who shakes again and again with short pauses loses none of the shakes.
    @Test(arguments: [2.5, 3.7, 5])
    func shakesWithShortPausesAreEachOne(frequency: Double) {
        for pause in [0.3, 0.4, 0.5, 0.6, 0.8, 1] {
            var board = Feed()
            for _ in 0..<6 {
                board.swing(2 * frequency, peak: 2, frequency: frequency)
                board.rest(pause)
            }
            board.rest(2)
            #expect(board.phases == [GesturePhase](repeating: .began, count: 6).flatMap { [$0, .ended] }, "\(pause) s")
        }
    }

    /// A walker's arm swings on between two shakes, which stand out from it.
    @Test func walkerShakesTwice() {
        for (walk, peak) in [(0.4, 1.4), (0.45, 1.4), (0.45, 1.7), (0.5, 1.4), (0.5, 1.7)] {
            for frequency in [3.0, 4] {
                var board = Feed()
                board.move(15) { time in
                    [5.0, 10].contains { time >= $0 && time < $0 + 1 }
                        ? peak * sin(2 * .pi * frequency * time) : walk * sin(2 * .pi * 1.8 * time)
                }
                board.rest(2)
                let began = board.phases.filter { $0 == .began }.count
                #expect(began == 2, "\(walk) g, shakes of \(peak) g at \(frequency) Hz")
            }
        }
    }

    /// Neither a shake nor one that was too long keeps a gentle one away after a long rest.
    @Test func gentleShakeAfterRestIsShake() {
        var shake = ShakeSettings()
        shake.common.sensitivity = 10
        for count in [0.0, 8, 48] {
            var board = Feed(rest: 3, shake)
            board.swing(count, peak: 2)
            board.rest(60)
            board.swing(1, peak: 0.45, frequency: 2.5)
            board.move(1.5) { -0.29 * sin(2 * .pi * 2.5 * $0) }
            board.rest(2)
            #expect(board.phases.suffix(2) == [.began, .ended], "after \(count) swings")
            #expect(board.phases.count == (count > 0 ? 4 : 2), "after \(count) swings")
        }
    }

    /// Once to and fro after a shake is no shake together with its last swings.
    @Test func swingsOfLastShakeAreNoPartOfNext() {
        for (count, isShake) in [(2.0, false), (4, true)] {
            for pause in [0.3, 0.34, 0.38] {
                var board = Feed()
                board.swing(6, peak: 1.5, frequency: 2.5)
                board.rest(pause)
                board.swing(count, peak: 2.25, frequency: 2.5)
                board.rest(2)
                #expect(
                    board.phases == [.began, .ended] + (isShake ? [.began, .ended] : []), "\(count) swings, \(pause) s")
                #expect(board.reasons == (isShake ? [] : [.tooFewReversals]), "\(count) swings, \(pause) s")
            }
        }
    }

    /// Within the cooldown, the next shake is lost, and says why.
    @Test func shakeWithinCooldownLeavesNearMiss() {
        var shake = ShakeSettings()
        shake.common.cooldown = 2
        var board = Feed(rest: 3, shake)
        for _ in 0..<2 {
            board.swing(8, peak: 3)
            board.rest(0.6)
        }
        board.rest(2)
        #expect(board.phases == [.began, .ended])
        #expect(board.reasons == [.tooSoon])
    }

    /// A movement that was refused just before a shake was another one, and says why.
    @Test func refusedMovementBeforeShakeLeavesNearMiss() {
        for (peak, frequency) in [(0.42, 4.0), (0.38, 3), (0.36, 5), (0.32, 4)] {
            for next in [0.8, 3] {
                var board = Feed()
                board.swing(1, peak: 0.36, frequency: frequency)
                board.move(1.5 / frequency) { -peak * sin(2 * .pi * frequency * $0) }
                board.rest(0.5)
                board.swing(8, peak: next)
                board.rest(2)
                #expect(board.phases == [.began, .ended], "\(peak) g, then \(next) g")
                #expect(board.reasons == [.tooWeak], "\(peak) g, then \(next) g")
            }
        }
    }

    /// What goes on after a shake, weaker than it, says why it is no other one, although a shake follows.
    @Test func movementThatGoesOnBeforeShakeLeavesNearMiss() {
        var board = Feed()
        board.swing(8, peak: 3)
        board.swing(8, peak: 0.9)
        board.rest(0.5)
        board.swing(8, peak: 3)
        board.rest(2)
        #expect(board.phases == [.began, .ended, .began, .ended])
        #expect(board.reasons == [.noQuietBefore])
    }

    /// What goes on after a shake, weaker than it, is no other one when it becomes a little stronger again.
    @Test func movementThatGoesOnAfterShakeIsNoOther() {
        for (isGoingOn, isShake) in [(true, false), (false, true)] {
            var board = Feed()
            board.swing(8, peak: 3)
            if isGoingOn { board.swing(4, peak: 0.9) } else { board.rest(0.5) }
            board.swing(6, peak: 0.4)
            board.swing(8, peak: 0.95)
            board.rest(2)
            #expect(board.phases == [.began, .ended] + (isShake ? [.began, .ended] : []), "\(isGoingOn)")
            #expect(board.reasons == (isShake ? [] : [.noQuietBefore]), "\(isGoingOn)")
        }
    }

    // MARK: - Pace

    /// A motor that starts at once is quicker than any hand, at every sample rate that shows it.
    @Test func quickerThanHandIsNotShake() {
        for (frequency, isShake) in [(5.0, true), (9, false), (10, false), (12, false), (16, false), (20, false)] {
            for (rate, start) in [(50.0, 3.0), (50, 3.02), (100, 3.01), (200, 3), (200, 3.005), (1000, 3.007)] {
                for peak in [1.0, 2] {
                    var board = Feed(rest: start, rate: rate)
                    board.swing(6 * frequency, peak: peak, frequency: frequency)
                    board.rest(1.5)
                    let given = "\(frequency) Hz, \(peak) g, \(start) s at \(rate) Hz"
                    #expect(board.phases.contains(.began) == isShake, "\(given)")
                    #expect(isShake || !board.reasons.isEmpty, "\(given)")
                }
            }
        }
    }

    /// A force that rises and falls evenly changes less from cell to cell than a blow, so that only its pace tells.
    @Test func quickerThanHandIsNotShakeWithoutJumps() {
        for (frequency, isShake) in [(8.0, true), (10, false)] {
            var board = Feed()
            board.move(4) { 4 / .pi * asin(sin(2 * .pi * frequency * $0)) }
            board.rest(1.5)
            #expect(board.phases == (isShake ? [.began, .ended] : []), "\(frequency) Hz")
            #expect(board.reasons == (isShake ? [] : [.wrongPace]), "\(frequency) Hz")
        }
    }

    @Test func slowerThanHandIsNotShake() {
        for (frequency, isShake) in [(1.1, false), (1.2, false), (1.5, true)] {
            for peak in [0.8, 1.6] {
                var board = Feed()
                board.swing(8, peak: peak, frequency: frequency)
                board.rest(1.5)
                #expect(board.phases.contains(.began) == isShake, "\(frequency) Hz, \(peak) g")
                #expect(isShake || board.reasons == [.wrongPace], "\(frequency) Hz, \(peak) g")
            }
        }
    }

    // MARK: - What a shake does not follow

    /// A hand hits a table: the blow and its rebounds, half waves of so many seconds and so many g.
    @Test func ringingOfBlowIsNotShake() {
        for rebounds in [
            [(0.02, 6.0), (0.1, 2.5), (0.08, 2.3), (0.1, 2), (0.1, 1.6)],
            [(0.04, 5), (0.12, 2.5), (0.12, 2.5), (0.14, 2.2), (0.12, 2)],
            [(0.04, 5), (0.06, 3.5), (0.1, 2.5), (0.12, 2.5), (0.14, 2.2), (0.12, 2)],
        ] {
            var board = Feed()
            board.move(0.3) { 0.8 * sin(.pi * $0 / 0.3) }
            var sign = -1.0
            for (seconds, peak) in rebounds {
                board.move(seconds) { sign * peak * sin(.pi * $0 / seconds) }
                sign = -sign
            }
            board.rest(2)
            #expect(board.phases.isEmpty, "\(rebounds)")
            #expect(board.reasons.contains(.tooPeaky), "\(rebounds)")
        }
    }

    /// After a shake that was too long, the next one needs a pause.
    @Test func shakeAfterTooLongOneNeedsPause() throws {
        for (pause, isShake) in [(1.0, false), (2, false), (3.2, true)] {
            var board = Feed()
            board.swing(48, peak: 2)
            board.rest(pause)
            board.swing(8, peak: 2)
            board.rest(2)
            #expect(board.phases == [.began, .cancelled] + (isShake ? [.began, .ended] : []), "after \(pause) s")
            guard !isShake else { continue }
            let miss = try #require(board.feed.misses.last { $0.gesture == .shake })
            #expect(miss.reason == .noQuietBefore && miss.unit == .seconds, "after \(pause) s")
            #expect(miss.value < miss.limit && abs(miss.value - pause) < 0.2, "after \(pause) s")
        }
    }

    /// Nor is a gentle one kept away, although its swings are too weak to count as what goes on.
    @Test func gentleShakeAfterTooLongOneNeedsOnlyPause() {
        for (pause, isShake) in [(1.0, false), (8, true)] {
            var shake = ShakeSettings()
            shake.common.sensitivity = 10
            var board = Feed(rest: 3, shake)
            board.swing(48, peak: 2)
            board.rest(pause)
            board.swing(8, peak: 0.3, frequency: 2.5)
            board.rest(2)
            #expect(board.phases == [.began, .cancelled] + (isShake ? [.began, .ended] : []), "after \(pause) s")
        }
    }

    /// A pause that was long enough, before slow movement that goes on, is not told as the one that is missing.
    @Test func pauseBeforeWhatGoesOnIsNotTold() throws {
        var board = Feed(rest: 10)
        board.swing(16, peak: 0.45, frequency: 1.1)
        board.swing(1, peak: 1.05, frequency: 1.1)
        board.swing(3, peak: -0.45, frequency: 1.1)
        board.swing(8, peak: 1.05)
        board.rest(2)
        #expect(board.phases.isEmpty)
        let miss = try #require(board.feed.misses.last { $0.gesture == .shake })
        #expect(miss.reason == .noQuietBefore && miss.unit == .seconds)
        #expect(miss.value == 0 && miss.limit == 3)
    }

    /// Brushing, sanding: bouts too short to be too long. They are shakes until they have gone on for a while.
    @Test func boutsThatGoOnAreNotShakes() {
        var board = Feed()
        for _ in 0..<20 {
            board.swing(16, peak: 1.5)
            board.rest(0.7)
        }
        let late = board.events.filter { $0.phase == .began && $0.timestamp.seconds > 103 + 15 }
        #expect(late.isEmpty)
        board.rest(3)
        board.swing(8, peak: 1.5)
        board.rest(1.5)
        #expect(board.phases.last == .ended)
        #expect(board.reasons.contains(.noQuietBefore))
    }
}
