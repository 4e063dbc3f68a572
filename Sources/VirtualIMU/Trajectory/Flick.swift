package import MotionCore

/// A flick: a stroke along an axis of the body, which brakes itself, and a slow way back.
package struct Flick: Trajectory {
    /// The highest acceleration of a slide is this many times its distance over its squared duration.
    private static let peak = 10 / 3.0.squareRoot()

    private let movement: MotionSequence

    package var duration: Double { movement.duration }

    /// Seconds from the beginning to where the stroke has come to rest.
    package let stroke: Double

    /// Makes a flick along `axis` with `amplitude` (peak linear acceleration, m/s²), whose stroke and brake take
    /// `duration` seconds together.
    ///
    /// The board waits for 0.4 s where the stroke ended and then comes back within a second.
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

extension VirtualTrajectory {
    /// A flick with 1.8 g along an axis of the body, every 4 s.
    static func flick(along axis: Vector3) -> Repeating {
        let flick = Flick(axis: axis, amplitude: 1.8 * standardGravity)
        return Repeating(MotionSequence([Rest(1.5), flick, Rest(2.5 - flick.duration)]))
    }

    /// A turn by 90° within 0.8 s, again and again the same way, every 3 s.
    static func quarterTurn(about axis: Vector3) -> Repeating {
        Repeating(MotionSequence([Rest(1.2), Turn(axis: axis, angle: 0.5 * .pi, duration: 0.8), Rest(1)]))
    }

    /// A turn of the wrist and straight back, every 4 s.
    static var wristTwist: Repeating {
        let axis = Vector3(1, 0, 0)
        let angle = 60 * radiansPerDegree
        return Repeating(
            MotionSequence([
                Rest(1.5), Turn(axis: axis, angle: angle, duration: 0.5),
                Turn(axis: axis, angle: -angle, duration: 0.5),
                Rest(1.5),
            ]))
    }
}
