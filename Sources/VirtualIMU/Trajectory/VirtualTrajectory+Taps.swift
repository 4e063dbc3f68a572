internal import MotionCore

/// Taps of all kinds, and movements that are easily confused with one.
extension VirtualTrajectory {
    /// The tap of a finger on the top.
    static var fingerTap: Tap { Tap(axis: Vector3(0, 0, -1), amplitude: 3 * standardGravity) }

    /// Seconds from one tap to the next within a double or triple tap.
    private static let pace = 0.2

    /// A sequence of taps on the top, every `period` seconds.
    static func taps(_ count: Int, period: Double) -> Repeating {
        var segments: [any Trajectory] = [Rest(1.5)]
        for index in 0..<count {
            if index > 0 { segments.append(Rest(pace - fingerTap.duration)) }
            segments.append(fingerTap)
        }
        segments.append(Rest(period - MotionSequence(segments).duration))
        return Repeating(MotionSequence(segments))
    }

    /// One tap on each side, every 2 s: on +x, -x, +y, -y, +z and -z. A tap pushes the board away from the side it
    /// hits.
    static var tapsOnEverySide: Repeating {
        let sides = [
            Vector3(1, 0, 0), Vector3(-1, 0, 0), Vector3(0, 1, 0), Vector3(0, -1, 0), Vector3(0, 0, 1),
            Vector3(0, 0, -1),
        ]
        var segments: [any Trajectory] = []
        for side in sides {
            let tap = Tap(axis: -side, amplitude: 2 * standardGravity)
            segments += [Rest(1.5), tap, Rest(0.5 - tap.duration)]
        }
        return Repeating(MotionSequence(segments))
    }

    /// Taps of a soft fingertip.
    static var softTaps: Repeating {
        let tap = Tap(axis: Vector3(0, 0, -1), amplitude: 0.4 * standardGravity, width: 0.012)
        return Repeating(MotionSequence([Rest(1.5), tap, Rest(1.5 - tap.duration)]))
    }

    /// Taps while the board is carried by a person who walks.
    static var tapsWhileWalking: Superposed {
        Superposed(MotionSequence([Rest(1.5), Walk()]), MotionSequence([Rest(3), taps(1, period: 3)]))
    }

    /// Lifting, holding in a trembling hand, lowering, and letting go 2 mm above the table.
    static var puttingDown: Repeating {
        let vertical = Vector3(0, 0, 1)
        let letGo = Drop(height: 0.002)
        let handling: [any Trajectory] = [
            Rest(1.5), Slide(axis: vertical, distance: 0.25, duration: 0.8),
            Oscillation(axis: Vector3(1, 0.5, 0), amplitude: 0.03, frequency: 2, duration: 1),
            Slide(axis: vertical, distance: -0.248, duration: 0.8), letGo,
        ]
        return Repeating(MotionSequence(handling + [Rest(1.9 - letGo.duration)]))
    }
}
