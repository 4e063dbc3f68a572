internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet wait`: waits until devices have their configuration.
extension FleetCommand {
    static let waitUsage = CommandUsage(
        name: "fleet wait",
        summary: "wait until devices have taken over the layers and groups that the broker holds for them",
        details: "Exit status 0 if all selected devices that are online have them, else 75.",
        options: FleetOptions.selection + [
            CommandUsage.Option(name: "wait", value: "SECONDS", help: "the longest time; 60 by default"),
            FleetOptions.json,
        ] + FleetConnection.options)

    static func wait(_ arguments: Arguments) throws(CommandFailure) {
        let selection = try FleetOptions.optionalSelection(arguments) ?? .all
        let seconds = try arguments.seconds("wait") ?? 60
        let connection = try FleetConnection.open(arguments)
        let ids = Set(selection.ids(in: connection.model))
        if case .devices(let named) = selection {
            let known = Set(connection.model.allBoards.map(\.id))
            if let unknown = named.first(where: { !known.contains($0) }) {
                throw CommandFailure(.unavailable, FleetText.unknown(unknown, connection.model))
            }
        }
        let condition = WaitCondition(everythingIn: connection.model, ids: ids)
        guard !condition.boards(in: connection.model).isEmpty else {
            throw CommandFailure(.temporary, "no device of these has reported its configuration")
        }
        try FleetRun.wait(for: condition, seconds, connection, isJSON: arguments.has("json"))
    }
}
