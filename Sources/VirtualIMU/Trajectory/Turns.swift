package import MotionCore

/// Lying still.
package struct Rest: Trajectory {
    package let duration: Double

    /// Makes a rest of `duration` seconds; for ever unless said.
    package init(_ duration: Double = .infinity) {
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion { TrueMotion(restingAt: pose) }
}

/// A turn by a given angle about an axis of the body, begun and ended smoothly.
package struct Turn: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let angle: Double

    /// Makes a turn by `angle` (rad, right-handed) about `axis`, which takes `duration` seconds.
    ///
    /// The highest rate is 1.875 times the mean one, in the middle.
    package init(axis: Vector3, angle: Double, duration: Double) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.angle = angle
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        rotating(angle * Jet.smoothStep(time, over: duration), about: axis, from: pose)
    }
}

/// Rotation without end about an axis of the body.
package struct Rotation: Trajectory {
    private let axis: Vector3
    private let rate: Double
    private let ramp: Double

    package var duration: Double { .infinity }

    /// Makes a rotation at `rate` (rad/s, right-handed) about `axis`, reached smoothly within `ramp` seconds.
    package init(axis: Vector3, rate: Double, ramp: Double = 0.5) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.rate = rate
        self.ramp = ramp
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        rotating(rate * Jet.smoothRamp(time, over: ramp), about: axis, from: pose)
    }
}

/// Turning to and fro about an axis of the body, as a sine.
package struct Oscillation: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let amplitude: Double
    private let angularFrequency: Double
    private let ramp: Double

    /// Makes an oscillation by ±`amplitude` (rad) about `axis`, `frequency` times a second.
    ///
    /// Its first and its last period grow from rest and fade to it.
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

/// The motion of a body that has turned by `angle` about an `axis` of length 1 and is not accelerated.
private func rotating(_ angle: Jet, about axis: Vector3, from pose: Quaternion) -> TrueMotion {
    // The axis is the same seen from the body and from the pose it started in, so the rate is along it.
    TrueMotion(
        attitude: pose * Quaternion(angle: angle.value, axis: axis), rotationRate: angle.first * axis,
        position: .zero, acceleration: .zero)
}
