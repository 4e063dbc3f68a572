internal import CMotionMath

/// Fuses angular rate and specific force into attitude, and learns the gyroscope's bias when the sensor rests.
///
/// The gyroscope carries the attitude from sample to sample. What drifts is corrected slowly by the vertical: specific
/// force turned into the earth frame and low-passed there is gravity, since accelerations of a body that stays about
/// where it is average out (the "almost inertial frame" of D. Laidig and T. Seel, VQF, Information Fusion 91, 2023).
/// Low-passing in the earth frame, not in the body's, lets fast turns through unhurt. Heading has no reference and
/// starts at zero.
public struct AttitudeFilter: Sendable, BitwiseCopyable {
    /// What can be tuned; the defaults suit every movement of hand-held and mounted boards.
    public struct Parameters: Sendable, BitwiseCopyable {
        /// Time constant of the low-pass on the specific force, s. Smaller follows the accelerometer sooner and is
        /// disturbed by movement, larger trusts the gyroscope longer and lets bias tilt the attitude. Default 3.
        public var accelerationTimeConstant = 3.0

        /// Standard deviation of the gyroscope's bias before anything is known, rad/s. Default 3 °/s.
        public var initialBiasDeviation = 3 * radiansPerDegree

        /// How far the bias wanders, rad/s/√s. Default 0.005 °/s/√s.
        public var biasWalk = 0.005 * radiansPerDegree

        /// Standard deviation of one second's mean rate at rest as a measurement of the bias, rad/s·√s. Smaller
        /// believes rests sooner. Default 0.05 °/s·√s.
        public var restDeviation = 0.05 * radiansPerDegree

        /// Seconds without a sample after which the vertical is found anew. Default 1.
        public var longestGap = 1.0

        /// Makes the defaults.
        public init() {}
    }

    private let parameters: Parameters
    private var rest = RestDetector()
    private var force: VectorLowPass
    private var inertial = Quaternion.identity
    private var correction = Quaternion.identity
    private var biasVariance: Double
    private var startTime = 0.0
    private var startSum = Vector3.zero
    private var startCount = 0.0
    private var hasStarted = false
    private var skipped = 0.0

    /// Estimate of the gyroscope's bias, rad/s, body frame.
    public private(set) var gyroscopeBias = Vector3.zero

    /// Makes a filter that has seen nothing.
    public init(parameters: Parameters = Parameters()) {
        self.parameters = parameters
        // A Butterworth low-pass of this cut-off has the time constant asked for: its integrated step error is τ.
        force = VectorLowPass(cutoff: 2.0.squareRoot() / (2 * .pi * parameters.accelerationTimeConstant))
        biasVariance = parameters.initialBiasDeviation * parameters.initialBiasDeviation
    }

    /// The attitude: turns body vectors into the earth frame, z up, heading zero where the filter started.
    public var attitude: Quaternion { correction * inertial }

    /// Standard deviation of the estimated gyroscope bias, rad/s per axis.
    public var gyroscopeBiasDeviation: Double { biasVariance.squareRoot() }

    /// Whether the sensor has been at rest for some time.
    public var isAtRest: Bool { rest.isAtRest }

    /// Whether the sensor moves: the opposite of having been quiet for half a second.
    public var isMoving: Bool { !rest.hasBeenQuiet(for: 0.5) }

    /// Takes a sample in body axes, measured `interval` seconds after the one before; 0 for the first one.
    ///
    /// A sample that is not finite is left out; the next one bridges it.
    public mutating func update(_ sample: MotionSample, interval: Double) {
        let interval = interval + skipped
        guard sample.acceleration.isFinite, sample.rotationRate.isFinite else {
            skipped = interval
            return
        }
        skipped = 0
        let hasRotationRate = sample.flags.contains(.rotationRate)
        if interval > parameters.longestGap { restart() }
        guard hasStarted else {
            start(with: sample)
            return
        }
        rest.update(rotationRate: sample.rotationRate, acceleration: sample.acceleration, interval: interval)
        guard hasRotationRate else {
            level(by: sample.acceleration, interval: interval)
            return
        }
        learnBias(interval: interval)
        let rotation = (sample.rotationRate - gyroscopeBias) * interval
        inertial = (inertial * Quaternion(rotationVector: rotation)).normalized
        correctTilt(by: sample.acceleration, interval: interval)
    }

    /// The first sample: its force is the first guess of the vertical.
    private mutating func start(with sample: MotionSample) {
        hasStarted = true
        if sample.flags.contains(.rotationRate) {
            correction = Quaternion(from: attitude.rotate(sample.acceleration), to: Vector3(0, 0, 1)) * correction
        } else {
            correction = .identity
            inertial = AttitudeFilter.inclination(of: sample.acceleration)
        }
        startTime = 0
        startSum = .zero
        startCount = 0
        force.reset()
        rest.reset()
    }

    /// After a long gap: the vertical is found anew, what was learnt of the gyroscope stays.
    private mutating func restart() {
        hasStarted = false
    }

    /// Turns the attitude so that the low-passed force, in the earth frame, points up.
    private mutating func correctTilt(by acceleration: Vector3, interval: Double) {
        let up = low(inertial.rotate(acceleration), interval: interval)
        correction = (Quaternion(from: correction.rotate(up), to: Vector3(0, 0, 1)) * correction).normalized
    }

    /// Without a gyroscope: the inclination of the low-passed force, heading zero.
    private mutating func level(by acceleration: Vector3, interval: Double) {
        // There is nothing to bridge movements with: a short memory follows turns at the price of swaying.
        force.cutoff = 1
        inertial = AttitudeFilter.inclination(of: force.update(acceleration, interval: interval))
        correction = .identity
    }

    /// The low-passed force; within the first time constant the mean of all there is, so that it is soon right.
    private mutating func low(_ input: Vector3, interval: Double) -> Vector3 {
        guard startTime < parameters.accelerationTimeConstant else { return force.update(input, interval: interval) }
        startTime += interval
        startSum += input
        startCount += 1
        let mean = startSum * (1 / startCount)
        force.reset(to: mean)
        return mean
    }

    /// At rest the mean rate is the bias: a scalar Kalman filter, the same for the three axes.
    private mutating func learnBias(interval: Double) {
        let largest = parameters.initialBiasDeviation * parameters.initialBiasDeviation
        biasVariance = min(largest, biasVariance + parameters.biasWalk * parameters.biasWalk * interval)
        guard rest.isAtRest, interval > 0 else { return }
        let noise = parameters.restDeviation * parameters.restDeviation / interval
        let gain = biasVariance / (biasVariance + noise)
        gyroscopeBias += (rest.meanRotationRate - gyroscopeBias) * gain
        biasVariance *= 1 - gain
    }

    /// The attitude of heading zero in which `force` points up: roll and pitch of a resting body.
    static func inclination(of force: Vector3) -> Quaternion {
        let roll = atan2(force.y, force.z)
        let pitch = atan2(-force.x, (force.y * force.y + force.z * force.z).squareRoot())
        return Quaternion(roll: roll, pitch: pitch, yaw: 0)
    }
}
