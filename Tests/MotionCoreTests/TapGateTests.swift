import MotionCore
import Testing
import VirtualIMU

/// Each gate of taps with movements that differ in nothing else: one that it lets pass and one that only it refuses.
@Suite struct TapGateTests {
    private static let tap = Tap(axis: Vector3(0.6, 0, -0.8), amplitude: 20)

    /// Only taps, so that no other gesture takes precedence.
    private static func feed(accelerationNoise: Double = 0.04) -> TrajectoryFeed {
        var settings = GestureSettings()
        settings.turn.common.isEnabled = false
        settings.shake.common.isEnabled = false
        settings.flick.common.isEnabled = false
        settings.fall.common.isEnabled = false
        return TrajectoryFeed(settings: settings, accelerationNoise: accelerationNoise)
    }

    /// The number of taps in a movement that is followed by a rest.
    private static func taps(_ movement: any Trajectory, accelerationNoise: Double = 0.04) -> Int {
        var feed = feed(accelerationNoise: accelerationNoise)
        feed.follow(Rest(2), movement, Rest(1))
        return feed.events(of: .tap).count
    }

    @Test func ignoresTapOnTurningBoard() {
        for (rate, count) in [(0.4, 1), (1.5, 0)] {
            let turn = Turn(axis: Vector3(0, 0, 1), angle: 3 * rate / 1.875, duration: 3)
            let tap = MotionSequence([Rest(1.5), Tap(axis: Vector3(0, 0, -1), amplitude: 20)])
            #expect(Self.taps(Superposed(turn, tap)) == count, "\(rate) rad/s")
        }
    }

    /// A slow movement by hand, and a tap during it or soon after.
    @Test func ignoresTapOnSwayingBoardAndSoonAfter() {
        // It takes 0.7 s each way: too slow for a blow.
        let sway = MotionSequence([
            Slide(axis: Vector3(0, 1, 0), distance: 0.25, duration: 0.75),
            Slide(axis: Vector3(0, -1, 0), distance: 0.25, duration: 0.75),
        ])
        for (at, count) in [(1.2, 0), (1.88, 0), (3.2, 1)] {
            #expect(Self.taps(Superposed(sway, MotionSequence([Rest(at), Self.tap]))) == count, "at \(at) s")
        }
    }

    /// A blow after which the board keeps accelerating has set it in motion.
    @Test func ignoresBlowThatSetsBoardInMotion() {
        for (force, count) in [(0.5, 1), (6.0, 0)] {
            var feed = Self.feed()
            feed.rest(2)
            for index in 0..<24 {
                let spike = index < 2 ? 20.0 : 0
                feed.take(Vector3(0, spike, standardGravity) + force * Vector3(0, 1, 0), .zero)
            }
            feed.rest(1)
            #expect(feed.events(of: .tap).count == count, "\(force) m/s²")
        }
    }

    /// A soft tap is enough on a board that lies still, but not on one that sways as in a hand, or turns slowly.
    @Test func recognisesSoftTapsOnlyAtRest() {
        let sway = Oscillation(axis: Vector3(0, 1, 0), amplitude: 0.02, frequency: 0.8, duration: 3)
        let turn = Turn(axis: Vector3(0, 0, 1), angle: 3 * 0.3 / 1.875, duration: 3)
        let movements: [(name: String, movement: any Trajectory, soft: Int)] = [
            ("rest", Rest(3), 1), ("sway", sway, 0), ("turn", turn, 0),
        ]
        for (name, movement, soft) in movements {
            for (amplitude, count) in [(1.2, soft), (4.0, 1)] {
                let tap = Tap(axis: Vector3(0, 0, -1), amplitude: amplitude, width: 0.012)
                let tapped = Superposed(movement, MotionSequence([Rest(1.5), tap]))
                #expect(Self.taps(tapped) == count, "\(name), \(amplitude) m/s²")
            }
        }
    }

    /// The near miss names the strength that is needed in this state.
    @Test func nearMissOfSoftTapNamesWhatIsNeeded() throws {
        for (sways, limit) in [(false, 0.625), (true, 1.25)] {
            var feed = Self.feed()
            feed.rest(2)
            let tap = Tap(axis: Vector3(0, 0, -1), amplitude: 0.8 * limit, width: 0.012)
            let sway = Oscillation(
                axis: Vector3(0, 1, 0), amplitude: sways ? 0.02 : 0, frequency: 0.8, duration: 3)
            feed.follow(Superposed(sway, MotionSequence([Rest(1.5), tap])))
            let miss = try #require(feed.misses.first { $0.gesture == .tap })
            #expect(miss.reason == .tooWeak && abs(miss.limit - limit) < 1e-9 && miss.value < limit, "\(miss)")
        }
    }

    /// A weak blow soon after a strong tap is its echo; a strong one, or a later one, is another tap.
    @Test func ignoresEcho() {
        for (seconds, amplitude, count) in [(0.2, 5.0, 1), (0.35, 5, 2), (0.2, 15, 2)] {
            let strong = Tap(axis: Vector3(0, 0, -1), amplitude: 40)
            let weak = Tap(axis: Vector3(0, 0, -1), amplitude: amplitude)
            let movement = MotionSequence([strong, Rest(seconds - strong.duration), weak])
            #expect(Self.taps(movement) == count, "\(amplitude) m/s² after \(seconds) s")
        }
    }

    /// Handling comes with further blows: nothing counts until it has been calm for half a second.
    @Test func ignoresTapSoonAfterPush() {
        for (pause, count) in [(0.35, 0), (0.9, 1)] {
            let push = Tap(axis: Vector3(1, 0, 0), amplitude: 2.5, width: 0.05)
            #expect(Self.taps(MotionSequence([push, Rest(pause - push.duration), Self.tap])) == count, "\(pause) s")
        }
    }

    /// A finger that touches before it hits.
    @Test func recognisesTapAfterWeakForerunner() {
        let touch = Tap(axis: Vector3(0, 0, -1), amplitude: 2)
        #expect(Self.taps(MotionSequence([touch, Rest(0.06 - touch.duration), Self.tap])) == 1)
    }

    @Test func ignoresTapThatDoesNotStandOutFromNoise() {
        for (noise, count) in [(0.04, 1), (0.5, 0)] {
            var taps = 0
            for _ in 0..<3 {
                taps += Self.taps(Tap(axis: Vector3(0, 0, -1), amplitude: 6), accelerationNoise: noise)
            }
            #expect(taps == 3 * count, "\(noise) m/s²")
        }
    }
}
