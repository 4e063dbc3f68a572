/// A subcommand.
struct Command {
    let usage: CommandUsage

    /// Runs it; a `CommandFailure` has the exit status and the lines for standard error.
    let run: (Arguments) throws(CommandFailure) -> Void
}

/// What a subcommand accepts. Parsing, help and usage errors are derived from it.
struct CommandUsage {
    let name: String
    /// One line for the list of commands.
    let summary: String
    /// Further explanation for the help.
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
        /// The placeholder for its value in the help; `nil` for a switch.
        var value: String?
        let help: String
        var isRepeatable = false
    }

    /// The options of every command that reads a configuration.
    static let configurationOptions = [
        Option(name: "config", value: "FILE", help: "read this configuration instead of /etc/jostle/jostle.yaml"),
        Option(
            name: "set", value: "KEY=VALUE", help: "override one key of the file, for example sensor.rate=100Hz",
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
        let all = options + [Option(name: "help", help: "show this help")]
        text += "\n" + CommandUsage.table(all.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.help) })
        return text
    }

    /// Two columns, the second aligned.
    static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  " + $0 + String(repeating: " ", count: width - $0.count + 2) + $1 + "\n" }.joined()
    }
}
