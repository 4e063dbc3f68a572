package import MotionCore

/// Plays a recording: its samples are the readings of a perfect sensor, with linear interpolation.
///
/// The true attitude is the integral of the recorded rate, starting at the inclination of the first sample with heading
/// zero; it drifts with the bias of the recording gyroscope. The pose passed to `motion` is ignored, since the
/// recording contains its own gravity.
package struct RecordedTrajectory: Trajectory {
    private let samples: [MotionSample]
    private let attitudes: [Quaternion]
    private let length: Double
    private let isLooped: Bool

    package var duration: Double { isLooped ? .infinity : length }

    package var once: any Trajectory { isLooped ? RecordedTrajectory(samples, isLooped: false) : self }

    /// Plays `samples` in the order of their timestamps, repeatedly or once.
    ///
    /// Played once, it holds the last pose. If looped, it goes from the last sample back to the first within the mean
    /// sample period, and the attitude restarts. Samples out of order and samples that are not finite are skipped.
    /// Without any samples it rests.
    package init(_ samples: [MotionSample], isLooped: Bool) {
        var kept: [MotionSample] = []
        kept.reserveCapacity(samples.count)
        for sample in samples where sample.acceleration.isFinite && Self.rate(of: sample).isFinite {
            if let last = kept.last, sample.timestamp <= last.timestamp { continue }
            kept.append(sample)
        }
        self.samples = kept
        attitudes = Self.integrated(kept)
        guard let first = kept.first, let last = kept.last, kept.count > 1 else {
            length = 0
            self.isLooped = false
            return
        }
        let span = last.timestamp.seconds(since: first.timestamp)
        self.isLooped = isLooped
        length = isLooped ? span * Double(kept.count) / Double(kept.count - 1) : span
    }

    package func motion(at time: Double, from pose: Quaternion) -> TrueMotion {
        guard let first = samples.first, let last = attitudes.last else { return TrueMotion(restingAt: .identity) }
        guard isLooped || time < length else { return TrueMotion(restingAt: last) }
        guard time >= 0 else { return TrueMotion(restingAt: attitudes[0]) }
        let within = isLooped ? time - (time / length).rounded(.down) * length : time
        let index = lastIndex(atOrBefore: within)
        let sample = samples[index]
        let start = sample.timestamp.seconds(since: first.timestamp)
        let isLast = index + 1 == samples.count
        let next = samples[isLast ? 0 : index + 1]
        let end = isLast ? length : next.timestamp.seconds(since: first.timestamp)
        let part = end > start ? (within - start) / (end - start) : 0
        let rate = Self.rate(of: sample) + part * (Self.rate(of: next) - Self.rate(of: sample))
        let meanRate = 0.5 * (Self.rate(of: sample) + rate)
        return TrueMotion(
            attitude: attitudes[index] * Quaternion(rotationVector: (within - start) * meanRate), rotationRate: rate,
            specificForce: sample.acceleration + part * (next.acceleration - sample.acceleration))
    }

    /// The last sample not later than `time` seconds after the first.
    private func lastIndex(atOrBefore time: Double) -> Int {
        let instant = samples[0].timestamp.advanced(bySeconds: time)
        var low = 0
        var high = samples.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if samples[middle].timestamp <= instant { low = middle } else { high = middle }
        }
        return low
    }

    /// The recorded rate; zero if the recording sensor had no gyroscope.
    private static func rate(of sample: MotionSample) -> Vector3 {
        sample.flags.contains(.rotationRate) ? sample.rotationRate : .zero
    }

    /// The attitude at each sample.
    private static func integrated(_ samples: [MotionSample]) -> [Quaternion] {
        guard var previous = samples.first else { return [] }
        var attitude = Quaternion(from: previous.acceleration, to: Vector3(0, 0, 1))
        let angles = attitude.eulerAngles
        attitude = Quaternion(roll: angles.roll, pitch: angles.pitch, yaw: 0)
        return samples.map { sample in
            let dt = sample.timestamp.seconds(since: previous.timestamp)
            let turn = 0.5 * dt * (rate(of: previous) + rate(of: sample))
            attitude = (attitude * Quaternion(rotationVector: turn)).normalized
            previous = sample
            return attitude
        }
    }
}
