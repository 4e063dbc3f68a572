import Foundation
import MotionCore
import Testing

/// Each gate of falls with movements that differ in nothing else: one that it lets pass and one that only it refuses.
@Suite struct FallGateTests {
    /// A board whose force is given directly: in g, along an axis that is not one of the board's.
    private struct Feed: ~Copyable {
        var feed: TrajectoryFeed
        static let direction = Vector3(0.48, -0.6, 0.64)

        init(rest seconds: Double = 3, rate: Double = 200) {
            feed = TrajectoryFeed(rate: rate, accelerationNoise: 0.01)
            force(1, seconds)
        }

        mutating func force(_ force: Double, _ seconds: Double, rotationRate: Vector3 = .zero) {
            for _ in 0..<Int((seconds * feed.rate).rounded()) {
                feed.take(Self.direction * (force * standardGravity), rotationRate)
            }
        }

        /// A force that rises from one to another.
        mutating func rise(from: Double, to: Double, _ seconds: Double) {
            let count = Int((seconds * feed.rate).rounded())
            for index in 0..<count {
                force(from + (to - from) * Double(index) / Double(count), 1 / feed.rate)
            }
        }

        /// Up and down once a second.
        mutating func sway(_ force: Double, _ seconds: Double) {
            for index in 0..<Int((seconds * 200).rounded()) {
                feed.take(
                    Self.direction * (standardGravity * (1 + force * sin(2 * .pi * Double(index) / 200))), .zero)
            }
        }

        mutating func free(_ seconds: Double) { force(0.03, seconds) }

        var phases: [GesturePhase] { feed.events(of: .fall).map(\.phase) }
    }

    /// What the centrifugal force of a spinning board feels like is still free fall.
    @Test func boardThatSpinsInTheAirFalls() {
        for (rate, isFall) in [(14.0, true), (2, false)] {
            var board = Feed()
            board.force(0.6, 0.3, rotationRate: Vector3(0, 0.6 * rate, -0.8 * rate))
            board.force(6, 0.02)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(rate) rad/s")
        }
    }

    /// A board that brushes a hand or an edge for a moment continues to fall; one that is held does not.
    @Test func brushDoesNotInterruptFall() {
        for (seconds, isFall) in [(0.01, true), (0.1, false)] {
            for offset in 0..<4 {
                var board = Feed(rest: 3 + 0.005 * Double(offset))
                board.free(0.14)
                board.force(seconds > 0.05 ? 0.9 : 1.2, seconds)
                board.free(0.14)
                board.force(2, 0.02)
                board.force(1, 1)
                #expect(board.phases == (isFall ? [.began, .ended] : []), "\(seconds) s, \(offset)")
            }
        }
    }

    /// After a push it may be a jump, which must last longer.
    @Test func flightAfterPushMustBeLonger() {
        for (push, seconds, isFall) in [(1.8, 0.28, false), (1.4, 0.28, true), (1.8, 0.42, true)] {
            var board = Feed()
            board.force(push, 0.1)
            board.free(seconds)
            board.force(2, 0.04)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(push) g, \(seconds) s")
        }
    }

    @Test func fallDoesNotFollowVigorousMovement() {
        for (sway, isFall) in [(0.9, true), (1.3, false)] {
            var board = Feed()
            board.sway(sway, 4)
            board.force(1, 0.5)
            board.free(0.3)
            board.force(2, 0.04)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(sway) g")
        }
    }

    // MARK: - Falls known by their impact

    /// The weaker the impact, the longer the short fall before it must be.
    @Test func weakImpactNeedsLongerFall() {
        for (impact, seconds, isFall) in [(6.0, 0.07, true), (3.3, 0.07, false), (3.3, 0.13, true)] {
            var board = Feed()
            board.free(seconds)
            board.force(impact, 0.04)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(impact) g, \(seconds) s")
        }
    }

    @Test func impactAfterPushOrMovementRevealsNoFall() {
        for (push, sway, isFall) in [(1.0, 0.1, true), (1.9, 0.1, false), (1.0, 0.7, false)] {
            var board = Feed()
            board.sway(sway, 3)
            board.force(1, 0.3)
            board.force(push, 0.1)
            board.force(1, 0.1)
            board.free(0.1)
            board.force(6, 0.04)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(push) g, \(sway) g")
        }
    }

    /// The turning point of a strong slow shake may feel like a fall, but its force then rises more slowly than that of
    /// a blow. A board that slides before its impact has fallen.
    @Test func swingAfterWeightlessMomentIsNoImpact() {
        for (rate, rise, isFall) in [
            (200.0, 0.02, true), (200, 0.15, false), (200, 0.2, false), (25, 0.04, true), (25, 0.12, false),
            (25, 0.16, false), (25, 0.2, false), (30, 0.13, false), (30, 0.17, false),
        ] {
            for slack in [0.0, 0.1] {
                var board = Feed(rate: rate)
                board.free(rate < 100 ? 0.16 : 0.13)
                board.force(1.1, slack)
                board.rise(from: 0.5, to: 4.5, rise)
                board.rise(from: 4.5, to: 1, 0.1)
                board.force(1, 1)
                #expect(board.phases == (isFall ? [.began, .ended] : []), "\(rise) s, \(slack) s at \(rate) Hz")
            }
        }
    }

