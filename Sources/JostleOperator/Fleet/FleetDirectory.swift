package import JostleConfiguration
internal import JostleMessages
package import LinuxSystem

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

    /// What is wrong with the files, in their order.
    package private(set) var problems: [ConfigurationProblem] = []

    /// The keys that this program does not know, and their layers.
    package private(set) var unknownKeys: [String] = []

    /// The documents that have content here.
    package var documents: [FleetDocumentID] { layers.keys.sorted() + registry.keys.sorted().map { .registry($0) } }

    /// Parses the files, and checks keys and values with this program's schema.
    package init(_ files: [File], ignoresUnknownKeys: Bool = false) {
        for file in files {
            do throws(ConfigurationProblem) {
                try read(file, ignoresUnknownKeys)
            } catch {
                problems.append(error)
            }
        }
    }

    private mutating func read(_ file: File, _ ignoresUnknownKeys: Bool) throws(ConfigurationProblem) {
        let source = ConfigurationSource.file(file.path)
        guard let id = try FleetDirectory.document(file, source) else {
            return try readRegistry(try FleetDirectory.tree(file, source))
        }
        var tree = try FleetDirectory.tree(file, source)
        if tree.value == .null { tree.value = .mapping([]) }
        let check = PatchCheck(ConfigurationPatch(tree, ignoresUnknownKeys: ignoresUnknownKeys))
        problems += check.problems
        unknownKeys += check.ignoredKeys.map { "\(file.path): \($0)" }
        guard case .mapping = tree.value else { return }
        layers[id] = JSONValue(yaml: tree)
    }

    /// The layer that a file holds; `nil` for the registry.
    private static func document(
        _ file: File, _ source: ConfigurationSource
    ) throws(ConfigurationProblem) -> FleetDocumentID? {
        let position = ConfigurationPosition(source)
        if file.name == "registry.yaml" { return nil }
        if file.name == "all.yaml" { return .all }
        let parts = file.name.split(separator: "/").map(String.init)
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
        var limits = ReaderLimits()
        // The registry has a line for each device; a layer must fit into a document.
        if file.name == "registry.yaml" {
            limits.nodes = FleetModel.maximum.boards * (2 + JostleSettings.Device.maximumGroups)
        } else {
            limits.bytes = DocumentEnvelope.maximumBytes
        }
        return try YAMLReader.read(file.bytes, source: source, limits: limits)
    }

    private mutating func readRegistry(_ tree: ConfigurationNode) throws(ConfigurationProblem) {
        switch tree.value {
        case .null: return
        case .mapping(let entries):
            for entry in entries {
                do throws(ConfigurationProblem) {
                    registry[try FleetDirectory.id(entry)] = try FleetDirectory.groups(entry.node, of: entry.key)
                } catch {
                    problems.append(error)
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
    /// Reads the files of a directory. Files that are not YAML and hidden files do not belong to the fleet.
    ///
    /// - Throws: the path that cannot be read, and why.
    package static func files(at directory: String) throws(FleetDirectoryError) -> [File] {
        guard DirectoryContents.exists(directory) else { throw .noDirectory(directory) }
        let base = directory.hasSuffix("/") ? String(directory.dropLast()) : directory
        let names = try names(in: base, below: "")
        var files: [File] = []
        for name in names {
            let path = "\(base)/\(name)"
            do throws(SystemFailure) {
                let bytes = try FileContents.bytes(of: path, limit: ReaderLimits().bytes + 1)
                files.append(File(name: name, path: path, bytes: bytes))
            } catch {
                throw .unreadable(path, error)
            }
        }
        return files
    }

    /// The names of the YAML files in a directory, and in those below it. A file that is in none of the right directories
    /// is refused by its name later: it is probably in a misspelt one.
    private static func names(in base: String, below parent: String) throws(FleetDirectoryError) -> [String] {
        let present: [String]
        do throws(SystemFailure) {
            present = try DirectoryContents.names(base + parent)
        } catch {
            throw .unreadable(base + parent, error)
        }
        var names: [String] = []
        for name in present where !name.hasPrefix(".") {
            let path = parent.isEmpty ? "/\(name)" : "\(parent)/\(name)"
            if isYAML(name) {
                names.append(String(path.dropFirst()))
            } else if DirectoryContents.exists(base + path), path.split(separator: "/").count < maximumDepth {
                names += try self.names(in: base, below: path)
            }
        }
        return names
    }

    /// The most levels of directories that are looked at.
    private static let maximumDepth = 8

    private static func isYAML(_ name: String) -> Bool { name.hasSuffix(".yaml") || name.hasSuffix(".yml") }

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

/// Why the files of a fleet cannot be read.
package enum FleetDirectoryError: Error, Equatable, Sendable, CustomStringConvertible {
    case noDirectory(String)
    case unreadable(String, SystemFailure)

    package var description: String {
        switch self {
        case .noDirectory(let path): "\(path): no such directory"
        case .unreadable(let path, let failure): "\(path): \(failure)"
        }
    }
}
