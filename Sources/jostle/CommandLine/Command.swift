/// A subcommand: what it takes, and what it does.
struct Command {
    let usage: CommandUsage

    /// Does it; `CommandFailure` has the exit status and what is told to standard error.
    let run: (Arguments) throws(CommandFailure) -> Void
}

/// What a subcommand takes: parsing, help and complaints all follow from it.
struct CommandUsage {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// What a reader should know beyond that.
    var details = ""
    var operands: [Operand] = []
    var options: [Option] = []

    struct Operand {
        let name: String
        let help: String
        var isRequired = true
    }

    struct Option {
        let name: String
        /// What stands for its value in the help; `nil` for a switch.
        var value: String?
        let help: String
        var isRepeatable = false
    }

    /// The options with which every command that reads a configuration can be given one.
    static let configurationOptions = [
        Option(name: "config", value: "FILE", help: "read this configuration instead of /etc/jostle/jostle.yaml"),
        Option(
            name: "set", value: "KEY=VALUE", help: "set one key over the file's, for example sensor.rate=100Hz",
            isRepeatable: true),
    ]

    /// The first line of the help.
    var synopsis: String {
        let operands = operands.map { $0.isRequired ? " \($0.name)" : " [\($0.name)]" }.joined()
        return "usage: jostle \(name)\(operands)\(options.isEmpty ? "" : " [OPTION]…")"
    }

    /// The whole help.
    var help: String {
        var text = synopsis + "\n\n" + summary + ".\n"
        if !details.isEmpty { text += "\n" + details + "\n" }
        if !operands.isEmpty { text += "\n" + CommandUsage.table(operands.map { ($0.name, $0.help) }) }
        let all = options + [Option(name: "help", help: "say this")]
        text += "\n" + CommandUsage.table(all.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.help) })
        return text
    }

    /// Two columns, the second aligned.
    static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  " + $0 + String(repeating: " ", count: width - $0.count + 2) + $1 + "\n" }.joined()
    }
}
