internal import Documents
package import IMUDrivers
internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// Decides when a health report is due, and composes it.
struct HealthReporter {
    /// Seconds from an occurrence to its report. Related occurrences often come together and share a report.
    private static let reaction = 1.0
    /// Seconds from the start to the first report.
    private static let firstReport = 5.0
    /// The largest number of faults that a report names.
    private static let longestList = 10

    private let version: String
    private let start: Timestamp
    private var interval: Double
    private var next: Timestamp
    private var last: Last

    /// The values at the last report.
    private struct Last {
        var time: Timestamp
        var processorTime: Double
        var samples: UInt64 = 0
        var dropped: UInt64 = 0
        var sentUnstored: UInt64 = 0
    }

    /// Creates a reporter with `interval` seconds between reports; 0 means no reports.
    init(version: String, interval: Double, processorTime: Double, at now: ClockReading) {
        self.version = version
        self.interval = interval
        start = now.monotonic
        next = now.monotonic.advanced(bySeconds: HealthReporter.firstReport)
        last = Last(time: now.monotonic, processorTime: processorTime)
    }

    /// Makes a report due soon, because something noteworthy happened.
    mutating func makeDue(at now: Timestamp) {
        next = min(next, now.advanced(bySeconds: HealthReporter.reaction))
    }

    /// When the next report is due; `nil` if reports are off.
    var nextReport: Timestamp? { interval > 0 ? next : nil }

    /// Changes the interval, s.
    mutating func changeInterval(_ interval: Double, at now: Timestamp) {
        guard interval != self.interval else { return }
        self.interval = interval
        next = now.advanced(bySeconds: HealthReporter.reaction)
    }

    /// Composes a report.
    mutating func report(_ facts: HealthFacts, at now: ClockReading) -> JSONObject {
        let before = last
        let status = facts.status
        let outbox = facts.outbox
        last = Last(
            time: now.monotonic, processorTime: facts.processorTime, samples: status.samples, dropped: outbox.dropped,
            sentUnstored: outbox.sentUnstored)
        next = now.monotonic.advanced(bySeconds: interval)
        // A restarted sensor thread counts from zero.
        let samples = status.samples >= before.samples ? status.samples - before.samples : 0
        let elapsed = max(1e-3, now.monotonic.seconds(since: before.time))
        let outboxFails =
            outbox.failure != nil || outbox.dropped > before.dropped || outbox.sentUnstored > before.sentUnstored
        let problems = facts.problems(hasTime: now.isSet, outboxFails: outboxFails)

        var report = JSONObject()
        report.add("t", now.wall)
        report.add("version", version)
        report.add("uptime", now.monotonic.seconds(since: start), decimals: 0)
        report.add("problem", !problems.isEmpty)
        report.add("problems", problems)
        report.add("sensor", facts.sensorTitle)
        report.add("gravity_factor", facts.gravity?.factor, decimals: 2)
        report.add("likely_chip", facts.gravity?.likely?.part)
        report.add("sensor_advice", facts.gravity?.advice)
        report.add("calibration", facts.calibration.flatMap(HealthReporter.sources))
        if !facts.unavailableGestures.isEmpty {
            report.add("unavailable_gestures", facts.unavailableGestures.words)
        }
        report.add("stopped", facts.isStopped)
        report.add("sensor_state", (facts.isStopped ? .asleep : status.state).word)
        report.add("real_time", facts.hasRealTimePriority)
        report.add("sensor_fault", status.lastFault?.explanation)
        if !facts.sensorNotes.isEmpty { report.add("sensor_notes", facts.sensorNotes) }
        report.add("temperature", facts.temperature, decimals: 1)
        report.add("tilt_deviation", facts.tiltDeviation, decimals: 1)
        report.add("heading_deviation", facts.headingDeviation, decimals: 1)
        report.add("rate", Double(samples) / elapsed, decimals: 1)
        HealthReporter.add(status, to: &report)
        report.add("magnetometer", HealthReporter.magnetometer(facts))
        report.add("gestures", Int64(clamping: facts.gestures))
        report.add("dropped_deliveries", Int64(facts.droppedDeliveries))
        HealthReporter.add(outbox, to: &report)
        if !facts.storageFaults.isEmpty { report.add("storage_faults", facts.storageFaults) }
        if !facts.connectionFaults.isEmpty {
            report.add("mqtt_faults", Array(facts.connectionFaults.prefix(HealthReporter.longestList)))
        }
        report.add("actions", facts.actions.map(HealthReporter.actions))
        report.add("connects", Int64(clamping: facts.connects))
        report.add("cpu_percent", 100 * (facts.processorTime - before.processorTime) / elapsed, decimals: 2)
        report.add("memory_mb", Double(facts.residentMemory) / 1_048_576, decimals: 1)
        report.add("upgrade", facts.upgrade?.json)
        report.add("clock", facts.isClockSynchronised ? "synchronised" : "unsynchronised")
        return report
    }

    private static func add(_ status: IMUStatus, to report: inout JSONObject) {
        report.add("period_ppm", status.periodDeviation, decimals: 0)
        report.add("period_measured", status.isPeriodMeasured)
        report.add("samples", Int64(clamping: status.samples))
        report.add("gaps", Int64(clamping: status.gaps))
        report.add("lost_samples", Int64(clamping: status.lostSamples))
        report.add("overflows", Int64(clamping: status.overflows))
        report.add("misalignments", Int64(clamping: status.misalignments))
        report.add("recoveries", Int64(clamping: status.recoveries))
        report.add("clipped_samples", Int64(clamping: status.clippedSamples))
        report.add("clipped_accelerations", Int64(clamping: status.clippedAccelerations))
        report.add("clipped_rotation_rates", Int64(clamping: status.clippedRotationRates))
        report.add("data_ready", HealthReporter.dataReady(status.dataReady))
        report.add("bus_errors", HealthReporter.counts(status.busErrors))
    }

