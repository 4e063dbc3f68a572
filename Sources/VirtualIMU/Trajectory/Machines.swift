package import MotionCore

/// Vibration along an axis of the body: the effect of a motor or an unbalanced drum on whatever is attached to it.
package struct Vibration: Trajectory {
    /// Seconds in which a machine gets up to its strength and dies away.
    private static let ramp = 0.8

    package let duration: Double
    private let axis: Vector3
    private let amplitude: Double
    private let angularFrequency: Double

    /// Vibrates along `axis` with `amplitude` (peak acceleration, m/s²; the RMS is 0.707 times this), `frequency` (Hz)
    /// and `duration` (s).
    package init(axis: Vector3, amplitude: Double, frequency: Double, duration: Double = .infinity) {
        self.axis = axis.normalized ?? Vector3(0, 0, 1)
        self.duration = duration
        angularFrequency = 2 * .pi * frequency
        self.amplitude = amplitude / (angularFrequency * angularFrequency)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard time > 0, time < duration else { return TrueMotion(restingAt: pose) }
        // In steps: the type checker of Swift 6.0 cannot solve the whole expression.
        let envelope: Jet = Jet.envelope(time, duration: duration, ramp: min(Self.ramp, 0.5 * duration))
        let oscillation: Jet = envelope * Jet.sine(Jet(time: time, rate: angularFrequency))
        let stroke: Jet = amplitude * oscillation
        return TrueMotion(pose: pose, displacedBy: stroke, along: axis)
    }
}

/// One cycle of a washing machine with the board attached to it: wash, soak, rinse, drain and spin.
package struct WashingMachine: Trajectory {
    /// The washing programme.
    package struct Programme: Sendable {
        /// Frequency, Hz, and peak acceleration, m/s², while the drum turns to and fro.
        package var washFrequency = 8.5
        package var washAmplitude = 0.5

        /// Seconds of a turn in one direction, and of the pause before the other.
        package var turn = 12.0
        package var pause = 6.0

        /// The number of turns before the soak, and after it.
        package var turns = 4

        /// Seconds of the soak before the rinse, and of draining before the spin, without vibration.
        package var soak = 60.0
        package var drain = 30.0

        /// Frequency, Hz, peak acceleration, m/s², and duration, seconds, of the two spin speeds.
        package var slowSpin = (frequency: 13.0, amplitude: 2.0, duration: 30.0)
        package var fastSpin = (frequency: 20.0, amplitude: 4.0, duration: 60.0)

        /// Creates a short programme of 312 s.
        package init() {}
    }

    private let sequence: MotionSequence

    package var duration: Double { sequence.duration }

    package init(_ programme: Programme = Programme()) {
        let axis = Vector3(0.4, -1, 0.7)
        var segments: [any Trajectory] = []
        for part in 0..<2 {
            if part == 1 { segments.append(Rest(programme.soak)) }
            for turn in 0..<programme.turns {
                if turn > 0 { segments.append(Rest(programme.pause)) }
                segments.append(
                    Vibration(
                        axis: axis, amplitude: programme.washAmplitude, frequency: programme.washFrequency,
                        duration: programme.turn))
            }
        }
        segments.append(Rest(programme.drain))
        for spin in [programme.slowSpin, programme.fastSpin] {
            // The drum's imbalance rotates about the machine's axis, and the housing rattles at twice its frequency.
            let imbalance = Vibration(
                axis: axis, amplitude: spin.amplitude, frequency: spin.frequency, duration: spin.duration)
            let rattle = Vibration(
                axis: Vector3(1, 0.3, 0), amplitude: 0.3 * spin.amplitude, frequency: 2 * spin.frequency,
                duration: spin.duration)
            segments.append(Superposed(imbalance, rattle))
        }
        sequence = MotionSequence(segments)
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        sequence.motion(at: time, from: pose)
    }
}
