internal import JostleConfiguration
package import MotionCore

extension WatchedDevice {
    /// The agent's health report, with counters since its start.
    package struct Health: Equatable, Sendable {
        /// Sample rate in Hz, deviation of the sample period in parts per million, temperature in °C.
        package var rate: Double?
        package var period: Double?
        package var temperature: Double?
        package var samples: Counters
        package var gestures: Double?
        package var busErrors: Double?
        /// The errors of the bus by their kinds.
        package var busErrorKinds: [String: Double]
        package var droppedDeliveries: Double?
        package var connects: Double?
        /// The messages that wait for the broker.
        package var outbox: Double?
        package var outboxBytes: Double?
        /// The messages that were dropped because the outbox was full, or because they were too old.
        package var outboxDropped: Double?
        package var outboxExpired: Double?
        /// CPU use in per cent of a core, memory in MB, uptime in seconds.
        package var processor: Double?
        package var memory: Double?
        package var uptime: Double?
        package var problems: [String]
        package var sensor: String?
        package var sensorState: String?
        package var sensorFault: String?
        /// What the accelerometer measures wrong, and what to do about it.
        package var sensorAdvice: String?
        package var isStopped: Bool
        /// Whether the system has synchronised the clock; `nil` if the report does not say.
        package var isClockSynchronised: Bool?
        package var version: String?
        /// The upgrade that the configuration asks for.
        package var upgrade: Upgrade?
        package var arrival: Timestamp

        init(_ fields: MessageFields, at now: Timestamp) {
            rate = fields.number("rate")
            period = fields.number("period_ppm")
            temperature = fields.number("temperature")
            samples = Counters(fields)
            gestures = fields.number("gestures")
            busErrors = fields.sum("bus_errors")
            busErrorKinds = fields.numbers("bus_errors", atMost: MessageFields.longestList)
            droppedDeliveries = fields.number("dropped_deliveries")
            connects = fields.number("connects")
            outbox = fields.number("outbox")
            outboxBytes = fields.number("outbox_bytes")
            outboxDropped = fields.number("outbox_dropped")
            outboxExpired = fields.number("outbox_expired")
            processor = fields.number("cpu_percent")
            memory = fields.number("memory_mb")
            uptime = fields.number("uptime")
            problems = fields.texts("problems")
            sensor = fields.text("sensor")
            sensorState = fields.text("sensor_state")
            sensorFault = fields.text("sensor_fault")
            sensorAdvice = fields.text("sensor_advice")
            isStopped = fields.flag("stopped") ?? false
            let clock = fields.text("clock")
            isClockSynchronised = clock == "synchronised" ? true : clock == "unsynchronised" ? false : nil
            version = fields.text("version")
            upgrade = fields.object("upgrade").flatMap { Upgrade($0) }
            arrival = now
        }

        /// The stretches of lost samples.
        package var gaps: Double? { samples.gaps }
    }

    /// The counters of the sample stream.
    package struct Counters: Equatable, Sendable {
        package var all: Double?
        package var gaps: Double?
        package var lost: Double?
        package var overflows: Double?
        package var misalignments: Double?
        package var recoveries: Double?
        package var clipped: Double?

        init(_ fields: MessageFields) {
            all = fields.number("samples")
            gaps = fields.number("gaps")
            lost = fields.number("lost_samples")
            overflows = fields.number("overflows")
            misalignments = fields.number("misalignments")
            recoveries = fields.number("recoveries")
            clipped = fields.number("clipped_samples")
        }
    }

    /// An upgrade of a device's program.
    package struct Upgrade: Equatable, Sendable {
        /// `waiting`, `installing`, `installed` or `failed`.
        package var state: String
        /// The version that the configuration asks for.
        package var wanted: String
        /// Why it failed or has to wait.
        package var reason: String?

        init?(_ fields: MessageFields) {
            guard let state = fields.text("state"), let wanted = fields.text("wanted") else { return nil }
            self.state = state
            self.wanted = wanted
            reason = fields.text("reason")
        }

        /// `upgrade to 0.5.0-1: failed: it does not start`.
        package var text: String { "upgrade to \(wanted): \(state)" + (reason.map { ": \($0)" } ?? "") }
    }

    /// The settings in `config/reported` that tell what to expect of the device; each is `nil` if it is not reported.
    package struct Settings: Equatable, Sendable {
        /// The wanted sample rate, Hz.
        package var rate: Double?
        /// Seconds between two health reports; 0 if there are none.
        package var healthInterval: Double?
        /// Seconds after which the attitude is published although it did not change; 0 if it is not.
        package var attitudeHeartbeat: Double?
        /// Whether near misses are published.
        package var nearMisses: Bool?

        init() {}

        init(_ fields: MessageFields) {
            guard let settings = fields.object("settings") else { return }
            rate = settings.object("sensor")?.text("rate").flatMap(QuantityText.frequency)
            let publish = settings.object("publish")
            healthInterval = publish?.object("health")?.text("interval").flatMap(QuantityText.duration)
            attitudeHeartbeat = publish?.object("attitude")?.text("heartbeat").flatMap(QuantityText.duration)
            nearMisses = publish?.flag("near_misses")
        }
    }
}
