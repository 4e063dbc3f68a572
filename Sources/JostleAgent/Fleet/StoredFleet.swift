internal import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore
internal import StateStorage

extension StoredFleet {
    private static let format = "1"

    /// The largest file, bytes: two documents of 64 KiB for every layer, escaped.
    private static let maximumBytes = 16 << 20

    /// Reads the file of the state directory; without a usable file nothing is known. With `setsAside`, a damaged file is
    /// moved out of the way.
    ///
    /// - Returns: also a message about a file that cannot be used.
    static func load(from directory: StateDirectory, setsAside: Bool = true) -> (fleet: StoredFleet, problem: String?) {
        let (fleet, problem) = directory.load(
            .fleetLayers, limit: maximumBytes, setsAside: setsAside,
            unreadable: "the fleet's configuration is not applied",
            damaged: "the fleet's configuration is lost until it is received again"
        ) { try StoredFleet(reading: $0) }
        return (fleet ?? StoredFleet(), problem)
    }

    // MARK: Writing

    /// The file's contents.
    var bytes: [UInt8] {
        var members: [JSONValue.Member] = [.init("format", .string(StoredFleet.format))]
        if let probation {
            members.append(
                .init(
                    "probation",
                    [
                        "boot": .string(probation.boot), "deaths": .number("\(probation.deaths)"),
                        "ended_properly": .bool(probation.hasEndedProperly),
                        "had_samples": .bool(probation.hadSamples), "touches_network": .bool(probation.touchesNetwork),
                    ]))
        }
        if let registry {
            members.append(
                .init(
                    "registry",
                    ["topic": .string(registry.topic), "document": StoredFleet.text(registry.document.envelope)]))
        }
        if !former.items.isEmpty {
            let items = former.items.map { item in
                StoredFleet.json(item.revision, [.init("topic", .string(item.topic))])
            }
            members.append(.init("former", .array(items)))
        }
        members.append(
            .init("layers", .array(layers.sorted { $0.key < $1.key }.map { StoredFleet.json($0.value, topic: $0.key) }))
        )
        return Array((JSONValue.object(members).compactText + "\n").utf8)
    }

    private static func json(_ layer: StoredLayer, topic: String) -> JSONValue {
        var members: [JSONValue.Member] = [.init("topic", .string(topic)), .init("layer", .string(layer.name.text))]
        if let highest = layer.highest {
            members.append(.init("highest", json(highest)))
        }
        if let content = layer.inForce { members.append(.init("in_force", json(content))) }
        if let time = layer.acceptedAt { members.append(.init("accepted_at", .number("\(time)"))) }
        if let proven = layer.proven { members.append(.init("proven", proven.content.map(json) ?? .null)) }
        if let undone = layer.undone {
            members.append(
                .init("undone", ["revision": .number("\(undone.revision)"), "reason": .string(undone.reason)]))
        }
        return .object(members)
    }

    private static func json(_ revision: DocumentRevision, _ members: [JSONValue.Member] = []) -> JSONValue {
        var members =
            members + [.init("revision", .number("\(revision.number)")), .init("hash", .string(revision.hash))]
        if !revision.epoch.isEmpty { members.append(.init("epoch", .string(revision.epoch))) }
        if let time = revision.at { members.append(.init("at", .number("\(time)"))) }
        return .object(members)
    }

    private static func json(_ content: LayerContent) -> JSONValue {
        let members: [JSONValue.Member] = [
            .init("skips_candidate", .bool(content.skipsCandidate)),
            .init("document", text(content.document.envelope)),
        ]
        return .object(members + (content.candidateErrors.map { [.init("candidate_errors", $0)] } ?? []))
    }

    private static func text(_ envelope: DocumentEnvelope) -> JSONValue {
        .string(String(decoding: envelope.bytes, as: UTF8.self))
    }

    // MARK: Reading

