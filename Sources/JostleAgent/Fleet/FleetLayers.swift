internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import JostleRuntime
internal import MosquittoClient
internal import MotionCore

/// The layers that the fleet publishes for this device: receives them, judges them, stores them, puts them in force, and
/// returns to the ones before if the device works no longer.
///
/// A part of `SettingsStore`, which owns the configuration below the layers. The protocol is in docs/fleet-protocol.md. A document
/// is put in force in these steps: it is received; when everything that the broker retains has been read, it is judged
/// together with all layers; it is stored; and only then it is applied, all layers at once. So a crash at any point
/// leaves a configuration that is whole, and a revision that stops the device from working is already on probation.
struct FleetLayers: Sendable {
    /// What the settings store has to do.
    enum Step {
        /// `isOptional`: without the permission to read it, the device works all the same.
        case subscribe(String, isOptional: Bool)
        case unsubscribe(String)
        /// Write the file.
        case store([UInt8])
        /// The stack has changed: apply its settings.
        case apply([ConfigurationChange])
        case log(Log.Level, String)
    }

    /// Seconds without a layer after which everything is read, and the most that reading takes.
    static let quietTime = 0.5
    static let longestReading = 3.0
    /// Seconds until the topics are read again: soon after a connection, because a change can be missed while
    /// subscribing, and then regularly.
    static let secondReading = 2.0...5.0
    static let readingInterval = 540.0...660.0
    /// Seconds until the topics are read again after messages were discarded.
    static let readingAfterFlood = 2.0
    /// Seconds after which a waiting document is reported.
    static let pendingTime = 1.0

    /// Reading what the broker retains.
    struct Reading: Equatable {
        /// Whether documents wait until it has ended: on a new connection, and for new groups.
        var isFirst: Bool
        /// The subscriptions that the broker has not answered, and those that it has refused.
        var unanswered: Set<String>
        var refused: Set<String> = []
        var end: Timestamp
        var latestEnd: Timestamp
    }

    /// Accepted documents that are being written, and take effect when they are on the disk.
    struct Staged {
        /// An accepted document, when it arrived, and when it was accepted.
        struct AppliedLayer {
            var name: LayerName
            var topic: String
            var content: LayerContent
            var offeredAt: Timestamp?
            var clocks: ClockReading
        }

        var accepted: [AppliedLayer]
        /// What the file will contain.
        var written: StoredFleet
    }

    /// What happens with the file.
    enum Storage {
        case idle
        /// It is being written, with a staged state or without; a failed write is retried by the writer.
        case writing(Staged?)
    }

    let id: String
    let topics: FleetTopics
    let duration: Double
    private let groupsInFile: [String]
    let trustedKeys: TrustedKeys

    /// The layers, lowest first.
    var records: [LayerRecord] = []
    /// What was accepted last on the topics that are not read any more.
    private var former: FormerRevisions
    /// The groups in force.
    private(set) var groups: [String] = []
    /// The registry in force, which may not be stored yet; and what came of the last message on its topic.
    private var registry: StoredRegistry?
    var registryFinding: LayerRecord.Finding?

    var reading: Reading?
    var nextReading: Timestamp?
    /// Limits the documents that are read: ten a second after a burst.
    var budget = TokenBucket(capacity: 50, rate: 10)

    var storage = Storage.idle
    /// Whether the stored state changed since it was last written.
    var mustStore = false
    /// Why the file cannot be written; `nil` if it can.
    var storageFailure: String?
    /// What is on the disk about the trial of new revisions.
    var storedProbation: StoredProbation?
    var probation: Probation?

    /// Whether the report has to be published again.
    var hasNews = true

    var isConnected = false
    /// When the last sample arrived, and whether sensing was stopped by a command.
    var lastSample: Timestamp?
    var isSensingStopped = false
    let randomTime: @Sendable (ClosedRange<Double>) -> Double

    /// Whether the report has to be published again since the last call.
    mutating func takeNews() -> Bool {
        defer { hasNews = false }
        return hasNews
    }

