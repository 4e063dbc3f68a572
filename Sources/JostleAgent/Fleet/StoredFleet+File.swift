internal import JostleConfiguration
internal import JostleMessages
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
        let file = StateFile.fleetLayers.rawValue
        switch directory.read(file, limit: maximumBytes) {
        case .none: return (StoredFleet(), nil)
        case .failed(let failure):
            return (StoredFleet(), "\(file) cannot be read: \(failure); the fleet's configuration is not applied")
        case .text(let text):
            do throws(ConfigurationProblem) {
                return (try StoredFleet(reading: Array(text.utf8)), nil)
            } catch {
                let place = setsAside ? directory.setAside(file) : nil
                return (
                    StoredFleet(),
                    "\(error); the fleet's configuration is lost until it is received again"
                        + (place.map { "; the file was moved to \($0)" } ?? "")
                )
            }
        }
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
        .object(
            members + [.init("revision", .number("\(revision.number)")), .init("hash", .string(revision.hash))])
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

    private static let limits: ReaderLimits = {
        var limits = ReaderLimits()
        limits.bytes = maximumBytes
        return limits
    }()

    /// Reads a file's contents.
    ///
    /// - Throws: the first problem. Damaged files are not used in part.
    init(reading bytes: [UInt8]) throws(ConfigurationProblem) {
        let source = ConfigurationSource.file(StateFile.fleetLayers.rawValue)
        let tree = try JSONReader.read(bytes, source: source, limits: StoredFleet.limits)
        func damaged() -> ConfigurationProblem {
            ConfigurationProblem(at: ConfigurationPosition(source), "not a list of layers")
        }
        guard tree["format"]?.text == StoredFleet.format, case .sequence(let nodes)? = tree["layers"]?.value else {
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
            registry = StoredRegistry(topic: topic, document: try RegistryDocument(reading: Array(text.utf8)))
        }
        if case .sequence(let nodes)? = tree["former"]?.value {
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
    fileprivate init?(stored node: ConfigurationNode) {
        guard let number = node["revision"]?.text.flatMap({ Int64($0) }), let hash = node["hash"]?.text else {
            return nil
        }
        self.init(number: number, hash: hash)
    }
}

extension StoredLayer {
    fileprivate init(_ node: ConfigurationNode, _ name: LayerName) throws(ConfigurationProblem) {
        self.init(name)
        highest = node["highest"].flatMap { DocumentRevision(stored: $0) }
        if let content = node["in_force"] { inForce = try StoredLayer.content(content, name) }
        acceptedAt = node["accepted_at"]?.text.flatMap { Int64($0) }
        if let content = node["proven"] {
            proven = Proven(content: content.value == .null ? nil : try StoredLayer.content(content, name))
        }
        if let number = node["undone"]?["revision"]?.text.flatMap({ Int64($0) }),
            let reason = node["undone"]?["reason"]?.text
        {
            undone = Undone(revision: number, reason: reason)
        }
    }

    private static func content(
        _ node: ConfigurationNode, _ name: LayerName
    ) throws(ConfigurationProblem) -> LayerContent {
        guard let text = node["document"]?.text else {
            throw ConfigurationProblem(at: node.position, "not a list of layers")
        }
        return LayerContent(
            document: try LayerDocument(reading: Array(text.utf8), layer: name.text),
            skipsCandidate: node["skips_candidate"]?.text == "true",
            candidateErrors: node["candidate_errors"].map { JSONValue($0) })
    }
}
