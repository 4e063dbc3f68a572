package import Documents
internal import JostleConfiguration
package import JostleMessages
internal import LinuxSystem

/// What a device reports of its configuration: `config/reported`. Bounded, whatever the message contains.
package struct BoardReport: Equatable, Sendable {
    /// Why a layer was refused.
    package struct Refusal: Equatable, Sendable {
        package var path: String
        package var value: String?
        package var reason: String?
        package var allowed: String?

        /// `gestures.shake.sensitivity: "70" out of bounds; allowed: 1 … 10`.
        package var text: String {
            var parts = [value.map { "\"\($0)\"" }, reason].compactMap { $0 }.joined(separator: " ")
            if let allowed { parts += "; allowed: \(allowed)" }
            return path.isEmpty ? parts : parts.isEmpty ? path : "\(path): \(parts)"
        }

        /// `gestures.shake.sensitivity out of bounds`; `nil` if it says nothing.
        fileprivate var summary: String? {
            let parts = [path, reason ?? ""].filter { !$0.isEmpty }
            return parts.isEmpty ? nil : parts.joined(separator: " ")
        }
    }

    /// What became of a layer, or of the device's groups.
    package struct Layer: Equatable, Sendable {
        /// The name in the report: `all`, `group:laundry`, `device` or `registry`.
        package let name: String
        /// The layer; `nil` if there is none of this name.
        package let layer: LayerName?
        package var status: LayerStatus
        /// The document that the status is about.
        package var revision: Int64?
        /// Its epoch; empty for a document without one.
        package var epoch: String
        /// The document in force, if that is another one.
        package var inForce: Int64?
        /// The highest number that the device has accepted, if that is not the document in force.
        package var highest: Int64?
        /// The epoch of these two.
        package var acceptedEpoch: String
        /// When the last accepted document was published, as it says: one of another epoch has to be later.
        package var acceptedAt: Int64?
        /// The first 16 digits of the hash.
        package var hash: String?
        package var isCandidate: Bool
        /// Whether the device still watches whether it works with the document.
        package var isOnProbation: Bool
        /// Why it was rolled back, or why it is pending.
        package var reason: String?
        package var errors: [Refusal]
        /// Why the candidate is not in force on a device that it is for.
        package var candidateErrors: [Refusal]
        /// The keys that the device does not know and left out.
        package var unknownKeys: [String]

        /// The first error, or why the layer was undone or has to wait, in a few words.
        package var error: String? { errors.first?.summary ?? reason }

        /// The same of a candidate.
        package var candidateError: String? { candidateErrors.first?.summary }

        /// What the views of many boards show of it.
        var shown: [String?] {
            [name, status.word, epoch, revision.map(String.init), inForce.map(String.init), error, candidateError]
        }

        /// Returns `nil` if the value is no object.
        fileprivate init?(_ name: String, _ fields: JSONValue?) {
            guard let fields, fields.members != nil else { return nil }
            self.name = name
            layer = LayerName(name)
            status = LayerStatus(fields["status"]?.foreignString ?? "unknown")
            revision = fields["revision"]?.revisionNumber
            epoch = fields["epoch"]?.foreignString ?? ""
            inForce = fields["in_force"]?.revisionNumber
            acceptedEpoch = fields["accepted_epoch"]?.string.map { ForeignText.bounded($0) } ?? epoch
            highest = fields["highest"]?.revisionNumber
            acceptedAt = fields["accepted_at"]?.revisionNumber
            hash = fields["hash"]?.foreignString
            isCandidate = fields["candidate"]?.bool ?? false
            isOnProbation = fields["probation"]?.bool ?? false
            reason = fields["reason"]?.foreignString
            errors = fields["errors"].refusals()
            candidateErrors = fields["candidate_errors"].refusals()
            unknownKeys = (fields["unknown_keys"]?.elements ?? []).prefix(maximum.errors).compactMap(\.foreignText)
        }

        /// Leaves out what only the commands of a fleet show, because a view of many boards keeps the layers of all.
        fileprivate func shortened() -> Layer {
            var layer = self
            layer.errors = Array(errors.prefix(1))
            layer.candidateErrors = Array(candidateErrors.prefix(1))
            layer.unknownKeys = []
            return layer
        }
    }

    /// Whether the device accepts documents with an epoch: earlier programs reject the unknown key.
    package let takesEpochs: Bool

    /// The groups that are in force, lowest layer first; `nil` if the device does not report any.
    package let groups: [String]?

    /// What became of each layer, in the device's order; `nil` if the device does not report layers, as before fleets were
    /// supported.
    package let layers: [Layer]?

    /// What became of the device's groups from the registry.
    package let registry: Layer?

    /// The name for people.
    package let name: String?

    /// The wanted sample rate, Hz.
    package let rate: Double?
    /// Seconds between two health reports; 0 if there are none.
    package let healthInterval: Double?
    /// Seconds after which the attitude is published although it did not change; 0 if it is not.
    package let attitudeHeartbeat: Double?
    /// Whether near misses are published.
    package let publishesNearMisses: Bool?
    /// Seconds for which the device watches whether it works with a new configuration.
    package let probation: Double?

    /// The message; empty if it is not kept.
    let bytes: [UInt8]

    /// The most layers, and errors and unknown keys of each, that are kept.
    fileprivate static let maximum = (layers: 64, errors: 20)

    /// Takes a message; `bytes` are kept for `settings` and `refusedValues`.
    init(_ tree: JSONValue, keeping bytes: [UInt8]) {
        self.bytes = bytes
        takesEpochs = tree["epochs"]?.bool ?? false
        groups = tree["groups"]?.elements.map { nodes in
            nodes.prefix(JostleSettings.Device.maximumGroups).compactMap(\.text).filter(JostleSettings.Device.isID)
        }
        registry = Layer("registry", tree["registry"])
        layers = tree["layers"]?.members.map { entries in
            let layers = entries.prefix(BoardReport.maximum.layers)
                .compactMap { Layer(ForeignText.bounded($0.name), $0.value) }
            return bytes.isEmpty ? layers.map { $0.shortened() } : layers
        }
        let settings = tree["settings"]
        let publish = settings?["publish"]
        name = settings?["device"]?["name"]?.foreignString
        rate = settings?["sensor"]?["rate"]?.text.flatMap(QuantityText.frequency)
        healthInterval = publish?["health"]?["interval"]?.text.flatMap(QuantityText.duration)
        attitudeHeartbeat = publish?["attitude"]?["heartbeat"]?.text.flatMap(QuantityText.duration)
        publishesNearMisses = publish?["near_misses"]?.bool
        probation = settings?["fleet"]?["probation"]?.text.flatMap(QuantityText.duration)
    }

    /// What became of a layer; `nil` if the device does not report it.
    package func layer(_ name: LayerName) -> Layer? { layers?.first { $0.layer == name } }

    // MARK: Settings

    /// What a device reports of its settings.
    package struct Settings {
        /// The values in force, in the report's order.
        package var values: [(key: String, value: JSONValue)] = []

        /// The source of each value that is not a default, by its key.
        package var origins: [String: String] = [:]

        package init() {}
    }

    /// The settings in force. Parsed at each call, so that the reports of thousands of devices do not fill the memory.
    package func settings() -> Settings {
        var settings = Settings()
        if let values = tree?["settings"] { BoardReport.flatten(values, path: "", into: &settings.values) }
        for entry in tree?["origins"]?.members ?? [] { settings.origins[entry.name] = entry.value.foreignText }
        return settings
    }

    /// The values that the home set and the device refused.
    package func refusedValues() -> [Refusal] { (tree?["refused"]).refusals(key: "key") }

    /// The message, if it is kept.
    private var tree: JSONValue? { try? JSONValue.foreignObject(bytes, topic: "config/reported") }

    private static func flatten(
        _ node: JSONValue, path: String, into values: inout [(key: String, value: JSONValue)]
    ) {
        guard let entries = node.members, !entries.isEmpty else {
            values.append((ForeignText.bounded(path), node))
            if path == "actions" { addRules(node, to: &values) }
            return
        }
        for entry in entries {
            flatten(entry.value, path: path.isEmpty ? entry.name : "\(path).\(entry.name)", into: &values)
        }
    }

    /// Adds the switches of the rules that have names.
    private static func addRules(_ node: JSONValue, to values: inout [(key: String, value: JSONValue)]) {
        for rule in node.elements ?? [] {
            guard let name = rule["name"]?.text, let key = RuleSwitch(key: RuleSwitch(name).key)?.key else { continue }
            values.append((key, rule["enabled"] ?? true))
        }
    }
}

