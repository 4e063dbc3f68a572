package import Documents
internal import JostleConfiguration
package import JostleMessages

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
    }

    /// What became of a layer, or of the device's groups.
    package struct Layer: Equatable, Sendable {
        package var status: LayerStatus
        /// The document that the status is about.
        package var revision: Int64?
        /// The document in force, if that is another one.
        package var inForce: Int64?
        /// The highest number that the device has accepted, if that is not the document in force.
        package var highest: Int64?
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

        /// The highest number that the device is known to have accepted.
        package var acceptedNumber: Int64? {
            switch status {
            case .rejected, .pending: [inForce, highest].compactMap { $0 }.max()
            default: [revision, inForce, highest].compactMap { $0 }.max()
            }
        }
    }

    /// The run of the agent.
    package let run: String?

    /// The groups that are in force, lowest layer first; `nil` if the device does not report any.
    package let groups: [String]?

    /// What became of each layer; `nil` if the device does not report layers, as before fleets were supported.
    package let layers: [LayerName: Layer]?

    /// What became of the device's groups from the registry.
    package let registry: Layer?

    /// The message.
    let bytes: [UInt8]

    /// The most layers, and errors and unknown keys of each, that are kept.
    private static let maximum = (layers: 64, errors: 20)

    private static let limits = ReaderLimits(bytes: BrokerView.maximumMessage, nodes: 5000)

    /// Reads a message.
    ///
    /// - Throws: if it is not a JSON object.
    package init(reading bytes: [UInt8]) throws {
        let tree = try BoardReport.tree(bytes)
        self.bytes = bytes
        run = tree["run"]?.foreignText
        groups = tree["groups"]?.elements.map { nodes in
            nodes.prefix(JostleSettings.Device.maximumGroups).compactMap(\.text).filter(JostleSettings.Device.isID)
        }
        registry = tree["registry"].flatMap(BoardReport.layer)
        if let entries = tree["layers"]?.members {
            var layers: [LayerName: Layer] = [:]
            for entry in entries.prefix(BoardReport.maximum.layers) {
                guard let name = LayerName(entry.name), let layer = BoardReport.layer(entry.value) else { continue }
                layers[name] = layer
            }
            self.layers = layers
        } else {
            layers = nil
        }
    }

    private static func tree(_ bytes: [UInt8]) throws -> JSONValue {
        try JSONReader.readObject(bytes, source: .message("config/reported"), limits: limits)
    }

    private static func layer(_ node: JSONValue) -> Layer? {
        guard let status = node["status"]?.text else { return nil }
        return Layer(
            status: LayerStatus(MessageFields.bounded(status)), revision: node["revision"]?.revisionNumber,
            inForce: node["in_force"]?.revisionNumber, highest: node["highest"]?.revisionNumber,
            hash: node["hash"]?.foreignText,
            isCandidate: node["candidate"]?.text == "true", isOnProbation: node["probation"]?.text == "true",
            reason: node["reason"]?.foreignText, errors: refusals(node["errors"]),
            candidateErrors: refusals(node["candidate_errors"]),
            unknownKeys: (node["unknown_keys"]?.elements ?? []).prefix(maximum.errors).compactMap(\.foreignText))
    }

    private static func refusals(_ node: JSONValue?, key: String = "path") -> [Refusal] {
        (node?.elements ?? []).prefix(maximum.errors).map { entry in
            Refusal(
                path: entry[key]?.foreignText ?? "", value: entry["value"]?.foreignText,
                reason: entry["reason"]?.foreignText, allowed: entry["allowed"]?.foreignText)
        }
    }

    // MARK: Settings

    /// What a device reports of its settings.
    package struct Settings {
        /// The values in force, in the report's order.
        package var values: [(key: String, value: JSONValue)] = []

        /// The source of each value that is not a default, by its key.
        package var origins: [String: String] = [:]

        package init() {}

        /// A time in seconds, which is written as `60 s` or as a number; `nil` if there is none.
        package func seconds(_ key: String) -> Double? {
            switch values.first(where: { $0.key == key })?.value.content {
            case .number(let text)?: return Double(text)
            case .string(let text)?:
                let parts = text.split(separator: " ")
                guard let number = parts.first.flatMap({ Double($0) }) else { return nil }
                guard parts.count > 1 else { return number }
                let units = ["ms": 1e-3, "s": 1, "min": 60, "h": 3600]
                return units[String(parts[1])].map { $0 * number }
            default: return nil
            }
        }
    }

    /// The settings in force. Parsed at each call, so that the reports of thousands of devices do not fill the memory.
    package func settings() -> Settings {
        var settings = Settings()
        do {
            let tree = try BoardReport.tree(bytes)
            if let values = tree["settings"] { BoardReport.flatten(values, path: "", into: &settings.values) }
            for entry in tree["origins"]?.members ?? [] { settings.origins[entry.name] = entry.value.foreignText }
        } catch {
            return Settings()
        }
        return settings
    }

    /// The values that the home set and the device refused.
    package func refusedValues() -> [Refusal] {
        do {
            return BoardReport.refusals(try BoardReport.tree(bytes)["refused"], key: "key")
        } catch {
            return []
        }
    }

    private static func flatten(
        _ node: JSONValue, path: String, into values: inout [(key: String, value: JSONValue)]
    ) {
        guard let entries = node.members, !entries.isEmpty else {
            values.append((MessageFields.bounded(path), node))
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

    package static func == (one: BoardReport, other: BoardReport) -> Bool { one.bytes == other.bytes }
}

extension JSONValue {
    /// The text of a scalar from an untrusted message.
    fileprivate var foreignText: String? { text.map(MessageFields.bounded) }

    fileprivate var revisionNumber: Int64? {
        integer.flatMap { (0...DocumentRevision.maximum).contains($0) ? $0 : nil }
    }
}
