/// Collects the readings of a calibration of the magnetometer: waits for a rest, from which the gyroscope's bias and the
/// vertical are known, and then adds readings with the six-axis attitude to a `MagneticFit`.
///
/// Everything is along the axes of the accelerometer and gyroscope, whatever the mounting.
package struct MagneticCollector: ~Copyable {
    /// What the board is doing.
    package enum Phase: Equatable, Sendable, BitwiseCopyable {
        /// It has not been at rest for long enough; the seconds so far.
        case resting(seconds: Double)
        /// Readings are collected.
        case turning
        /// It turns too fast, and readings are left out.
        case tooFast
    }

    /// Seconds of rest at the beginning.
    package static let restDuration = 3.0

    /// The largest rate of a usable reading, rad/s. At 180 °/s a delay of 10 ms is a turn of 2°.
    private static let fastestRate = 180 * radiansPerDegree

    /// The largest time from a sample to a reading that belongs to it, s.
    private static let longestDelay = 0.1

    /// Readings in use before a result: 200 turns of five degrees take half a minute.
    package static let fewestReadings = 200

    package private(set) var fit: MagneticFit
    package private(set) var phase = Phase.resting(seconds: 0)

    /// The readings so far, also before the turn.
    package private(set) var count = 0

    private let calibration: SensorCalibration
    private var filter: AttitudeFilter
    private var last: Timestamp?
    private var restTime = 0.0

    // The readings at rest: their number, mean and sum of squared differences from it.
    private var restCount = 0.0
    private var restMean = Vector3.zero
    private var restSquares = 0.0

    /// - Parameters:
    ///   - chip: the errors of accelerometer and gyroscope.
    ///   - learntScale: the gyroscope's scale and misalignment beyond that.
    package init(chip: ChipCalibration = ChipCalibration(), learntScale: ScaleEstimate? = nil) {
        calibration = SensorCalibration(chip: chip)
        filter = AttitudeFilter(scale: learntScale)
        var parameters = MagneticFit.Parameters()
        parameters.fewestReadings = MagneticCollector.fewestReadings
        fit = MagneticFit(parameters: parameters)
    }

    /// Takes a sample of accelerometer and gyroscope, along the sensor's axes.
    package mutating func take(_ sample: MotionSample) {
        var interval = 0.0
        if let last {
            guard sample.timestamp > last else { return }
            interval = sample.timestamp.seconds(since: last)
        }
        // After a gap the attitude does not continue.
        if interval > 0.5 { fit.interrupt() }
        last = sample.timestamp
        filter.update(calibration.apply(sample), interval: interval)
        if case .resting = phase {
            restTime = filter.isAtRest ? restTime + interval : 0
            phase = restTime < MagneticCollector.restDuration ? .resting(seconds: restTime) : .turning
            if phase == .turning, restCount > 2 { fit.restNoise = (restSquares / (3 * (restCount - 1))).squareRoot() }
        } else {
            phase = filter.rotationRate.length > MagneticCollector.fastestRate ? .tooFast : .turning
        }
    }

    /// Takes a reading of the magnetometer, after the samples up to its time.
    ///
    /// - Returns: whether `fit` has one more of its readings.
    @discardableResult
    package mutating func take(_ reading: MagneticSample) -> Bool {
        guard let last, reading.field.isFinite else { return false }
        count += 1
        switch phase {
        case .resting:
            takeAtRest(reading.field)
            return false
        case .tooFast:
            fit.interrupt()
            return false
        case .turning:
            let delay = reading.timestamp.seconds(since: last)
            guard abs(delay) <= MagneticCollector.longestDelay else { return false }
            let attitude = filter.attitude * Quaternion(rotationVector: delay * filter.rotationRate)
            return fit.add(reading.field, attitude: attitude)
        }
    }

    /// Updates mean and variance at rest (Welford's method).
    private mutating func takeAtRest(_ field: Vector3) {
        if restTime == 0 {
            restCount = 0
            restMean = .zero
            restSquares = 0
        }
        restCount += 1
        let difference = field - restMean
        restMean += (1 / restCount) * difference
        restSquares += difference.dot(field - restMean)
    }
}
