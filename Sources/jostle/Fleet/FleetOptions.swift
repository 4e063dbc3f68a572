internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

/// Options that several commands of `jostle fleet` share.
enum FleetOptions {
    static let json = CommandUsage.Option(name: "json", help: "print JSON, for programs")

    /// The options that select a part of the fleet.
    static let selection = [
        CommandUsage.Option(name: "device", value: "ID", help: "this device; may be repeated", isRepeatable: true),
        CommandUsage.Option(
            name: "group", value: "GROUP", help: "the devices of this group; may be repeated", isRepeatable: true),
        CommandUsage.Option(name: "all", help: "all devices"),
    ]

    static let note = CommandUsage.Option(name: "note", value: "TEXT", help: "why, for jostle fleet log")

    /// The options of commands that publish.
    static let publishing = [
        note,
        CommandUsage.Option(name: "wait", value: "TIME", help: "wait so long for the devices; 10 s by default"),
        CommandUsage.Option(name: "no-wait", help: "do not wait for the devices"),
        CommandUsage.Option(name: "dry-run", help: "show what would be published, and publish nothing"),
        signKey,
    ]

    static let signKey = CommandUsage.Option(
        name: "sign-key", value: "FILE", help: "sign what is published with this key of jostle fleet keygen")

    /// The part of the fleet that the arguments select: exactly one of `--device`, `--group` and `--all`.
    static func selection(_ arguments: Arguments) throws(CommandFailure) -> FleetSelection {
        guard let selection = try optionalSelection(arguments) else {
            throw CommandFailure(.usage, "name the devices: --all, --group GROUP or --device ID")
        }
        return selection
    }

    /// The same; `nil` without any of them.
    static func optionalSelection(_ arguments: Arguments) throws(CommandFailure) -> FleetSelection? {
        let (devices, groups) = (arguments.values("device"), arguments.values("group"))
        let count = (devices.isEmpty ? 0 : 1) + (groups.isEmpty ? 0 : 1) + (arguments.has("all") ? 1 : 0)
        guard count <= 1 else { throw CommandFailure(.usage, "--device, --group and --all exclude each other") }
        for id in devices { try DeviceIDArgument.check(id, option: "device") }
        for name in groups { try check(group: name) }
        if arguments.has("all") { return .all }
        if !devices.isEmpty { return .devices(unique(devices)) }
        return groups.isEmpty ? nil : .groups(unique(groups))
    }

    static func check(group name: String) throws(CommandFailure) {
        guard JostleSettings.Device.isID(name) else {
            throw CommandFailure(.usage, "\"\(name)\" is not a group: letters, digits, _ and -")
        }
    }

    private static func unique(_ names: [String]) -> [String] {
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// How long to wait for the devices, s; `nil` not at all.
    static func waitingTime(_ arguments: Arguments) throws(CommandFailure) -> Double? {
        let seconds = try arguments.seconds("wait")
        guard arguments.has("no-wait") else { return seconds ?? 10 }
        if seconds != nil { throw CommandFailure(.usage, "--wait and --no-wait exclude each other") }
        return nil
    }

    /// The text of `--note`.
    static func note(_ arguments: Arguments) throws(CommandFailure) -> String? {
        guard let text = arguments.value("note") else { return nil }
        guard let line = MessageText.line(text, maximum: 1000), line == text else {
            throw CommandFailure(.usage, "--note must be one line of at most 1,000 bytes")
        }
        return text
    }
}
