internal import MotionCore

/// Movements that begin like a gesture and are cancelled, so that what an automation does then can be tried.
extension VirtualTrajectory {
    /// Once to and fro, which is three swings of acceleration, and no more, every 5 s.
    static var stoppedShake: Repeating {
        Repeating(
            MotionSequence([
                Rest(2), Slide(axis: x, distance: 0.75, duration: 0.4), Slide(axis: x, distance: -0.75, duration: 0.4),
                Rest(2.2),
            ]))
    }

    /// A shake that goes on for 8 s, every 12 s.
    static var endlessShake: Repeating {
        Repeating(
            MotionSequence([
                Rest(2), Shake(axis: x, amplitude: 2 * standardGravity, frequency: 4, cycles: 32), Rest(2),
            ]))
    }

    /// A shake in which the board slips out of the hand and falls 2 m, every 7 s.
    static var shakeThatSlips: Repeating {
        let shake = Shake(axis: x, amplitude: standardGravity, frequency: 4, cycles: 6)
        let drop = Drop(height: 2)
        return Repeating(MotionSequence([Rest(2), shake, drop, Rest(5 - shake.duration - drop.duration)]))
    }

    /// Four turns about the vertical within 28 s, every 32 s.
    static var endlessTurn: Repeating {
        Repeating(MotionSequence([Rest(2), turn(z, degrees: 1440, duration: 28), Rest(2)]))
    }

    /// A turn during which the board is shaken, every 8 s.
    static var turnWhileShaken: Repeating {
        let shake = Shake(axis: x, amplitude: 2 * standardGravity, frequency: 5, cycles: 6)
        let turned = Superposed(turn(z, degrees: 180, duration: 3), MotionSequence([Rest(1.2), shake]))
        return Repeating(MotionSequence([Rest(2), turned, Rest(3)]))
    }

    /// A turn during which the board is tilted, and put back, every 6 s.
    static var turnWhileTilted: Repeating {
        let tilted = Superposed(
            turn(z, degrees: 90, duration: 1.2), MotionSequence([Rest(0.5), turn(x, degrees: 30, duration: 0.8)]))
        return Repeating(MotionSequence([Rest(2), tilted, Rest(1), turn(x, degrees: -30, duration: 0.7), Rest(1)]))
    }

    /// A fall from 16 m without a bounce, every 8 s.
    static var endlessFall: Repeating {
        let drop = Drop(height: 16, bounces: 0)
        return Repeating(MotionSequence([Rest(2), drop, Rest(6 - drop.duration)]))
    }

    /// A fall from 0.6 m into hands that give way, every 6 s.
    static var caughtFall: Repeating {
        let fall = CaughtFall(height: 0.6, catching: 1.6)
        return Repeating(MotionSequence([Rest(2), fall, Rest(4 - fall.duration)]))
    }
}

/// A fall into hands that catch it softly: free fall, then a half sine of acceleration until it is at rest.
struct CaughtFall: Trajectory {
    let duration: Double
    private let flight: Double
    private let catching: HalfSine

    /// Falls by `height` (m), and is caught within `catching` seconds.
    init(height: Double, catching seconds: Double) {
        let speed = (2 * standardGravity * height).squareRoot()
        flight = speed / standardGravity
        catching = HalfSine(impulse: speed, duration: seconds)
        duration = flight + seconds
    }

    func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        let height = self.height(at: time)
        return TrueMotion(
            attitude: pose, rotationRate: .zero, position: Vector3(0, 0, height.value),
            acceleration: Vector3(0, 0, height.second))
    }

    private func height(at time: Double) -> Jet {
        let falling = min(time, flight)
        let free = Jet(
            -0.5 * standardGravity * falling * falling, -standardGravity * falling, -standardGravity)
        guard time > flight else { return free }
        let since = time - flight
        let caught = catching.jet(at: since)
        return Jet(free.value + free.first * since + caught.value, free.first + caught.first, caught.second)
    }
}
