internal import IMUDrivers
internal import JostleMessages
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore
internal import MotionKit
internal import Synchronization

/// Decides when a health report is due and draws it up.
final class HealthReporter: Sendable {
    /// Seconds after something happened until it is reported: several things often happen together.
    private static let reaction = 1.0

    private let version: String
    private let bell: WakeSignal
    private let start = WallClock.monotonic
    private let mutable: Mutex<Mutable>

    private struct Mutable {
        var interval: Double
        var next: Timestamp
        var reported: (time: Timestamp, processor: Double, samples: UInt64, dropped: UInt64)
    }

    /// Makes a reporter with `interval` seconds between two reports; 0 draws none up.
    ///
    /// The bell is rung where the next one is due earlier than `nextReport` said.
    init(version: String, interval: Double, bell: WakeSignal) {
        self.version = version
        self.bell = bell
        mutable = Mutex(
            Mutable(
                interval: interval, next: start.advanced(bySeconds: 5),
                reported: (start, ProcessFigures.processorTime, 0, 0)))
    }

    /// Something happened that a reader should know soon.
    func makeDue() {
        let soon = WallClock.monotonic.advanced(bySeconds: HealthReporter.reaction)
        let isEarlier = mutable.withLock { mutable in
            defer { mutable.next = min(mutable.next, soon) }
            return mutable.interval > 0 && soon < mutable.next
        }
        if isEarlier { bell.ring() }
    }

    /// When a report is due; `nil` for never.
    var nextReport: Timestamp? { mutable.withLock { $0.interval > 0 ? $0.next : nil } }

    /// Changes the seconds between two reports.
    func changeInterval(_ interval: Double) {
        mutable.withLock { mutable in
            guard interval != mutable.interval else { return }
            mutable.interval = interval
            mutable.next = WallClock.monotonic.advanced(bySeconds: HealthReporter.reaction)
        }
    }

    /// The report, or `nil` where none is due at `now`.
    func report(
        at now: Timestamp, sensor: SensorSwitch, client: MQTTClient<MQTTToken>, outbox: OutboxKeeper.Figures
    ) -> JSONObject? {
        guard mutable.withLock({ $0.interval > 0 && $0.next <= now }) else { return nil }
        let manager = sensor.manager
        let status = manager.lastSensorStatus ?? IMUStatus()
        let processor = ProcessFigures.processorTime
        let before = mutable.withLock { mutable in
            defer {
                mutable.next = now.advanced(bySeconds: mutable.interval)
                mutable.reported = (now, processor, status.samples, outbox.dropped)
            }
            return mutable.reported
        }
        // A run that has just begun has not told its counters yet.
        let samples = status.samples >= before.samples ? status.samples - before.samples : 0
        let elapsed = max(1e-3, now.seconds(since: before.time))
        let problems = HealthReporter.problems(
            measures: sensor.isStopped || status.state == .streaming, hasTime: WallClock.isSet,
            outboxFails: outbox.failure != nil || outbox.dropped > before.dropped)

        var report = JSONObject()
        report.add("t", WallClock.milliseconds(at: now))
        report.add("version", version)
        report.add("uptime", now.seconds(since: start), decimals: 0)
        report.add("problem", !problems.isEmpty)
        report.add("problems", problems)
        report.add("sensor", sensor.title)
        report.add("calibration", manager.calibration.flatMap(HealthReporter.sources))
        let unavailable = manager.state?.unavailableGestures(manager.settings.gestures) ?? []
        if !unavailable.isEmpty { report.add("unavailable_gestures", unavailable.words) }
        report.add("stopped", sensor.isStopped)
        report.add("sensor_state", (sensor.isStopped ? .asleep : status.state).word)
        report.add("real_time", manager.hasRealTimePriority ?? false)
        report.add("sensor_fault", status.lastFault?.explanation)
        report.add("temperature", manager.state?.temperature, decimals: 1)
        report.add("rate", Double(samples) / elapsed, decimals: 1)
        report.add("period_ppm", status.periodDeviation, decimals: 0)
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
        report.add("dropped_deliveries", Int64(manager.droppedDeliveries))
        report.add("outbox", Int64(outbox.count))
        report.add("outbox_bytes", Int64(outbox.bytes))
        report.add("outbox_unstored", Int64(outbox.unstored))
        report.add("outbox_fault", outbox.failure)
        report.add("outbox_dropped", Int64(clamping: outbox.dropped))
        report.add("outbox_expired", Int64(clamping: outbox.expired))
        report.add("connects", Int64(clamping: client.statistics.connects))
        report.add("cpu_percent", 100 * (processor - before.processor) / elapsed, decimals: 2)
        report.add("memory_mb", Double(ProcessFigures.residentMemory) / 1_048_576, decimals: 1)
        report.add("clock", WallClock.isSynchronised ? "synchronised" : "unsynchronised")
        return report
    }

    /// Where the calibration in force comes from, and what movement taught beyond it; `nil` where nobody calibrated the
    /// chip and nothing was learnt.
    static func sources(of calibration: StoredCalibration) -> JSONObject? {
        let accelerometer = calibration.accelerometerSource
        let gyroscope = calibration.gyroscopeSource
        let learntScale = calibration.learntScaleSource
        guard !accelerometer.isEmpty || !gyroscope.isEmpty || !learntScale.isEmpty else { return nil }
        var object = JSONObject()
        object.add("accelerometer", accelerometer.isEmpty ? nil : accelerometer)
        object.add("gyroscope", gyroscope.isEmpty ? nil : gyroscope)
        object.add("learnt_scale", learntScale.isEmpty ? nil : learntScale)
        return object
    }

    /// What somebody has to look after.
    static func problems(measures: Bool, hasTime: Bool, outboxFails: Bool) -> [String] {
        [(!measures, "sensor"), (!hasTime, "clock"), (outboxFails, "outbox")].filter(\.0).map(\.1)
    }

    /// What becomes of the data-ready line; `nil` where there is none.
    static func dataReady(_ status: DataReadyStatus) -> JSONObject? {
        guard status.state != .none else { return nil }
        var object = JSONObject()
        object.add("state", status.state.word)
        object.add("fault", status.lastFault?.word)
        object.add("failures", Int64(clamping: status.failures))
        object.add("edges", Int64(clamping: status.edges))
        object.add("lost_edges", Int64(clamping: status.lostEdges))
        object.add("odd_edges", Int64(clamping: status.oddEdges))
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

extension DataReadyStatus.State {
    /// The state's name for outside programs.
    var word: String {
        switch self {
        case .none: "none"
        case .seeking: "seeking"
        case .used: "used"
        case .unused: "unused"
        }
    }
}

extension DataReadyFault {
    /// The fault's name for outside programs.
    var word: String {
        switch self {
        case .silent: "silent"
        case .mismatched: "mismatched"
        case .unsupported: "unsupported"
        }
    }
}

extension IMUState {
    /// The state's name for outside programs.
    var word: String {
        switch self {
        case .asleep: "asleep"
        case .identifying: "identifying"
        case .resetting: "resetting"
        case .waking: "waking"
        case .configuring: "configuring"
        case .settling: "settling"
        case .streaming: "streaming"
        case .recovering: "recovering"
        }
    }
}
