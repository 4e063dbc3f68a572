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

    package let id: String
    private let topics: Topics
    private let view: BrokerView
    private var received: ReceivedMessages
    private var isConnected = false

    /// Prepares a connection to the agent `id` over the configured broker. `request` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package init(id: String, settings: JostleSettings) throws {
        view = try BrokerView(settings, name: "ask", longestPause: 2, maximumMessage: nil)
        topics = Topics(prefix: settings.mqtt.prefix, id: id)
        received = ReceivedMessages(prefix: settings.mqtt.prefix, id: id)
        self.id = id
    }

    /// Connects, sends a command and waits for the answer, at most `seconds` in all. Another call must be for the same
    /// command.
    ///
    /// - Throws: if no answer arrives. A refused command is an answer, not an error.
    package func request(
        _ command: String, _ arguments: JSONObject, within seconds: Double, signals: SignalWaiter
    ) throws -> RemoteAnswer {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        // MQTT 3.1.1 has no response topics. A device that speaks it answers on the command's public result topic only.
        if !isConnected { try connect(subscribingTo: topics.result(of: command), until: deadline, signals) }
        isConnected = true

        // What has arrived is no answer.
        received.take(from: view)
        let replyTopic = view.status.hasProperties ? view.replyTopic : nil
        try publish(received.ask(command, arguments.bytes, replyTopic: replyTopic))
        try wait(until: deadline, signals) { received.answer != nil }
        if let answer = received.answer { return try answer.get() }
        throw try silence(signals)
    }

    /// The same, but a refused command is an error too.
    package func carryOut(
        _ command: String, _ arguments: JSONObject = JSONObject(), within seconds: Double, signals: SignalWaiter
    ) throws -> RemoteAnswer {
        let answer = try request(command, arguments, within: seconds, signals: signals)
        guard answer.isAccepted else { throw answer.refusal }
        return answer
    }

    /// Sends a command to which the device answers several times, and passes each answer to `take` until one is the last:
    /// for at most `patience` seconds. If the user interrupts, the device is told to stop.
    ///
    /// - Throws: if no answer arrives, or if one is a refusal.
    package func follow(
        _ command: String, _ arguments: JSONObject, within seconds: Double, patience: Double, signals: SignalWaiter,
        _ take: (RemoteAnswer) -> Void
    ) throws {
        var waiting = [try request(command, arguments, within: seconds, signals: signals)]
        let deadline = WallClock.monotonic.advanced(bySeconds: patience)
        while true {
            for answer in waiting {
                guard answer.isAccepted else { throw answer.refusal }
                take(answer)
                if answer.text("done") == "true" { return }
            }
            guard WallClock.monotonic < deadline else {
                throw BrokerError.silent(id: id, isOnline: received.board?.isOnline)
            }
            waiting = []
            do {
                try wait(until: deadline, signals) {
                    waiting = try received.takeLater()
                    return !waiting.isEmpty
                }
            } catch BrokerError.interrupted {
                var stop = JSONObject()
                stop.add("stop", true)
                try? publish(BrokerView.request(topics.command(command), stop.bytes))
                throw BrokerError.interrupted
            }
        }
    }

    private func publish(_ message: MQTTMessage) throws {
        do { try view.send(message) } catch { throw BrokerError.notConnected("\(error)") }
    }

    /// Why no answer came. If the broker knows no such device, the error names those that it knows.
    private func silence(_ signals: SignalWaiter) throws -> BrokerError {
        if let isOnline = received.board?.isOnline { return .silent(id: id, isOnline: isOnline) }
        let filter = topics.everyAvailability
        try view.subscribe(to: [BrokerView.Filter(filter, isReliable: true)])
        // A user may be allowed to see only this device; then nothing arrives.
        let deadline = WallClock.monotonic.advanced(bySeconds: RemoteDevice.retainedTime)
        try wait(until: deadline, signals) { view.status.refused[filter] != nil }
        return .unknown(id: id, known: received.model.otherDevices.sorted())
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
        try wait(until: patience, signals) { received.board?.isOnline != nil && received.board?.report != nil }
        guard received.board?.isOnline == true else {
            throw BrokerError.silent(id: id, isOnline: received.board?.isOnline)
        }
        for key in keys { try publish(BrokerView.request(topics.set(key), [])) }
        var settings: BoardReport.Settings?
        try wait(until: deadline, signals) {
            settings = received.board?.report.flatMap { RemoteDevice.settings($0, without: keys) }
            return settings != nil
        }
        guard let settings else { throw BrokerError.silent(id: id, isOnline: true) }
        return Dictionary(
            settings.values.filter { keys.contains($0.key) }.map { ($0.key, $0.value) },
            uniquingKeysWith: { _, last in last })
    }

    /// The reported settings, if none of the keys was set at home; `nil` without such a report.
    private static func settings(_ report: BoardReport, without keys: [String]) -> BoardReport.Settings? {
        let settings = report.settings()
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

    /// Returns and removes the events received since the last call, in order, with their messages.
    package func takeEvents() -> (events: [(event: WatchedEvent, json: String)], dropped: Int) {
        received.take(from: view)
        return received.takeEvents()
    }

    /// Waits until `isDone` returns true, or until the deadline.
    private func wait(until deadline: Timestamp, _ signals: SignalWaiter, _ isDone: () throws -> Bool) throws {
        try view.wait(until: deadline, signals) {
            received.take(from: view)
            return try isDone()
        }
    }
}

/// What a device published, and answered.
struct ReceivedMessages {
    /// What the device reports.
    private(set) var model: FleetModel
    private var events: [(event: WatchedEvent, json: String)] = []
    /// The number of events that were dropped since the last were taken.
    private var droppedEvents = 0
    /// The awaited answer.
    private var answers: CommandAnswers?
    private let id: String
    private let topics: Topics

    /// The most events that wait to be taken.
    private static let mostEvents = 1000

    init(prefix: String, id: String) {
        self.id = id
        topics = Topics(prefix: prefix, id: id)
        model = FleetModel(prefix: prefix, onlyDevice: id)
    }

    var board: FleetBoard? { model.boards[id] }

    /// The answer, or why it cannot be parsed.
    var answer: Result<RemoteAnswer, BrokerError>? { answers?.answers[id] }

    /// The message of a command whose answer is awaited; `replyTopic` is `nil` with MQTT 3.1.1.
    mutating func ask(_ command: String, _ arguments: [UInt8], replyTopic: String?) -> MQTTMessage {
        var answers = CommandAnswers(replyTopic: replyTopic)
        defer { self.answers = answers }
        return answers.command(command, arguments, to: topics)
    }

    /// Returns and removes the answers after the first one.
    mutating func takeLater() throws -> [RemoteAnswer] { try answers?.takeLater().map { try $0.get() } ?? [] }

    mutating func takeEvents() -> (events: [(event: WatchedEvent, json: String)], dropped: Int) {
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
        answers?.take(message)
        let isEvent = message.topic.hasPrefix(topics.events) && !message.retain
        // Whoever takes the events may wait for a full pipe.
        guard
            !isEvent || message.payload.count <= BrokerView.maximumMessage && events.count < ReceivedMessages.mostEvents
        else {
            droppedEvents += 1
            return
        }
        guard case .event(let event)? = model.update(with: message, at: WallClock.monotonic)?.change else { return }
        events.append((event, String(decoding: message.payload, as: UTF8.self)))
    }
}
