package import MotionCore

/// Shaking to and fro along an axis of the body.
package struct Shake: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let amplitude: Double
    private let angularFrequency: Double
    private let ramp: Double

    /// Shakes along `axis` with `amplitude` (peak linear acceleration, m/s²), `frequency` (Hz) and `cycles`.
    ///
    /// The movement builds up over the first 0.75 cycles and dies away over the last 0.75.
    package init(axis: Vector3, amplitude: Double, frequency: Double, cycles: Double) {
        self.axis = axis.normalized ?? Vector3(1, 0, 0)
        angularFrequency = 2 * .pi * frequency
        self.amplitude = amplitude / (angularFrequency * angularFrequency)
        duration = cycles / frequency
        ramp = min(0.75 / frequency, 0.5 * duration)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        // The minus sign makes the acceleration, not the displacement, begin along the axis.
        let stroke =
            -amplitude
            * (Jet.envelope(time, duration: duration, ramp: ramp)
                * Jet.sine(Jet(time: time, rate: angularFrequency)))
        return sliding(stroke, along: axis, from: pose)
    }
}

/// Moving a distance along an axis of the body, from rest to rest: a drawer, a lift, a car that starts and brakes.
package struct Slide: Trajectory {
    package let duration: Double
    private let axis: Vector3
    private let distance: Double

    /// Moves by `distance` (m) along `axis` within `duration` seconds.
    ///
    /// The highest acceleration is 5.77 times the distance over the squared duration.
    package init(axis: Vector3, distance: Double, duration: Double) {
        self.axis = axis.normalized ?? Vector3(1, 0, 0)
        self.distance = distance
        self.duration = duration
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        sliding(distance * Jet.smoothStep(time, over: duration), along: axis, from: pose)
    }
}

/// A tap on one side of a board that lies on a table.
///
/// The finger's push is a half sine. The friction of the table then stops the board with a pulse of the same momentum
/// that lasts `recovery` times as long.
package struct Tap: Trajectory {
    /// How many times longer than the push the stop takes.
    private static let recovery = 4.0

    private let axis: Vector3
    private let push: HalfSine
    private let stop: HalfSine

    package var duration: Double { push.duration + stop.duration }

    /// A tap that pushes the board along `axis` with `amplitude` (peak linear acceleration, m/s²) for `width` seconds.
    package init(axis: Vector3, amplitude: Double, width: Double = 0.008) {
        self.axis = axis.normalized ?? Vector3(0, 0, -1)
        push = HalfSine(amplitude: amplitude, duration: width)
        stop = HalfSine(amplitude: -amplitude / Self.recovery, duration: width * Self.recovery)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        guard time >= push.duration else { return sliding(push.jet(at: time), along: axis, from: pose) }
        let since = time - push.duration
        let end = push.jet(at: push.duration)
        let coasting = Jet(end.value + end.first * since, end.first, 0)
        return sliding(coasting + stop.jet(at: since), along: axis, from: pose)
    }
}

/// The motion of a body displaced by `distance` along an `axis` of its pose.
private func sliding(_ distance: Jet, along axis: Vector3, from pose: Quaternion) -> TrueMotion {
    let direction = pose.rotate(axis)
    return TrueMotion(
        attitude: pose, rotationRate: .zero, position: distance.value * direction,
        acceleration: distance.second * direction)
}
