extension MotionManager {
    /// What is known of the errors of the chip that runs; `nil` where nothing runs.
    ///
    /// It grows: `biasLine` learns while the sensor rests and `learntScale` while it is moved. What samples are calibrated
    /// with changes only with `setCalibration` and at the next start.
    public var calibration: StoredCalibration? { keeper?.calibration }

    /// Why the calibration that is kept of the chip was ignored at the start; `nil` where it was not, or nothing runs.
    public var calibrationWarning: CalibrationStoreError? { keeper?.warning }

    /// Puts another calibration of the chip in force with the next batch of samples, and keeps it if there is a state
    /// directory: it is on the disk when this returns. Attitude and reference begin anew, as with another mounting.
    ///
    /// - Throws: `notRunning`, or `notWritten`: it is then in force, and keeping it is tried again while the manager lives.
    public func setCalibration(_ calibration: StoredCalibration) throws(CalibrationStoreError) {
        guard let keeper, let exchange else { throw CalibrationStoreError.notRunning }
        let order = keeper.set(calibration)
        exchange.order { $0.calibration = order }
        try keeper.keep()
    }

    /// Forgets everything that is known of the chip, the bias that was learnt too.
    ///
    /// - Throws: `notRunning`, or `notWritten`: it is then not in force any more, and forgetting it is tried again while the manager lives.
    public func clearCalibration() throws(CalibrationStoreError) {
        try setCalibration(StoredCalibration())
    }
}