    /// Reads a file's contents.
    ///
    /// - Throws: the first problem. Damaged files are not used in part.
    init(reading bytes: [UInt8]) throws {
        let source = DocumentSource.file(StateFile.fleetLayers.rawValue)
        let tree = try JSONReader.read(bytes, source: source, limits: ReaderLimits(bytes: StoredFleet.maximumBytes))
        func damaged() -> DocumentProblem {
            DocumentProblem(at: DocumentPosition(source), "not a list of layers")
        }
        guard tree["format"]?.text == StoredFleet.format, let nodes = tree["layers"]?.elements else {
            throw damaged()
        }
        for node in nodes {
            guard let topic = node["topic"]?.text, let name = node["layer"]?.text.flatMap({ LayerName($0) }) else {
                throw damaged()
            }
            layers[topic] = try StoredLayer(node, name)
        }
        if let node = tree["registry"] {
            guard let topic = node["topic"]?.text, let text = node["document"]?.text else { throw damaged() }
            registry = StoredRegistry(
                topic: topic, document: try RegistryDocument(reading: Array(text.utf8), isStored: true))
        }
        if let nodes = tree["former"]?.elements {
            for node in nodes {
                guard let topic = node["topic"]?.text, let revision = DocumentRevision(stored: node) else {
                    throw damaged()
                }
                former.remember(revision, of: topic)
            }
        }
        if let node = tree["probation"] {
            guard let boot = node["boot"]?.text, let deaths = node["deaths"]?.text.flatMap({ Int($0) }) else {
                throw damaged()
            }
            probation = StoredProbation(
                boot: boot, deaths: deaths, hasEndedProperly: node["ended_properly"]?.text == "true",
                hadSamples: node["had_samples"]?.text == "true",
                touchesNetwork: node["touches_network"]?.text == "true")
        }
    }
}

extension DocumentRevision {
    fileprivate init?(stored node: JSONValue) {
        guard let number = node["revision"]?.text.flatMap({ Int64($0) }), let hash = node["hash"]?.text else {
            return nil
        }
        self.init(
            number: number, hash: hash, epoch: node["epoch"]?.text ?? "", at: node["at"]?.text.flatMap { Int64($0) })
    }
}

extension StoredLayer {
    fileprivate init(_ node: JSONValue, _ name: LayerName) throws {
        self.init(name)
        highest = node["highest"].flatMap { DocumentRevision(stored: $0) }
        if let content = node["in_force"] { inForce = try StoredLayer.content(content, name) }
        // Earlier programs did not store the time beside the revision.
        if highest?.at == nil, let revision = inForce?.document.revision, revision.hash == highest?.hash {
            highest = revision
        }
        acceptedAt = node["accepted_at"]?.text.flatMap { Int64($0) }
        if let content = node["proven"] {
            proven = Proven(content: content.isNull ? nil : try StoredLayer.content(content, name))
        }
        if let number = node["undone"]?["revision"]?.text.flatMap({ Int64($0) }),
            let reason = node["undone"]?["reason"]?.text
        {
            undone = Undone(revision: number, reason: reason)
        }
    }

    private static func content(
        _ node: JSONValue, _ name: LayerName
    ) throws -> LayerContent {
        guard let text = node["document"]?.text else {
            throw DocumentProblem(at: node.position, "not a list of layers")
        }
        return LayerContent(
            document: try LayerDocument(reading: Array(text.utf8), layer: name.text, isStored: true),
            skipsCandidate: node["skips_candidate"]?.text == "true",
            candidateErrors: node["candidate_errors"])
    }
}

/// A document in force.
struct LayerContent: Equatable, Sendable {
    var document: LayerDocument

    /// Whether its candidate was refused or undone here, so that its own configuration is in force.
    var skipsCandidate = false

    /// Why the candidate was refused, as in the report.
    var candidateErrors: JSONValue?

    /// The patches to try, the preferred one first.
    func patches(for id: String) -> [ConfigurationPatch] {
        let patches = document.patches(for: id)
        return skipsCandidate ? patches.suffix(1) : patches
    }

    /// Whether the document has a candidate that this device should try.
    func usesCandidate(for id: String) -> Bool { !skipsCandidate && document.candidate?.selects(id) == true }
}

/// What is stored about a layer, so that a restarted board neither loses it nor goes back to an older one.
struct StoredLayer: Equatable, Sendable {
    /// A revision that was undone.
    struct Undone: Equatable, Sendable {
        var revision: Int64
        var reason: String
    }

    /// What was in force before a revision that is on probation; without content there was nothing.
    struct Proven: Equatable, Sendable {
        var content: LayerContent?
    }

