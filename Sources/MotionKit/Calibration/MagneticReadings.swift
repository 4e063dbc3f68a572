package import MotionCore

/// Joins the samples and readings of a sensor by their time, for the calibration of its magnetometer.
final class MagneticReadings {
    private(set) var collector: MagneticCollector
    /// Readings later than the last sample.
    private var waiting: [MagneticSample] = []

    /// With the calibration of accelerometer and gyroscope.
    init(known: StoredCalibration) {
        collector = MagneticCollector(chip: known.effective, learntScale: known.learntScale)
    }

    func take(_ reading: MagneticSample) { waiting.append(reading) }

    func take(_ sample: MotionSample) {
        // A reading belongs to the attitude of the last sample before it.
        while let reading = waiting.first, reading.timestamp < sample.timestamp {
            collector.take(reading)
            waiting.removeFirst()
        }
        collector.take(sample)
    }
}

/// Tries, as readings come, whether they give a calibration of the magnetometer.
package struct MagneticAttempts {
    /// What has come of an attempt.
    package enum Outcome {
        case solved(MagneticFit.Solution)
        /// There is no calibration yet.
        case notYet(MagneticFitError)
        /// Further readings would not change it.
        case refused(MagneticFitError)
    }

    /// New readings between two attempts at a result.
    private static let interval = 10

    /// Readings after which a result that no board has is not going to change any more.
    private static let mostImplausible = 500

    private var attempted = 0

    package init() {}

    /// Tries it; `nil` if too few readings are new.
    package mutating func attempt(_ fit: MagneticFit) -> Outcome? {
        let readings = fit.readings
        guard readings >= attempted + MagneticAttempts.interval || readings < attempted else { return nil }
        attempted = readings
        do throws(MagneticFitError) {
            return .solved(try fit.solve())
        } catch {
            return isFinal(error, readings) ? .refused(error) : .notYet(error)
        }
    }

    private func isFinal(_ error: MagneticFitError, _ readings: Int) -> Bool {
        switch error {
        case .wrongAxes: true
        case .implausibleStrength, .implausibleSoftIron, .noSolution: readings >= MagneticAttempts.mostImplausible
        case .tooFewReadings, .notTurnedEnough, .residualTooLarge: false
        }
    }
}
