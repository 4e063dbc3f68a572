package import MotionCore

/// Walking with the board in a swinging hand: the body bounces at every step, and the arm swings once in two steps.
package struct Walk: Trajectory {
    /// A person's gait.
    package struct Gait: Sendable {
        /// Steps per second, Hz.
        package var stepFrequency = 1.9

        /// Half the vertical movement of the body, m.
        package var bounce = 0.02

        /// The share of the bounce at twice the step frequency, which makes the heel strike sharper than the lift.
        package var strike = 0.25

        /// How far the arm swings to either side, rad.
        package var swing = 0.35

        /// Distance from the shoulder to the board, m.
        package var armLength = 0.65

        /// Creates an unhurried gait.
        package init() {}
    }

    /// Seconds in which the gait builds up and dies away.
    private static let ramp = 1.0

    package let duration: Double
    private let gait: Gait

    package init(_ gait: Gait = Gait(), duration: Double = .infinity) {
        self.gait = gait
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        let envelope = Jet.envelope(time, duration: duration, ramp: min(Self.ramp, 0.5 * duration))
        let step = Jet(time: time, rate: 2 * .pi * gait.stepFrequency)
        let bounce = gait.bounce * (envelope * (Jet.cosine(step) + gait.strike * Jet.cosine(2 * step)))

        // The arm hangs from the shoulder and turns about y. The position is that of the hand relative to where it
        // hung.
        let swing = gait.swing * (envelope * Jet.sine(0.5 * step))
        let forward = -gait.armLength * Jet.sine(swing)
        let up = gait.armLength * (Jet(constant: 1) + -1 * Jet.cosine(swing))
        return TrueMotion(
            attitude: pose * Quaternion(angle: swing.value, axis: Vector3(0, 1, 0)),
            rotationRate: Vector3(0, swing.first, 0),
            position: pose.rotate(Vector3(forward.value, 0, up.value)) + Vector3(0, 0, bounce.value),
            acceleration: pose.rotate(Vector3(forward.second, 0, up.second)) + Vector3(0, 0, bounce.second))
    }
}
