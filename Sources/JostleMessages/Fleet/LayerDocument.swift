internal import Cryptography
package import Documents
package import JostleConfiguration

/// A layer of a fleet's configuration, as it is published on its topic: see docs/fleet-protocol.md.
package struct LayerDocument: Equatable, Sendable {
    /// A configuration that replaces the layer's own on a part of the fleet.
    package struct Candidate: Equatable, Sendable {
        package var config: JSONValue
        /// The part of the fleet, 0 … 100 %.
        package var percent: Double
        /// What decides which part; another seed selects other devices.
        package var seed: String

        /// Whether the device `id` belongs to the part. A larger percentage with the same seed only adds devices.
        package func selects(_ id: String) -> Bool {
            Candidate.place(of: id, seed: seed) < percent / 100
        }

        /// The place of the device `id` in the order in which a growing percentage reaches devices, [0, 1).
        package static func place(of id: String, seed: String) -> Double {
            SHA256Digest(of: Array(seed.utf8) + Array(id.utf8)).fraction
        }
    }

    package let envelope: DocumentEnvelope

    /// The merge patch over the layers below.
    package let config: JSONValue

    package let candidate: Candidate?

    /// Whether keys that a device does not know are left out instead of refused.
    package let ignoresUnknownKeys: Bool

    package var revision: DocumentRevision { envelope.revision }

    /// Reads a document of the layer with this name, as it was received or as an earlier program stored it.
    ///
    /// - Throws: the first problem. The configuration itself is not checked.
    package init(reading bytes: [UInt8], layer: String, isStored: Bool = false) throws(DocumentProblem) {
        envelope = try DocumentEnvelope(
            reading: bytes, source: .layer(layer), more: ["config", "candidate", "unknown"], isStored: isStored)
        let tree = envelope.tree
        guard let config = tree["config"] else {
            throw DocumentProblem(at: tree.position, "has no key \"config\"")
        }
        self.config = try LayerDocument.mapping(config, "config")
        candidate = try LayerDocument.candidate(in: tree)
        switch tree["unknown"] {
        case nil, "reject": ignoresUnknownKeys = false
        case "ignore": ignoresUnknownKeys = true
        default:
            throw DocumentProblem(
                at: tree["unknown"]?.position ?? tree.position, path: "unknown", found: tree["unknown"]?.text,
                "is unknown", allowed: "reject or ignore")
        }
    }

    /// The patches for the device `id`, the preferred one first.
    package func patches(for id: String) -> [ConfigurationPatch] {
        let configs = (candidate.flatMap { $0.selects(id) ? [$0.config] : nil } ?? []) + [config]
        return configs.map { ConfigurationPatch($0, ignoresUnknownKeys: ignoresUnknownKeys) }
    }

    private static func candidate(in tree: JSONValue) throws(DocumentProblem) -> Candidate? {
        guard let node = tree["candidate"] else { return nil }
        _ = try mapping(node, "candidate")
        if let entries = node.members,
            let unknown = entries.first(where: { !["config", "percent", "seed"].contains($0.name) })
        {
            throw DocumentProblem(
                at: unknown.position, path: "candidate.\(unknown.name)", "unknown key",
                allowed: "config, percent, seed")
        }
        guard let config = node["config"], let percent = node["percent"],
            let seed = try node.line("seed", maximum: 200, under: "candidate")
        else {
            throw DocumentProblem(
                at: node.position, path: "candidate", "is not complete", allowed: "config, percent and seed")
        }
        guard let share = percent.number, (0...100).contains(share) else {
            throw DocumentProblem(
                at: percent.position, path: "candidate.percent", found: percent.text, "is not a percentage",
                allowed: "0 … 100")
        }
        return Candidate(config: try mapping(config, "candidate.config"), percent: share, seed: seed)
    }

    private static func mapping(
        _ node: JSONValue, _ path: String
    ) throws(DocumentProblem) -> JSONValue {
        guard node.members != nil else {
            throw DocumentProblem(at: node.position, path: path, found: node.text, "is not a JSON object")
        }
        return node
    }
}

/// The groups that a fleet puts a device in.
package struct RegistryDocument: Equatable, Sendable {
    package let envelope: DocumentEnvelope

    /// The names of the groups, lowest layer first.
    package let groups: [String]

    package var revision: DocumentRevision { envelope.revision }

    /// Reads a document, as it was received or as an earlier program stored it.
    ///
    /// - Throws: the first problem.
    package init(reading bytes: [UInt8], isStored: Bool = false) throws(DocumentProblem) {
        envelope = try DocumentEnvelope(
            reading: bytes, source: .layer("registry"), more: ["groups"], isStored: isStored)
        let tree = envelope.tree
        guard let node = tree["groups"] else { throw DocumentProblem(at: tree.position, "has no key \"groups\"") }
        guard let elements = node.elements, elements.count <= JostleSettings.Device.maximumGroups else {
            throw DocumentProblem(
                at: node.position, path: "groups", "is not a list of groups",
                allowed: "at most \(JostleSettings.Device.maximumGroups) names")
        }
        var names: [String] = []
        for element in elements {
            guard let name = element.string, JostleSettings.Device.isID(name),
                !names.contains(name)
            else {
                throw DocumentProblem(
                    at: element.position, path: "groups", found: element.text, "is not a group, or is listed twice",
                    allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
            }
            names.append(name)
        }
        groups = names
    }
}
