internal import Glibc
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
        return TrueMotion(pose: pose, displacedBy: stroke, along: axis)
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
        TrueMotion(pose: pose, displacedBy: distance * Jet.smoothStep(time, over: duration), along: axis)
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
        guard time >= push.duration else { return TrueMotion(pose: pose, displacedBy: push.jet(at: time), along: axis) }
        let since = time - push.duration
        let end = push.jet(at: push.duration)
        let coasting = Jet(end.value + end.first * since, end.first, 0)
        return TrueMotion(pose: pose, displacedBy: coasting + stop.jet(at: since), along: axis)
    }
}

/// A half-sine pulse of acceleration, as a finger or a floor causes it.
struct HalfSine {
    /// The highest acceleration, m/s².
    let amplitude: Double

    /// Seconds.
    let duration: Double

    /// The change of velocity, m/s.
    var impulse: Double { 2 * amplitude * duration / .pi }

    init(amplitude: Double, duration: Double) {
        self.amplitude = amplitude
        self.duration = duration
    }

    /// Creates a pulse with this change of velocity, m/s.
    init(impulse: Double, duration: Double) {
        self.init(amplitude: 0.5 * .pi * impulse / duration, duration: duration)
    }

    /// Distance, velocity and acceleration, from rest, `time` seconds after the beginning of the pulse.
    func jet(at time: Double) -> Jet {
        let k = Double.pi / duration
        let phase = k * time
        return Jet(amplitude / k * (time - sin(phase) / k), amplitude / k * (1 - cos(phase)), amplitude * sin(phase))
    }
}

/// A flick: a stroke along an axis of the body, its braking, and a slow return.
package struct Flick: Trajectory {
    /// The ratio of a slide's highest acceleration to its distance over its squared duration.
    private static let peak = 10 / 3.0.squareRoot()

    private let movement: MotionSequence

    package var duration: Double { movement.duration }

    /// Seconds until the stroke has come to rest.
    package let stroke: Double

    /// A flick along `axis` with `amplitude` (peak linear acceleration, m/s²). Stroke and braking take `duration`
    /// seconds together.
    ///
    /// The board then waits for 0.4 s and returns within a second.
    package init(axis: Vector3, amplitude: Double, duration: Double = 0.18) {
        let distance = amplitude * duration * duration / Flick.peak
        stroke = duration
        movement = MotionSequence([
            Slide(axis: axis, distance: distance, duration: duration), Rest(0.4),
            Slide(axis: -axis, distance: distance, duration: 1),
        ])
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion { movement.motion(at: time, from: pose) }
}