/// What the words of a status mean.
extension BoardReport.Layer {
    /// What a device has of the document that the broker holds.
    package enum Standing: Equatable, Sendable {
        /// Neither has one.
        case none
        /// The device has not judged it yet.
        case waiting
        case applied
        /// The device has one that is missing at the broker.
        case missing
        /// The device refused it, or undid it.
        case refused
        /// The device has another document of this number.
        case conflict
        /// The device has a newer one.
        case newer
        /// This program does not know what the device reports.
        case unknown
    }

    /// What the device has of the broker's document, whose hash is empty if it is not known. It may have reported another
    /// one.
    package func standing(on held: DocumentRevision?) -> Standing {
        let isBehind = held.map { epoch != $0.epoch || (revision ?? 0) < $0.number } ?? false
        switch status {
        case .other: return .unknown
        case .pending: return .waiting
        case .none: return held == nil ? .none : .waiting
        // The device has it already, and got an older one from another broker, which it ignores.
        case .stale:
            return held != nil && inForce == held?.number && acceptedEpoch == held?.epoch ? .applied : .newer
        case .conflict: return .conflict
        case .rejected, .rolledBack: return isBehind ? .waiting : .refused
        case .missing: return isBehind ? .waiting : .missing
        case .applied:
            if isBehind { return .waiting }
            guard let held, let revision else { return .applied }
            return revision > held.number ? .newer : hasHash(held.shortHash) ? .applied : .conflict
        }
    }

