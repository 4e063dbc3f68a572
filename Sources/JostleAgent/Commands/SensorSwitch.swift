internal import IMUDrivers
internal import MotionCore
internal import MotionKit

/// Switches sensing off and on again while the agent goes on: off, the chip sleeps and nothing is polled.
///
/// For the loop's thread. The sensor stays the agent's while it is off: its lock is kept, so that nobody takes it meanwhile.
final class SensorSwitch {
    /// What reads the sensor.
    let manager: MotionManager

    private let selection: SensorSelection
    private let imu: IMUSettings
    private var device: (any SensorDevice)?

    /// Whether nothing is to be sensed.
    private(set) var isStopped: Bool

    /// A switch for `device`, the sensor, opened; without one the `selection` is opened at the first start.
    init(manager: MotionManager, selection: SensorSelection, imu: IMUSettings, device: (any SensorDevice)?) {
        self.manager = manager
        self.selection = selection
        self.imu = imu
        self.device = device
        isStopped = device == nil
    }

    /// The sensor in a few words; `nil` before it was opened.
    var title: String? { device?.title }

    /// How the sensor is mounted, where the system knows it.
    var mountMatrix: Matrix3? { device?.mountMatrix }

    /// What differs from what was wanted, or may not work, a sentence each.
    var notes: [String] { device?.notes ?? [] }

    /// Begins to read the sensor, which is opened where it is not yet; does nothing where it is read.
    ///
    /// - Returns: whether that is a change.
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

    /// Cancels open gestures and puts the chip to sleep; does nothing where that is so.
    ///
    /// It takes some milliseconds, and a second at most.
    /// - Returns: whether that is a change.
    func stop() -> Bool {
        guard !isStopped else { return false }
        manager.stop()
        isStopped = true
        return true
    }
}
