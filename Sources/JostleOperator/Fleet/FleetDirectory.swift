package import JostleConfiguration
internal import JostleMessages

/// A fleet's configuration as a directory of YAML files: `all.yaml`, `groups/GROUP.yaml`, `devices/ID.yaml` and
/// `registry.yaml`.
package struct FleetDirectory: Equatable, Sendable {
    /// A file of the directory.
    package struct File: Equatable, Sendable {
        /// The path below the directory: `groups/laundry.yaml`.
        package var name: String
        /// The path for messages.
        package var path: String
        package var bytes: [UInt8]

        package init(name: String, path: String, bytes: [UInt8]) {
            self.name = name
            self.path = path
            self.bytes = bytes
        }
    }

    /// The configuration of each layer that has a file.
    package private(set) var layers: [FleetDocumentID: JSONValue] = [:]

    /// The groups of each device in `registry.yaml`.
    package private(set) var registry: [String: [String]] = [:]

    /// Leaves out all other layers, and the groups unless they are to stay.
    package mutating func keep(layers ids: [FleetDocumentID], registry keepsRegistry: Bool) {
        layers = layers.filter { ids.contains($0.key) }
        if !keepsRegistry { registry = [:] }
    }

    /// The most problems, and unknown keys, that are kept.
    package static let maximumRemarks = 100

    /// The first problems of the files, in their order, and the number of the others.
    package private(set) var problems: [ConfigurationProblem] = []
    package private(set) var moreProblems = 0

    /// The first keys that this program does not know, with their layers, and the number of the others.
    package private(set) var unknownKeys: [String] = []
    package private(set) var moreUnknownKeys = 0

    /// The documents that have content here.
    package var documents: [FleetDocumentID] { layers.keys.sorted() + registry.keys.sorted().map { .registry($0) } }

    /// Parses the files, and checks keys and values with this program's schema.
    package init(_ files: [File], ignoresUnknownKeys: Bool = false) {
        for file in files {
            do throws(ConfigurationProblem) {
                try read(file, ignoresUnknownKeys)
            } catch {
                report(error)
            }
        }
    }

    private mutating func report(_ problem: ConfigurationProblem) {
        if problems.count < FleetDirectory.maximumRemarks { problems.append(problem) } else { moreProblems += 1 }
    }

    private mutating func report(unknownKey key: String) {
        if unknownKeys.count < FleetDirectory.maximumRemarks { unknownKeys.append(key) } else { moreUnknownKeys += 1 }
    }

    private mutating func read(_ file: File, _ ignoresUnknownKeys: Bool) throws(ConfigurationProblem) {
        let source = ConfigurationSource.file(file.path)
        guard let id = try FleetDirectory.document(file.name, source) else {
            return try readRegistry(try FleetDirectory.tree(file, source))
        }
        var tree = try FleetDirectory.tree(file, source)
        if tree.value == .null { tree.value = .mapping([]) }
        let check = PatchCheck(ConfigurationPatch(tree, ignoresUnknownKeys: ignoresUnknownKeys))
        for problem in check.problems { report(problem) }
        for key in check.ignoredKeys { report(unknownKey: "\(file.path): \(key)") }
        guard case .mapping = tree.value else { return }
        layers[id] = JSONValue(yaml: tree)
    }

    /// The layer that the file of this name holds; `nil` for the registry.
    static func document(
        _ file: String, _ source: ConfigurationSource
    ) throws(ConfigurationProblem) -> FleetDocumentID? {
        let position = ConfigurationPosition(source)
        if file == "registry.yaml" { return nil }
        if file == "all.yaml" { return .all }
        let parts = file.split(separator: "/").map(String.init)
        guard parts.count == 2, parts[1].hasSuffix(".yaml"), ["groups", "devices"].contains(parts[0]) else {
            throw ConfigurationProblem(
                at: position, "is no file of a fleet",
                allowed: "all.yaml, registry.yaml, groups/GROUP.yaml and devices/ID.yaml")
        }
        let name = String(parts[1].dropLast(".yaml".count))
        guard JostleSettings.Device.isID(name) else {
            throw ConfigurationProblem(
                at: position, found: name, "is not an id",
                allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
        }
        return parts[0] == "groups" ? .group(name) : .device(name)
    }

    private static func tree(
        _ file: File, _ source: ConfigurationSource
    ) throws(ConfigurationProblem) -> ConfigurationNode {
        try YAMLReader.read(file.bytes, source: source, limits: limits(of: file.name))
    }

    /// The limits of a file: the registry has a line for each device; a layer must fit into a document.
    static func limits(of file: String) -> ReaderLimits {
        var limits = ReaderLimits()
        if file == "registry.yaml" {
            limits.nodes = FleetModel.maximum.boards * (2 + JostleSettings.Device.maximumGroups)
        } else {
            limits.bytes = DocumentEnvelope.maximumBytes
        }
        return limits
    }

    private mutating func readRegistry(_ tree: ConfigurationNode) throws(ConfigurationProblem) {
        switch tree.value {
        case .null: return
        case .mapping(let entries):
            for entry in entries {
                do throws(ConfigurationProblem) {
                    registry[try FleetDirectory.id(entry)] = try FleetDirectory.groups(entry.node, of: entry.key)
                } catch {
                    report(error)
                }
            }
        case .scalar, .sequence:
            throw ConfigurationProblem(
                at: tree.position, "is not a mapping of devices to their groups",
                allowed: "washer-1: [laundry, floor-2]")
        }
    }

    private static func id(_ entry: ConfigurationNode.Entry) throws(ConfigurationProblem) -> String {
        guard JostleSettings.Device.isID(entry.key) else {
            throw ConfigurationProblem(
                at: entry.keyPosition, found: entry.key, "is not a device id",
                allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
        }
        return entry.key
    }

    private static func groups(
        _ node: ConfigurationNode, of id: String
    ) throws(ConfigurationProblem) -> [String] {
        guard case .sequence(let elements) = node.value, elements.count <= JostleSettings.Device.maximumGroups else {
            throw ConfigurationProblem(
                at: node.position, path: id, found: node.text, "is not a list of groups",
                allowed: "at most \(JostleSettings.Device.maximumGroups) groups in brackets, for example [laundry]")
        }
        var names: [String] = []
        for element in elements {
            guard let name = element.text, JostleSettings.Device.isID(name) else {
                throw ConfigurationProblem(
                    at: element.position, path: id, found: element.text, "is not a group",
                    allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
            }
            guard !names.contains(name) else {
                throw ConfigurationProblem(at: element.position, path: id, found: name, "is listed twice")
            }
            names.append(name)
        }
        return names
    }
}

extension FleetDirectory {
    /// The files of what a broker holds. A layer with neither keys nor a candidate has no file.
    package static func files(of model: FleetModel) -> [(name: String, text: String)] {
        var files: [(name: String, text: String)] = []
        var devices: [JSONValue.Member] = []
        for (id, stored) in model.documents.sorted(by: { $0.key < $1.key }) {
            if case .registry(let device) = id, let groups = stored.registry?.groups {
                devices.append(.init(device, .array(groups.map { .string($0) })))
            }
            guard let layer = stored.layer, case .object(let members) = JSONValue(layer.config), !members.isEmpty else {
                continue
            }
            switch id {
            case .all: files.append(("all.yaml", YAMLText.file(members)))
            case .group(let name): files.append(("groups/\(name).yaml", YAMLText.file(members)))
            case .device(let name): files.append(("devices/\(name).yaml", YAMLText.file(members)))
            case .registry: break
            }
        }
        if !devices.isEmpty { files.append(("registry.yaml", YAMLText.file(devices))) }
        return files
    }
}
