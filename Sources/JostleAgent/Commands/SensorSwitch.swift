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
    private let imu: IMUSettings
    private var device: (any SensorDevice)?

    /// Whether sensing is switched off.
    private(set) var isStopped: Bool

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

    /// The sensor's mount matrix, if the system knows it.
    var mountMatrix: Matrix3? { device?.mountMatrix }

    /// Differences from the requested configuration and other warnings, one sentence each.
    var notes: [String] { device?.notes ?? [] }

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
        manager.stop()
        isStopped = true
        return true
    }
}
