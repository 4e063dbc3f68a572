package import JostleConfiguration
package import JostleMessages
internal import JostleRuntime
package import LinuxSystem
package import MosquittoClient
internal import MotionCore

/// Reads and publishes a fleet's documents at the configured broker.
///
/// Meant for a command line: it blocks the caller's thread until a deadline or a signal.
package final class FleetSession {
    /// Topics of devices that can be read besides their availability and configuration reports.
    package static let health = ["health", "state"]
    package static let events = ["event/+"]

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

    private let view: BrokerView
    private let signals: SignalWaiter
    private let times: Times
    private let documentFilters: [String]
    private let boardFilters: [String]
    /// How many retained messages each filter brought.
    private var retainedCounts: [String: Int] = [:]
    /// The messages that did not fit into the memory set aside.
    private var dropped = 0
    /// Whether messages were missing after the first reading, or may be.
    package private(set) var gaps = Gaps.none
    /// Whether the broker sends no retained messages for a wildcard. Then only known devices are in the model, and those that
    /// publish meanwhile.
    package private(set) var lacksRetained = false
    private let hasOneBroker: Bool
    /// When the last retained message arrived.
    private var lastRetained = WallClock.monotonic
    /// Whether a message has been given to the client, so that the broker may have stored it.
    package private(set) var hasSent = false

    /// Whether there is a connection to the broker at present.
    package var isConnected: Bool { view.status.isConnected }

    /// The number of connections so far.
    package var connections: Int { view.status.connections }

    private var check: WildcardCheck?

    /// Receives the messages that are none of the model's.
    private var onOther: ((MQTTMessage) -> Void)?

    /// Prepares a connection over the configured broker. `connect` connects.
    ///
    /// - Throws: if the configuration does not lead to a broker.
    package init(
        settings: JostleSettings, reading topics: [String] = [], times: Times = Times(), trust: DocumentTrust? = nil,
        signals: SignalWaiter
    ) throws {
        let settings = settings.forCommands
        view = try BrokerView(
            settings, name: "fleet", longestPause: 2, capacity: FleetSession.capacity, queue: 20_000,
            maximumMessage: nil,
            ifEmbedded: .privateBroker(advice: "name the fleet's broker with --broker"))
        hasOneBroker = settings.brokers(embeddedPort: nil).count == 1
        self.signals = signals
        self.times = times
        let fleet = FleetTopics(prefix: settings.mqtt.prefix)
        self.topics = fleet
        model = FleetModel(topics: fleet)
        model.trust = trust
        documentFilters = [fleet.all, fleet.group("+"), fleet.desired("+"), fleet.registry("+")]
        boardFilters = (["availability", "config/reported"] + topics).map { "\(fleet.prefix)/+/\($0)" }
    }

    // MARK: Reading

    /// Connects and reads what the broker holds.
    ///
    /// - Throws: if the broker is not reached, or does not permit reading.
    package func connect() throws {
        let deadline = WallClock.monotonic.advanced(bySeconds: times.connection)
        try subscribe(to: documentFilters + boardFilters)
        try view.start()
        try wait(until: deadline) {
            let status = view.status
            return status.isConnected || hasOneBroker && status.isBarred
        }
        try requireConnection()
        try settle()
        lacksRetained = try isLackingRetained()
        if lacksRetained { try readByName() } else { try fillGaps() }
    }

    /// - Throws: why there is no connection.
    package func requireConnection() throws {
        let status = view.status
        guard !status.isConnected else { return }
        if status.isBarred, let failure = status.lastFailure { throw BrokerError.refused(failure) }
        throw BrokerError.notConnected(status.lastFailure)
    }

    private func subscribe(to filters: [String]) throws {
        try view.subscribe(to: filters.map { BrokerView.Filter($0, isReliable: true) })
    }

    private func unsubscribe(from filters: [String]) {
        view.unsubscribe(from: filters.map { BrokerView.Filter($0) })
    }

    /// Waits for the answers to all subscriptions and then for the retained messages.
    ///
    /// - Throws: if the connection is lost, or a subscription is refused.
    private func settle() throws {
        let deadline = WallClock.monotonic.advanced(bySeconds: times.reading)
        while !view.status.pending.isEmpty, WallClock.monotonic < deadline {
            // A broker that drops messages for a slow client may drop an answer too.
            let retry = min(deadline, WallClock.monotonic.advanced(bySeconds: 3))
            try wait(until: retry) { view.status.pending.isEmpty }
            let status = view.status
            if status.isConnected { try subscribe(to: status.pending.sorted()) }
        }
        try requireConnection()
        let status = view.status
        if let filter = status.refused.keys.sorted().first, let reason = status.refused[filter] {
            throw BrokerError.notAllowed(filter: filter, reason: "\(reason)")
        }
        guard status.pending.isEmpty else { throw BrokerError.notConnected("it does not answer to subscriptions") }
        lastRetained = WallClock.monotonic
        var quiet: Timestamp { lastRetained.advanced(bySeconds: times.quiet) }
        while WallClock.monotonic < min(quiet, deadline) { try wait(until: min(quiet, deadline)) { false } }
        try requireConnection()
        if dropped > 0 { throw BrokerError.incomplete(dropped: dropped) }
        // What is missing cannot be told from what does not exist.
        guard WallClock.monotonic >= quiet else { throw BrokerError.unsettled(seconds: times.reading) }
    }

    private func isLackingRetained() throws -> Bool {
        // A topic without a wildcard says nothing.
        guard !retainedCounts.keys.contains(where: { $0.contains("+") }) else { return false }
        defer { check?.cancel() }
        check = try WildcardCheck(view, at: WallClock.monotonic)
        while let current = check, !current.isOver {
            try wait(until: current.deadline) {
                try check?.advance(at: WallClock.monotonic)
                return check?.isOver != false || check?.deadline != current.deadline
            }
            try check?.advance(at: WallClock.monotonic)
        }
        return check?.isLacking == true
    }

    /// Reads documents again, each by its own topic: one that the broker no longer holds is then no longer in the model.
    package func read(_ documents: [FleetDocumentID]) throws {
        model.forget(documents)
        try read(topics: documents.map { $0.topic(topics) })
    }

    /// Listens until `isDone` returns true, or for `seconds`.
    ///
    /// - Throws: `interrupted` if a signal arrives.
    package func listen(for seconds: Double, until isDone: (FleetModel) -> Bool = { _ in false })
        throws
    {
        try wait(until: WallClock.monotonic.advanced(bySeconds: seconds)) { isDone(model) }
    }

    private func wait(until deadline: Timestamp, _ isDone: () throws -> Bool) throws {
        try view.wait(until: deadline, signals) {
            take()
            return try isDone()
        }
    }

    private func take() {
        let taken = view.takeReports()
        dropped += taken.dropped
        let messages = taken.reports.compactMap { if case .message(let message) = $0 { message } else { nil } }
            .filter { check?.take($0) != true }
        guard !messages.isEmpty else { return }
        let now = WallClock.monotonic
        model.latestPublication = WallClock.milliseconds(at: now) + DocumentRevision.clockTolerance
        for message in messages {
            model.update(with: message, at: now)
            onOther?(message)
        }
        count(messages)
        // Not when they arrived: more may have arrived while they were processed.
        if messages.contains(where: \.retain) { lastRetained = WallClock.monotonic }
    }

    /// Takes the devices that this machine knows, before `connect`.
    package func remember(_ devices: KnownDevices) { model.remember(devices) }

    /// Takes what this machine keeps beside what the broker holds.
    package func remember(_ history: DocumentHistory) {
        model.seen = history.latest
        model.kept = history.kept(beside: model.documents)
        let ids = model.knownDevices.union(model.boards.keys).filter { model.documents[.registry($0)]?.registry == nil }
        model.keptGroups = history.groups(of: ids)
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
    package func publish(_ messages: [MQTTMessage]) throws -> [Outcome] {
        var tokens: [MQTTToken] = []
        for message in messages {
            while true {
                do {
                    tokens.append(try view.publish(message))
                    break
                } catch {
                    let status = view.status
                    if error == .notConnected { throw BrokerError.notConnected(status.lastFailure) }
                    guard error == .queueFull, status.isConnected else { throw error }
                    try listen(for: 0.05)
                }
            }
            hasSent = true
        }
        try wait(until: WallClock.monotonic.advanced(bySeconds: times.acknowledgement)) {
            let status = view.status
            return !status.isConnected
                || tokens.allSatisfy { status.acknowledged.contains($0) || status.rejected[$0] != nil }
        }
        let status = view.status
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
    ) throws -> [FleetDocumentID: DocumentOutcome] {
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

/// Brokers hold back or drop retained messages if there are very many for one subscription.
///
/// mosquitto drops what exceeds `max_queued_messages`, 1,000 by default, and does not say so. What is missing would look
/// like something that does not exist.
extension FleetSession {
    /// What is known about missing messages.
    package enum Gaps: Sendable {
        case none
        /// A filter brought so many messages that others may be missing.
        case possible
        /// As many messages came as a broker sends by default.
        case likely
        /// Messages of known devices were missing, and were read by their own topics; others may be missing still.
        case certain
    }

    /// The fewest messages for one filter after which others may be missing: mosquitto's default.
    private static let suspicious = 1000

    /// Messages that mosquitto sends by default beyond those that it queues.
    private static let inFlight = 40

    /// The most topics that are subscribed to at a time.
    private static let batch = 200

    /// The most bytes of messages that wait to be taken.
    private static let capacity = 64 << 20

    /// Counts the retained messages by filter.
    private func count(_ messages: [MQTTMessage]) {
        for message in messages where message.retain {
            for filter in documentFilters + boardFilters
            where MQTTTopic.matches(message.topic, filter: filter) {
                retainedCounts[filter, default: 0] += 1
            }
        }
    }

    /// Reads what is missing of the devices that are known, each by its own topic: if there are too many, only of those that
    /// are kept first.
    private func fillGaps() throws {
        guard let most = retainedCounts.values.max(), most >= FleetSession.suspicious else { return }
        gaps = .possible
        let isLimit = { (count: Int) in count <= FleetSession.suspicious + FleetSession.inFlight }
        if retainedCounts.values.contains(where: { $0 >= FleetSession.suspicious && isLimit($0) }) { gaps = .likely }
        // Messages of boards may have taken the places of documents in the broker's queue.
        try read(topics: documentFilters)
        var missing: [String] = []
        let isFull = model.leftOut.boards > 0
        let ids = isFull ? [] : Set(model.allBoards.map(\.id))
        for id in ids.union(model.knownDevices).sorted() {
            let board = model.boards[id] ?? FleetBoard(id: id)
            if board.isOnline == nil { missing.append(Topics(prefix: topics.prefix, id: board.id).availability) }
            if board.report == nil { missing.append(topics.reported(board.id)) }
        }
        var found: Int {
            model.boards.values.reduce(0) { $0 + ($1.report == nil ? 0 : 1) + ($1.isOnline == nil ? 0 : 1) }
        }
        let before = found
        try read(topics: missing)
        // What did not fit before is no fault of the broker.
        if found > before, !isFull { gaps = .certain }
    }

    /// Reads what the broker holds of the devices that are known, each topic by its name.
    private func readByName() throws {
        let filters = boardFilters + [topics.desired("+"), topics.registry("+")]
        try read(
            topics: [topics.all]
                + model.knownDevices.sorted().flatMap { id in filters.map { $0.replacing("+", with: id) } })
        let groups = Set(model.allBoards.flatMap { model.groups(of: $0.id) })
        try read(topics: groups.sorted().map(topics.group))
    }

    /// Reads documents by their own topics if they may be missing from the model: what the broker seems not to hold, because
    /// not every broker sends retained messages for a wildcard; after gaps all.
    package func complete(_ documents: [FleetDocumentID]) throws {
        let doubtful = gaps == .none ? documents.filter { model.documents[$0] == nil } : documents
        if !doubtful.isEmpty { try read(doubtful) }
    }

    /// Reads retained messages by their own topics.
    private func read(topics: [String]) throws {
        var rest = topics[...]
        while !rest.isEmpty {
            let filters = Array(rest.prefix(FleetSession.batch))
            rest = rest.dropFirst(FleetSession.batch)
            try subscribe(to: filters)
            try settle()
            unsubscribe(from: filters.filter { !documentFilters.contains($0) })
        }
    }
}

/// Commands to many devices.
extension FleetSession {
    /// Sends a command to devices and waits for their answers, at most `seconds`.
    ///
    /// - Parameters:
    ///   - name: the command.
    ///   - arguments: its arguments, a JSON object.
    ///   - ids: the devices.
    ///   - seconds: the time limit.
    ///   - onAnswer: is called when another device has answered, with the number of answers.
    /// - Returns: the answers; a device that did not answer has none.
    /// - Throws: if the broker is not reached or refuses the command.
    package func command(
        _ name: String, _ arguments: [UInt8], to ids: [String], within seconds: Double,
        onAnswer: (Int) -> Void = { _ in }
    ) throws -> CommandAnswers {
        let replyTopic = view.status.hasProperties ? view.replyTopic : nil
        let filters = ["\(topics.prefix)/+/command/\(name)/result"] + [replyTopic].compactMap { $0 }
        var answers = CommandAnswers(replyTopic: replyTopic)
        let messages = ids.map { id in
            answers.command(name, arguments, to: Topics(prefix: topics.prefix, id: id), lifetime: seconds)
        }
        try subscribe(to: filters)
        defer { unsubscribe(from: filters) }
        try settle()
        var received: [MQTTMessage] = []
        onOther = { received.append($0) }
        defer { onOther = nil }
        let start = WallClock.monotonic
        for outcome in try publish(messages) {
            if case .refused(let reason) = outcome {
                throw BrokerError.refused("the broker refused the command: \(reason)")
            }
        }
        try wait(until: start.advanced(bySeconds: seconds)) {
            let before = answers.answers.count
            for message in received { answers.take(message) }
            received = []
            if answers.answers.count != before { onAnswer(answers.answers.count) }
            return answers.isComplete
        }
        return answers
    }

    /// The topics with retained messages of a device, its announcements to Home Assistant under `discoveryPrefix`
    /// included.
    package func retainedTopics(of id: String, discoveryPrefix: String) throws -> [String] {
        var removal = BoardRemoval(of: id, topics, discoveryPrefix: discoveryPrefix)
        onOther = { removal.take($0) }
        defer { onOther = nil }
        try subscribe(to: removal.filters)
        try settle()
        unsubscribe(from: removal.filters.filter { $0 != topics.registry(id) })
        return removal.topics
    }

    /// Removes retained messages, in this order.
    ///
    /// - Returns: the topics for which the broker refused it, and why.
    package func clear(_ topics: [String]) throws -> [(topic: String, reason: String)] {
        zip(topics, try publish(topics.map(BoardRemoval.message))).compactMap { topic, outcome in
            switch outcome {
            case .acknowledged: nil
            case .refused(let reason): (topic, reason)
            case .unknown: (topic, "the broker did not answer")
            }
        }
    }
}
