internal import JostleConfiguration
internal import JostleMessages
package import MotionCore

/// What a device has published; bounded, whatever the messages contain.
package struct WatchedDevice: Equatable, Sendable {
    package let id: String

    /// The availability at the broker; `nil` if it is unknown.
    package internal(set) var isOnline: Bool?
    /// When it went offline, if that happened while the view was watching.
    package internal(set) var offlineSince: Timestamp?
    /// The time of its last report by its own clock, milliseconds since 1970.
    package private(set) var lastReport: Int64?
    package internal(set) var attitude: Attitude?
    package internal(set) var motion: Motion?
    package internal(set) var state: State?
    /// The time of the last state by the device's clock, milliseconds since 1970.
    package internal(set) var stateTime: Int64?
    package internal(set) var health: Health?
    /// The fleet's layers of the configuration; `nil` if the device reports none.
    package internal(set) var configuration: WatchedConfiguration?
    /// What it reports of its settings.
    package internal(set) var settings = Settings()
    /// The name for people, and the groups, as the device reports them.
    package private(set) var name: String?
    package private(set) var groups: [String] = []
    /// The hash of the last health message.
    var healthHash: Int?

    /// The events, the newest first.
    package private(set) var events: [WatchedEvent] = []

    /// The last movement that was almost a gesture, for each gesture, the newest first.
    package private(set) var nearMisses: [WatchedNearMiss] = []

    /// The number of messages that could not be parsed, and the reason for the last one.
    package internal(set) var malformedMessages = 0
    package internal(set) var lastProblem: String?

    /// The attitude relative to the reference attitude, degrees.
    package struct Attitude: Equatable, Sendable {
        package var roll: Double
        package var pitch: Double
        package var yaw: Double
        package var arrival: Timestamp

        /// Reads a message of the topic `attitude`; `nil` if it is none.
        package init?(payload: [UInt8], at arrival: Timestamp) {
            do {
                self.init(try MessageFields(payload, topic: "attitude"), at: arrival)
            } catch {
                return nil
            }
        }

        init?(_ fields: MessageFields, at now: Timestamp) {
            guard let roll = fields.number("roll"), let pitch = fields.number("pitch"), let yaw = fields.number("yaw"),
                abs(roll) <= 360, abs(pitch) <= 360, abs(yaw) <= 360
            else { return nil }
            self.roll = roll
            self.pitch = pitch
            self.yaw = yaw
            arrival = now
        }
    }

    /// The magnitudes of linear acceleration, m/s², and of the rotation rate, °/s; the temperature, °C.
    package struct Motion: Equatable, Sendable {
        package var acceleration: Double?
        package var rotation: Double?
        package var temperature: Double?

        init(_ fields: MessageFields) {
            acceleration = fields.length("acceleration")
            rotation = fields.length("rotation")
            temperature = fields.number("temperature")
        }
    }

    /// The device state; tilt in degrees, vibration in m/s².
    package struct State: Equatable, Sendable {
        package var side: String?
        package var isMoving: Bool?
        package var isVibrating: Bool?
        package var vibration: Double?
        package var tilt: Double?
        package var isSimulated: Bool
        package var isStopped: Bool

        init(_ fields: MessageFields) {
            side = fields.text("side")
            isMoving = fields.flag("moving")
            isVibrating = fields.flag("vibrating")
            vibration = fields.number("vibration")
            tilt = fields.number("tilt")
            isSimulated = fields.flag("simulated") ?? false
            isStopped = fields.flag("stopped") ?? false
        }
    }

    init(id: String) {
        self.id = id
    }

    /// Whether sensing was stopped by a command.
    package var isStopped: Bool { state?.isStopped ?? health?.isStopped ?? false }

    /// Whether the device is offline, reports problems, or does not follow a layer of its configuration.
    package var needsAttention: Bool {
        isOnline == false || health?.problems.isEmpty == false || configuration?.needsAttention == true
    }

    /// Notes the time of a report.
    mutating func noteReport(_ time: Int64) { lastReport = max(lastReport ?? time, time) }

    /// Takes over the name and the groups; returns whether they changed.
    mutating func setIdentity(name: String?, groups: [String]) -> Bool {
        guard name != self.name || groups != self.groups else { return false }
        self.name = name
        self.groups = groups
        return true
    }

    /// Records an event.
    ///
    /// - Returns: whether the event is new: a broker may deliver one twice.
    mutating func record(_ event: WatchedEvent, keeping limit: Int) -> Bool {
        if let id = event.id, events.contains(where: { $0.id == id }) { return false }
        events.insert(event, at: 0)
        if events.count > limit { events.removeLast(events.count - limit) }
        return true
    }

    /// Records a near miss, in place of the last one of the same gesture.
    mutating func record(_ miss: WatchedNearMiss) {
        nearMisses.removeAll { $0.gesture == miss.gesture }
        nearMisses.insert(miss, at: 0)
        // There are no more gestures; a foreign client may invent some.
        if nearMisses.count > Gesture.allCases.count { nearMisses.removeLast() }
    }
}

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

/// How a device took the fleet's layers of its configuration: `layers` in its `config/reported`.
package struct WatchedConfiguration: Equatable, Sendable {
    /// The most layers that are kept.
    private static let maximumLayers = 16

    /// The statuses from the worst to the best.
    private static let statuses = [
        "rolled_back", "rejected", "conflict", "stale", "missing", "pending", "applied", "none",
    ]

    /// One layer.
    package struct Layer: Equatable, Sendable {
        /// `all`, `group:<group>` or `device`.
        package var name: String
        /// `applied`, `rejected` and so on. Unknown statuses of later agents are kept.
        package var status: String
        /// The revision that the status is about, and the one in force if it is another.
        package var revision: Int?
        package var revisionInForce: Int?
        /// The key and the reason of the first error, or why the layer was undone or has to wait.
        package var error: String?
        /// The same, of a candidate that is not in force on a device that it is for.
        package var candidateError: String?

        init(_ name: String, _ fields: MessageFields) {
            self.name = name
            status = fields.text("status") ?? "unknown"
            revision = fields.number("revision").flatMap { Int(exactly: $0) }
            revisionInForce = fields.number("in_force").flatMap { Int(exactly: $0) }
            error = Layer.error(fields, "errors") ?? fields.text("reason")
            candidateError = Layer.error(fields, "candidate_errors")
        }

        private static func error(_ fields: MessageFields, _ name: String) -> String? {
            guard let first = fields.firstObject(name) else { return nil }
            let parts = [first.text("path"), first.text("reason")].compactMap { $0 }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }

        /// Whether the device does not follow what the fleet wants.
        package var needsAttention: Bool { LayerStatus(status).isProblem }
    }

    /// The layers, in the device's order.
    package let layers: [Layer]

    /// Returns `nil` if the message has no layers, as from a device whose agent has no fleet layers.
    init?(_ fields: MessageFields) {
        let objects = fields.objects("layers", atMost: WatchedConfiguration.maximumLayers)
        guard !objects.isEmpty else { return nil }
        layers = objects.map { Layer($0.key, $0.fields) }
    }

    /// The worst status among the layers; one that this program does not know, so that it is seen.
    package var status: String {
        let ranks = layers.map { layer in
            (layer.status, WatchedConfiguration.statuses.firstIndex(of: layer.status) ?? 0)
        }
        return ranks.min { $0.1 < $1.1 }?.0 ?? "none"
    }

    /// Whether the device does not follow one of its layers.
    package var needsAttention: Bool { layers.contains { $0.needsAttention } }
}