    /// A sample that is lost at 50 Hz is no lower rate.
    @Test func lostSampleIsNoSlowSensor() {
        for lost in [false, true] {
            var board = Feed(rate: 50)
            board.free(0.14)
            if lost { board.feed.time += 0.02 }
            board.force(3.3, 0.02)
            board.force(1, 1)
            #expect(board.phases.isEmpty, "lost: \(lost)")
        }
    }

    /// Samples that are far apart show an impact, but the means of cells between them show less of it.
    @Test(arguments: [25.0, 30])
    func slowSensorSeesImpact(rate: Double) {
        for (impact, isFall) in [(3.2, true), (2, false)] {
            var board = Feed(rate: rate)
            board.free(4 / rate)
            board.force(impact, 1 / rate)
            board.force(1, 1)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(impact) g")
        }
    }

    /// Samples that are far apart show a flight and the blows at its ends as they are: force after force, in g.
    @Test(arguments: [
        // Struck: the flight follows the blow at once, or the force fades as that of a swing.
        (25.0, [6, 0.1, 0.1], true), (25, [4.2, 4, 1.9, 0.7, 0.1, 0.1, 0.1], false), (25, [6, 0.1], false),
        (50, [6, 0.2, 0.1, 0.1, 0.2], true), (50, [4.2, 4.1, 2.8, 1.7, 1.1, 0.7, 0.4, 0.1, 0.1, 0.1, 0.1, 0.1], false),
        // A sample shows less of a blow the longer its interval is.
        (25, [3, 0.1, 0.1, 0.1], true), (25, [2.6, 0.1, 0.1, 0.1], false),
        // The sample in which a flight ends shows the blow too.
        (25, [0.4, 0.4, 5], true), (25, [0.4, 0.4, 3], false),
        // An impact rises within one sample, a swing from one to the next.
        (25, [0.1, 0.1, 0.1, 0.1, 1.8, 6], true), (25, [0.1, 0.1, 0.1, 0.1, 1.8, 3.2], false),
        // A hand that hits a table.
        (50, [0.9, 0.8, 0.7, 0.7, 0.6, 0.6, 0.5, 0.4, 0.4, 0.3, 0.3, 0.3, 4.1, 1.5], false),
    ])
    func sparseSamplesShowFlightAndBlow(rate: Double, forces: [Double], isFall: Bool) {
        var board = Feed(rate: rate)
        for force in forces { board.force(force, 1 / rate) }
        board.force(1, 1.5)
        #expect(board.phases == (isFall ? [.began, .ended] : []))
    }

    // MARK: - Struck and bouncing boards

    /// Struck from rest, a board that flies and is caught softly has fallen; one that is being handled has not.
    @Test func struckBoardFallsIfItWasAtRest() {
        for (blow, sway, isFall) in [(5.0, 0.1, true), (2.5, 0.1, false), (5.0, 0.7, false)] {
            var board = Feed()
            board.sway(sway, 3)
            board.force(1, 0.5)
            board.force(blow, 0.04)
            board.free(0.14)
            board.force(1, 1.5)
            #expect(board.phases == (isFall ? [.began, .ended] : []), "\(blow) g, \(sway) g")
        }
    }

    /// Within a second only what flies off a hard impact, for as long as a fall, is another fall.
    @Test func onlyLongFlightsAfterImpactsAreBounces() {
        for (impact, flight, count) in [(6.0, 0.25, 2), (2.0, 0.25, 1), (6.0, 0.13, 1)] {
            var board = Feed()
            board.free(0.3)
            board.force(impact, 0.04)
            if impact < 3 { board.force(1, 0.16) }
            board.free(flight)
            board.force(2, 0.04)
            board.force(1, 2)
            let began = board.phases.filter { $0 == .began }.count
            #expect(began == count, "\(impact) g, \(flight) s")
        }
    }

    /// A drop with several bounces: each that flies long enough is a fall of its own, and no other is.
    @Test func countsEachLongBounceOnce() {
        var board = Feed()
        var flight = 0.5
        board.free(flight)
        var expected = 1
        for _ in 0..<5 {
            board.force(7, 0.04)
            flight *= 0.75
            board.free(flight)
            if flight > 0.21 { expected += 1 }
        }
        board.force(4, 0.04)
        board.force(1, 2)
        let phases = board.phases
        #expect(expected == 4)
        let wanted = [GesturePhase](repeating: .began, count: expected).flatMap { [$0, .ended] }
        #expect(phases == wanted)
    }

    /// An impact within that second reveals no short fall before it.
    @Test func impactSoonAfterFallRevealsNoOther() {
        for (pause, count) in [(0.44, 1), (3, 2)] {
            var board = Feed()
            board.free(0.23)
            board.force(1.7, 0.005)
            board.force(1, pause)
            board.free(0.12)
            board.force(6, 0.04)
            board.force(1, 1)
            let began = board.phases.filter { $0 == .began }.count
            #expect(began == count, "\(pause) s")
        }
    }
}