    /// Creates the layers of a device from what is stored.
    init(
        _ stored: StoredFleet, id: String, settings: JostleSettings,
        randomTime: @escaping @Sendable (ClosedRange<Double>) -> Double = { Double.random(in: $0) }
    ) {
        self.id = id
        self.randomTime = randomTime
        topics = FleetTopics(prefix: settings.mqtt.prefix)
        groupsInFile = settings.device.groups
        trustedKeys = TrustedKeys(settings.fleet.trustedKeys)
        var stored = stored
        let untrusted = stored.dropUntrusted(trustedKeys)
        duration = settings.fleet.probation
        storedProbation = stored.probation
        former = stored.former
        if let stored = stored.registry {
            if stored.topic == topics.registry(id) {
                registry = stored
            } else {
                former.remember(stored.accepted, of: stored.topic)
            }
        }
        groups = registry?.document.groups ?? groupsInFile
        records = names.map { name in
            let topic = topics.topic(of: name, for: id)
            return LayerRecord(name, topic: topic, stored: stored.layers[topic])
        }
        // Layers of another id, prefix or group are dropped.
        let topicsRead = Set(records.map(\.topic))
        for (topic, layer) in stored.layers.sorted(by: { $0.key < $1.key }) where !topicsRead.contains(topic) {
            if let highest = layer.highest { former.remember(highest, of: topic) }
        }
        recallRevisions()
        mustStore = !untrusted.isEmpty || self.stored != stored
        for index in records.indices { records[index].finding = untrusted[records[index].topic] }
        registryFinding = untrusted[topics.registry(id)]
    }

    /// The names of the layers, lowest first.
    private var names: [LayerName] { [.all] + groups.map { .group($0) } + [.device] }

    /// The patches in force, lowest first.
    var patches: [PatchLayer] {
        records.map { PatchLayer($0.name.text, $0.stored.inForce?.patches(for: id) ?? []) }
    }

    /// The topics to subscribe to.
    var filters: [String] { records.map(\.topic) + [topics.registry(id)] }

    /// Subscribes to a topic. Some brokers end the connection if a topic may not be read; only the device's own is sure to
    /// be readable.
    private func subscribe(_ filter: String) -> Step {
        .subscribe(filter, isOptional: filter != topics.desired(id))
    }

    /// What is to be stored.
    var stored: StoredFleet {
        var fleet = StoredFleet()
        for record in records where record.stored != StoredLayer(record.name) {
            fleet.layers[record.topic] = record.stored
        }
        fleet.registry = registry
        fleet.former = former
        fleet.isSigned = !trustedKeys.isEmpty
        fleet.probation = storedProbation
        return fleet
    }

    // MARK: Connection

    /// Subscribes; the client does so again on every later connection.
    mutating func start(at now: Timestamp) -> [Step] {
        beginProbation(at: now)
        return filters.map(subscribe) + storeIfNeeded()
    }

    mutating func connected(at now: Timestamp) {
        isConnected = true
        probation?.connected(at: now)
        beginReading(isFirst: true, at: now)
    }

    /// The connection is lost. `isOwnFault`: because of this device or its network, not because of the broker.
    mutating func disconnected(isOwnFault: Bool, at now: Timestamp) {
        probation?.disconnected(isOwnFault: isOwnFault, at: now)
        isConnected = false
        reading = nil
        nextReading = nil
    }

    private mutating func beginReading(isFirst: Bool, at now: Timestamp) {
        let latestEnd = now.advanced(bySeconds: FleetLayers.longestReading)
        reading = Reading(isFirst: isFirst, unanswered: Set(filters), end: latestEnd, latestEnd: latestEnd)
        for index in records.indices { records[index].wasSeen = false }
    }

    /// Waits for further topics as well.
    private mutating func readMore(_ topics: Set<String>, at now: Timestamp) {
        let before = reading
        let seen = Set(records.filter { before == nil || $0.wasSeen }.map(\.topic))
        beginReading(isFirst: true, at: now)
        for index in records.indices {
            let topic = records[index].topic
            records[index].wasSeen = seen.contains(topic) && !topics.contains(topic)
        }
        let unanswered = topics.union(before?.unanswered ?? []).intersection(filters)
        reading?.unanswered = unanswered
        if let before, before.isFirst {
            // A registry that changes all the time does not keep the other layers waiting.
            reading?.refused = before.refused
            reading?.latestEnd = before.latestEnd
            reading?.end = before.latestEnd
        }
        extendReading(at: now)
    }

    /// The broker granted or refused a subscription, or the client leaves it out on this connection.
    mutating func subscriptionAnswered(_ filter: String, isGranted: Bool, at now: Timestamp) {
        if !isGranted { reading?.refused.insert(filter) }
        guard reading?.unanswered.remove(filter) != nil else { return }
        extendReading(at: now)
    }

