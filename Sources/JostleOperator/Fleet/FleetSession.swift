internal import Glibc
package import JostleConfiguration
package import JostleMessages
internal import LinuxSystem
package import MosquittoClient
internal import MotionCore

/// Reads and publishes a fleet's documents at the configured broker.
///
/// Meant for a command line: it blocks the caller's thread until a deadline or a signal.
package final class FleetSession {
    /// Which messages are read besides documents, availability and configuration reports.
    package struct Interests: OptionSet, Sendable {
        package let rawValue: Int

        package init(rawValue: Int) {
            self.rawValue = rawValue
        }

        package static let health = Interests(rawValue: 1)
        package static let events = Interests(rawValue: 2)
    }

    /// Times in seconds.
    package struct Times: Sendable {
        /// Until the broker must be reached.
        package var connection = 10.0
        /// Without a retained message, after which the state is taken for complete.
        package var quiet = 0.5
        /// The longest that the retained messages may take.
        package var reading = 10.0
        /// Between publishing documents and reading them back.
        package var readBack = 2.0
        /// Until the broker must acknowledge what was published.
        package var acknowledgement = 10.0

        package init() {}
    }

    /// What is known of the fleet.
    package private(set) var model: FleetModel

    package let topics: FleetTopics

    /// The topic on which devices answer to this session's commands.
    let replyTopic: String

    let client: MQTTClient<Int>
    let inbox: FleetInbox
    private let signals: SignalWaiter
    let times: Times
    let documentFilters: [String]
    let boardFilters: [String]
    /// How many retained messages each filter brought.
    var retainedCounts: [String: Int] = [:]
    /// Whether messages were missing after the first reading, or may be.
    package internal(set) var gaps = Gaps.none
    private let hasOneBroker: Bool
    private var nextToken = 0
    /// When the last retained message arrived.
    private var lastRetained = WallClock.monotonic
    /// Whether a message has been given to the client, so that the broker may have stored it.
    package private(set) var hasSent = false

    /// Whether there is a connection to the broker at present.
    package var isConnected: Bool { inbox.status.isConnected }

    /// The number of connections so far.
    package var connections: Int { inbox.status.connections }

    /// Receives the messages that are none of the model's.
    var onOther: ((MQTTMessage) -> Void)?

    /// Prepares a connection over the configured broker. `connect` connects.
    ///
    /// - Throws: `mqtt`, `secretFile` or `privateBroker` if the configuration does not lead to a broker.
    package init(
        settings: JostleSettings, interests: Interests = [], times: Times = Times(), trust: DocumentTrust? = nil,
        signals: SignalWaiter
    ) throws(FleetSessionError) {
        let settings = settings.forCommands
        if settings.mqtt.broker == .embedded { throw .privateBroker }
        guard let wake = WakeSignal() else { throw .mqtt(.system("eventfd", code: errno)) }
        var options: MQTTOptions
        do throws(SecretFileError) {
            options = try settings.mqttOptions(
                clientID: "fleet-\(RunName.new())", brokers: settings.brokers(embeddedPort: nil))
        } catch {
            throw .secretFile(error)
        }
        // Short, because a person is waiting, and a single client does not load the broker.
        options.backoff.cap = .seconds(2)
        options.queueCapacity = 20_000
        replyTopic = ReplyTopic.make(
            prefix: settings.mqtt.prefix, requester: settings.requester(userName: options.credentials?.userName),
            run: RunName.new())
        hasOneBroker = options.brokers.count == 1
        let inbox = FleetInbox(wake: wake)
        do throws(MQTTError) {
            client = try MQTTClient<Int>(options: options) { inbox.handle($0) }
        } catch {
            throw .mqtt(error)
        }
        self.inbox = inbox
        self.signals = signals
        self.times = times
        topics = FleetTopics(prefix: settings.mqtt.prefix)
        model = FleetModel(topics: topics)
        model.trust = trust
        documentFilters = [topics.all, topics.group("+"), topics.desired("+"), topics.registry("+")]
        let root = "\(settings.mqtt.prefix)/+"
        var filters = ["\(root)/availability", topics.reported("+")]
        if interests.contains(.health) { filters += ["\(root)/health", "\(root)/state"] }
        if interests.contains(.events) { filters.append("\(root)/event/+") }
        boardFilters = filters
    }

    deinit {
        _ = client.stop(within: .milliseconds(300))
    }

    // MARK: Reading

    /// Connects and reads what the broker holds.
    ///
    /// - Throws: if the broker is not reached, or does not permit reading.
    package func connect() throws(FleetSessionError) {
        let deadline = WallClock.monotonic.advanced(bySeconds: times.connection)
        try subscribe(to: documentFilters + boardFilters)
        do throws(MQTTError) {
            try client.start()
        } catch {
            throw .mqtt(error)
        }
        try wait(until: deadline) {
            inbox.status.isConnected || hasOneBroker && inbox.status.isBarred
        }
        try requireConnection()
        try settle()
        try fillGaps()
    }

    /// - Throws: why there is no connection.
    package func requireConnection() throws(FleetSessionError) {
        let status = inbox.status
        guard !status.isConnected else { return }
        if status.isBarred, let failure = status.lastFailure { throw .refused(failure) }
        throw .notConnected(status.lastFailure)
    }

    /// Subscribes, or subscribes again to get the retained messages again.
    func subscribe(to filters: [String]) throws(FleetSessionError) {
        for filter in filters {
            inbox.expect(filter)
            do throws(MQTTError) {
                try client.subscribe(to: filter, qos: .atLeastOnce)
            } catch {
                throw .mqtt(error)
            }
        }
    }

    func unsubscribe(from filter: String) {
        client.unsubscribe(from: filter)
        inbox.forget(filter)
    }

    /// Waits for the answers to all subscriptions and then for the retained messages.
    ///
    /// - Throws: if the connection is lost, or a subscription is refused.
    func settle() throws(FleetSessionError) {
        let deadline = WallClock.monotonic.advanced(bySeconds: times.reading)
        while !inbox.status.pending.isEmpty, WallClock.monotonic < deadline {
            // A broker that drops messages for a slow client may drop an answer too.
            let retry = min(deadline, WallClock.monotonic.advanced(bySeconds: 3))
            try wait(until: retry) { inbox.status.pending.isEmpty }
            if inbox.status.isConnected { try subscribe(to: inbox.status.pending.sorted()) }
        }
        try requireConnection()
        let status = inbox.status
        if let filter = status.refused.keys.sorted().first, let reason = status.refused[filter] {
            throw .notAllowed(filter: filter, reason: "\(reason)")
        }
        guard status.pending.isEmpty else { throw .notConnected("it does not answer to subscriptions") }
        lastRetained = WallClock.monotonic
        try wait(until: deadline) { isQuiet }
        try requireConnection()
        if inbox.status.dropped > 0 { throw .incomplete(dropped: inbox.status.dropped) }
        // What is missing cannot be told from what does not exist.
        guard isQuiet else { throw .unsettled(seconds: times.reading) }
    }

    private var isQuiet: Bool { WallClock.monotonic.seconds(since: lastRetained) >= times.quiet }

    /// Reads documents again, each by its own topic: one that the broker no longer holds is then no longer in the model.
    package func read(_ documents: [FleetDocumentID]) throws(FleetSessionError) {
        model.forget(documents)
        try read(topics: documents.map { $0.topic(topics) })
    }

    /// Listens until `isDone` returns true, or for `seconds`.
    ///
    /// - Throws: `interrupted` if a signal arrives.
    package func listen(for seconds: Double, until isDone: (FleetModel) -> Bool = { _ in false })
        throws(FleetSessionError)
    {
        try wait(until: WallClock.monotonic.advanced(bySeconds: seconds)) { isDone(model) }
    }

    func wait(until deadline: Timestamp, _ isDone: () -> Bool) throws(FleetSessionError) {
        take()
        while !isDone() {
            let rest = deadline.remaining(at: WallClock.monotonic)
            guard rest > 0 else { return }
            if signals.wait(seconds: min(rest, 0.05), or: inbox.wake) { throw .interrupted }
            take()
        }
    }

    private func take() {
        let messages = inbox.takeMessages()
        guard !messages.isEmpty else { return }
        let now = WallClock.monotonic
        for message in messages {
            model.update(with: message, at: now)
            onOther?(message)
        }
        count(messages)
        // Not when they arrived: more may have arrived while they were processed.
        if messages.contains(where: \.retain) { lastRetained = WallClock.monotonic }
    }

    /// Takes the revision numbers that this machine has seen earlier, and those that it sent without seeing them.
    package func remember(_ seen: [FleetDocumentID: Int64], sent: [FleetDocumentID: Set<Int64>]) {
        model.seenNumbers = seen
        model.sentNumbers = sent
    }

    // MARK: Publishing

    /// What the broker said of a published message.
    package enum Outcome: Equatable, Sendable {
        case acknowledged
        case refused(String)
        /// The connection was lost, or the broker did not answer: the message may have been stored.
        case unknown
    }

    /// Publishes messages and waits for the broker's answers.
    package func publish(_ messages: [MQTTMessage]) throws(FleetSessionError) -> [Outcome] {
        let first = nextToken
        for message in messages {
            let token = nextToken
            nextToken += 1
            var isAccepted = false
            while !isAccepted {
                do throws(MQTTError) {
                    try client.publish(message, token: token)
                    isAccepted = true
                    hasSent = true
                } catch {
                    guard case .queueFull = error, inbox.status.isConnected else {
                        if case .notConnected = error { throw .notConnected(inbox.status.lastFailure) }
                        throw .mqtt(error)
                    }
                    try listen(for: 0.05)
                }
            }
        }
        let tokens = first..<nextToken
        try wait(until: WallClock.monotonic.advanced(bySeconds: times.acknowledgement)) {
            let status = inbox.status
            return !status.isConnected
                || tokens.allSatisfy { status.acknowledged.contains($0) || status.rejected[$0] != nil }
        }
        let status = inbox.status
        return tokens.map { token in
            if let failure = status.rejected[token] { return .refused(failure.messageDescription) }
            return status.acknowledged.contains(token) ? .acknowledged : .unknown
        }
    }

    /// What became of a published document.
    package enum DocumentOutcome: Equatable, Sendable {
        /// The broker holds it.
        case stored
        /// The broker refused it, and why.
        case refused(String)
        /// The broker holds another document: somebody else published at the same time.
        case replaced(StoredDocument)
        /// The broker does not hold it, nor another one that is new.
        case lost
    }

    /// Publishes documents, reads them back after a while and compares their hashes.
    package func publish(
        _ publications: [FleetPublication]
    ) throws(FleetSessionError) -> [FleetDocumentID: DocumentOutcome] {
        let before = model.documents
        let answers = try publish(
            publications.map { publication in
                MQTTMessage(
                    topic: publication.document.topic(topics), payload: publication.bytes, qos: .atLeastOnce,
                    retain: true)
            })
        try listen(for: times.readBack)
        try read(publications.map(\.document))
        var outcomes: [FleetDocumentID: DocumentOutcome] = [:]
        for (publication, answer) in zip(publications, answers) {
            let id = publication.document
            if case .refused(let reason) = answer {
                outcomes[id] = .refused(reason)
            } else if let stored = model.documents[id], stored.revision == publication.revision {
                outcomes[id] = .stored
            } else if let stored = model.documents[id], stored != before[id] {
                outcomes[id] = .replaced(stored)
            } else {
                outcomes[id] = .lost
            }
        }
        return outcomes
    }
}
