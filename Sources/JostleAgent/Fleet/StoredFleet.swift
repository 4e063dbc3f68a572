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
        let probation: JSONValue? = probation.map { probation in
            [
                "boot": .string(probation.boot), "deaths": .number(probation.deaths),
                "ended_properly": .bool(probation.hasEndedProperly), "had_samples": .bool(probation.hadSamples),
                "touches_network": .bool(probation.touchesNetwork),
            ]
        }
        let registry: JSONValue? = registry.map { registry in
            [
                "topic": .string(registry.topic), "document": StoredFleet.text(registry.document.envelope),
                "highest": StoredFleet.json(registry.accepted),
            ]
        }
        let former = former.items.map { item -> JSONValue in
            let topic: JSONValue = ["topic": .string(item.topic)]
            return topic.adding(StoredFleet.json(item.accepted))
        }
        let layers = layers.sorted { $0.key < $1.key }.map { StoredFleet.json($0.value, topic: $0.key) }
        let tree: JSONValue = [
            "format": .string(StoredFleet.format), "signed": .bool(isSigned), "probation": probation,
            "registry": registry, "former": former.isEmpty ? nil : .array(former), "layers": .array(layers),
        ]
        return Array((tree.compactText + "\n").utf8)
    }

    private static func json(_ layer: StoredLayer, topic: String) -> JSONValue {
        let undone: JSONValue? = layer.undone.map { ["revision": .number($0.revision), "reason": .string($0.reason)] }
        return [
            "topic": .string(topic), "layer": .string(layer.name.text), "highest": layer.highest.map(json),
            "in_force": layer.inForce.map(json), "accepted_at": layer.acceptedAt.map { .number($0) },
            "proven": layer.proven.map { $0.content.map(json) ?? .null }, "undone": undone,
        ]
    }

    private static func json(_ accepted: AcceptedRevision) -> JSONValue {
        let revision = accepted.revision
        return [
            "revision": .number(revision.number), "hash": .string(revision.hash),
            "epoch": revision.epoch.isEmpty ? nil : .string(revision.epoch), "at": revision.at.map { .number($0) },
            "confirmed_at": accepted.confirmedAt.map { .number($0) },
            "former_epochs": accepted.formerEpochs.isEmpty ? nil : .strings(accepted.formerEpochs),
        ]
    }

    private static func json(_ content: LayerContent) -> JSONValue {
        [
            "skips_candidate": .bool(content.skipsCandidate), "document": text(content.document.envelope),
            "candidate_errors": content.candidateErrors,
        ]
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
            let document = try RegistryDocument(reading: Array(text.utf8), isStored: true)
            // Earlier programs stored only the document.
            let accepted = node["highest"].flatMap { AcceptedRevision(stored: $0) }
            registry = StoredRegistry(
                topic: topic, document: document, accepted: accepted ?? AcceptedRevision(document.revision))
        }
        if let nodes = tree["former"]?.elements {
            for node in nodes {
                guard let topic = node["topic"]?.text, let accepted = AcceptedRevision(stored: node) else {
                    throw damaged()
                }
                former.remember(accepted, of: topic)
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
        // Earlier programs did not say so.
        var documents = layers.values.compactMap(\.inForce?.document.envelope)
        if let registry { documents.append(registry.document.envelope) }
        isSigned = tree["signed"]?.bool ?? documents.allSatisfy { $0.signature != nil }
    }
}

extension AcceptedRevision {
    fileprivate init?(stored node: JSONValue) {
        guard let number = node["revision"]?.text.flatMap({ Int64($0) }), let hash = node["hash"]?.text else {
            return nil
        }
        let time = node["at"]?.text.flatMap { Int64($0) }
        self.init(
            DocumentRevision(number: number, hash: hash, epoch: node["epoch"]?.text ?? "", at: time),
            confirmedAt: node["confirmed_at"]?.text.flatMap { Int64($0) },
            formerEpochs: node["former_epochs"]?.elements?.compactMap(\.text) ?? [])
    }
}

