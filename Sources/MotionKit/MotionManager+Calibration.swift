extension MotionManager {
    /// The calibration of the running chip; `nil` if nothing runs.
    ///
    /// `biasLine` is updated while the sensor rests, `learntScale` while it moves. The calibration that samples are
    /// corrected with changes only with `setCalibration` and at the next start.
    public var calibration: StoredCalibration? { running?.calibrations.calibration }

    /// Why the chip's stored calibration was ignored at the start; `nil` if it was not, or if nothing runs.
    public var calibrationWarning: CalibrationStoreError? { running?.calibrations.warning }

    /// Replaces the calibration of the chip with the next batch of samples, and saves it if there is a state directory: it
    /// is on the disk when this returns. Attitude and reference start again, as with another mounting.
    ///
    /// - Throws: `notRunning`, or `notWritten`: the calibration is then in force, and saving it is retried.
    public func setCalibration(_ calibration: StoredCalibration) throws(CalibrationStoreError) {
        guard let running else { throw CalibrationStoreError.notRunning }
        let change = running.calibrations.set(calibration)
        running.exchange.request { $0.calibration = change }
        try running.calibrations.save()
    }

    /// Forgets the calibration of the chip, the estimated bias and scale too.
    ///
    /// - Throws: `notRunning`, or `notWritten`: the calibration is then no longer in force, and removing it is retried.
    public func clearCalibration() throws(CalibrationStoreError) {
        try setCalibration(StoredCalibration())
    }
}
