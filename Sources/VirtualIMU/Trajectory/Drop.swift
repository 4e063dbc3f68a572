package import MotionCore

/// A fall from a height onto a floor, with bounces, until the board lies still.
///
/// In free fall the specific force is zero; every impact is a half sine of acceleration. The attitude does not change.
package struct Drop: Trajectory {
    /// A period of free flight (no pulse) or of contact with the floor.
    private struct Phase {
        var start: Double
        var position: Double
        var velocity: Double
        var pulse: HalfSine?

        func jet(at time: Double) -> Jet {
            let t = time - start
            let even = Jet(position + velocity * t, velocity, 0)
            guard let pulse else {
                return even + Jet(-0.5 * standardGravity * t * t, -standardGravity * t, -standardGravity)
            }
            return even + pulse.jet(at: t)
        }
    }

    private let phases: [Phase]

    package let duration: Double

    /// Falls from `height` (m) onto a floor that returns the share `restitution` of the velocity, with contacts of
    /// `contact` seconds; after `bounces` bounces the board stays down.
    package init(height: Double, restitution: Double = 0.3, contact: Double = 0.008, bounces: Int = 2) {
        var phases: [Phase] = []
        var now = Phase(start: 0, position: 0, velocity: 0)
        var flight = (2 * height / standardGravity).squareRoot()
        for impact in 0...max(0, bounces) {
            phases.append(now)
            let landing = now.jet(at: now.start + flight)
            let rebound = impact < bounces ? -restitution * landing.first : 0
            let pulse = HalfSine(impulse: rebound - landing.first, duration: contact)
            let touch = Phase(
                start: now.start + flight, position: landing.value, velocity: landing.first, pulse: pulse)
            phases.append(touch)
            let end = touch.start + contact
            now = Phase(start: end, position: touch.jet(at: end).value, velocity: rebound)
            flight = 2 * rebound / standardGravity
        }
        self.phases = phases
        duration = now.start
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration, let phase = phases.last(where: { $0.start <= time }) else {
            return TrueMotion(restingAt: pose)
        }
        return TrueMotion(attitude: pose, height: phase.jet(at: time))
    }
}

/// A throw up by a hand that catches it again: a push, free flight with or without a spin, and a catch.
///
/// Push and catch are half sines of acceleration of the same length. The specific force in flight is zero, and the
/// flight ends where it began. A spin turns the board in the air about one of its axes, through its centre.
package struct Throw: Trajectory {
    package let duration: Double

    /// Seconds of free flight.
    package let flight: Double

    private let push: HalfSine
    private let catching: HalfSine
    private let axis: Vector3
    private let angle: Double

    /// A throw to `height` (m) above the hand. Push and catch take `push` seconds each; in flight the board turns by
    /// `spin` (rad, right-handed) about `axis`.
    package init(height: Double, push: Double = 0.25, spin: Double = 0, axis: Vector3 = Vector3(0, 1, 0)) {
        let speed = (2 * standardGravity * height).squareRoot()
        self.push = HalfSine(impulse: speed, duration: push)
        // From falling at the same speed to rest.
        catching = HalfSine(impulse: speed, duration: push)
        flight = 2 * speed / standardGravity
        duration = 2 * push + flight
        self.axis = axis.normalized ?? Vector3(0, 1, 0)
        angle = spin
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0 else { return TrueMotion(restingAt: pose) }
        let turn = angle * Jet.smoothStep(time - push.duration, over: flight)
        let attitude = pose * Quaternion(angle: turn.value, axis: axis)
        guard time < duration else { return TrueMotion(restingAt: attitude) }
        return TrueMotion(attitude: attitude, rotationRate: turn.first * axis, height: height(at: time))
    }

    private func height(at time: Double) -> Jet {
        guard time >= push.duration else { return push.jet(at: time) }
        let left = push.jet(at: push.duration)
        let t = time - push.duration
        guard t >= flight else {
            return left
                + Jet(
                    left.first * t - 0.5 * standardGravity * t * t, -standardGravity * t, -standardGravity)
        }
        let inHand = t - flight
        let caught = catching.jet(at: inHand)
        return Jet(left.value - left.first * inHand + caught.value, -left.first + caught.first, caught.second)
    }
}
