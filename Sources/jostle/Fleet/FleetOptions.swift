internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSystem

/// Options that several commands of `jostle fleet` share.
enum FleetOptions {
    static let json = Option("json", help: "print JSON, for programs")

    /// The options that select a part of the fleet.
    static let selection = [
        Option("device", value: "ID", help: "this device; may be repeated", isRepeatable: true),
        Option("group", value: "GROUP", help: "the devices of this group; may be repeated", isRepeatable: true),
        Option("all", help: "all devices"),
    ]

    static let note = Option("note", value: "TEXT", help: "why, for jostle fleet log")

    /// The options of commands that publish.
    static let publishing = [
        note,
        Option("wait", value: "TIME", help: "wait so long for the devices; 10 s by default"),
        Option("no-wait", help: "do not wait for the devices"),
        Option("dry-run", help: "show what would be published, and publish nothing"),
        signKey, unsigned,
    ]

    static let unsigned = Option(
        "unsigned", help: "publish without a signature, also over a document that is signed")

    static let signKey = Option(
        "sign-key", value: "FILE", help: "sign what is published with this key of jostle fleet keygen")

    /// The part of the fleet that the arguments select: exactly one of `--device`, `--group` and `--all`.
    static func selection(_ arguments: Arguments) throws -> FleetSelection {
        guard let selection = try optionalSelection(arguments) else {
            throw Failure(.usage, "name the devices: --all, --group GROUP or --device ID")
        }
        return selection
    }

    /// The same; `nil` without any of them.
    static func optionalSelection(_ arguments: Arguments) throws -> FleetSelection? {
        let (devices, groups) = (arguments.values("device"), arguments.values("group"))
        try arguments.exclude("device", "group", "all")
        for id in devices { try DeviceIDArgument.check(id, option: "device") }
        for name in groups { try check(group: name) }
        if arguments.has("all") { return .all }
        if !devices.isEmpty { return .devices(unique(devices)) }
        return groups.isEmpty ? nil : .groups(unique(groups))
    }

    static func check(group name: String) throws {
        guard JostleSettings.Device.isID(name) else {
            throw Failure(.usage, "\"\(name)\" is not a group: letters, digits, _ and -")
        }
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// How long to wait for the devices, s; `nil` not at all.
    static func waitingTime(_ arguments: Arguments) throws -> Double? {
        try arguments.exclude("wait", "no-wait")
        return arguments.has("no-wait") ? nil : try arguments.seconds("wait") ?? 10
    }

    /// The text of `--note`.
    static func note(_ arguments: Arguments) throws -> String? {
        guard let text = arguments.value("note") else { return nil }
        guard let line = MessageText.line(text, maximum: 1000), line == text else {
            throw Failure(.usage, "--note must be one line of at most 1,000 bytes")
        }
        return text
    }
}

/// The directory of files of a fleet, for `apply`, `diff` and `export`.
enum FleetFiles {
    static let form = """
        The directory has all.yaml, groups/GROUP.yaml, devices/ID.yaml and registry.yaml. A layer is written as in
        jostle.yaml; registry.yaml lists the groups of devices: washer-1: [laundry].
        """

    /// Reads and checks the files.
    ///
    /// - Throws: status 66 if they cannot be read, 65 with file, line and column of every problem.
    static func read(_ path: String, ignoresUnknownKeys: Bool) throws -> FleetDirectory {
        let directory = FleetDirectory(try FleetDirectory.files(at: path), ignoresUnknownKeys: ignoresUnknownKeys)
        guard directory.problems.isEmpty else {
            throw Failure(
                .badData, lines: directory.problems.map(\.description) + more(directory.moreProblems, "problem"))
        }
        for key in directory.unknownKeys {
            Output.warn("\(key): unknown key; boards that do not know it either leave it out")
        }
        for line in more(directory.moreUnknownKeys, "unknown key") { Output.warn("\(line)") }
        return directory
    }

    /// A line about what is not printed; none if there is nothing more.
    private static func more(_ count: Int, _ name: String) -> [String] {
        count > 0 ? ["and \(FleetText.count(count, "more \(name)"))"] : []
    }

    /// The value of `--unknown`; `nil` without it.
    static func ignoresUnknownKeys(_ arguments: Arguments) throws -> Bool? {
        switch arguments.value("unknown") {
        case nil: return nil
        case "reject": return false
        case "ignore": return true
        case let word?: throw Failure(.usage, "--unknown is \"\(word)\", not reject or ignore")
        }
    }
}