    let name: LayerName

    /// The highest revision that was accepted, even if it was undone later.
    var highest: DocumentRevision?

    /// The document in force.
    var inForce: LayerContent?

    /// When it was accepted, epoch milliseconds.
    var acceptedAt: Int64?

    /// What to return to; `nil` unless the layer is on probation.
    var proven: Proven?

    /// The revision that was undone, until another one is accepted.
    var undone: Undone?

    /// Whether its document is no longer in force because its signature is not trusted any more.
    var isDropped: Bool { highest != nil && inForce == nil && undone == nil }

    init(_ name: LayerName) {
        self.name = name
    }

    /// Drops documents whose signatures are not trusted.
    ///
    /// - Returns: the problem of the document that was in force; `nil` if it stays in force.
    mutating func dropUntrusted(_ problem: (LayerContent) -> DocumentProblem?) -> DocumentProblem? {
        if let before = proven?.content, problem(before) != nil { proven = Proven(content: nil) }
        guard let content = inForce, let found = problem(content) else { return nil }
        inForce = proven?.content
        proven = nil
        return found
    }

    /// Accepts a document.
    mutating func accept(_ content: LayerContent, at wall: Int64) {
        proven = proven ?? Proven(content: inForce)
        let before = highest?.at
        highest = content.document.revision
        // Publishers' clocks differ, but the time does not go back: a document of an epoch before would follow then. One that
        // is ahead of this device's clock was accepted when that was not set.
        if let before, before <= wall + DocumentRevision.clockTolerance {
            highest?.at = max(before, content.document.revision.at ?? before)
        }
        inForce = content
        acceptedAt = wall
        undone = nil
    }

    /// Returns to what was in force before probation, or from a candidate to the document's own configuration first.
    ///
    /// - Returns: whether the layer remains on probation.
    mutating func undo(_ reason: String, for id: String) -> Bool {
        guard let proven, let content = inForce else { return false }
        undone = Undone(revision: content.document.revision.number, reason: reason)
        guard !content.usesCandidate(for: id) else {
            inForce?.skipsCandidate = true
            return true
        }
        inForce = proven.content
        self.proven = nil
        return false
    }
}

/// The highest accepted revisions of topics that the device does not read any more, or whose document it dropped. If it
/// reads such a topic again, an older document is not accepted: otherwise, somebody could publish an old signed document
/// again.
struct FormerRevisions: Equatable, Sendable {
    /// One topic.
    struct Item: Equatable, Sendable {
        let topic: String
        let revision: DocumentRevision
    }

    /// The most topics; those that were left first are forgotten first.
    static let maximum = 256

    /// The topics, the one that was left last at the end.
    private(set) var items: [Item] = []

    subscript(topic: String) -> DocumentRevision? { items.first { $0.topic == topic }?.revision }

    mutating func remember(_ revision: DocumentRevision, of topic: String) {
        forget(topic)
        items.append(Item(topic: topic, revision: revision))
        if items.count > FormerRevisions.maximum { items.removeFirst() }
    }

    /// Forgets a topic whose revision is stored with its document again.
    mutating func forget(_ topic: String) { items.removeAll { $0.topic == topic } }
}

/// The groups that the fleet's registry puts the device in.
struct StoredRegistry: Equatable, Sendable {
    var topic: String
    var document: RegistryDocument
}

/// The trial of new revisions.
struct StoredProbation: Equatable, Sendable {
    /// The boot in which it began. A new boot starts it again.
    var boot: String

    /// How often the process has died in it.
    var deaths = 0

    /// Whether the last process ended as it should.
    var hasEndedProperly = false

    /// Whether the sensor delivered samples when it began.
    var hadSamples: Bool

    /// Whether a key was changed that can affect the connection to the broker.
    var touchesNetwork: Bool

    /// The deaths after which the revisions are undone.
    static let maximumDeaths = 3
}

/// Everything about the fleet's configuration that is on the disk: `fleet-layers.json`.
struct StoredFleet: Equatable, Sendable {
    /// The layers by their topics.
    var layers: [String: StoredLayer] = [:]

    /// The last document of the registry.
    var registry: StoredRegistry?

    /// The highest accepted revisions of topics of which nothing is in force.
    var former = FormerRevisions()

