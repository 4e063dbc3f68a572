package import Documents
package import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
package import LinuxSystem
internal import MosquittoClient
internal import MotionCore

/// Sends one command to a running agent over MQTT, waits for its answer and collects its events.
///
/// Meant for a command line: it blocks the caller's thread until a deadline or a signal.
package final class RemoteDevice {
    /// Seconds within which retained messages arrive.
    private static let retainedTime = 1.0

    private let id: String
    private let topics: Topics
    private let view: BrokerView
    private var received: ReceivedMessages

    /// Prepares a connection to the agent `id` over the configured broker. `request` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package init(id: String, settings: JostleSettings) throws {
        view = try BrokerView(settings, name: "ask", longestPause: 2, maximumMessage: nil)
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        received = ReceivedMessages(topics)
        self.id = id
    }

    /// Connects, sends a command and waits for the answer, at most `seconds` in all. Call it once.
    ///
    /// - Throws: if no answer arrives. A refused command is an answer, not an error.
    package func request(
        _ command: String, _ arguments: JSONObject, within seconds: Double, signals: SignalWaiter
    ) throws -> RemoteAnswer {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        let result = topics.result(of: command)
        // MQTT 3.1.1 has no response topics: there the answer goes to the command's public result topic.
        try connect(subscribingTo: result, until: deadline, signals)

        var message = BrokerView.request(topics.command(command), arguments.bytes)
        let correlationData = Array(view.replyTopic.utf8)
        message.properties.responseTopic = view.replyTopic
        message.properties.correlationData = correlationData
        // What has arrived is no answer.
        received.take(from: view)
        if view.status.hasProperties {
            received.expectAnswer(on: view.replyTopic, correlationData: correlationData)
        } else {
            received.expectAnswer(on: result, correlationData: nil)
        }
        try publish(message)
        try wait(until: deadline, signals) { received.answer != nil }
        if let answer = received.answer { return try RemoteAnswer(answer) }
        throw try silence(signals)
    }

    private func publish(_ message: MQTTMessage) throws {
        do { try view.send(message) } catch { throw BrokerError.notConnected("\(error)") }
    }

    /// Why no answer came. If the broker knows no such device, the error names those that it knows.
    private func silence(_ signals: SignalWaiter) throws -> BrokerError {
        guard received.availability == nil else { return .silent(id: id, availability: received.availability) }
        let filter = topics.everyAvailability
        try view.subscribe(to: [BrokerView.Filter(filter, isReliable: true)])
        // A user may be allowed to see only this device; then nothing arrives.
        let deadline = WallClock.monotonic.advanced(bySeconds: RemoteDevice.retainedTime)
        try wait(until: deadline, signals) { view.status.refused[filter] != nil }
        return .unknown(id: id, known: received.known.sorted())
    }

    /// Removes values that were set over MQTT, and waits until the device reports it, at most `seconds` in all. Call it
    /// once, instead of `request`.
    ///
    /// - Returns: the values that are in force then, by their keys.
    /// - Throws: if the device is not online, or does not confirm.
    package func clear(_ keys: [String], within seconds: Double, signals: SignalWaiter) throws -> [String: JSONValue] {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        try connect(subscribingTo: topics.reported, until: deadline, signals)
        // Both are retained, so they arrive at once or not at all.
        let patience = min(deadline, WallClock.monotonic.advanced(bySeconds: RemoteDevice.retainedTime))
        try wait(until: patience, signals) { received.availability != nil && received.report != nil }
        guard received.availability == "online" else {
            throw BrokerError.silent(id: id, availability: received.availability)
        }
        for key in keys { try publish(BrokerView.request(topics.set(key), [])) }
        var settings: BoardReport.Settings?
        try wait(until: deadline, signals) {
            settings = received.report.flatMap { RemoteDevice.settings($0, without: keys) }
            return settings != nil
        }
        guard let settings else { throw BrokerError.silent(id: id, availability: "online") }
        return Dictionary(
            settings.values.filter { keys.contains($0.key) }.map { ($0.key, $0.value) },
            uniquingKeysWith: { _, last in last })
    }

    /// The reported settings, if none of the keys was set at home; `nil` without such a report.
    private static func settings(_ report: [UInt8], without keys: [String]) -> BoardReport.Settings? {
        guard let settings = try? BoardReport(reading: report).settings() else { return nil }
        return keys.allSatisfy { settings.origins[$0] != "local" } ? settings : nil
    }

    /// Connects, and waits until all subscriptions are granted.
    private func connect(subscribingTo topic: String, until deadline: Timestamp, _ signals: SignalWaiter) throws {
        let filters = ["\(topics.events)#", topics.availability, view.replyTopic, topic]
        try view.subscribe(to: filters.map { BrokerView.Filter($0, isReliable: true) })
        try view.start()
        try wait(until: deadline, signals) {
            let status = view.status
            return status.isConnected && (status.pending.isEmpty || !status.refused.isEmpty)
        }
        let status = view.status
        if let (filter, reason) = status.refused.min(by: { $0.key < $1.key }) {
            throw BrokerError.notAllowed(filter: filter, reason: "\(reason)")
        }
        guard status.isConnected, status.pending.isEmpty else { throw BrokerError.notConnected(status.lastFailure) }
    }

    /// Returns and removes the events received since the last call, in order.
    package func takeEvents() -> (events: [RemoteEvent], dropped: Int) {
        received.take(from: view)
        return received.takeEvents()
    }

    /// Waits until `isDone` returns true, or until the deadline.
    private func wait(until deadline: Timestamp, _ signals: SignalWaiter, _ isDone: () -> Bool) throws {
        try view.wait(until: deadline, signals) {
            received.take(from: view)
            return isDone()
        }
    }
}

