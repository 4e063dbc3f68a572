internal import Documents
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// What a device has published, and answers, over MQTT.
struct DeviceMessages {
    /// Seconds within which everything must have arrived, those of silence after which nothing more is expected, and
    /// those within which the device must answer.
    private static let times = (reading: 10.0, quiet: 1.0, answer: 5.0)

    /// The most events that are kept.
    private static let mostEvents = 20

    /// The newest message of each topic, by the levels after the device.
    private(set) var latest: [String: [UInt8]] = [:]
    /// The newest events, in order.
    private(set) var events: [String] = []
    /// What happened to the connection.
    private(set) var connection: [String] = []
    private(set) var isConnected = false
    /// The answer to `get-state`; else why there is none.
    private(set) var state: [UInt8]?
    private(set) var silence: String?

    /// Whether the broker knows the device.
    var isKnown: Bool { latest["availability"] != nil || latest["health"] != nil || state != nil }

    /// Reads what the broker holds of a device, and asks the device for its state.
    ///
    /// - Throws: status 75 if a signal arrives, or 78 if the configuration leads to no broker. An unreachable broker is
    ///   not an error.
    init(of id: String, _ settings: JostleSettings, _ signals: SignalWaiter) throws {
        let listener = try BrokerView.watching(id, settings)
        try read(listener, Topics(prefix: settings.mqtt.prefix, id: id).root, signals)
        guard isConnected else { return }
        do {
            let device = try RemoteDevice(id: id, settings: settings)
            state = try device.request("get-state", JSONObject(), within: DeviceMessages.times.answer, signals: signals)
                .payload
        } catch BrokerError.interrupted {
            throw BrokerError.interrupted
        } catch {
            silence = "\(error)"
        }
    }

    private mutating func read(
        _ listener: BrokerView, _ root: String, _ signals: SignalWaiter
    ) throws {
        try listener.start()
        defer { listener.stop() }
        let start = WallClock.monotonic
        var (isListening, lastMessage) = (false, start)
        while true {
            let taken = listener.takeReports()
            for report in taken.reports {
                switch report {
                case .connecting: break
                case .connected(let broker, let version):
                    isConnected = true
                    connection.append("connected to \(broker), MQTT \(version)")
                case .failed(let reason, _): connection.append("no connection: \(reason)")
                case .refused(let filter, let reason): connection.append("may not read \(filter): \(reason)")
                case .listening: isListening = true
                case .message(let message):
                    if message.retain { lastMessage = WallClock.monotonic }
                    take(message, root)
                }
            }
            if taken.dropped > 0 { connection.append("\(taken.dropped) messages arrived too fast, or were too long") }
            let now = WallClock.monotonic
            if isListening, now.seconds(since: lastMessage) > DeviceMessages.times.quiet { return }
            // One refusal may be chance, a second one is not.
            let isHopeless = !isConnected && connection.count >= 2
            if isHopeless || now.seconds(since: start) > DeviceMessages.times.reading { return }
            if signals.wait(seconds: 0.05) { throw BrokerError.interrupted }
        }
    }

    private mutating func take(_ message: MQTTMessage, _ root: String) {
        guard message.topic.hasPrefix("\(root)/") else { return }
        let topic = String(message.topic.dropFirst(root.count + 1))
        if topic.hasPrefix("event/") {
            events.append("\(topic) \(String(decoding: message.payload, as: UTF8.self))")
            if events.count > DeviceMessages.mostEvents { events.removeFirst() }
        } else {
            latest[topic] = message.payload
        }
    }
}

/// What a device says over MQTT.
extension SupportReport {
    mutating func add(_ messages: DeviceMessages, of id: String) {
        let availability = messages.latest["availability"].map { String(decoding: $0, as: UTF8.self) }
        add(
            "Connection",
            (messages.connection + ["device \(id): \(availability ?? "not known to the broker")"])
                .map { $0 + "\n" }.joined())
        guard messages.isConnected else { return }
        for (topic, title) in [
            ("health", "Health"), ("state", "State"), ("config/reported", "Reported configuration"),
            ("attitude", "Attitude"), ("motion", "Motion"),
        ] {
            guard let payload = messages.latest[topic] else {
                if topic != "attitude", topic != "motion" { add(title, "The broker has no message on this topic.\n") }
                continue
            }
            add(title, json: payload, limit: 1 << 16)
        }
        if !messages.events.isEmpty { add("Events while this was made", messages.events.joined(separator: "\n")) }
        if let state = messages.state {
            add("Answer to get-state", json: state)
        } else if let silence = messages.silence {
            add("Answer to get-state", silence)
        }
    }
}
