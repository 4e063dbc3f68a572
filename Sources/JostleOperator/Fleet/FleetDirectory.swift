package import Documents
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

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
    package private(set) var problems: [DocumentProblem] = []
    package private(set) var moreProblems = 0

    /// The first keys that this program does not know, with their layers, and the number of the others.
    package private(set) var unknownKeys: [String] = []
    package private(set) var moreUnknownKeys = 0

    /// The documents that have content here.
    package var documents: [FleetDocumentID] { layers.keys.sorted() + registry.keys.sorted().map { .registry($0) } }

    /// Parses the files, and checks keys and values with this program's schema.
    package init(_ files: [File], ignoresUnknownKeys: Bool = false) {
        for file in files {
            do {
                try read(file, ignoresUnknownKeys)
            } catch {
                report(error)
            }
        }
    }

    private mutating func report(_ problem: DocumentProblem) {
        if problems.count < FleetDirectory.maximumRemarks { problems.append(problem) } else { moreProblems += 1 }
    }

    private mutating func report(unknownKey key: String) {
        if unknownKeys.count < FleetDirectory.maximumRemarks { unknownKeys.append(key) } else { moreUnknownKeys += 1 }
    }

    private mutating func read(_ file: File, _ ignoresUnknownKeys: Bool) throws(DocumentProblem) {
        let source = DocumentSource.file(file.path)
        guard let id = try FleetDirectory.document(file.name, source) else {
            return try readRegistry(try FleetDirectory.tree(file, source))
        }
        var tree = try FleetDirectory.tree(file, source)
        if tree.isNull { tree.content = .object([]) }
        let check = PatchCheck(ConfigurationPatch(tree, ignoresUnknownKeys: ignoresUnknownKeys))
        for problem in check.problems { report(problem) }
        for key in check.ignoredKeys { report(unknownKey: "\(file.path): \(key)") }
        guard tree.members != nil else { return }
        layers[id] = tree
    }

    /// The layer that the file of this name holds; `nil` for the registry.
    static func document(
        _ file: String, _ source: DocumentSource
    ) throws(DocumentProblem) -> FleetDocumentID? {
        let position = DocumentPosition(source)
        if file == "registry.yaml" { return nil }
        if file == "all.yaml" { return .all }
        let parts = file.split(separator: "/").map(String.init)
        guard parts.count == 2, parts[1].hasSuffix(".yaml"), ["groups", "devices"].contains(parts[0]) else {
            throw DocumentProblem(
                at: position, "is no file of a fleet",
                allowed: "all.yaml, registry.yaml, groups/GROUP.yaml and devices/ID.yaml")
        }
        let name = String(parts[1].dropLast(".yaml".count))
        guard JostleSettings.Device.isID(name) else {
            throw DocumentProblem(
                at: position, found: name, "is not an id",
                allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
        }
        return parts[0] == "groups" ? .group(name) : .device(name)
    }

    private static func tree(
        _ file: File, _ source: DocumentSource
    ) throws(DocumentProblem) -> JSONValue {
        try YAMLReader.read(file.bytes, source: source, limits: limits(of: file.name))
    }

    /// The limits of a file: the registry has a line for each device; a layer must fit into a document.
    static func limits(of file: String) -> ReaderLimits {
        file == "registry.yaml"
            ? ReaderLimits(nodes: FleetModel.maximum.boards * (2 + JostleSettings.Device.maximumGroups))
            : ReaderLimits(bytes: DocumentEnvelope.maximumBytes)
    }

    private mutating func readRegistry(_ tree: JSONValue) throws(DocumentProblem) {
        switch tree.content {
        case .null: return
        case .object(let entries):
            for entry in entries {
                do {
                    registry[try FleetDirectory.id(entry)] = try FleetDirectory.groups(entry.value, of: entry.name)
                } catch {
                    report(error)
                }
            }
        case .bool, .number, .string, .array:
            throw DocumentProblem(
                at: tree.position, "is not a mapping of devices to their groups",
                allowed: "washer-1: [laundry, floor-2]")
        }
    }

    private static func id(_ entry: JSONValue.Member) throws(DocumentProblem) -> String {
        guard JostleSettings.Device.isID(entry.name) else {
            throw DocumentProblem(
                at: entry.position, found: entry.name, "is not a device id",
                allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
        }
        return entry.name
    }

    private static func groups(
        _ node: JSONValue, of id: String
    ) throws(DocumentProblem) -> [String] {
        guard let elements = node.elements, elements.count <= JostleSettings.Device.maximumGroups else {
            throw DocumentProblem(
                at: node.position, path: id, found: node.text, "is not a list of groups",
                allowed: "at most \(JostleSettings.Device.maximumGroups) groups in brackets, for example [laundry]")
        }
        var names: [String] = []
        for element in elements {
            guard let name = element.text, JostleSettings.Device.isID(name) else {
                throw DocumentProblem(
                    at: element.position, path: id, found: element.text, "is not a group",
                    allowed: "1 … 64 letters, digits, _ and -, beginning with a letter or digit")
            }
            guard !names.contains(name) else {
                throw DocumentProblem(at: element.position, path: id, found: name, "is listed twice")
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
            guard let layer = stored.layer, let members = layer.config.members, !members.isEmpty else {
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

extension FleetDirectory {
    /// The most files and directories, and the most bytes of all files together.
    package static let maximum = (entries: FleetModel.maximum.documents, bytes: 64 << 20)

    /// Reads the files of a directory. Files that are not YAML and hidden files do not belong to the fleet.
    ///
    /// A file whose name is refused is not read; it has no bytes.
    ///
    /// - Throws: the path that cannot be read, and why.
    package static func files(at directory: String) throws -> [File] {
        let names = try names(at: directory)
        let base = withoutSlash(directory)
        var files: [File] = []
        var total = 0
        for name in names {
            let path = "\(base)/\(name)"
            guard name == "registry.yaml" || (try? document(name, .file(name))) != nil else {
                files.append(File(name: name, path: path, bytes: []))
                continue
            }
            // One byte more than allowed, so that the reader reports a file that is too long.
            let bytes = try Failure.about(path, .noInput) {
                try FileContents.bytes(of: path, limit: limits(of: name).bytes + 1)
            }
            total += bytes.count
            files.append(File(name: name, path: path, bytes: bytes))
            guard total <= maximum.bytes else {
                throw Failure(
                    .badData,
                    "\(directory): its YAML files have more than \(maximum.bytes) bytes together; allowed: at most that"
                )
            }
        }
        return files
    }

    /// The names of the YAML files in a directory and in those below it. A file that is in none of the right directories
    /// is refused by its name later: it is probably in a misspelt one.
    ///
    /// - Throws: the path that cannot be read, and why.
    package static func names(at directory: String) throws -> [String] {
        guard DirectoryContents.exists(directory) else {
            throw Failure(.noInput, "\(directory): no such directory")
        }
        var search = FileSearch(directory: directory, base: withoutSlash(directory))
        try search.look(into: [])
        return search.names
    }

    private static func withoutSlash(_ directory: String) -> String {
        directory.hasSuffix("/") ? String(directory.dropLast()) : directory
    }
}

/// A search for YAML files in a directory and in those below it.
private struct FileSearch {
    /// The directory for messages, and without a slash at its end.
    let directory: String
    let base: String

    /// The paths of the files below the directory.
    private(set) var names: [String] = []
    private var directories = 0

    /// The most levels of directories that are looked at.
    private static let maximumDepth = 8

    init(directory: String, base: String) {
        self.directory = directory
        self.base = base
    }

    /// Looks into the directory with these names below `base`.
    ///
    /// Symbolic links to directories are refused: they can form a cycle, and a link that is left out would look like files
    /// that were removed.
    mutating func look(into parents: [String]) throws {
        let parent = ([base] + parents).joined(separator: "/")
        let present = try Failure.about(parent, .noInput) { try DirectoryContents.names(parent) }
        for name in present where !name.hasPrefix(".") {
            let path = "\(parent)/\(name)"
            if name.hasSuffix(".yaml") || name.hasSuffix(".yml") {
                names.append((parents + [name]).joined(separator: "/"))
            } else if DirectoryContents.exists(path), parents.count + 1 < FileSearch.maximumDepth {
                guard !DirectoryContents.isLink(path) else {
                    throw Failure(
                        .badData,
                        "\(path): is a symbolic link to a directory, which is not followed; allowed: a directory (a name "
                            + "that begins with a dot is left out)")
                }
                directories += 1
                try look(into: parents + [name])
            }
            guard names.count + directories <= FleetDirectory.maximum.entries else {
                throw Failure(
                    .badData,
                    "\(directory): has more than \(FleetDirectory.maximum.entries) YAML files and directories, more than "
                        + "a fleet: is it the right directory?")
            }
        }
    }
}
