internal import IMUDrivers
internal import MotionCore
internal import MotionKit

/// The inputs of a health report, all taken at one moment.
struct HealthFacts {
    var isStopped = false
    var sensorTitle: String?
    /// What the sensor or its bus cannot do of the settings, or may not: one sentence each.
    var sensorNotes: [String] = []
    var status = IMUStatus()
    /// The name of the magnetometer, its driver's state, and the heading by it; `nil` without one.
    var magnetometerName: String?
    var magnetometer: MagnetometerStatus?
    var heading: HeadingState?
    /// What is wrong with the scale of the accelerometer.
    var gravity: GravityCheck.Finding?
    var calibration: StoredCalibration?
    var unavailableGestures: GestureSet = []
    var hasRealTimePriority = false
    /// °C.
    var temperature: Double?
    var droppedDeliveries = 0
    /// Gestures since the start.
    var gestures: UInt64 = 0
    var outbox = Outbox.Statistics()
    /// Files that could not be written or are waiting for the disk, one phrase each.
    var storageFaults: [String] = []
    /// What the broker refuses, and what is left out of the connection, one phrase each.
    var connectionFaults: [String] = []
    /// The upgrade that the configuration asks for; `nil` if it asks for none.
    var upgrade: UpgradeStatus?
    /// Whether another device uses the same id.
    var hasDuplicate = false
    var connects: UInt64 = 0
    /// Processor time used since the start, s.
    var processorTime = 0.0
    /// Bytes.
    var residentMemory = 0
    var isClockSynchronised = false

    /// The facts about a sensor and its manager.
    init(_ sensor: SensorSwitch) {
        let manager = sensor.manager
        isStopped = sensor.isStopped
        sensorTitle = sensor.title
        sensorNotes = sensor.notes
        status = manager.lastSensorStatus ?? IMUStatus()
        magnetometerName = sensor.magnetometerName
        magnetometer = manager.lastMagnetometerStatus
        heading = manager.state?.heading
        calibration = manager.calibration
        unavailableGestures = manager.state?.unavailableGestures(manager.settings.gestures) ?? []
        hasRealTimePriority = manager.hasRealTimePriority ?? false
        temperature = manager.state?.temperature
        droppedDeliveries = manager.droppedDeliveries
    }

    /// Creates facts with default values.
    init() {}
}
