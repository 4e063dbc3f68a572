internal import JostleOperator

/// `jostle fleet complete`: the names for the completion of the shell.
extension FleetCommand {
    static let completeUsage = CommandUsage(
        name: "fleet complete", summary: "print the known devices or groups, for the completion of the shell",
        details: "The names are those that the last command of jostle fleet saw. There is no connection to the broker.",
        operands: [
            CommandUsage.Operand(name: "WHAT", help: "ids or groups"),
            CommandUsage.Operand(name: "PREFIX", help: "only names that begin with this", isRequired: false),
        ], isHidden: true)

    static func complete(_ arguments: Arguments) throws(CommandFailure) {
        let names = FleetNames(stateDirectory: Configuration.stateDirectory)
        let prefix = arguments.operand(1) ?? ""
        switch arguments.operand(0) {
        case "ids": for id in names.ids where id.hasPrefix(prefix) { Output.line(id) }
        case "groups": for group in names.groups where group.hasPrefix(prefix) { Output.line(group) }
        case let what: throw CommandFailure(.usage, "\"\(what ?? "")\" is not ids or groups")
        }
    }
}
