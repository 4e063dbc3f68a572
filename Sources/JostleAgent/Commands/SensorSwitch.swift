internal import IMUDrivers
internal import MotionCore
internal import MotionKit

/// Switches sensing off and on while the agent keeps running. While it is off, the chip sleeps and nothing is polled.
///
/// Used on the loop's thread only. The agent keeps the sensor's lock while sensing is off, so that no other program
/// takes the sensor.
final class SensorSwitch {
    /// The manager that reads the sensor.
    let manager: MotionManager

    private let selection: SensorSelection
    /// The settings with which the sensor is read, or will be.
    private(set) var imu: IMUSettings
    private var device: (any SensorDevice)?

    /// Whether sensing is switched off.
    private(set) var isStopped: Bool

    /// Called before the manager stops, for what needs its last samples.
    var willStop: (() -> Void)?

    /// Creates a switch for `device`, an open sensor. If `device` is `nil`, sensing is off, and the first `start` opens
    /// `selection`.
    init(manager: MotionManager, selection: SensorSelection, imu: IMUSettings, device: (any SensorDevice)?) {
        self.manager = manager
        self.selection = selection
        self.imu = imu
        self.device = device
        isStopped = device == nil
    }

    /// A short description of the sensor; `nil` before it is opened.
    var title: String? { device?.title }

    /// Whether the sensor has a gyroscope, or is not open yet.
    var hasGyroscope: Bool { device.map { $0.info.gyroscopeRange > 0 } ?? true }

    /// The name of the magnetometer that is read with the sensor; `nil` if there is none.
    var magnetometerName: String? { device?.magnetometerName }

    /// The sensor's mount matrix, if the system knows it.
    var mountMatrix: Matrix3? { device?.mountMatrix }

    /// Differences from the requested configuration and other warnings, one sentence each.
    var notes: [String] {
        guard let device else { return [] }
        guard device.magnetometerName != nil, manager.calibration?.magnetometer == nil else { return device.notes }
        return device.notes + [
            "sensor.magnetometer: it is not calibrated, so the heading may be wrong: jostle calibrate magnetometer"
        ]
    }

    /// Why the chip or its bus refuses settings, as far as the open sensor knows it.
    func refusal(of imu: IMUSettings) -> SensorRateError? { imu == self.imu ? nil : device?.refusal(of: imu) }

    /// Starts to read the sensor, and opens it first if necessary. Has no effect if it is already being read.
    ///
    /// - Returns: whether sensing was off.
    func start() throws(SensorError) -> Bool {
        guard !manager.isRunning else { return false }
        try manager.start(with: try openedDevice())
        isStopped = false
        return true
    }

    private func openedDevice() throws(SensorError) -> any SensorDevice {
        if let device { return device }
        let opened = try selection.open(imu)
        device = opened
        return opened
    }

    /// Cancels open gestures and puts the chip to sleep. Has no effect if sensing is off.
    ///
    /// Takes a few milliseconds, and a second at most.
    /// - Returns: whether sensing was on.
    func stop() -> Bool {
        guard !isStopped else { return false }
        willStop?()
        manager.stop()
        isStopped = true
        return true
    }

    /// Configures the sensor again: stops it, opens it with these settings and starts it, which takes some tenths of a
    /// second. Without a change it does nothing, unless `restarts` is true or the sensor could not be started before.
    /// Settings that the chip or its bus refuses interrupt nothing.
    ///
    /// - Throws: why the sensor cannot be configured so; it then runs with its old settings, if it can.
    func configure(_ imu: IMUSettings, restarts: Bool = false) throws(SensorError) {
        let isIdle = !isStopped && !manager.isRunning
        guard imu != self.imu || restarts || isIdle else { return }
        if let refusal = refusal(of: imu) {
            if restarts || isIdle { try configure(self.imu, restarts: restarts) }
            throw .rate(refusal)
        }
        manager.imu = imu
        guard device != nil || isIdle else {
            self.imu = imu
            return
        }
        willStop?()
        manager.stop()
        do {
            try open(imu)
            self.imu = imu
        } catch {
            manager.imu = self.imu
            reopen()
            throw error
        }
    }

    /// Opens the sensor with its old settings. If that fails too, `resume` tries again.
    private func reopen() {
        do {
            try open(imu)
        } catch {
            device = nil
        }
    }

    /// Opens the sensor if neither new settings nor the old ones could be applied to it, because it did not answer.
    ///
    /// - Returns: whether it is being read again.
    func resume() -> Bool {
        guard device == nil, !isStopped else { return false }
        reopen()
        return device != nil
    }

    /// Opens the sensor, which must not be open, and starts it unless sensing is off.
    private func open(_ imu: IMUSettings) throws(SensorError) {
        // The lock of the open device would keep the new one out.
        device = nil
        let opened = try selection.open(imu)
        device = opened
        if !isStopped { try manager.start(with: opened) }
    }
}