    private static func add(_ outbox: Outbox.Statistics, to report: inout JSONObject) {
        report.add("outbox", Int64(outbox.count))
        report.add("outbox_bytes", Int64(outbox.bytes))
        report.add("outbox_unstored", Int64(outbox.unstored))
        report.add("outbox_sent_unstored", Int64(clamping: outbox.sentUnstored))
        report.add("outbox_fault", outbox.failure)
        report.add("outbox_dropped", Int64(clamping: outbox.dropped))
        report.add("outbox_expired", Int64(clamping: outbox.expired))
    }

    /// What rules with `run` or `post` have done, and what of it does not work now.
    private static func actions(_ statistics: ActionQueue.Statistics) -> JSONObject {
        var object = JSONObject()
        object.add("done", Int64(clamping: statistics.done))
        object.add("failed", Int64(clamping: statistics.failed))
        object.add("dropped", Int64(clamping: statistics.dropped))
        object.add("waiting", Int64(statistics.waiting))
        if !statistics.faults.isEmpty { object.add("faults", Array(statistics.faults.prefix(longestList))) }
        return object
    }

    /// The sources of the calibration, with the scale and misalignment estimated from movement; `nil` if the chip
    /// was not calibrated and nothing was estimated.
    static func sources(of calibration: StoredCalibration) -> JSONObject? {
        let sources = calibration.sources + [("learnt_scale", calibration.learntScaleSource)]
        var object = JSONObject()
        for (name, source) in sources where !source.isEmpty { object.add(name, source) }
        return sources.allSatisfy(\.source.isEmpty) ? nil : object
    }

    /// The magnetometer and the heading by it; `nil` if there is none.
    static func magnetometer(_ facts: HealthFacts) -> JSONObject? {
        guard let name = facts.magnetometerName, let status = facts.magnetometer else { return nil }
        var object = JSONObject()
        object.add("name", name)
        object.add("state", status.state.word)
        object.add("fault", status.lastFault?.explanation)
        object.add("readings", Int64(clamping: status.readings))
        object.add("failures", Int64(clamping: status.failures))
        object.add("overflows", Int64(clamping: status.overflows))
        object.add("bus_errors", HealthReporter.counts(status.busErrors))
        guard let heading = facts.heading else { return object }
        object.add("heading_quality", heading.quality.word)
        object.add("heading_deviation", heading.deviation * degreesPerRadian, decimals: 1)
        object.add("field", heading.field, decimals: 1)
        return object
    }

    /// The state of the data-ready line; `nil` if there is none.
    static func dataReady(_ status: DataReadyStatus) -> JSONObject? {
        guard status.state != .none else { return nil }
        var object = JSONObject()
        object.add("state", status.state.word)
        object.add("fault", status.lastFault?.word)
        object.add("failures", Int64(clamping: status.failures))
        object.add("edges", Int64(clamping: status.edges))
        object.add("lost_edges", Int64(clamping: status.lostEdges))
        object.add("odd_edges", Int64(clamping: status.outlierEdges))
        object.add("timed_samples", Int64(clamping: status.timedSamples))
        return object
    }

    private static func counts(_ errors: BusErrorCounts) -> JSONObject {
        var object = JSONObject()
        object.add("not_acknowledged", Int64(clamping: errors.notAcknowledged))
        object.add("arbitration_lost", Int64(clamping: errors.arbitrationLost))
        object.add("timed_out", Int64(clamping: errors.timedOut))
        object.add("input_output", Int64(clamping: errors.inputOutput))
        object.add("other", Int64(clamping: errors.other))
        return object
    }
}

/// The inputs of a health report, all taken at one moment.
package struct HealthFacts {
    var isStopped = false
    package var sensorTitle: String?
    /// What the sensor or its bus cannot do of the settings, or may not: one sentence each.
    var sensorNotes: [String] = []
    package var status = IMUStatus()
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
    /// Standard deviations of tilt and heading, °; `nil` if they are not known.
    var tiltDeviation: Double?
    var headingDeviation: Double?
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
    /// What rules with `run` or `post` have done; `nil` if there are none.
    var actions: ActionQueue.Statistics?
    /// Processor time used since the start, s.
    package var processorTime = 0.0
    /// Bytes.
    package var residentMemory = 0
    package var isClockSynchronised = false

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
        tiltDeviation = manager.state?.tiltDeviation
        headingDeviation = manager.state?.headingDeviation
        droppedDeliveries = manager.droppedDeliveries
    }

    /// Creates facts with default values.
    package init() {}

    /// The problems that need attention. The outbox fails if it did since the last report.
    func problems(hasTime: Bool, outboxFails: Bool) -> [String] {
        let isStreaming = status.state == .streaming
        let lacksField = magnetometer.map { $0.state != .measuring } ?? false
        let all = [
            (!isStopped && !isStreaming, "sensor"), (!isStopped && isStreaming && lacksField, "magnetometer"),
            (gravity != nil, "sensor_scale"), (gravity?.likely != nil, "chip"), (!hasTime, "clock"),
            (outboxFails, "outbox"), (!storageFaults.isEmpty, "storage"), (hasDuplicate, "duplicate_id"),
            (upgrade?.state == .failed, "upgrade"), (!connectionFaults.isEmpty, "mqtt"),
            (!(actions?.faults.isEmpty ?? true), "actions"),
        ]
        return all.filter(\.0).map(\.1)
    }
}
