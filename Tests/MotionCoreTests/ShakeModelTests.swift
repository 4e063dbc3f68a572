import Foundation
import MotionCore
import Testing

/// What the model takes for a shake: movements of everyday life and of sport that begin out of rest like a shake, and
/// shakes that differ from them.
@Suite struct ShakeModelTests {
    /// A tilted board at 100 Hz without a gyroscope; forces in g.
    private struct Feed: ~Copyable {
        var feed: TrajectoryFeed
        static let up = Vector3(0.36, 0.48, 0.8)
        static let level = Vector3(0.8, -0.6, 0)
        static let side = Vector3(0.48, 0.64, -0.6)

        init(sensitivity: Int = 5, rest seconds: Double = 4) {
            var settings = GestureSettings()
            settings.shake.common.sensitivity = sensitivity
            feed = TrajectoryFeed(settings: settings, hasGyroscope: false, accelerationNoise: 0.01)
            move(seconds) { _ in .zero }
        }

        /// Follows a force as a function of the seconds since the call.
        mutating func move(_ seconds: Double, _ force: (Double) -> Vector3) {
            for index in 0..<Int((seconds * 200).rounded()) {
                feed.take((Self.up + force(Double(index) / 200)) * standardGravity, .zero)
            }
        }

        /// Moves, then rests until a shake would be over.
        mutating func moveAndRest(_ seconds: Double, _ force: (Double) -> Vector3) {
            move(seconds, force)
            move(1.5) { _ in .zero }
        }

        var events: [GestureEvent] { feed.events(of: .shake) }
        var phases: [GesturePhase] { events.map(\.phase) }
        var reasons: [NearMiss.Reason] { feed.misses.filter { $0.gesture == .shake }.map(\.reason) }
    }

    /// Feet push up as hard as they like, but cannot pull a body down; a hand shakes both ways.
    @Test(arguments: [2.6, 3.0, 3.4])
    func tellsStairsAtRunFromUprightShake(perSecond: Double) {
        for (down, isShake) in [(1.1, false), (2.6, true)] {
            var board = Feed()
            board.moveAndRest(3) { time in
                let wave = sin(2 * .pi * perSecond * time)
                let along = wave > 0 ? 2.6 * pow(wave, 1.5) : down * wave
                return Feed.up * along + Feed.level * (0.15 * sin(.pi * perSecond * time))
            }
            #expect(board.phases.contains(.began) == isShake, "\(down) g down")
        }
    }

    @Test(arguments: [4.5, 5.0, 5.5])
    func doesNotTakeBrushingForShake(frequency: Double) {
        for peak in [0.35, 0.5, 0.65] {
            var board = Feed()
            board.moveAndRest(6) { time in
                let size = peak * (1 + 0.15 * sin(1.3 * time))
                return Feed.level * (size * sin(2 * .pi * frequency * time))
                    + Feed.side * (0.3 * size * sin(2 * .pi * frequency * time + 0.7))
            }
            #expect(board.phases.isEmpty, "\(peak) g")
        }
    }

    @Test func doesNotTakeClappingForShake() {
        for perSecond in [2.5, 3.5, 4.5] {
            var board = Feed()
            board.moveAndRest(4) { time in
                let since = (time * perSecond).truncatingRemainder(dividingBy: 1) / perSecond
                let blow = 3 * exp(-0.5 * pow((since - 0.06) / 0.015, 2))
                let rebound = exp(-0.5 * pow((since - 0.1) / 0.02, 2))
                return Feed.level * (blow - rebound - 0.4 * sin(2 * .pi * perSecond * time))
            }
            #expect(board.phases.isEmpty, "\(perSecond) a second")
        }
    }

    /// One to-and-fro a second is not a shake, however strong and at any sensitivity; two are.
    @Test func slowMovementIsNotShake() {
        for (frequency, isShake) in [(0.9, false), (1, false), (2, true)] {
            var board = Feed(sensitivity: 10)
            board.moveAndRest(4) { Feed.level * (2 * sin(2 * .pi * frequency * $0)) }
            #expect(board.phases.contains(.began) == isShake, "\(frequency) Hz")
            #expect(isShake || board.reasons.contains(.wrongPace), "\(frequency) Hz")
        }
    }

    /// A movement that is certain begins with its third swing, one that is less certain with a later one.
    @Test func certainShakeBeginsWithThirdSwing() throws {
        var reversals: [Int] = []
        for peak in [3.0, 0.75] {
            var board = Feed()
            board.moveAndRest(1.6) { Feed.level * (peak * sin(2 * .pi * 4 * $0)) }
            #expect(board.phases == [.began, .ended], "\(peak) g")
            reversals.append(try #require(board.events.first?.reversals))
        }
        #expect(reversals[0] == 2)
        #expect(reversals[1] > 2)
    }

    /// A recording that begins in the middle of brushing or running has no time before it that could have been quiet.
    @Test func middleOfMovementIsNotShake() {
        for (frequency, peak) in [(4.5, 0.6), (2.7, 1.3)] {
            var board = Feed(rest: 0)
            board.moveAndRest(5) { Feed.up * (peak * sin(2 * .pi * frequency * $0 + 0.6)) }
            #expect(board.phases.isEmpty, "\(frequency) Hz")
        }
    }

    /// The rows that `Scripts/fit-shake` fits to are the moments at which the recognizer decides.
    @Test func candidatesAreMomentsOfDecision() throws {
        var candidates = ShakeCandidates()
        var rows: [[Float]] = []
        func feed(from start: Double, seconds: Double, _ force: (Double) -> Double) {
            for index in 0..<Int(seconds * 100) {
                let acceleration = (Feed.up + Feed.level * force(Double(index) / 100)) * standardGravity
                let time = start + Double(index) / 100
                candidates.update(acceleration, at: Timestamp(seconds: 50 + time)) { rows.append(Array($0)) }
            }
        }
        feed(from: 0, seconds: 4) { _ in 0 }
        feed(from: 4, seconds: 1) { 2 * sin(2 * .pi * 4 * $0) }
        feed(from: 5, seconds: 2) { _ in 0 }
        // After a gap.
        feed(from: 9, seconds: 1) { _ in 0 }
        #expect(rows.allSatisfy { $0.count == ShakeCandidates.columns })
        let restarts = rows.filter { $0[3] < 0 }.map { $0[0] }
        #expect(restarts == [0, 9])
        let decisions = rows.filter { $0[3] > 0 }
        let first = try #require(decisions.first)
        // The third swing at 4 Hz begins a quarter of a second after the first, which begins a little late.
        #expect(first[0] > 4.25 && first[0] < 4.35)
        #expect(first[1] >= 4 && first[1] < 4.06)
        #expect(first[4] == 3 && first[5] == 2)
        // The peak of a swing grows until it is over.
        let third = decisions.filter { $0[4] == 3 }.map { $0[3] }
        #expect(third.sorted() == third)
        let peak = Double(try #require(third.last))
        #expect(abs(peak - 2 * standardGravity) < 0.2 * standardGravity)
        #expect(decisions.allSatisfy { $0[0] < 5.4 })
    }
}