    /// Whether the document can have this hash, as far as both are known.
    package func hasHash(_ other: String) -> Bool { hash == nil || other.isEmpty || hash == other }

    /// The number that the device says it has last accepted.
    package var acceptedNumber: Int64? {
        switch status {
        case .rejected, .pending: highest ?? inForce
        case .stale: highest ?? inForce ?? revision
        default: revision ?? highest ?? inForce
        }
    }

    /// The document that the device says it has last accepted. The hash is the one in reports, and empty if the report has
    /// only that of another document.
    var accepted: DocumentRevision? {
        guard let acceptedNumber, acceptedNumber > 0 else { return nil }
        let isMeant = [.applied, .missing].contains(status) && revision == acceptedNumber
        return DocumentRevision(number: acceptedNumber, hash: isMeant ? hash ?? "" : "", epoch: acceptedEpoch)
    }

    /// Whether the device says that it has a later document than the broker's. Which of two epochs is the later one only
    /// the device knows, once it has judged the broker's document.
    func claimsLater(than held: DocumentRevision?) -> Bool {
        guard let accepted else { return false }
        guard let held else { return true }
        guard accepted.epoch == held.epoch else {
            return status == .stale && revision == held.number && epoch == held.epoch
        }
        return accepted.number > held.number
    }
}

extension JSONValue {
    /// A revision, or a time in milliseconds.
    fileprivate var revisionNumber: Int64? {
        integer.flatMap { (0...DocumentRevision.maximumStored).contains($0) ? $0 : nil }
    }
}

extension JSONValue? {
    fileprivate func refusals(key: String = "path") -> [BoardReport.Refusal] {
        (self?.elements ?? []).prefix(BoardReport.maximum.errors).map { entry in
            BoardReport.Refusal(
                path: entry[key]?.foreignString ?? "", value: entry["value"]?.foreignText,
                reason: entry["reason"]?.foreignString, allowed: entry["allowed"]?.foreignText)
        }
    }
}