    /// The trial of the revisions that are on probation; `nil` if none is.
    var probation: StoredProbation?

    /// This state with accepted documents, and with the trial that goes on then.
    func accepting(_ accepted: [FleetLayers.Staged.AppliedLayer], trial: StoredProbation?) -> StoredFleet {
        var fleet = self
        for acceptance in accepted {
            fleet.layers[acceptance.topic, default: StoredLayer(acceptance.name)].accept(
                acceptance.content, at: acceptance.time)
        }
        fleet.probation = trial
        if trial == nil || !fleet.layers.values.contains(where: { $0.proven != nil }) { fleet.endProbation() }
        return fleet
    }

    /// Undoes the revisions that are on probation.
    ///
    /// - Returns: the topics of the layers concerned.
    mutating func undo(_ reason: String, for id: String) -> [String] {
        let topics = layers.filter { $0.value.proven != nil }.map(\.key).sorted()
        var continues = false
        for topic in topics where layers[topic]?.undo(reason, for: id) == true { continues = true }
        if continues { probation?.deaths = 0 } else { probation = nil }
        return topics
    }

    /// Drops documents whose signatures are not trusted: they may be older than the keys, or the keys were withdrawn.
    ///
    /// - Returns: the problems of the layers that are no longer in force, by their topics, and of the registry.
    mutating func dropUntrusted(_ keys: TrustedKeys) -> [String: DocumentProblem] {
        var problems: [String: DocumentProblem] = [:]
        for topic in layers.keys {
            problems[topic] = layers[topic]?.dropUntrusted { keys.problem(of: $0.document.envelope, topic: topic) }
        }
        if let registry, let problem = keys.problem(of: registry.document.envelope, topic: registry.topic) {
            problems[registry.topic] = problem
            former.remember(registry.document.revision, of: registry.topic)
            self.registry = nil
        }
        if !layers.values.contains(where: { $0.proven != nil }) { probation = nil }
        return problems
    }

    /// Ends the probation: everything in force counts as proven.
    mutating func endProbation() {
        for topic in layers.keys { layers[topic]?.proven = nil }
        probation = nil
    }

    /// Counts the start of a process during probation.
    ///
    /// - Returns: what to log; `nil` if no revision is on probation.
    mutating func processStarted(boot: String, id: String) -> String? {
        guard var trial = probation else { return nil }
        let hadEndedProperly = trial.hasEndedProperly
        trial.hasEndedProperly = false
        if trial.boot != boot {
            trial.boot = boot
            trial.deaths = 0
            probation = trial
            return "a new configuration is on probation, again since this boot"
        }
        if !hadEndedProperly { trial.deaths += 1 }
        probation = trial
        guard !hadEndedProperly else { return "a new configuration is on probation" }
        guard trial.deaths >= StoredProbation.maximumDeaths else {
            return "a new configuration is on probation, and the agent has ended unexpectedly \(trial.deaths) of "
                + "\(StoredProbation.maximumDeaths) times"
        }
        _ = undo("the agent ended unexpectedly \(StoredProbation.maximumDeaths) times", for: id)
        return "the new configuration is undone: the agent ended unexpectedly \(trial.deaths) times"
    }

    /// This process ends as it should, which is no death.
    mutating func processEnds() { probation?.hasEndedProperly = true }
}

/// What the board knows about a layer: what is stored, and what came of the last message.
struct LayerRecord: Equatable, Sendable {
    /// What the last message turned out to be, if it was not accepted.
    enum Finding: Equatable, Sendable {
        /// It cannot be read, or does not fit the layers below. The revision is unknown if there was none to read.
        case rejected(DocumentRevision?, [DocumentProblem])
        /// It has the accepted revision with another content.
        case conflict(DocumentRevision)
        /// It is older than the accepted one.
        case stale(DocumentRevision)
    }

    let topic: String
    var stored: StoredLayer

    /// A newer document that is not in force: it waits, or it is rejected.
    var offered: LayerDocument?

    /// The revision that is being written.
    var staged: DocumentRevision?

    /// The last message, if its document is not newer than one that waits or is being written. What it is shows when
    /// that one is accepted or rejected.
    var later: LayerDocument?

