package import MotionCore

/// What is known of a device from what it published; bounded, whatever the messages hold.
package struct WatchedDevice: Equatable, Sendable {
    package let id: String

    /// Whether it is there, as the broker says; `nil` where nobody told.
    package internal(set) var isOnline: Bool?
    package internal(set) var attitude: Attitude?
    package internal(set) var motion: Motion?
    package internal(set) var state: State?
    package internal(set) var health: Health?
    /// The hash of the report as it came.
    var healthMark: Int?

    /// The phases of gestures, the newest first.
    package private(set) var events: [WatchedEvent] = []

    /// What makes no sense: how many messages, and the last complaint.
    package internal(set) var malformed = 0
    package internal(set) var complaint: String?

    /// The attitude, degrees, from the reference attitude.
    package struct Attitude: Equatable, Sendable {
        package var roll: Double
        package var pitch: Double
        package var yaw: Double
        package var arrival: Timestamp

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

    /// How hard it is moved: linear acceleration, m/s², rotation, °/s, temperature, °C.
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

    /// What lasts until it changes; tilt in degrees, vibration in m/s².
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

    /// How the agent is: its own report, with counters since its start.
    package struct Health: Equatable, Sendable {
        /// Hz, parts per million, °C.
        package var rate: Double?
        package var period: Double?
        package var temperature: Double?
        package var gaps: Double?
        package var busErrors: Double?
        package var outbox: Double?
        /// Per cent of a core, MB, seconds.
        package var processor: Double?
        package var memory: Double?
        package var uptime: Double?
        package var problems: [String]
        package var sensor: String?
        package var sensorState: String?
        package var sensorFault: String?
        package var isStopped: Bool
        package var version: String?
        package var arrival: Timestamp

        init(_ fields: MessageFields, at now: Timestamp) {
            rate = fields.number("rate")
            period = fields.number("period_ppm")
            temperature = fields.number("temperature")
            gaps = fields.number("gaps")
            busErrors = fields.sum("bus_errors")
            outbox = fields.number("outbox")
            processor = fields.number("cpu_percent")
            memory = fields.number("memory_mb")
            uptime = fields.number("uptime")
            problems = fields.texts("problems")
            sensor = fields.text("sensor")
            sensorState = fields.text("sensor_state")
            sensorFault = fields.text("sensor_fault")
            isStopped = fields.flag("stopped") ?? false
            version = fields.text("version")
            arrival = now
        }
    }

    init(id: String) {
        self.id = id
    }

    /// Whether sensing is stopped by somebody's wish.
    package var isStopped: Bool { state?.isStopped ?? health?.isStopped ?? false }

    /// Whether somebody has to look after it.
    package var isInTrouble: Bool { isOnline == false || health?.problems.isEmpty == false }

    /// Notes an event.
    ///
    /// - Returns: whether it is news: a broker may deliver one twice.
    mutating func note(_ event: WatchedEvent, keeping limit: Int) -> Bool {
        if let id = event.id, events.contains(where: { $0.id == id }) { return false }
        events.insert(event, at: 0)
        if events.count > limit { events.removeLast(events.count - limit) }
        return true
    }
}