/// What a device published, and answered.
struct ReceivedMessages {
    private(set) var availability: String?
    /// The ids of devices, at most a thousand.
    private(set) var known: Set<String> = []
    /// The device's last `config/reported`.
    private(set) var report: [UInt8]?
    private(set) var answer: [UInt8]?
    private var events: [RemoteEvent] = []
    /// The number of events that were dropped since the last were taken.
    private var droppedEvents = 0
    /// The answer's topic and, with MQTT 5, its correlation data.
    private var expected: (topic: String, correlationData: [UInt8]?)?
    private let topics: Topics

    /// The most events that wait to be taken.
    private static let mostEvents = 1000

    init(_ topics: Topics) {
        self.topics = topics
    }

    /// Sets which message is the answer.
    mutating func expectAnswer(on topic: String, correlationData: [UInt8]?) {
        expected = (topic, correlationData)
    }

    mutating func takeEvents() -> (events: [RemoteEvent], dropped: Int) {
        defer { (events, droppedEvents) = ([], 0) }
        return (events, droppedEvents)
    }

    /// Takes what has arrived.
    mutating func take(from view: BrokerView) {
        let taken = view.takeReports()
        droppedEvents += taken.dropped
        for case .message(let message) in taken.reports { take(message) }
    }

    mutating func take(_ message: MQTTMessage) {
        if let expected, message.topic == expected.topic, !message.retain, answer == nil {
            guard
                expected.correlationData == nil
                    || message.properties.correlationData == expected.correlationData
            else { return }
            answer = message.payload
        } else if message.topic == topics.availability {
            // An empty one removes the retained message.
            availability = message.payload.isEmpty ? nil : String(decoding: message.payload, as: UTF8.self)
        } else if message.topic == topics.reported {
            report = message.payload
        } else if message.topic.hasSuffix("/availability"), !message.payload.isEmpty, known.count < 1000 {
            known.insert(Topics(root: String(message.topic.dropLast("/availability".count))).device)
        } else if message.topic.hasPrefix(topics.events), !message.retain {
            // Whoever takes the events may wait for a full pipe.
            guard message.payload.count <= BrokerView.maximumMessage, events.count < ReceivedMessages.mostEvents else {
                droppedEvents += 1
                return
            }
            if let event = RemoteEvent(message.payload) { events.append(event) }
        }
    }
}