extension StoredLayer {
    fileprivate init(_ node: JSONValue, _ name: LayerName) throws {
        self.init(name)
        highest = node["highest"].flatMap { AcceptedRevision(stored: $0) }
        if let content = node["in_force"] { inForce = try StoredLayer.content(content, name) }
        // Earlier programs did not store the time beside the revision.
        if let revision = inForce?.document.revision, let accepted = highest?.revision, accepted.at == nil,
            accepted.hash == revision.hash
        {
            highest = AcceptedRevision(
                revision, confirmedAt: highest?.confirmedAt, formerEpochs: highest?.formerEpochs ?? [])
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

    /// What was accepted last, even if it was undone later.
    var highest: AcceptedRevision?

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
    mutating func accept(_ content: LayerContent, at now: ClockReading) {
        proven = proven ?? Proven(content: inForce)
        highest = AcceptedRevision(content.document.revision, after: highest, at: now)
        inForce = content
        acceptedAt = now.wall
        undone = nil
    }

    /// Forgets what was accepted without trusted keys, but for a document in force that these have signed: anybody can
    /// have published it, and it must keep out nothing that is signed.
    mutating func forgetUnsigned() {
        if highest?.revision.hash != inForce?.document.revision.hash { undone = nil }
        if inForce == nil { acceptedAt = nil }
        highest = inForce.map { AcceptedRevision($0.document.revision) }
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

/// The groups that the fleet's registry puts the device in.
struct StoredRegistry: Equatable, Sendable {
    var topic: String
    var document: RegistryDocument
    var accepted: AcceptedRevision
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

    /// What was accepted last on topics of which nothing is in force.
    var former = FormerRevisions()

    /// Whether there were trusted keys when all this was accepted.
    var isSigned = false

    /// The trial of the revisions that are on probation; `nil` if none is.
    var probation: StoredProbation?

    /// This state with accepted documents, and with the trial that goes on then.
    func accepting(_ accepted: [FleetLayers.Staged.AppliedLayer], trial: StoredProbation?) -> StoredFleet {
        var fleet = self
        for acceptance in accepted {
            fleet.layers[acceptance.topic, default: StoredLayer(acceptance.name)].accept(
                acceptance.content, at: acceptance.clocks)
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
    /// How far they had come is remembered, unless there were no keys when they were accepted.
    ///
    /// - Returns: what became of the layers that are no longer in force, by their topics, and of the registry.
    mutating func dropUntrusted(_ keys: TrustedKeys) -> [String: LayerRecord.Finding] {
        var findings: [String: LayerRecord.Finding] = [:]
        for (topic, layer) in layers {
            let problem = layers[topic]?.dropUntrusted { keys.problem(of: $0.document.envelope, topic: topic) }
            findings[topic] = problem.map { .rejected(layer.highest?.revision, [$0]) }
        }
        if let registry, let problem = keys.problem(of: registry.document.envelope, topic: registry.topic) {
            findings[registry.topic] = .rejected(nil, [problem])
            former.remember(registry.accepted, of: registry.topic)
            self.registry = nil
        }
        if !keys.isEmpty, !isSigned {
            for topic in layers.keys { layers[topic]?.forgetUnsigned() }
            if let document = registry?.document { registry?.accepted = AcceptedRevision(document.revision) }
            former = FormerRevisions()
        }
        isSigned = !keys.isEmpty
        if !layers.values.contains(where: { $0.proven != nil }) { probation = nil }
        return findings
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
        let before = self
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
            take(document, hasKeys: !keys.isEmpty, at: now)
        } catch {
            offered = nil
            finding = .rejected(DocumentEnvelope.revision(in: payload), [error])
        }
        return self != before
    }

    /// The document before the last message was accepted or rejected: judges the last message.
    mutating func takeLater(trusting keys: TrustedKeys, at now: ClockReading) {
        guard staged == nil, !isWaiting, let document = later else { return }
        later = nil
        take(document, hasKeys: !keys.isEmpty, at: now)
    }

    private mutating func take(_ document: LayerDocument, hasKeys: Bool, at now: ClockReading) {
        let revision = document.revision
        // What waits is newer than what is being written.
        if let undecided = isWaiting ? offered?.revision : staged, revision.order(after: undecided) != .newer {
            // A repetition needs no judgement of its own.
            if revision != undecided { later = document }
            return
        }
        offered = nil
        finding = nil
        switch stored.highest?.order(of: revision, hasKeys: hasKeys, at: now) ?? .newer {
        case .newer: offer(document, at: now.monotonic)
        case .same: if stored.isDropped { offer(document, at: now.monotonic) }
        case .conflict: finding = .conflict(revision)
        // After a revision was undone, the one before it is in force.
        case .older: if revision != stored.inForce?.document.revision { finding = .stale(revision) }
        }
        // Of another epoch, it may be acceptable when it is read again.
        if case .stale = finding, revision.epoch != stored.highest?.revision.epoch { lastPayload = [] }
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
