internal import Glibc

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
