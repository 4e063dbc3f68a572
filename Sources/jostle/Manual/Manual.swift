internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleRuntime
internal import LinuxSystem

/// The manual pages, made from the same descriptions as the help and the schema of the configuration.
struct Manual {
    /// The pages by their file names: `jostle-run.1`, `jostle.yaml.5`.
    let pages: [(name: String, page: ManualPage)]

    init(_ commands: [Command], address: String? = Project.address) {
        let commands = commands.filter { !$0.usage.isHidden }
        pages =
            [("jostle.1", Manual.overview(commands, address))]
            + commands.map { ("jostle-\($0.usage.name).1", Manual.page(of: $0, commands)) }
            + [("jostle.yaml.5", Manual.configuration)]
    }

    // MARK: Programs

    private static func overview(_ commands: [Command], _ address: String?) -> ManualPage {
        var page = ManualPage(
            title: "jostle", section: 1, summary: "read a motion sensor, recognise gestures, publish both over MQTT",
            names: ["jostle"])
        page.heading("SYNOPSIS")
        page.synopsis(["jostle", "COMMAND [ARGUMENT]…"])
        page.synopsis(["jostle", "COMMAND --help"])
        page.synopsis(["jostle", "--version"])
        page.heading("DESCRIPTION")
        page.paragraphs(
            """
            Jostle reads an I2C accelerometer and gyroscope, such as an MPU-6050, on a Raspberry Pi or another Linux board.
            It computes the attitude, recognises gestures such as a shake or a tap, and publishes both over MQTT.

            On a board, systemd runs jostle run as jostle.service. The other commands help to set it up and to operate it.
            """)
        page.heading("COMMANDS")
        for command in commands { page.term(command.usage.name, nil, [command.usage.summary]) }
        environment(&page)
        files(&page)
        exitStatus(&page)
        if let address {
            page.heading("REPORTING BUGS")
            page.paragraphs("To \(address), with the file that jostle support writes.")
        }
        page.heading("SEE ALSO")
        page.references(commands.map { ("jostle-\($0.usage.name)", 1) } + [("jostle.yaml", 5), ("journalctl", 1)])
        return page
    }

    private static func page(of command: Command, _ commands: [Command]) -> ManualPage {
        let usage = command.usage
        let name = "jostle-\(usage.name)"
        var page = ManualPage(title: name, section: 1, summary: usage.summary, names: [name])
        page.heading("SYNOPSIS")
        for usage in leaves(of: command).map(\.usage) { page.synopsis(["jostle \(usage.name)", usage.parameters]) }
        // A program of its own, whose page this is too.
        if usage.isProgram { page.synopsis([usage.program, usage.parameters]) }
        if !usage.details.isEmpty || command.commands.isEmpty { page.heading("DESCRIPTION") }
        if command.commands.isEmpty {
            describe(usage, &page, heading: "OPTIONS")
        } else {
            page.paragraphs(usage.details)
            page.heading("COMMANDS")
            for leaf in leaves(of: command) {
                page.subheading("jostle \(leaf.usage.name)")
                page.paragraphs(sentence(leaf.usage.summary))
                describe(leaf.usage, &page, heading: nil)
            }
        }
        exitStatus(&page)
        page.heading("SEE ALSO")
        page.references([("jostle", 1), ("jostle.yaml", 5)])
        return page
    }

    private static func describe(_ usage: CommandUsage, _ page: inout ManualPage, heading: String?) {
        page.paragraphs(usage.details.isEmpty && heading != nil ? sentence(usage.summary) : usage.details)
        for operand in usage.operands { page.term(operand.name, nil, [operand.help]) }
        if let heading { page.heading(heading) }
        for option in usage.options { page.term("--\(option.name)", option.value, [option.help]) }
        page.term("--help", nil, ["show the help"])
    }

    private static func leaves(of command: Command) -> [Command] {
        command.commands.isEmpty
            ? [command] : command.commands.filter { !$0.usage.isHidden }.flatMap { leaves(of: $0) }
    }

    /// A summary, which begins with a small letter, as a sentence.
    private static func sentence(_ summary: String) -> String {
        summary.prefix(1).uppercased() + summary.dropFirst() + "."
    }

    private static func environment(_ page: inout ManualPage) {
        page.heading("ENVIRONMENT")
        page.term("JOSTLE_CONFIG", nil, ["the configuration file, unless --config names one"])
        page.term("JOSTLE_INSTANCE", nil, ["the name of this agent, if several run on a board: /etc/jostle/NAME.yaml"])
        page.term("STATE_DIRECTORY", nil, ["the directory for what outlives a run; systemd sets it"])
        page.term(
            "XDG_STATE_HOME", nil, ["without STATE_DIRECTORY, the directory is its jostle, else ~/.local/state/jostle"])
    }

    private static func files(_ page: inout ManualPage) {
        page.heading("FILES")
        page.term("/etc/jostle/jostle.yaml", nil, ["the configuration: see jostle.yaml(5)"])
        page.term("/etc/jostle/jostle.reference.yaml", nil, ["every key of it with its default"])
        page.term("/var/lib/jostle", nil, ["the state of the service: events not yet sent, calibrations, settings"])
    }

    private static func exitStatus(_ page: inout ManualPage) {
        page.heading("EXIT STATUS")
        page.paragraphs("The statuses are those of sysexits.h:")
        for status in ExitStatus.allCases { page.term("\(status.rawValue)", nil, [status.meaning]) }
    }

