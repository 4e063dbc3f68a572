internal import JostleConfiguration
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
            do throws(ConfigurationProblem) {
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
