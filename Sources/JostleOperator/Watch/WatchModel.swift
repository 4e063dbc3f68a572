internal import JostleConfiguration
package import MosquittoClient
package import MotionCore

/// What is known of the devices at a broker, built message by message.
package struct WatchModel: Equatable, Sendable {
    /// As many devices are told apart; what further ones say is counted and left aside.
    package static let maximumDevices = 5000

    /// Events that are kept of a device: of the only one, and of each in a fleet.
    private static let history = (one: 100, each: 8)

    private let prefix: String

    /// The device that all is about; `nil` where it is about a fleet.
    package private(set) var only: String?

    /// The devices by their ids.
    package private(set) var devices: [String: WatchedDevice] = [:]

    /// Messages of devices for which there was no room.
    package private(set) var unwatched = 0

    /// Makes a model that knows nothing yet, about one device or about all.
    package init(prefix: String, only: String? = nil) {
        self.prefix = prefix
        self.only = only
    }

    /// Makes it one about a single device.
    package mutating func narrow(to id: String) {
        only = id
        devices = devices.filter { $0.key == id }
        unwatched = 0
    }

    /// A device that has not said anything yet.
    package func unheard(_ id: String) -> WatchedDevice { WatchedDevice(id: id) }

    /// What a message changed.
    package enum News: Equatable, Sendable {
        case availability
        case attitude
        case motion
        case state
        case health
        case event(WatchedEvent)
        /// It makes no sense, and why.
        case malformed(String)
    }

    /// Takes a message in.
    ///
    /// - Returns: what is new, and of which device; `nil` where nothing is.
    package mutating func take(_ message: MQTTMessage, at now: Timestamp) -> (id: String, news: News)? {
        guard message.topic.hasPrefix(prefix + "/") else { return nil }
        let parts = message.topic.dropFirst(prefix.count + 1).split(separator: "/", omittingEmptySubsequences: false)
        guard let id = parts.first.map(String.init), JostleSettings.Device.isID(id), only == nil || only == id else {
            return nil
        }
        guard devices[id] != nil || devices.count < WatchModel.maximumDevices else {
            unwatched += 1
            return nil
        }
        var device = devices[id] ?? WatchedDevice(id: id)
        let topic = parts.dropFirst().joined(separator: "/")
        let news = take(topic, message, &device, at: now)
        // A retained message that was taken away is no sign of a device.
        if news != nil || devices[id] != nil { devices[id] = device }
        return news.map { (id, $0) }
    }

    private func take(
        _ topic: String, _ message: MQTTMessage, _ device: inout WatchedDevice, at now: Timestamp
    ) -> News? {
        guard !message.payload.isEmpty else { return nil }
        if topic == "availability" { return takeAvailability(message.payload, &device) }
        let isEvent = topic.hasPrefix("event/")
        // An event is never retained: who retains one repeats it to everybody who comes.
        guard isEvent ? !message.retain : ["attitude", "motion", "state", "health"].contains(topic) else { return nil }
        let fields: MessageFields
        do throws(ConfigurationProblem) {
            fields = try MessageFields(message.payload, topic: topic)
        } catch {
            return malformed("\(error)", &device)
        }
        switch topic {
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
            let state = WatchedDevice.State(fields)
            guard state != device.state else { return nil }
            device.state = state
            return .state
        case "health":
            // Retained, it comes again with each subscription.
            let mark = message.payload.hashValue
            guard mark != device.healthMark else { return nil }
            device.healthMark = mark
            device.health = WatchedDevice.Health(fields, at: now)
            return .health
        default:
            guard let event = WatchedEvent(fields, at: now) else {
                return malformed("\(topic): no gesture and phase", &device)
            }
            let limit = only == nil ? WatchModel.history.each : WatchModel.history.one
            return device.note(event, keeping: limit) ? .event(event) : nil
        }
    }

    private func takeAvailability(_ payload: [UInt8], _ device: inout WatchedDevice) -> News? {
        let isOnline: Bool
        switch payload {
        case Array("online".utf8): isOnline = true
        case Array("offline".utf8): isOnline = false
        default: return malformed("availability: neither online nor offline", &device)
        }
        guard isOnline != device.isOnline else { return nil }
        device.isOnline = isOnline
        return .availability
    }

    private func malformed(_ reason: String, _ device: inout WatchedDevice) -> News {
        let reason = MessageFields.bounded(reason)
        device.malformed += 1
        device.complaint = reason
        return .malformed(reason)
    }
}