    /// Once everything is answered, reading ends after a quiet time.
    private mutating func extendReading(at now: Timestamp) {
        guard var current = reading, current.unanswered.isEmpty else { return }
        current.end = min(now.advanced(bySeconds: FleetLayers.quietTime), current.latestEnd)
        reading = current
    }

    // MARK: Messages

    /// Takes a message on one of the topics; `nil` if it is on another.
    mutating func receive(
        _ message: MQTTMessage, _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step]? {
        if message.topic == topics.registry(id) { return receiveRegistry(message.payload, &stack, at: now) }
        guard let index = records.firstIndex(where: { $0.topic == message.topic }) else { return nil }
        extendReading(at: now.monotonic)
        if records[index].lastPayload != message.payload, !admit(at: now.monotonic) {
            records[index].wasSeen = true
            return []
        }
        guard records[index].receive(message.payload, trusting: trustedKeys, at: now) else { return [] }
        hasNews = hasNews || !records[index].isWaiting
        var steps: [Step] = logFinding(of: records[index])
        if reading?.isFirst != true { steps += evaluate(&stack, at: now) }
        return steps
    }

    /// Whether a document is read. If too many come, the topics are read again later.
    private mutating func admit(at now: Timestamp) -> Bool {
        if budget.spend(at: now) { return true }
        let later = now.advanced(bySeconds: FleetLayers.readingAfterFlood)
        nextReading = min(nextReading ?? later, later)
        return false
    }

    private mutating func receiveRegistry(
        _ payload: [UInt8], _ stack: inout ConfigurationStack, at now: ClockReading
    ) -> [Step] {
        extendReading(at: now.monotonic)
        // A missing registry keeps the last one.
        guard !payload.isEmpty, registryFinding != nil || payload != registry?.document.envelope.bytes else {
            return []
        }
        guard admit(at: now.monotonic) else { return [] }
        hasNews = true
        let document: RegistryDocument
        do throws(DocumentProblem) {
            document = try RegistryDocument(reading: payload)
            if let problem = trustedKeys.problem(of: document.envelope, topic: topics.registry(id)) { throw problem }
            if let problem = document.revision.problem(at: now, layer: .device) { throw problem }
        } catch {
            registryFinding = .rejected(DocumentEnvelope.revision(in: payload), [error])
            return [.log(.warning, "the groups of the registry are rejected: \(error)")]
        }
        let accepted = acceptedRegistry
        let order = accepted?.order(of: document.revision, hasKeys: !trustedKeys.isEmpty, at: now) ?? .newer
        registryFinding =
            switch order {
            case .newer, .same: nil
            case .conflict: .conflict(document.revision)
            case .older: .stale(document.revision)
            }
        // What was dropped is accepted again.
        guard order == .newer || order == .same && registry == nil else { return [] }
        registry = StoredRegistry(
            topic: topics.registry(id), document: document,
            accepted: AcceptedRevision(document.revision, after: accepted, at: now))
        former.forget(topics.registry(id))
        mustStore = true
        let who = FleetLayers.author(document.envelope)
        let names = document.groups.isEmpty ? "none" : document.groups.joined(separator: ", ")
        return [.log(.info, "groups: \(names)\(who)")] + setGroups(document.groups, at: now) + storeIfNeeded()
    }

    /// Drops the layers of groups that the device left, and reads those of new ones. The configuration changes when they
    /// are read.
    private mutating func setGroups(_ groups: [String], at now: ClockReading) -> [Step] {
        guard groups != self.groups else { return [] }
        let before = records
        self.groups = groups
        records = names.map { name in
            let topic = topics.topic(of: name, for: id)
            return before.first { $0.topic == topic } ?? LayerRecord(name, topic: topic)
        }
        let (old, new) = (Set(before.map(\.topic)), Set(records.map(\.topic)))
        for record in before where !new.contains(record.topic) {
            if let highest = record.stored.highest { former.remember(highest, of: record.topic) }
        }
        recallRevisions()
        if isConnected { readMore(new.subtracting(old), at: now.monotonic) }
        return old.subtracting(new).sorted().map { .unsubscribe($0) }
            + new.subtracting(old).sorted().map(subscribe)
    }

    /// What was accepted last of the registry.
    var acceptedRegistry: AcceptedRevision? { registry?.accepted ?? former[topics.registry(id)] }

    /// Gives topics that are read again their highest revisions.
    private mutating func recallRevisions() {
        for index in records.indices where records[index].stored.highest == nil {
            guard let accepted = former[records[index].topic] else { continue }
            records[index].stored.highest = accepted
            former.forget(records[index].topic)
        }
    }

