internal import Glibc

/// A pulse of acceleration in the shape of half a sine, as a finger or a floor gives it.
struct HalfSine {
    /// The highest acceleration, m/s².
    let amplitude: Double

    /// Seconds.
    let duration: Double

    /// What the pulse adds to the velocity, m/s.
    var impulse: Double { 2 * amplitude * duration / .pi }

    /// Makes a pulse of a given height.
    init(amplitude: Double, duration: Double) {
        self.amplitude = amplitude
        self.duration = duration
    }

    /// Makes a pulse that adds `impulse` (m/s) to the velocity.
    init(impulse: Double, duration: Double) {
        self.init(amplitude: 0.5 * .pi * impulse / duration, duration: duration)
    }

    /// Distance, velocity and acceleration `time` seconds after the pulse began, from rest.
    func jet(at time: Double) -> Jet {
        let k = Double.pi / duration
        let phase = k * time
        return Jet(amplitude / k * (time - sin(phase) / k), amplitude / k * (1 - cos(phase)), amplitude * sin(phase))
    }
}
