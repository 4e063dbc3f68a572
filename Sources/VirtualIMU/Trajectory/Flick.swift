package import MotionCore

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

extension VirtualTrajectory {
    /// A flick with 1.8 g along an axis of the body, every 4 s.
    static func flick(along axis: Vector3) -> Repeating {
        let flick = Flick(axis: axis, amplitude: 1.8 * standardGravity)
        return Repeating(MotionSequence([Rest(1.5), flick, Rest(2.5 - flick.duration)]))
    }

    /// A turn by 90° within 0.8 s, always in the same direction, every 3 s.
    static func quarterTurn(about axis: Vector3) -> Repeating {
        Repeating(MotionSequence([Rest(1.2), Turn(axis: axis, angle: 0.5 * .pi, duration: 0.8), Rest(1)]))
    }

    /// A turn of the wrist and back at once, every 4 s.
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
