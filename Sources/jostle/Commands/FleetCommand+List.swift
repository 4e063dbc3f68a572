internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet list`: the devices and whether they have their configuration.
extension FleetCommand {
    static let listUsage = CommandUsage(
        name: "fleet list", summary: "list the devices, their groups, and whether they have their configuration",
        details: """
            The state of a device is current, waiting (it has not taken over a layer that the broker holds), refused (it
            does not take over a layer) or offline.
            """,
        options: [
            CommandUsage.Option(name: "group", value: "GROUP", help: "only devices of this group"),
            CommandUsage.Option(name: "version", value: "VERSION", help: "only devices with this version of Jostle"),
            CommandUsage.Option(name: "chip", value: "NAME", help: "only devices whose chip has this in its name"),
            CommandUsage.Option(
                name: "status", value: "STATUS", help: "only devices with this state, or with a layer of this status",
                suggestions: .words(LayerStatus.words + FleetFilter.states)),
            CommandUsage.Option(name: "problem", help: "only devices with a problem"),
            CommandUsage.Option(name: "online", help: "only devices that are online"),
            CommandUsage.Option(name: "offline", help: "only devices that are not online"),
            CommandUsage.Option(
                name: "listen", value: "SECONDS", help: "listen for so long, and show the last event of each device"),
            FleetOptions.json,
        ] + FleetConnection.options)

    static func list(_ arguments: Arguments) throws(CommandFailure) {
        let filter = try filter(arguments)
        let listening = try arguments.seconds("listen")
        let connection = try FleetConnection.open(
            arguments, interests: listening == nil ? .health : [.health, .events])
        if let listening { try FleetRun.listen(connection, for: listening) }
        let model = connection.model
        let boards = model.allBoards.filter { filter.admits($0, in: model) }
        guard !arguments.has("json") else {
            for board in boards { Output.json(JSONValue.object(FleetJSON.board(board, in: model)).compactText) }
            return
        }
        guard !boards.isEmpty else {
            Output.line(model.allBoards.isEmpty ? "The broker knows no device." : "No device matches.")
            return
        }
        var header = ["device", "", "version", "groups", "layers", "state", "problems"]
        if listening != nil { header.insert("last event", at: 6) }
        let rows = boards.map { board in
            var row = [
                board.id, FleetText.availability(board.isOnline), board.health?.version ?? "-",
                list(model.groups(of: board.id)), FleetText.layers(board).ifEmpty("-"), model.state(of: board).word,
                list(board.problems),
            ]
            if listening != nil { row.insert(board.lastEvent.map(WatchText.event) ?? "-", at: 6) }
            return row
        }
        Output.text(TextTable([header] + rows).description)
    }

    private static func list(_ names: [String]) -> String { names.joined(separator: ", ").ifEmpty("-") }

    private static func filter(_ arguments: Arguments) throws(CommandFailure) -> FleetFilter {
        var filter = FleetFilter()
        filter.group = arguments.value("group")
        if let name = filter.group { try FleetOptions.check(group: name) }
        filter.version = arguments.value("version")
        filter.chip = arguments.value("chip")
        filter.status = arguments.value("status")
        let statuses = LayerStatus.words + FleetFilter.states
        if let status = filter.status, !statuses.contains(status) {
            throw CommandFailure(
                .usage, "--status is \"\(status)\"; the statuses are \(statuses.joined(separator: ", "))")
        }
        filter.hasProblem = arguments.has("problem")
        if arguments.has("online"), arguments.has("offline") {
            throw CommandFailure(.usage, "--online and --offline exclude each other")
        }
        if arguments.has("online") { filter.isOnline = true }
        if arguments.has("offline") { filter.isOnline = false }
        return filter
    }
}

extension String {
    /// The text, or another one if it is empty.
    func ifEmpty(_ other: String) -> String { isEmpty ? other : self }
}