    /// Confirms the times that were accepted before the clock was set.
    private mutating func confirmTimes(at now: ClockReading) {
        for index in records.indices where records[index].stored.highest?.confirm(at: now) == true { mustStore = true }
        if registry?.accepted.confirm(at: now) == true { mustStore = true }
    }

    // MARK: Deadlines

    var nextDeadline: Timestamp? {
        var offered: Timestamp?
        for index in records.indices where !records[index].isReportedAsPending {
            // Most of the time there is none; without a copy of the record.
            guard let time = records[index].offeredAt, records[index].isWaiting else { continue }
            offered = offered.earlier(time)
        }
        return (reading?.end).earlier(isConnected ? nextReading : nil).earlier(probation?.nextCheck)
            .earlier(offered?.advanced(bySeconds: FleetLayers.pendingTime))
    }

    mutating func handleDeadline(_ stack: inout ConfigurationStack, at now: ClockReading) -> [Step] {
        var steps: [Step] = []
        if let current = reading, now.monotonic >= current.end {
            reading = nil
            for index in records.indices where !records[index].wasSeen && current.unanswered.isEmpty {
                // Of a topic that may not be read, nothing is known.
                guard !current.refused.contains(records[index].topic), records[index].setMissing() else { continue }
                hasNews = true
                steps += logFinding(of: records[index], isReceived: false)
            }
            let interval = current.isFirst ? FleetLayers.secondReading : FleetLayers.readingInterval
            let next = now.monotonic.advanced(bySeconds: randomTime(interval))
            // After a flood, the next reading is due sooner.
            nextReading = min(nextReading ?? next, next)
            confirmTimes(at: now)
            steps += evaluate(&stack, at: now) + storeIfNeeded()
        }
        if isConnected, let due = nextReading, now.monotonic >= due {
            nextReading = nil
            beginReading(isFirst: false, at: now.monotonic)
            steps += filters.map(subscribe)
        }
        for index in records.indices where records[index].isPending(at: now.monotonic) {
            records[index].isReportedAsPending = true
            hasNews = true
        }
        return steps + checkProbation(&stack, at: now)
    }
}

extension FleetLayers {
    /// Who published a document and why, for the log.
    static func author(_ envelope: DocumentEnvelope) -> String {
        let text = byAndNote(envelope)
        return text.isEmpty ? "" : " (revision \(envelope.revision.number)\(text))"
    }

    /// The words " by WHO: WHY", as far as the document has them.
    static func byAndNote(_ envelope: DocumentEnvelope) -> String {
        (envelope.by.map { " by \(DocumentProblem.escaped($0))" } ?? "")
            + (envelope.note.map { ": \(DocumentProblem.escaped($0))" } ?? "")
    }

    /// The log line about a message that was not accepted, or not received.
    func logFinding(of record: LayerRecord, isReceived: Bool = true) -> [Step] {
        let name = "layer \(record.name.text)"
        switch record.finding {
        case nil:
            guard record.isMissing else { return [] }
            let rest = record.stored.inForce == nil ? "" : "; what was last accepted stays in force"
            // With MQTT 5 a broker silently withholds a message that is too large.
            let event = isReceived ? "removed from the broker" : "not received: removed from the broker, or too large"
            return [.log(.info, "\(name): \(event)\(rest)")]
        case .rejected(let revision, let problems):
            let number = revision.map { " \($0.number)" } ?? ""
            return problems.prefix(5).map { .log(.warning, "\(name): revision\(number) rejected: \($0)") }
        case .conflict(let revision):
            return [
                .log(.warning, "\(name): another document has the accepted revision \(revision.number) and is ignored")
            ]
        case .stale(let revision):
            let accepted = record.stored.highest?.revision
            let epoch = revision.epoch == accepted?.epoch ? "" : " of another epoch"
            let text = "revision \(revision.number)\(epoch) is older than \(accepted?.number ?? 0) and is ignored"
            return [.log(.info, "\(name): \(text)")]
        }
    }
}

// The members `groups`, `layers` and `registry` of the report.
extension FleetLayers {
    /// The most errors of a layer that are reported.
    private static let maximumErrors = 20

    /// What is in force from each layer, and why not.
    func report(_ stack: ConfigurationStack, at now: Timestamp) -> JSONValue {
        let layers = records.map { record in
            let outcome = stack.resolution.outcomes.first { $0.name == record.name.text }
            return JSONValue.Member(record.name.text, report(record, outcome, at: now))
        }
        return ["groups": .strings(groups), "layers": .object(layers), "registry": registryReport]
    }

