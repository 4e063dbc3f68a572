internal import MotionCore

/// Movements of a board that is handled: turned over, tilted, hit, thrown, carried.
extension VirtualTrajectory {
    /// The repeating movement for one of these names; a rest for any other.
    static func handled(_ name: VirtualTrajectory) -> any Trajectory {
        switch name {
        case .toss:
            let toss = Throw(height: 0.5, spin: 2 * .pi)
            return Repeating(MotionSequence([Rest(2), toss, Rest(3 - toss.duration)]))
        case .bump:
            let bump = Tap(axis: x, amplitude: 6 * standardGravity, width: 0.012)
            return Repeating(MotionSequence([Rest(2), bump, Rest(2 - bump.duration)]))
        case .flip: return toAndFro(degrees: 90, duration: 0.6, rests: 1.9, about: x)
        case .flip180: return toAndFro(degrees: 180, duration: 1, rests: 2, about: x)
        case .tilt:
            return Repeating(
                MotionSequence([
                    Rest(3), turn(y, degrees: 45, duration: 1), Rest(2), turn(y, degrees: -45, duration: 1),
                ]))
        case .carry:
            return Repeating(
                MotionSequence([
                    Rest(3), Slide(axis: z, distance: 0.4, duration: 1.2), Walk(duration: 10),
                    Slide(axis: z, distance: -0.4, duration: 1.2), Rest(4.6),
                ]))
        default: return Rest()
        }
    }

    private static func toAndFro(degrees: Double, duration: Double, rests: Double, about axis: Vector3) -> Repeating {
        Repeating(
            MotionSequence([
                Rest(rests), turn(axis, degrees: degrees, duration: duration),
                Rest(rests), turn(axis, degrees: -degrees, duration: duration),
            ]))
    }
}
