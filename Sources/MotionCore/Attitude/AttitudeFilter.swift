/// Fuses angular rate and specific force into attitude. At rest and in motion it also estimates the gyroscope's bias,
/// scale and misalignment, and the accelerometer's delay.
///
/// This is a motion-bounded inertial filter. Other filters treat acceleration as noise on gravity. This one treats it
/// as the derivative of a velocity that stays bounded, which is the derivative of a position that stays bounded.
/// Specific force minus gravity is integrated into horizontal velocity and position, and a Kalman filter takes as its
/// measurement that the position stays close to a slowly wandering origin. What does not fit is attributed to tilt and
/// to the causes of tilt: bias, scale, misalignment and delay.
///
/// Every sample goes through the navigation equations (`Strapdown`) and is added to the sums of a block (`BlockSums`).
/// About ten times a second a block is complete: it propagates the covariance (`ErrorCovariance`), the measurements are
/// applied, and the correction is fed back (`AttitudeFilter+Block`). `AttitudeFilter+Start` finds the vertical,
/// `AttitudeFilter+Rest` tells rests from steady turns, and `AttitudeFilter+Gaps` bridges missing samples. Heading has no
/// reference and starts at zero.
package struct AttitudeFilter: ~Copyable {
    let parameters: AttitudeParameters
    /// Scale and misalignment to start with, body axes; `nil` if unknown.
    private let prior: ScaleEstimate?
    var strapdown = Strapdown()
    var covariance = ErrorCovariance()
    var sums = BlockSums()
    var rest = RestDetector()
    var start = StartPhase()
    var divergence = DivergenceDetector()
    var slowInnovations = SlowInnovations()

    /// The usual sample period, s.
    var usualInterval = 0.0
    /// The block's period, s.
    var blockDuration = 0.1
    /// Seconds between two additions to the Jacobians and spreads, less half a sample.
    private var sumInterval = 0.0
    /// Seconds since the last usable sample.
    var skipped = 0.0
    var hasBegun = false

    /// Specific force and corrected rate of the previous sample.
    var lastForce = Vector3.zero
    var lastRate = Vector3.zero

    /// Variances that the next block adds: of the attitude after a gap (rad²), and of attitude (rad²) and velocity
    /// (m²/s²) for interpolated samples.
    var gapTiltVariance = 0.0
    var interpolationTiltVariance = 0.0
    var interpolationVelocityVariance = 0.0

    /// Seconds for which heading and calibration are still held.
    var holdTime = 0.0

    /// Whether the sensor turns steadily about the vertical: the force is steady in the body frame, too.
    var isTurningSteadily = false

    /// Whether the block showed that tilt, heading and motion are to be estimated from scratch.
    var mustRestart = false

    /// Standard deviation of the prior of the bias about the vertical of the start, rad/s, 0 before the start; and that
    /// vertical, body frame.
    var verticalBiasPrior = 0.0
    var verticalAtStart = Vector3.zero

    /// The sum of the turns about the vertical by which corrections have changed the heading, rad.
    package internal(set) var headingCorrection = 0.0

    /// Used without a gyroscope only.
    private var inclination = VectorLowPass(cutoff: 1)

    /// The angular rate of the last sample, corrected for bias, scale and misalignment, rad/s, body frame.
    package var rotationRate: Vector3 { lastRate }

    /// - Parameters:
    ///   - parameters: the tuning of the filter.
    ///   - scale: scale and misalignment from an earlier run, body axes, with their deviations. They apply from the
    ///     first sample on and continue to be estimated. Ignored unless `isUsable`.
    package init(parameters: AttitudeParameters = AttitudeParameters(), scale: ScaleEstimate? = nil) {
        self.parameters = parameters
        prior = scale.flatMap { $0.isUsable ? $0 : nil }
    }

    // MARK: Estimates

    /// The attitude: rotates body vectors into the earth frame, z up, heading zero at the start.
    package var attitude: Quaternion { strapdown.attitude }

    /// The estimated bias of the gyroscope, rad/s, body frame.
    package var gyroscopeBias: Vector3 { strapdown.bias }

    /// The estimated scale and misalignment K of the gyroscope, beyond the identity: true rate = (1 + K) · bias-free
    /// rate.
    package var gyroscopeScale: Matrix3 { strapdown.scale }

    /// `gyroscopeScale` with the standard deviation of each element: what a later filter can start with.
    ///
    /// An element that the movements so far did not reveal keeps its initial deviation.
    package var scaleEstimate: ScaleEstimate {
        ScaleEstimate(
            scale: strapdown.scale, deviation: Matrix3(deviations(0), deviations(1), deviations(2)))
    }

    /// The deviations of one row of K.
    private func deviations(_ to: Int) -> Vector3 {
        func deviation(_ from: Int) -> Double {
            Double(covariance.variance(ErrorState.scale(to, from))).squareRoot()
        }
        return Vector3(deviation(0), deviation(1), deviation(2))
    }

    /// Standard deviation of the estimated bias, rad/s, the largest of the axes.
    package var gyroscopeBiasDeviation: Double {
        var largest: Float = 0
        for axis in 0..<3 { largest = max(largest, covariance.variance(ErrorState.bias(axis))) }
        return Double(largest).squareRoot()
    }

    /// Standard deviation of the estimated scale and misalignment, the largest of the nine elements.
    package var gyroscopeScaleDeviation: Double {
        var largest: Float = 0
        for to in 0..<3 {
            for from in 0..<3 { largest = max(largest, covariance.variance(ErrorState.scale(to, from))) }
        }
        return Double(largest).squareRoot()
    }

    /// Standard deviation of the tilt, rad, the larger of the two axes.
    package var tiltDeviation: Double {
        Double(largestTiltVariance).squareRoot()
    }

    /// Whether the direction of the vertical is known to within 5°, one standard deviation: not in the first half second, nor
    /// after missing samples until later ones have shown it.
    package var isVerticalKnown: Bool {
        !start.isActive && Double(largestTiltVariance) + gapTiltVariance < Self.knownTiltVariance
    }

    private static var knownTiltVariance: Double { 25 * radiansPerDegree * radiansPerDegree }

    private var largestTiltVariance: Float {
        max(covariance.variance(ErrorState.attitude(0)), covariance.variance(ErrorState.attitude(1)))
    }

    /// Whether the variance of every error is positive and finite: a wrong covariance shows here first.
    package var hasSoundVariances: Bool {
        for state in 0..<ErrorState.count {
            let variance = covariance.variance(state)
            // The heading is exact by definition when a start begins.
            guard variance.isFinite, variance > 0 || state == ErrorState.heading && variance == 0 else { return false }
        }
        return true
    }

    /// Whether the sensor has been at rest for `restDuration`.
    package var isAtRest: Bool { rest.quietTime >= parameters.restDuration }

    /// Whether the sensor has not been quiet for half a second.
    package var isMoving: Bool { rest.quietTime < 0.5 }

    // MARK: A sample

    /// Processes a sample in body axes, measured `interval` seconds after the previous one; 0 for the first one.
    ///
    /// A sample that is not finite is skipped, and the next one bridges it. Samples may be missing and their periods
    /// may vary: nothing assumes a fixed rate.
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
        updateInterval(interval)
        let biasFree = strapdown.biasFree(sample.rotationRate)
        let rate = strapdown.corrected(biasFree)
        var turn = rate * interval
        var force = sample.acceleration
        if interval > 1.5 * usualInterval {
            // Samples are missing: the mean of both ends stands in for them.
            let missing = interval - usualInterval
            turn += (lastRate - rate) * (0.5 * missing)
            force += (lastForce - force) * (0.5 * missing / interval)
            if interval > longestInterpolation {
                bridge(turn: turn, rate: rate, force: sample.acceleration, interval: interval)
                return
            }
            interpolationTiltVariance += 0.25 * (lastRate - rate).lengthSquared * missing * missing / 3
            interpolationVelocityVariance +=
                0.25 * (lastForce - sample.acceleration).lengthSquared * missing * missing / 3
        }
        strapdown.turn(by: turn)
        let step = strapdown.step(force, rate: rate, biasFreeRate: biasFree, interval: interval)
        let roughness = sample.acceleration - lastForce
        lastForce = sample.acceleration
        lastRate = rate
        if start.isActive {
            continueStart(step.force, interval: interval)
            return
        }
        strapdown.move(by: step.force, interval: interval)
        sums.add(sample, force: step.force, roughness: roughness, interval: interval)
        let isComplete = sums.duration >= blockDuration - 0.5 * interval
        if isComplete || sums.sinceTaken >= sumInterval { sums.take(step, sample) }
        if isComplete { closeBlock(rotation: step.rotation) }
    }

    /// Updates the usual sample period and the block duration: twenty samples, between 0.1 and 0.2 s, and at least one
    /// sample.
    private mutating func updateInterval(_ interval: Double) {
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

    /// Initialises the filter from the first sample; its force is the first estimate of the vertical.
    private mutating func begin(with sample: MotionSample) {
        resetCalibration(prior)
        strapdown.attitude = Quaternion(from: sample.acceleration, to: Vector3(0, 0, 1))
        lastForce = sample.acceleration
        lastRate = strapdown.corrected(strapdown.biasFree(sample.rotationRate))
        hasBegun = true
        beginStart()
        // It counts like the other samples, although its own period is unknown.
        continueStart(strapdown.attitude.rotate(sample.acceleration), interval: 0)
    }

    /// Without a gyroscope: sets the attitude to the inclination of the low-passed force, heading zero.
    private mutating func level(by force: Vector3, interval: Double) {
        if interval == 0 || interval > parameters.restartGap { start.begin(duration: 2 * parameters.startDuration) }
        _ = start.add(force, interval: min(interval, longestInterpolation), firstLevelling: 0, block: blockDuration)
        let up = inclination.update(force, interval: interval)
        let isQuiet = rest.isQuiet(force: force, interval: interval, parameters)
        _ = rest.updateQuietTime(isQuiet: isQuiet, duration: interval, parameters)
        strapdown.attitude = Quaternion(inclinationOf: up)
    }
}
