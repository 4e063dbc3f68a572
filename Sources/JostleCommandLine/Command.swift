/// A subcommand, or a group of them such as `fleet`.
package struct Command {
    package let usage: CommandUsage

    /// Runs it; a `Failure` has the exit status and the lines for standard error. A group never runs.
    package let run: (Arguments) throws -> Void

    /// The commands of a group, of which the next word selects one; empty for a command of its own.
    package var commands: [Command] { makeCommands() }
    private let makeCommands: () -> [Command]

    package init(usage: CommandUsage, run: @escaping (Arguments) throws -> Void) {
        self.usage = usage
        self.run = run
        makeCommands = { [] }
    }

    /// A group of commands, whose usage names end with the word that selects them: `fleet list`.
    package init(usage: CommandUsage, commands: @autoclosure @escaping () -> [Command]) {
        self.usage = usage
        makeCommands = commands
        run = { _ throws in }
    }

    /// The last word of its name.
    package var word: String { usage.name.split(separator: " ").last.map(String.init) ?? usage.name }

    /// The whole help.
    package var help: String {
        guard !commands.isEmpty else { return usage.help }
        var text = "usage: jostle \(usage.name) COMMAND [ARGUMENT]…\n\n\(usage.summary).\n"
        if !usage.details.isEmpty { text += "\n\(usage.details)\n" }
        let rows = commands.filter { !$0.usage.isHidden }.map { ($0.word, $0.usage.summary) }
        let help = ("--help", "show this help; jostle \(usage.name) COMMAND --help shows that of a command")
        return text + "\n\(CommandUsage.table(rows + [help]))"
    }
}

/// What a subcommand accepts. Parsing, help and usage errors are derived from it.
package struct CommandUsage {
    package let name: String
    /// One line for the list of commands.
    package let summary: String
    /// Further explanation for the help. It and the options are made when somebody asks: every start of the program looks
    /// through the names of all commands.
    package var details: String { makeDetails() }
    package var operands: [Operand] = []
    package var options: [Option] { makeOptions() }
    private let makeDetails: @Sendable () -> String
    private let makeOptions: @Sendable () -> [Option]
    /// Whether it is left out of lists: a helper of other programs.
    package var isHidden = false
    /// Whether there is a program of its own, `jostle-NAME`.
    package var isProgram = false

    package init(
        name: String, summary: String, details: @autoclosure @escaping @Sendable () -> String = "",
        operands: [Operand] = [], options: @autoclosure @escaping @Sendable () -> [Option] = [],
        isHidden: Bool = false, isProgram: Bool = false
    ) {
        self.name = name
        self.summary = summary
        makeDetails = details
        self.operands = operands
        makeOptions = options
        self.isHidden = isHidden
        self.isProgram = isProgram
        invocation = "jostle \(name)"
    }

    /// The program of its own.
    package var program: String { "jostle-\(name)" }

    /// What precedes the operands and options: `jostle NAME`, or the program of its own for who calls that.
    package var invocation: String

    /// The options of every command that reads a configuration.
    package static let configurationOptions = [
        Option("config", value: "FILE", help: "read this configuration instead of /etc/jostle/jostle.yaml"),
        Option(
            "set", value: "KEY=VALUE", help: "override one key of the file, for example sensor.rate=100Hz",
            isRepeatable: true),
    ]

    /// The first line of the help.
    package var synopsis: String { "usage: \(invocation)" + (parameters.isEmpty ? "" : " \(parameters)") }

    /// Operands and options after the name.
    package var parameters: String {
        let operands = operands.map { operand in
            let name = operand.name + (operand.isRepeatable ? "…" : "")
            return operand.isRequired ? name : "[\(name)]"
        }
        return (operands + (options.isEmpty ? [] : ["[OPTION]…"])).joined(separator: " ")
    }

    /// The whole help.
    package var help: String {
        var text = synopsis + "\n\n" + summary + ".\n"
        if !details.isEmpty { text += "\n" + details + "\n" }
        if !operands.isEmpty { text += "\n" + CommandUsage.table(operands.map { ($0.name, $0.help) }) }
        let all = options + [Option("help", help: "show this help")]
        text += "\n" + CommandUsage.table(all.map { ("--\($0.name)" + ($0.value.map { " \($0)" } ?? ""), $0.help) })
        return text
    }

    /// Two columns, the second aligned.
    package static func table(_ rows: [(String, String)]) -> String {
        let width = rows.map(\.0.count).max() ?? 0
        return rows.map { "  " + $0 + String(repeating: " ", count: width - $0.count + 2) + $1 + "\n" }.joined()
    }
}

/// A word of a command line that is no option.
package struct Operand {
    package let name: String
    package let help: String
    package let isRequired: Bool
    /// Whether it may be given any number of times; only the last operand.
    package let isRepeatable: Bool
    /// What a shell may suggest; by default what the name stands for.
    package let suggestions: Suggestions

    package init(
        _ name: String, help: String, isRequired: Bool = true, isRepeatable: Bool = false,
        suggestions: Suggestions? = nil
    ) {
        self.name = name
        self.help = help
        self.isRequired = isRequired
        self.isRepeatable = isRepeatable
        self.suggestions = suggestions ?? Suggestions(placeholder: name)
    }
}

/// A word of a command line that begins with `--`, and its value.
package struct Option {
    package let name: String
    /// The placeholder for its value in the help; `nil` for a switch.
    package let value: String?
    package let help: String
    package let isRepeatable: Bool
    /// What a shell may suggest as the value; by default what the placeholder stands for.
    package let suggestions: Suggestions

    package init(
        _ name: String, value: String? = nil, help: String, isRepeatable: Bool = false,
        suggestions: Suggestions? = nil
    ) {
        self.name = name
        self.value = value
        self.help = help
        self.isRepeatable = isRepeatable
        self.suggestions = suggestions ?? Suggestions(placeholder: value ?? "")
    }
}

/// What a shell may suggest for an operand or for the value of an option.
package enum Suggestions: Sendable {
    case none
    /// These words.
    case words([String])
    /// These words, or the path of a file.
    case wordsOrFiles([String])
    case files
    case directories
    /// The ids of the devices that the last fleet command saw.
    case ids
    /// Their groups.
    case groups
    /// The names of the fleet's documents.
    case documents
    /// The keys of the configuration.
    case keys
    /// `KEY=VALUE`, with the values of a key that allows only some words.
    case assignments

    /// What a placeholder of the help stands for: `FILE`, `KEY=VALUE`.
    package init(placeholder: String) {
        switch placeholder {
        case "FILE", "PATH": self = .files
        case "DIR", "DIRECTORY": self = .directories
        case "ID", "OLD": self = .ids
        case "GROUP": self = .groups
        case "DOCUMENT": self = .documents
        case "KEY": self = .keys
        case "KEY=VALUE", "DIRECTORY|KEY=VALUE": self = .assignments
        default: self = .none
        }
    }
}
