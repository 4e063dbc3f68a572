internal import JostleConfiguration
package import MosquittoClient
package import MotionCore

/// What the devices at a broker have published, updated message by message.
package struct WatchModel: Equatable, Sendable {
    /// The most devices in the model. Messages of further ones are only counted.
    package static let maximumDevices = 5000

    /// The number of events kept for a single device, and for each device of a fleet.
    private static let history = (one: 100, each: 8)

    /// The topics of a device with JSON payloads, other than events.
    private static let topics: Set = [
        "attitude", "motion", "state", "health", "config/reported", WatchModel.nearMiss, WatchModel.answer,
    ]

    private static let nearMiss = "near-miss"

    /// The topic of the answers to `get-state`.
    private static let answer = "command/get-state/result"

    /// The prefix of the devices' topics.
    package let prefix: String

    /// The only device in the model; `nil` for a fleet.
    package private(set) var onlyDevice: String?

    /// The devices by their ids.
    package private(set) var devices: [String: WatchedDevice] = [:]

    /// The other devices at the broker, if there is an `onlyDevice`; at most a thousand.
    package private(set) var otherDevices: Set<String> = []

    /// The number of ignored messages of devices beyond `maximumDevices`.
    package private(set) var ignoredMessages = 0

    /// Creates an empty model of one device, or of all.
    package init(prefix: String, onlyDevice: String? = nil) {
        self.prefix = prefix
        self.onlyDevice = onlyDevice
    }

    /// Restricts the model to one device.
    package mutating func narrow(to id: String) {
        onlyDevice = id
        devices = devices.filter { $0.key == id }
        ignoredMessages = 0
    }

    /// Forgets a device, whose retained messages were removed.
    package mutating func forget(_ id: String) { devices[id] = nil }

    /// The state of a device that has not published anything yet.
    package func emptyDevice(_ id: String) -> WatchedDevice { WatchedDevice(id: id) }

    /// What a message changed.
    package enum Change: Equatable, Sendable {
        case availability
        case attitude
        case motion
        case state
        case health
        case configuration
        /// The name or the groups, and nothing else of what the device reported.
        case identity
        case event(WatchedEvent)
        case nearMiss(WatchedNearMiss)
        /// The message cannot be parsed, and why.
        case malformed(String)
    }

    /// Updates the model with a message.
    ///
    /// - Returns: the device and what changed; `nil` if nothing did.
    package mutating func update(with message: MQTTMessage, at now: Timestamp) -> (id: String, change: Change)? {
        guard message.topic.hasPrefix(prefix + "/") else { return nil }
        let parts = message.topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard let id = parts.first.map(String.init), JostleSettings.Device.isID(id) else { return nil }
        guard onlyDevice == nil || onlyDevice == id else {
            let isKnown = parts.dropFirst().joined(separator: "/") == "availability" && !message.payload.isEmpty
            if isKnown, otherDevices.count < 1000 { otherDevices.insert(id) }
            return nil
        }
        guard devices[id] != nil || devices.count < WatchModel.maximumDevices else {
            ignoredMessages += 1
            return nil
        }
        var device = devices[id] ?? WatchedDevice(id: id)
        let topic = parts.dropFirst().joined(separator: "/")
        let change = update(&device, topic: topic, message, at: now)
        // An empty retained message clears the topic; it does not show that the device exists.
        if change != nil || devices[id] != nil { devices[id] = device }
        return change.map { (id, $0) }
    }

    private func update(
        _ device: inout WatchedDevice, topic: String, _ message: MQTTMessage, at now: Timestamp
    ) -> Change? {
        guard !message.payload.isEmpty else { return nil }
        if topic == "availability" { return updateAvailability(message, &device, at: now) }
        let isEvent = topic.hasPrefix("event/")
        guard isEvent || WatchModel.topics.contains(topic) else { return nil }
        // Agents do not retain these. A retained one comes from another client and reappears at every subscription.
        if message.retain, isEvent || topic == WatchModel.nearMiss { return nil }
        let fields: MessageFields
        do {
            fields = try MessageFields(message.payload, topic: topic)
        } catch {
            return malformed("\(error)", &device)
        }
        if fields.text("clock") != "unset", let time = fields.number("t").flatMap(WatchedEvent.credible) {
            device.noteReport(time)
        }
        switch topic {
        case WatchModel.answer: return updateAnswer(fields, &device, at: now)
        case "attitude":
            guard let attitude = WatchedDevice.Attitude(fields, at: now) else {
                return malformed("attitude: no roll, pitch and yaw", &device)
            }
            device.attitude = attitude
            return .attitude
        case "motion":
            device.motion = WatchedDevice.Motion(fields)
            return .motion
        case "state":
            device.stateTime = fields.number("t").flatMap(WatchedEvent.credible)
            let state = WatchedDevice.State(fields)
            guard state != device.state else { return nil }
            device.state = state
            return .state
        case "health":
            // Retained, so the same report arrives with each new subscription.
            let hash = message.payload.hashValue
            guard hash != device.healthHash else { return nil }
            device.healthHash = hash
            device.health = WatchedDevice.Health(fields, at: now)
            return .health
        case "config/reported":
            let configuration = WatchedConfiguration(fields)
            device.settings = WatchedDevice.Settings(fields)
            let hasNewIdentity = device.setIdentity(
                name: fields.object("settings")?.object("device")?.text("name"), groups: fields.texts("groups"))
            guard configuration != device.configuration else { return hasNewIdentity ? .identity : nil }
            device.configuration = configuration
            return .configuration
        case WatchModel.nearMiss:
            guard let miss = WatchedNearMiss(fields, at: now) else {
                return malformed("near-miss: no text", &device)
            }
            device.record(miss)
            return .nearMiss(miss)
        default:
            guard let event = WatchedEvent(fields, at: now) else {
                return malformed("\(topic): no gesture and phase", &device)
            }
            let limit = onlyDevice == nil ? WatchModel.history.each : WatchModel.history.one
            return device.record(event, keeping: limit) ? .event(event) : nil
        }
    }

    /// Takes over attitude and state from the answer to `get-state`.
    private func updateAnswer(
        _ fields: MessageFields, _ device: inout WatchedDevice, at now: Timestamp
    ) -> Change? {
        guard fields.flag("ok") == true else { return nil }
        let attitude = fields.object("attitude").flatMap { WatchedDevice.Attitude($0, at: now) }
        let state = fields.object("state").map { WatchedDevice.State($0) }
        if let attitude { device.attitude = attitude }
        if let state { device.state = state }
        // The state is usually known before, because it is retained.
        return attitude != nil ? .attitude : state != nil ? .state : nil
    }

    private func updateAvailability(
        _ message: MQTTMessage, _ device: inout WatchedDevice, at now: Timestamp
    ) -> Change? {
        let isOnline: Bool
        switch message.payload {
        case Array("online".utf8): isOnline = true
        case Array("offline".utf8): isOnline = false
        default: return malformed("availability: neither online nor offline", &device)
        }
        guard isOnline != device.isOnline else { return nil }
        device.isOnline = isOnline
        device.offlineSince = isOnline || message.retain ? nil : now
        return .availability
    }

    private func malformed(_ reason: String, _ device: inout WatchedDevice) -> Change {
        let reason = MessageFields.bounded(reason)
        device.malformedMessages += 1
        device.lastProblem = reason
        return .malformed(reason)
    }
}
