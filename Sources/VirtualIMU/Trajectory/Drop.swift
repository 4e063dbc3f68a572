package import MotionCore

/// A fall from a height onto a floor, with bounces, until the board lies still.
///
/// In free fall the specific force is zero; every impact is a half sine of acceleration. The attitude does not change.
package struct Drop: Trajectory {
    /// A period of free flight (no pulse) or of contact with the floor.
    private struct Phase {
        var start: Double
        var position: Double
        var velocity: Double
        var pulse: HalfSine?

        func jet(at time: Double) -> Jet {
            let t = time - start
            let even = Jet(position + velocity * t, velocity, 0)
            guard let pulse else {
                return even + Jet(-0.5 * standardGravity * t * t, -standardGravity * t, -standardGravity)
            }
            return even + pulse.jet(at: t)
        }
    }

    private let phases: [Phase]

    package let duration: Double

    /// Falls from `height` (m) onto a floor that returns the share `restitution` of the velocity, with contacts of
    /// `contact` seconds; after `bounces` bounces the board stays down.
    package init(height: Double, restitution: Double = 0.3, contact: Double = 0.008, bounces: Int = 2) {
        var phases: [Phase] = []
        var now = Phase(start: 0, position: 0, velocity: 0)
        var flight = (2 * height / standardGravity).squareRoot()
        for impact in 0...max(0, bounces) {
            phases.append(now)
            let landing = now.jet(at: now.start + flight)
            let rebound = impact < bounces ? -restitution * landing.first : 0
            let pulse = HalfSine(impulse: rebound - landing.first, duration: contact)
            let touch = Phase(
                start: now.start + flight, position: landing.value, velocity: landing.first, pulse: pulse)
            phases.append(touch)
            let end = touch.start + contact
            now = Phase(start: end, position: touch.jet(at: end).value, velocity: rebound)
            flight = 2 * rebound / standardGravity
        }
        self.phases = phases
        duration = now.start
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration, let phase = phases.last(where: { $0.start <= time }) else {
            return TrueMotion(restingAt: pose)
        }
        let height = phase.jet(at: time)
        return TrueMotion(
            attitude: pose, rotationRate: .zero, position: Vector3(0, 0, height.value),
            acceleration: Vector3(0, 0, height.second))
    }
}
