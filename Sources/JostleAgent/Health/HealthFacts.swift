internal import IMUDrivers
internal import MotionCore
internal import MotionKit

/// What a health report is drawn up from, as it is at one moment.
struct HealthFacts {
    var isStopped = false
    var sensorTitle: String?
    var status = IMUStatus()
    var calibration: StoredCalibration?
    var unavailableGestures: GestureSet = []
    var hasRealTimePriority = false
    /// °C.
    var temperature: Double?
    var droppedDeliveries = 0
    var outbox = Outbox.Figures()
    /// Files that could not be written or wait for the disk, a few words each.
    var storageFaults: [String] = []
    var connects: UInt64 = 0
    /// Processor time used since the start, s.
    var processorTime = 0.0
    /// Bytes.
    var residentMemory = 0
    var isClockSynchronised = false

    /// The facts about sensing, of a manager and its sensor.
    init(_ sensor: SensorSwitch) {
        let manager = sensor.manager
        isStopped = sensor.isStopped
        sensorTitle = sensor.title
        status = manager.lastSensorStatus ?? IMUStatus()
        calibration = manager.calibration
        unavailableGestures = manager.state?.unavailableGestures(manager.settings.gestures) ?? []
        hasRealTimePriority = manager.hasRealTimePriority ?? false
        temperature = manager.state?.temperature
        droppedDeliveries = manager.droppedDeliveries
    }

    /// No facts yet.
    init() {}
}
