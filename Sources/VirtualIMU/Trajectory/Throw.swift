package import MotionCore

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
        let height = self.height(at: time)
        return TrueMotion(
            attitude: attitude, rotationRate: turn.first * axis, position: Vector3(0, 0, height.value),
            acceleration: Vector3(0, 0, height.second))
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