    private func report(_ record: LayerRecord, _ outcome: PatchOutcome?, at now: Timestamp) -> JSONValue {
        found(record, outcome, at: now).adding(acceptedTime(record.stored.highest))
    }

    private func found(_ record: LayerRecord, _ outcome: PatchOutcome?, at now: Timestamp) -> JSONValue {
        let stored = record.stored
        let highest = stored.highest?.revision
        let inForce = stored.inForce?.document.revision
        if let offered = record.offered, record.finding == nil,
            record.offeredAt.map({ now.seconds(since: $0) >= FleetLayers.pendingTime }) ?? true
        {
            let reason = storageFailure.map { "cannot be saved: \($0)" }
            return status("pending", offered.revision).adding(accepted(highest, inForce, offered.revision))
                .adding(["reason": reason.map { .string($0) }])
        }
        if let finding = record.finding { return found(finding, highest, inForce) }
        if let undone = stored.undone {
            let revision = DocumentRevision(number: undone.revision, hash: "", epoch: highest?.epoch ?? "")
            return status("rolled_back", revision).adding(accepted(nil, inForce, revision))
                .adding(["reason": .string(undone.reason)])
        }
        guard let content = stored.inForce else {
            let isMissing = record.isMissing && highest != nil
            return status(isMissing ? "missing" : "none", nil).adding(accepted(highest, nil, nil))
        }
        return found(content, record, outcome)
    }

    private func found(_ content: LayerContent, _ record: LayerRecord, _ outcome: PatchOutcome?) -> JSONValue {
        let revision = content.document.revision
        guard let chosen = outcome?.chosen else {
            // It was valid before another layer or the file changed.
            return status("rejected", revision).adding(["errors": FleetLayers.json(outcome?.problems.last ?? [])])
        }
        let isCandidate = content.usesCandidate(for: id) && chosen == 0
        let milliseconds = record.applicationTime.map { Int(($0 * 1000).rounded()) }
        let unknown = outcome?.ignoredKeys ?? []
        return status(record.isMissing ? "missing" : "applied", revision).adding([
            "candidate": .bool(isCandidate), "candidate_errors": content.candidateErrors,
            "probation": record.stored.proven == nil ? nil : true,
            "t": record.stored.acceptedAt.map { .number($0) }, "took_ms": milliseconds.map { .number($0) },
            "unknown_keys": unknown.isEmpty ? nil : .strings(Array(unknown.prefix(20))),
        ])
    }

    /// What a message was that was not accepted.
    private func found(
        _ finding: LayerRecord.Finding, _ highest: DocumentRevision?, _ inForce: DocumentRevision?
    ) -> JSONValue {
        switch finding {
        case .rejected(var revision, let problems):
            revision?.hash = ""
            return status("rejected", revision).adding(accepted(highest, inForce, revision))
                .adding(["errors": FleetLayers.json(problems)])
        case .conflict(let revision):
            let other = inForce?.number == revision.number ? nil : inForce
            return status("conflict", revision).adding(accepted(nil, other, revision))
        case .stale(let revision): return status("stale", revision).adding(accepted(highest, inForce, revision))
        }
    }

    private func status(_ word: String, _ revision: DocumentRevision?) -> JSONValue {
        guard let revision else { return ["status": .string(word)] }
        return [
            "status": .string(word), "revision": .number(revision.number),
            "hash": revision.hash.isEmpty ? nil : .string(revision.shortHash),
            "epoch": revision.epoch.isEmpty ? nil : .string(revision.epoch),
        ]
    }

    /// The revision in force, and the highest accepted one if it is not that: a document needs a higher one. And the epoch
    /// of these, if it is not that of the document that the report is about.
    private func accepted(
        _ highest: DocumentRevision?, _ inForce: DocumentRevision?, _ revision: DocumentRevision?
    ) -> JSONValue {
        let isInForce = highest?.number == inForce?.number && highest?.epoch == inForce?.epoch
        let isSameEpoch = highest?.epoch == revision?.epoch ?? ""
        return [
            "in_force": inForce.map { .number($0.number) },
            "highest": isInForce ? nil : highest.map { .number($0.number) },
            "accepted_epoch": isSameEpoch ? nil : highest.map { .string($0.epoch) },
        ]
    }

