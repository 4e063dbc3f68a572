package import MotionCore

/// Lying still.
package struct Rest: Trajectory {
    package let duration: Double

    /// A rest of `duration` seconds, by default without end.
    package init(_ duration: Double = .infinity) {
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion { TrueMotion(restingAt: pose) }
}

/// A turn by a given angle about an axis of the body, with a smooth start and end.
package struct Turn: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let angle: Double

    /// Turns by `angle` (rad, right-handed) about `axis` within `duration` seconds.
    ///
    /// The highest rate, in the middle, is 1.875 times the mean rate.
    package init(axis: Vector3, angle: Double, duration: Double) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.angle = angle
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        rotating(angle * Jet.smoothStep(time, over: duration), about: axis, from: pose)
    }
}

/// Endless rotation about an axis of the body.
package struct Rotation: Trajectory {
    private let axis: Vector3
    private let rate: Double
    private let ramp: Double

    package var duration: Double { .infinity }

    /// Rotates at `rate` (rad/s, right-handed) about `axis`, reached smoothly within `ramp` seconds.
    package init(axis: Vector3, rate: Double, ramp: Double = 0.5) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.rate = rate
        self.ramp = ramp
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        rotating(rate * Jet.smoothRamp(time, over: ramp), about: axis, from: pose)
    }
}

/// Sinusoidal rotation to and fro about an axis of the body.
package struct Oscillation: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let amplitude: Double
    private let angularFrequency: Double
    private let ramp: Double

    /// Oscillates by ±`amplitude` (rad) about `axis`, `frequency` times a second.
    ///
    /// The movement builds up over the first period and dies away over the last.
    package init(axis: Vector3, amplitude: Double, frequency: Double, duration: Double = .infinity) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.amplitude = amplitude
        self.duration = duration
        angularFrequency = 2 * .pi * frequency
        ramp = min(1 / frequency, 0.5 * duration)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        let sine = Jet.sine(Jet(time: time, rate: angularFrequency))
        let envelope = Jet.envelope(time, duration: duration, ramp: ramp)
        return rotating(amplitude * (envelope * sine), about: axis, from: pose)
    }
}

/// The motion of a body that has turned by `angle` about a unit vector `axis` without acceleration.
private func rotating(_ angle: Jet, about axis: Vector3, from pose: Quaternion) -> TrueMotion {
    // Seen from the body and from the initial pose, the axis is the same, so the rate is along it.
    TrueMotion(
        attitude: pose * Quaternion(angle: angle.value, axis: axis), rotationRate: angle.first * axis,
        position: .zero, acceleration: .zero)
}