    /// When it arrived.
    var offeredAt: Timestamp?

    /// Whether the report says that it waits.
    var isReportedAsPending = false

    var finding: Finding?

    /// Whether the broker has no message any more although one was accepted.
    var isMissing = false

    /// Whether a message arrived since the topic was last subscribed to.
    var wasSeen = false

    /// The last message, so that its repetition costs nothing.
    var lastPayload: [UInt8] = []

    /// The time from arrival to application of the document in force, s; `nil` if it was applied in an earlier run.
    var applicationTime: Double?

    var name: LayerName { stored.name }

    init(_ name: LayerName, topic: String, stored: StoredLayer? = nil) {
        self.topic = topic
        self.stored = stored ?? StoredLayer(name)
    }

    /// Whether a document waits to be judged.
    var isWaiting: Bool { offered != nil && finding == nil }

    /// Whether a document has waited for so long that the report has to say so, and does not yet.
    func isPending(at now: Timestamp) -> Bool {
        guard isWaiting, !isReportedAsPending, let offeredAt else { return false }
        return now >= offeredAt.advanced(bySeconds: FleetLayers.pendingTime)
    }

    /// Takes a message.
    ///
    /// - Returns: whether anything changed.
    mutating func receive(_ payload: [UInt8], trusting keys: TrustedKeys, at now: ClockReading) -> Bool {
        wasSeen = true
        guard !payload.isEmpty else { return setMissing() }
        guard payload != lastPayload || isMissing else { return false }
        lastPayload = payload
        isMissing = false
        later = nil
        do throws(DocumentProblem) {
            let document = try LayerDocument(reading: payload, layer: name.text)
            if let problem = keys.problem(of: document.envelope, topic: topic) { throw problem }
            if let problem = document.revision.problem(at: now, layer: name) {
                // It may be acceptable when it is read again.
                lastPayload = []
                throw problem
            }
            take(document, at: now)
        } catch {
            offered = nil
            finding = .rejected(DocumentEnvelope.revision(in: payload), [error])
        }
        return true
    }

    /// The document before the last message was accepted or rejected: judges the last message.
    mutating func takeLater(at now: ClockReading) {
        guard staged == nil, !isWaiting, let document = later else { return }
        later = nil
        take(document, at: now)
    }

    private mutating func take(_ document: LayerDocument, at now: ClockReading) {
        let revision = document.revision
        // What waits is newer than what is being written.
        if let undecided = isWaiting ? offered?.revision : staged, revision.order(after: undecided) != .newer {
            // A repetition needs no judgement of its own.
            if revision != undecided { later = document }
            return
        }
        offered = nil
        finding = nil
        switch revision.order(after: stored.highest, latest: now.latestPublication) {
        case .newer: offer(document, at: now.monotonic)
        case .same: if stored.isDropped { offer(document, at: now.monotonic) }
        case .conflict: finding = .conflict(revision)
        // After a revision was undone, the one before it is in force.
        case .older: if revision != stored.inForce?.document.revision { finding = .stale(revision) }
        }
    }

    private mutating func offer(_ document: LayerDocument, at now: Timestamp) {
        offered = document
        offeredAt = now
        isReportedAsPending = false
    }

    /// The broker has no message on the topic.
    ///
    /// - Returns: whether that is new.
    mutating func setMissing() -> Bool {
        let before = self
        lastPayload = []
        later = nil
        offered = nil
        finding = nil
        // What is being written is accepted already.
        isMissing = stored.highest != nil || staged != nil
        return self != before
    }
}

extension DocumentRevision {
    /// Why no document must be accepted with this time, whatever it contains: those of later epochs could not follow.
    func problem(at now: ClockReading, layer: LayerName) -> DocumentProblem? {
        guard let at, let latest = now.latestPublication, at > latest else { return nil }
        return DocumentProblem(
            at: DocumentPosition(.layer(layer.text)), path: "at", found: "\(at)",
            "is more than a day ahead of this device's clock")
    }
}

extension ClockReading {
    /// The latest time at which a document can have been published: the clocks of operators may be a day ahead. `nil` if
    /// this clock cannot be trusted.
    var latestPublication: Int64? { isSet ? wall + DocumentRevision.clockTolerance : nil }
}
