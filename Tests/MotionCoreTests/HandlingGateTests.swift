import Foundation
import MotionCore
import Testing
import VirtualIMU

/// Gates of impacts, flicks, turns and movement, each with movements that differ in nothing else.
@Suite struct HandlingGateTests {
    /// Half sines of acceleration one after the other: seconds and peak, m/s², along an axis.
    private struct Pulses: Trajectory {
        let axis: Vector3
        let pulses: [(seconds: Double, peak: Double)]
        var duration: Double { pulses.reduce(0) { $0 + $1.seconds } }

        func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
            var start = 0.0
            var acceleration = 0.0
            for pulse in pulses {
                if time >= start, time < start + pulse.seconds {
                    acceleration = pulse.peak * sin(.pi * (time - start) / pulse.seconds)
                }
                start += pulse.seconds
            }
            return TrueMotion(
                attitude: pose, rotationRate: .zero, position: .zero, acceleration: pose.rotate(acceleration * axis))
        }
    }

    /// A long blow rings back at once; the first swing of a shake comes back later.
    @Test func impactMayRingButNotSwingBack() {
        for (pause, count) in [(0.0, 1), (0.04, 0)] {
            var feed = TrajectoryFeed(rate: 1000, range: 16 * standardGravity)
            feed.rest(2)
            feed.follow(
                Pulses(axis: Vector3(0.6, -0.8, 0), pulses: [(0.026, 60), (pause, 0), (0.02, -50), (0.02, 10)]))
            feed.rest(1)
            #expect(feed.events(of: .impact).count == count, "\(pause) s")
        }
    }

    /// The board may not move in the 0.16 s before a flick.
    @Test func flickFollowsQuiet() {
        for (peak, count) in [(0.3, 1), (2.4, 0)] {
            var feed = TrajectoryFeed(accelerationNoise: 0.01)
            feed.rest(2)
            feed.follow(
                Pulses(
                    axis: Vector3(0, 1, 0), pulses: [(0.075, peak), (0.075, -peak), (0.09, 12.5), (0.09, -12.5)]))
            feed.rest(1)
            #expect(feed.events(of: .flick).count == count, "\(peak) m/s²")
        }
    }

    /// A hand that snaps back, more strongly than it struck, does not change the direction.
    @Test func flickThatSnapsBackHasDirectionOfStroke() {
        var settings = GestureSettings()
        settings.shake.common.isEnabled = false
        var feed = TrajectoryFeed(settings: settings, accelerationNoise: 0.01)
        feed.follow(Rest(2), Pulses(axis: Vector3(0, 1, 0), pulses: [(0.08, 14), (0.13, -18), (0.08, 20)]), Rest(1))
        #expect(feed.events(of: .flick).map(\.direction) == [.left])
    }

    /// A turn that goes back by 2° for a moment continues; one that goes back by 10° is over.
    @Test func turnMayGoBackALittle() {
        for (back, count) in [(2.0, 1), (10, 2)] {
            var settings = MotionSettings()
            settings.gestures.turn.mode = .free
            var feed = MovementFeed(settings)
            feed.rest(2)
            for degrees in [50, -back, 50] {
                feed.move(
                    Turn(
                        axis: Vector3(0, 0, 1), angle: degrees * radiansPerDegree,
                        duration: degrees < 0 ? 0.12 : 0.5))
            }
            feed.rest(1)
            let ended = feed.events(of: .turn).filter { $0.phase == .ended }
            #expect(ended.count == count, "\(back)°")
            if count == 1 {
                #expect(abs((ended.last?.angle ?? 0) - 98 * radiansPerDegree) < 2 * radiansPerDegree)
            }
        }
    }

    /// What is too slow to begin a movement keeps one going.
    @Test func slowTurningContinuesMovementButDoesNotBeginIt() {
        let limit = MotionGestureSettings().rotationRate
        // The rate's peaks are at three quarters of the limit.
        let rocking = Oscillation(
            axis: Vector3(0, 0, 1), amplitude: 0.75 * limit / (2 * .pi * 0.5), frequency: 0.5, duration: 12)
        var feed = TrajectoryFeed()
        feed.follow(Rest(6), rocking)
        #expect(feed.events(of: .motion).isEmpty)
        feed.follow(Rest(4), Turn(axis: Vector3(0, 0, 1), angle: 1, duration: 1))
        let start = feed.time
        feed.follow(rocking, Rest(4))
        #expect(feed.events(of: .motion).map(\.phase) == [.began, .ended])
        #expect((feed.events(of: .motion).last?.timestamp.seconds ?? 0) - start > 10)
    }

    /// A bias that the attitude filter does not know yet is no movement.
    @Test func unknownBiasIsNotMovement() {
        var feed = TrajectoryFeed()
        for _ in 0..<2000 {
            feed.take(Vector3(0, 0, standardGravity), Vector3(3, -4, 3) * radiansPerDegree)
        }
        #expect(feed.events(of: .motion).isEmpty)
    }
}