    // MARK: Configuration

    private static var configuration: ManualPage {
        var page = ManualPage(
            title: "jostle.yaml", section: 5, summary: "the configuration of jostle", names: ["jostle.yaml"])
        page.heading("DESCRIPTION")
        page.paragraphs(
            """
            The configuration is a YAML file. The agent reads the first of these: the file of --config, $JOSTLE_CONFIG,
            /etc/jostle/$JOSTLE_INSTANCE.yaml if $JOSTLE_INSTANCE is set, /etc/jostle/jostle.yaml. An empty file means the
            defaults. jostle check-config reports every mistake with line, column and what is allowed.

            A quantity can have a unit: 500 Hz, 20 ms, 8 g, 5 deg. A number without one has the unit given below. A relative
            path is relative to the directory of the file.

              device:
                id: lamp-shaker
              mqtt:
                broker: mqtt://homeassistant.local:1883
                username: jostle
                password_file: /etc/jostle/password
            """)
        for chapter in ConfigurationSchema.reference {
            page.heading(chapter.name)
            page.paragraphs(chapter.summary)
            for row in chapter.rows {
                let standard = row.isRequired ? "required" : row.defaultValue.map { "default: \($0)" } ?? "no default"
                page.term(row.path, nil, [row.meaning, "\(row.kind); \(standard); allowed: \(row.allowed)"])
            }
        }
        page.heading("SEE ALSO")
        page.references([("jostle", 1), ("jostle-check-config", 1), ("jostle-config", 1)])
        return page
    }
}

/// The text of a manual page, in the macros of man(7).
struct ManualPage {
    /// The source of the page.
    private(set) var source: String

    /// The page `title(section)`, with the line that man -k and whatis show.
    init(title: String, section: Int, summary: String, names: [String]) {
        source =
            ".TH \"\(ManualPage.text(title.uppercased()))\" \(section) \"\" \"jostle \(version)\" \"Jostle\"\n.SH NAME\n"
            + "\(names.map(ManualPage.text).joined(separator: ", ")) \\- \(ManualPage.text(summary))\n"
    }

    mutating func heading(_ title: String) {
        source += ".SH \"\(ManualPage.text(title))\"\n"
    }

    mutating func subheading(_ title: String) {
        source += ".SS \"\(ManualPage.text(title))\"\n"
    }

    /// A synopsis: the first word in bold.
    mutating func synopsis(_ words: [String]) {
        source += ".P\n\\fB\(ManualPage.text(words.first ?? ""))\\fR"
        for word in words.dropFirst() { source += " \(ManualPage.text(word))" }
        source += "\n"
    }

    /// Paragraphs as in the help: empty lines separate them, and indented lines are shown as they are.
    mutating func paragraphs(_ text: String) {
        var isVerbatim = false
        var isNew = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let wantsVerbatim = line.hasPrefix("  ")
            if isVerbatim, !wantsVerbatim {
                source += ".EE\n"
                isNew = true
            }
            if line.isEmpty {
                isNew = true
                isVerbatim = false
                continue
            }
            if isNew || wantsVerbatim != isVerbatim { source += ".P\n" }
            if wantsVerbatim, !isVerbatim { source += ".EX\n" }
            source += ManualPage.line(String(line)) + "\n"
            (isVerbatim, isNew) = (wantsVerbatim, false)
        }
        if isVerbatim { source += ".EE\n" }
    }

    /// A term in bold, with what it means below.
    mutating func term(_ term: String, _ parameter: String? = nil, _ lines: [String]) {
        let value = parameter.map { " \\fI\(ManualPage.text($0))\\fR" } ?? ""
        source += ".TP\n\\fB\(ManualPage.text(term))\\fR\(value)\n"
        for (index, line) in lines.enumerated() {
            if index > 0 { source += ".br\n" }
            source += ManualPage.line(line) + "\n"
        }
    }

    /// A list of other pages: `jostle-run(1)`.
    mutating func references(_ pages: [(title: String, section: Int)]) {
        source += pages.map { "\\fB\(ManualPage.text($0.title))\\fR(\($0.section))" }.joined(separator: ",\n") + "\n"
    }

    /// Text with the characters escaped that have a meaning in the source.
    static func text(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            // A hyphen that can be copied into a shell, instead of a typographic one.
            case "-": escaped += "\\-"
            case "\"": escaped += "\\(dq"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// A line of text, which is no request even if it begins with a full stop.
    private static func line(_ line: String) -> String {
        line.hasPrefix(".") ? "\\&\(text(line))" : text(line)
    }
}

/// `jostle manual`: writes the manual pages, for the installation.
enum ManualCommand {
    static let usage = CommandUsage(
        name: "manual", summary: "write the manual pages into a directory such as /usr/share/man",
        details: "They are made from the same descriptions as the help and the schema of the configuration.",
        operands: [Operand("DIRECTORY", help: "gets man1 and man5")], isHidden: true)

    static func run(_ arguments: Arguments) throws {
        let directory = arguments.operand(0) ?? ""
        for (name, page) in Manual(Command.all).pages {
            let section = "\(directory)/man\(name.last ?? "1")"
            let path = "\(section)/\(name)"
            FileContents.makeDirectories(section)
            try Failure.about(path, .cannotCreate) { try FileContents.replace(path, with: Array(page.source.utf8)) }
        }
    }
}
