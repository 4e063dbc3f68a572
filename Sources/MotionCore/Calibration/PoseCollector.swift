/// Waits until the sensor lies still, then averages its readings.
///
/// A rest is detected by how far readings stray from their own mean, so even a large bias does not hide it. A turn too
/// slow for that shows as a change of gravity's direction between the first and the second half.
package struct PoseCollector: Sendable, BitwiseCopyable {
    /// What counts as lying still.
    private enum Rule {
        /// Seconds of quiet before averaging begins, because an object that was just touched still trembles. Default
        /// 0.5.
        static let settling = 0.5
        /// Largest distance of a reading from the mean force, m/s². Smaller rejects noisy chips and trembling floors;
        /// larger accepts a board held in the hand. Default 0.5, ten times an MPU-6050's noise.
        static let forceLimit = 0.5
        /// Largest distance of a reading from the mean rate, rad/s. Smaller rejects noisy chips; larger accepts slow
        /// turns. Default 2 °/s.
        static let rateLimit = 2 * radiansPerDegree
        /// Largest change of the mean force from the first half to the second, m/s². Default 0.05: 0.3° of tilt.
        static let driftLimit = 0.05
        /// Largest mean rate that can be a bias, rad/s. Default 25 °/s: an MPU-6050's ±20 °/s (PS-MPU-6000A-00 r3.4,
        /// 6.1) plus drift.
        static let largestBias = 25 * radiansPerDegree
    }

    /// Why the sensor does not count as still.
    package enum Disturbance: UInt8, Sendable, BitwiseCopyable {
        /// The angular rate strays from its mean, or is too large for a bias.
        case rotation
        /// The specific force strays from its mean.
        case force
        /// The direction of gravity changed during averaging.
        case drift
        /// Samples are missing, or an axis was clipped.
        case badSamples
    }

    /// The state after a sample.
    package enum Progress: Equatable, Sendable, BitwiseCopyable {
        /// The sensor still lies as in the last pose of a `PoseSequence` and must be moved.
        case unmoved
        /// The sensor moves, or moved just now.
        case moving(Disturbance)
        /// The sensor has just come to rest.
        case settling
        /// The readings are being averaged: the completed part, 0 to 1.
        case averaging(Double)
        /// The pose is complete; the next sample begins another one.
        case done(RestingPose)
    }

    /// Seconds that are averaged. Longer averages out more noise, but the user has to wait. Default 2: with an MPU-6050's
    /// 400 µg/√Hz the mean is good to 0.2 mg.
    private let duration: Double
    private var quietSince: Timestamp?
    private var last: Timestamp?
    private var settlingForce = Vector3.zero
    private var settlingRate = Vector3.zero
    private var settlingCount = 0.0
    private var sums = PoseSums()

    /// Creates a collector that has seen no samples.
    package init(duration: Double? = nil) {
        self.duration = duration ?? 2
    }

    /// Starts from scratch.
    private mutating func reset() {
        quietSince = nil
        last = nil
        settlingCount = 0
        sums = PoseSums()
    }

    /// Adds a sample along the sensor's axes; ignores one that is not later than the previous one.
    package mutating func take(_ sample: MotionSample) -> Progress {
        if let last, sample.timestamp <= last { return .settling }
        let hasGap = sample.flags.contains(.afterGap) && last != nil
        guard sample.acceleration.isFinite, sample.rotationRate.isFinite, sample.flags.isDisjoint(with: .clipped),
            !hasGap
        else { return startOver(.badSamples) }
        last = sample.timestamp
        let start = quietSince ?? sample.timestamp
        quietSince = start

        if settlingCount > 0 {
            let force = (sample.acceleration - settlingForce).length
            let rate = (sample.rotationRate - settlingRate).length
            if rate > Rule.rateLimit { return startOver(.rotation, with: sample) }
            if force > Rule.forceLimit { return startOver(.force, with: sample) }
            if settlingRate.length > Rule.largestBias { return startOver(.rotation, with: sample) }
        }
        let elapsed = sample.timestamp.seconds(since: start)
        follow(sample)
        guard elapsed >= Rule.settling else { return .settling }
        let part = (elapsed - Rule.settling) / max(duration, 1e-3)
        sums.add(sample, isSecondHalf: part >= 0.5)
        guard part >= 1 else { return .averaging(part) }
        guard sums.drift <= Rule.driftLimit else { return startOver(.drift) }
        let pose = sums.pose
        reset()
        return .done(pose)
    }

    /// Updates the mean that readings are compared with. It covers all readings at first, then about the last hundred,
    /// so that the trembling while settling is forgotten.
    private mutating func follow(_ sample: MotionSample) {
        settlingCount = min(100, settlingCount + 1)
        settlingForce += (sample.acceleration - settlingForce) * (1 / settlingCount)
        settlingRate += (sample.rotationRate - settlingRate) * (1 / settlingCount)
    }

    private mutating func startOver(_ reason: Disturbance, with sample: MotionSample? = nil) -> Progress {
        let last = self.last
        reset()
        self.last = last
        if let sample {
            quietSince = sample.timestamp
            follow(sample)
        }
        return .moving(reason)
    }
}

/// Sums over the samples of a rest.
private struct PoseSums: Sendable, BitwiseCopyable {
    private var first = Half()
    private var second = Half()

    private struct Half: Sendable, BitwiseCopyable {
        var count = 0.0
        var force = Vector3.zero
        var rate = Vector3.zero
        var temperature = 0.0
        var temperatureCount = 0.0
        var forceSquares = 0.0
        var rateSquares = 0.0

        var meanForce: Vector3 { force * (1 / max(1, count)) }

        mutating func add(_ sample: MotionSample) {
            count += 1
            force += sample.acceleration
            rate += sample.rotationRate
            forceSquares += sample.acceleration.lengthSquared
            rateSquares += sample.rotationRate.lengthSquared
            guard sample.temperature.isFinite else { return }
            temperature += sample.temperature
            temperatureCount += 1
        }
    }

    /// The distance between the mean forces of both halves, m/s²; zero while one of them is empty.
    var drift: Double {
        first.count > 0 && second.count > 0 ? (second.meanForce - first.meanForce).length : 0
    }

    mutating func add(_ sample: MotionSample, isSecondHalf: Bool) {
        if isSecondHalf { second.add(sample) } else { first.add(sample) }
    }

    var pose: RestingPose {
        let count = max(1, first.count + second.count)
        let force = (first.force + second.force) * (1 / count)
        let rate = (first.rate + second.rate) * (1 / count)
        let temperatures = first.temperatureCount + second.temperatureCount
        let forceVariance = (first.forceSquares + second.forceSquares) / count - force.lengthSquared
        let rateVariance = (first.rateSquares + second.rateSquares) / count - rate.lengthSquared
        return RestingPose(
            force: force, rate: rate,
            temperature: temperatures > 0 ? (first.temperature + second.temperature) / temperatures : .nan,
            forceSpread: max(0, forceVariance).squareRoot(), rateSpread: max(0, rateVariance).squareRoot(),
            count: Int(count))
    }
}