    /// The time that a document of another epoch has to follow.
    private func acceptedTime(_ accepted: AcceptedRevision?) -> JSONValue {
        ["accepted_at": accepted?.revision.at.map { .number($0) }]
    }

    private var registryReport: JSONValue? {
        let inForce = registry?.document.revision
        let finding = registryFinding.map { found($0, acceptedRegistry?.revision, inForce) }
        return (finding ?? inForce.map { status("applied", $0) })?.adding(acceptedTime(acceptedRegistry))
    }

    static func json(_ problems: [DocumentProblem]) -> JSONValue {
        func text(_ text: String?) -> JSONValue? { text.flatMap { $0.isEmpty ? nil : .string($0) } }
        return .array(
            problems.prefix(maximumErrors).map { problem in
                [
                    "path": text(problem.path), "value": text(problem.found), "allowed": text(problem.allowed),
                    "reason": text(problem.reason),
                ]
            })
    }
}

/// Watches a device after a change of its configuration, and says when the change has to be undone.
///
/// It measures only time during which the connection is up, or was lost because of this device: a broker that is away
/// for everybody proves nothing.
struct Probation: Equatable, Sendable {
    /// The result of a check.
    enum Verdict: Equatable, Sendable {
        case undecided
        case passed
        /// The change has to be undone, for this reason.
        case failed(String)
    }

    /// Seconds between two checks.
    static let interval = 2.0
    /// Seconds without a sample after which the sensor counts as silent, and the checks that this takes. Checks are
    /// counted because a process that was suspended has seen no sample for long.
    static let longestSilence = 10.0
    static let maximumSilentChecks = 5
    /// A check that is later than this counts, s; and how many of them in a row are too many.
    static let tolerance = 1.0
    static let maximumMisses = 3

    /// Seconds that have to pass.
    private let duration: Double
    /// Whether the sensor delivered before the change.
    private let hadSamples: Bool
    private let touchesNetwork: Bool
    private(set) var nextCheck: Timestamp
    private var lastCheck: Timestamp
    private var isConnected: Bool
    /// Whether the connection was lost because of this device.
    private var isOwnFault = false
    private var timeConnected = 0.0
    private var timeCutOff = 0.0
    /// Checks in a row that were late.
    private var misses = 0
    /// Checks in a row before which no sample arrived, and when the last one was.
    private var silentChecks = 0
    private var lastSample: Timestamp?

    init(duration: Double, hadSamples: Bool, touchesNetwork: Bool, isConnected: Bool, at now: Timestamp) {
        self.duration = duration
        self.hadSamples = hadSamples
        self.touchesNetwork = touchesNetwork
        self.isConnected = isConnected
        lastCheck = now
        nextCheck = now.advanced(bySeconds: Probation.interval)
    }

    mutating func connected(at now: Timestamp) {
        count(until: now)
        isConnected = true
        isOwnFault = false
        timeCutOff = 0
    }

    mutating func disconnected(isOwnFault: Bool, at now: Timestamp) {
        count(until: now)
        isConnected = false
        self.isOwnFault = isOwnFault
    }

    /// Counts at most the time between two checks: while the process or the machine was suspended, nothing was proved.
    private mutating func count(until now: Timestamp) {
        let seconds = min(max(0, now.seconds(since: lastCheck)), Probation.interval + Probation.tolerance)
        lastCheck = now
        if isConnected { timeConnected += seconds } else if isOwnFault { timeCutOff += seconds }
    }

    /// Judges the device; `lastSample` is `nil` if there was none.
    mutating func check(
        lastSample: Timestamp?, isSensingStopped: Bool, at now: Timestamp
    ) -> Verdict {
        guard now >= nextCheck else { return .undecided }
        count(until: now)
        misses = now.seconds(since: nextCheck) > Probation.tolerance ? misses + 1 : 0
        nextCheck = now.advanced(bySeconds: Probation.interval)
        silentChecks = lastSample == self.lastSample && !isSensingStopped ? silentChecks + 1 : 0
        self.lastSample = lastSample
        if hadSamples, silentChecks >= Probation.maximumSilentChecks {
            return .failed("the sensor delivers no samples any more")
        }
        if misses >= Probation.maximumMisses { return .failed("the agent cannot keep up") }
        if touchesNetwork, timeCutOff >= duration { return .failed("there was no connection since") }
        // A sensor that is silent at the end of the time has not shown that it works.
        return timeConnected >= duration && !(hadSamples && silentChecks > 0) ? .passed : .undecided
    }
}
