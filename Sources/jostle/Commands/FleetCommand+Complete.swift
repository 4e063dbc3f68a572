internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator

/// `jostle fleet complete`: the names for the completion of the shell.
extension FleetCommand {
    static let completeUsage = CommandUsage(
        name: "fleet complete", summary: "print the known devices or groups, for the completion of the shell",
        details: "The names are those that the last command of jostle fleet saw. There is no connection to the broker.",
        operands: [
            CommandUsage.Operand(name: "WHAT", help: "ids, groups, documents, keys or statuses"),
            CommandUsage.Operand(name: "PREFIX", help: "only names that begin with this", isRequired: false),
        ], isHidden: true)

    static func complete(_ arguments: Arguments) throws(CommandFailure) {
        let names = FleetNames(stateDirectory: Configuration.stateDirectory)
        let prefix = arguments.operand(1) ?? ""
        let words: [String]
        switch arguments.operand(0) {
        case "ids": words = names.ids
        case "groups": words = names.groups
        case "documents":
            words =
                ["all"] + names.groups.map { "group:\($0)" } + names.ids.map { "device:\($0)" }
                + names.ids.map { "registry:\($0)" }
        case "keys": words = ConfigurationSchema.keys.map(\.path)
        case "statuses": words = LayerStatus.words + FleetFilter.states
        case let what:
            throw CommandFailure(.usage, "\"\(what ?? "")\" is not ids, groups, documents, keys or statuses")
        }
        for word in words where word.hasPrefix(prefix) { Output.line(word) }
    }
}
