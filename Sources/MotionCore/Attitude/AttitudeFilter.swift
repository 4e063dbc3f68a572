/// Fuses angular rate and specific force into attitude, and learns the gyroscope's bias, scale and misalignment and the
/// accelerometer's delay, at rest and in movement.
///
/// The motion-bounded inertial filter. Acceleration is not noisy gravity: it is the derivative of a velocity that stays
/// bounded, and that velocity is the derivative of a position that stays bounded. So specific force less gravity is
/// integrated into horizontal velocity and position, and a Kalman filter is told that the position stays near a slowly
/// wandering origin. What does not fit is tilt, and what made the tilt: bias, scale, misalignment and delay.
///
/// Every sample goes through the navigation equations (`Strapdown`) and into the sums of a block (`BlockSums`); every
/// tenth of a second or so the block moves the covariance on (`ErrorCovariance`), the measurements correct the errors
/// (`AttitudeFilter+Block`), and the corrections are fed back. `AttitudeFilter+Start` finds the vertical, and
/// `AttitudeFilter+Gaps` bridges missing samples. Heading has no reference and begins at zero.
package struct AttitudeFilter: ~Copyable {
    let parameters: AttitudeParameters
    /// What is known of scale and misalignment before the first sample, body axes; `nil` where nothing is.
    private let prior: ScaleEstimate?
    var strapdown = Strapdown()
    var covariance = ErrorCovariance()
    var sums = BlockSums()
    var rest = RestDetector()
    var start = StartPhase()
    var level = LevelGuard()

    /// The sample period as it usually is, s.
    var usualInterval = 0.0
    /// The block's period, s.
    var blockDuration = 0.1
    /// Seconds after which Jacobians and spreads are summed up, less half a sample.
    private var sumInterval = 0.0
    /// Seconds since the last sample that could be used.
    var skipped = 0.0
    var hasBegun = false

    /// The sample before: what was measured, and the corrected rate.
    var lastForce = Vector3.zero
    var lastRate = Vector3.zero

    /// Doubt that the next block takes in: variance of the attitude after a gap (rad²), and of attitude (rad²) and velocity
    /// (m²/s²) where samples were interpolated.
    var gapTilt = 0.0
    var interpolationTilt = 0.0
    var interpolationVelocity = 0.0

    /// Seconds for which heading and calibration are still left alone.
    var hold = 0.0

    /// Where there is no gyroscope.
    private var inclination = VectorLowPass(cutoff: 1)

    /// The angular rate of the last sample as the body turned, rad/s, body frame.
    package var rotationRate: Vector3 { lastRate }

    /// Makes a filter that has seen nothing.
    ///
    /// - Parameters:
    ///   - parameters: what can be tuned.
    ///   - scale: what an earlier run learnt of scale and misalignment, body axes, and how far that is to be trusted: it is
    ///     in force from the first sample and goes on being learnt. One that cannot be used is left out.
    package init(parameters: AttitudeParameters = AttitudeParameters(), scale: ScaleEstimate? = nil) {
        self.parameters = parameters
        prior = scale.flatMap { $0.isUsable ? $0 : nil }
    }

    // MARK: What is known

    /// The attitude: turns body vectors into the earth frame, z up, heading zero where the filter started.
    package var attitude: Quaternion { strapdown.attitude }

    /// Estimate of the gyroscope's bias, rad/s, body frame.
    package var gyroscopeBias: Vector3 { strapdown.bias }

    /// Estimate of the gyroscope's scale and misalignment beyond the identity: the true rate is (1 + K) times the bias-free.
    package var gyroscopeScale: Matrix3 { strapdown.scale }

    /// The same with the standard deviation of each element: what a later filter can begin with.
    ///
    /// What the movements so far did not tell of has kept the deviation it began with.
    package var scaleEstimate: ScaleEstimate {
        ScaleEstimate(
            scale: strapdown.scale, deviation: Matrix3(deviations(0), deviations(1), deviations(2)))
    }

    /// The deviations of a row of K.
    private func deviations(_ to: Int) -> Vector3 {
        func deviation(_ from: Int) -> Double {
            Double(covariance.variance(ErrorState.scale(to, from))).squareRoot()
        }
        return Vector3(deviation(0), deviation(1), deviation(2))
    }

    /// Standard deviation of the estimated bias, rad/s, largest of the axes.
    package var gyroscopeBiasDeviation: Double {
        var largest: Float = 0
        for axis in 0..<3 { largest = max(largest, covariance.variance(ErrorState.bias(axis))) }
        return Double(largest).squareRoot()
    }

    /// Standard deviation of the estimated scale and misalignment, largest of the nine elements.
    package var gyroscopeScaleDeviation: Double {
        var largest: Float = 0
        for to in 0..<3 {
            for from in 0..<3 { largest = max(largest, covariance.variance(ErrorState.scale(to, from))) }
        }
        return Double(largest).squareRoot()
    }

    /// Standard deviation of the tilt, rad, larger of the two axes.
    package var tiltDeviation: Double {
        Double(max(covariance.variance(ErrorState.attitude(0)), covariance.variance(ErrorState.attitude(1))))
            .squareRoot()
    }

    /// Whether the sensor has been at rest for some time.
    package var isAtRest: Bool { rest.quietTime >= parameters.restDuration }

    /// Whether the sensor moves: the opposite of having been quiet for half a second.
    package var isMoving: Bool { rest.quietTime < 0.5 }

    // MARK: A sample

    /// Takes a sample in body axes, measured `interval` seconds after the one before; 0 for the first one.
    ///
    /// A sample that is not finite is left out; the next one bridges it. Samples may be missing and their periods may
    /// vary: nothing assumes a fixed rate.
    package mutating func update(_ sample: MotionSample, interval: Double) {
        let interval = interval + skipped
        guard sample.acceleration.isFinite, sample.rotationRate.isFinite else {
            skipped = interval
            return
        }
        skipped = 0
        guard sample.flags.contains(.rotationRate) else {
            level(by: sample.acceleration, interval: interval)
            return
        }
        guard hasBegun, interval > 0 else {
            if !hasBegun { begin(with: sample) }
            return
        }
        learnInterval(interval)
        let biasFree = strapdown.biasFree(sample.rotationRate)
        let rate = strapdown.corrected(biasFree)
        var turn = rate * interval
        var force = sample.acceleration
        if interval > 1.5 * usualInterval {
            // Samples are missing: the mean of both ends stands for the missing part.
            let missing = interval - usualInterval
            turn += (lastRate - rate) * (0.5 * missing)
            force += (lastForce - force) * (0.5 * missing / interval)
            if interval > longestInterpolation {
                bridge(turn: turn, rate: rate, force: sample.acceleration, interval: interval)
                return
            }
            interpolationTilt += 0.25 * (lastRate - rate).lengthSquared * missing * missing / 3
            interpolationVelocity += 0.25 * (lastForce - sample.acceleration).lengthSquared * missing * missing / 3
        }
        strapdown.turn(by: turn)
        let step = strapdown.step(force, rate: rate, biasFreeRate: biasFree, interval: interval)
        let roughness = sample.acceleration - lastForce
        lastForce = sample.acceleration
        lastRate = rate
        if start.isUnderWay {
            continueStart(step.force, interval: interval)
            return
        }
        strapdown.move(by: step.force, interval: interval)
        sums.add(sample, force: step.force, roughness: roughness, interval: interval)
        let isComplete = sums.duration >= blockDuration - 0.5 * interval
        if isComplete || sums.sinceTaken >= sumInterval { sums.take(step, sample) }
        if isComplete { closeBlock(rotation: step.rotation) }
    }

    /// Keeps the usual sample period and the block's: twenty samples, from 0.1 to 0.2 s, and one sample at least.
    private mutating func learnInterval(_ interval: Double) {
        if usualInterval == 0 || interval < 0.5 * usualInterval {
            usualInterval = interval
        } else if interval < 1.5 * usualInterval {
            usualInterval += 0.01 * (interval - usualInterval)
        } else {
            return
        }
        blockDuration = max(usualInterval, min(0.2, max(0.1, 20 * usualInterval)))
        sumInterval = 1 / parameters.sumRate - 0.5 * usualInterval
    }

    /// The first sample: its force is the first guess of the vertical.
    private mutating func begin(with sample: MotionSample) {
        resetCalibration(prior)
        strapdown.attitude = Quaternion(from: sample.acceleration, to: Vector3(0, 0, 1))
        lastForce = sample.acceleration
        lastRate = strapdown.corrected(strapdown.biasFree(sample.rotationRate))
        hasBegun = true
        beginStart()
        // It counts like the others, although nobody knows how long it lasted.
        continueStart(strapdown.attitude.rotate(sample.acceleration), interval: 0)
    }

    /// Without a gyroscope: the inclination of the low-passed force, heading zero.
    private mutating func level(by force: Vector3, interval: Double) {
        let up = inclination.update(force, interval: interval)
        let isQuiet = rest.isQuiet(force: force, interval: interval, parameters)
        _ = rest.conclude(isQuiet: isQuiet, duration: interval, parameters)
        strapdown.attitude = Quaternion(inclinationOf: up)
    }
}
