internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

/// `jostle fleet forget`: removes what the broker holds of a device that is gone.
extension FleetCommand {
    static let forgetUsage = CommandUsage(
        name: "fleet forget", summary: "remove all retained messages of a device that is gone",
        details: """
            Removes its state, its layer, its groups and its announcements to Home Assistant. Its layer stays in the
            history of this machine, for jostle fleet rollback.
            """,
        operands: [CommandUsage.Operand(name: "ID", help: "the device's id")],
        options: [
            CommandUsage.Option(name: "force", help: "also if the device is online"),
            CommandUsage.Option(name: "dry-run", help: "list the topics, and remove nothing"),
        ] + FleetConnection.options)

    static func forget(_ arguments: Arguments) throws(CommandFailure) {
        let id = arguments.operand(0) ?? ""
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "\"\(id)\" is not a device id: letters, digits, _ and -")
        }
        let connection = try FleetConnection.open(arguments)
        if connection.model.boards[id]?.isOnline == true, !arguments.has("force") {
            throw CommandFailure(
                .temporary, "\(id) is online: it would publish everything again. Stop it first, or use --force")
        }
        let topics = try retainedTopics(of: id, connection)
        guard !topics.isEmpty else { throw CommandFailure(.unavailable, "the broker holds nothing of \(id)") }
        for topic in topics { Output.line(topic) }
        guard !arguments.has("dry-run") else { return }
        let failures: [(topic: String, reason: String)]
        do throws(FleetSessionError) {
            failures = try connection.session.clear(topics)
        } catch {
            throw CommandFailure(error)
        }
        guard failures.isEmpty else {
            throw CommandFailure(.permission, lines: failures.map { "\($0.topic) is not removed: \($0.reason)" })
        }
        Output.line("\(id): \(FleetText.count(topics.count, "message")) removed")
    }

    private static func retainedTopics(
        of id: String, _ connection: FleetConnection
    ) throws(CommandFailure) -> [String] {
        do throws(FleetSessionError) {
            return try connection.session.retainedTopics(
                of: id, discoveryPrefix: connection.settings.homeAssistant.prefix)
        } catch {
            throw CommandFailure(error)
        }
    }
}
