public import MotionCore

/// What is known of a device from what it published; bounded, whatever the messages hold.
public struct WatchedDevice: Equatable, Sendable {
    public let id: String

    /// Whether it is there, as the broker says; `nil` where nobody told.
    public internal(set) var isOnline: Bool?
    public internal(set) var attitude: Attitude?
    public internal(set) var motion: Motion?
    public internal(set) var state: State?
    public internal(set) var health: Health?
    /// The hash of the report as it came.
    var healthMark: Int?

    /// The phases of gestures, the newest first.
    public private(set) var events: [WatchedEvent] = []

    /// What makes no sense: how many messages, and the last complaint.
    public internal(set) var malformed = 0
    public internal(set) var complaint: String?

    /// The attitude, degrees, from the reference attitude.
    public struct Attitude: Equatable, Sendable {
        public var roll: Double
        public var pitch: Double
        public var yaw: Double
        public var arrival: Timestamp

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
    public struct Motion: Equatable, Sendable {
        public var acceleration: Double?
        public var rotation: Double?
        public var temperature: Double?

        init(_ fields: MessageFields) {
            acceleration = fields.length("acceleration")
            rotation = fields.length("rotation")
            temperature = fields.number("temperature")
        }
    }

    /// What lasts until it changes; tilt in degrees, vibration in m/s².
    public struct State: Equatable, Sendable {
        public var side: String?
        public var isMoving: Bool?
        public var isVibrating: Bool?
        public var vibration: Double?
        public var tilt: Double?
        public var isSimulated: Bool
        public var isStopped: Bool

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
    public struct Health: Equatable, Sendable {
        /// Hz, parts per million, °C.
        public var rate: Double?
        public var period: Double?
        public var temperature: Double?
        public var gaps: Double?
        public var busErrors: Double?
        public var outbox: Double?
        /// Per cent of a core, MB, seconds.
        public var processor: Double?
        public var memory: Double?
        public var uptime: Double?
        public var problems: [String]
        public var sensor: String?
        public var sensorState: String?
        public var sensorFault: String?
        public var isStopped: Bool
        public var version: String?
        public var arrival: Timestamp

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
    public var isStopped: Bool { state?.isStopped ?? health?.isStopped ?? false }

    /// Whether somebody has to look after it.
    public var isInTrouble: Bool { isOnline == false || health?.problems.isEmpty == false }

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
