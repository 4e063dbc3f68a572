internal import JostleConfiguration
internal import JostleMessages

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
    mutating func dropUntrusted(_ problem: (LayerContent) -> ConfigurationProblem?) -> ConfigurationProblem? {
        if let before = proven?.content, problem(before) != nil { proven = Proven(content: nil) }
        guard let content = inForce, let found = problem(content) else { return nil }
        inForce = proven?.content
        proven = nil
        return found
    }

    /// Accepts a document.
    mutating func accept(_ content: LayerContent, at wall: Int64) {
        proven = proven ?? Proven(content: inForce)
        highest = content.document.revision
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
    func accepting(_ accepted: [FleetLayers.Staged.Acceptance], trial: StoredProbation?) -> StoredFleet {
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
    mutating func dropUntrusted(_ keys: TrustedKeys) -> [String: ConfigurationProblem] {
        var problems: [String: ConfigurationProblem] = [:]
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
