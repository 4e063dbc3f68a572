/// The program: finds and runs the subcommand, and converts its result into an exit status.
enum Tool {
    static func main(_ words: [String]) -> ExitStatus {
        do throws(CommandFailure) {
            try run(words)
            return .success
        } catch {
            Output.errors(["jostle: \(error.lines[0])"] + error.lines.dropFirst())
            return error.status
        }
    }

    private static func run(_ words: [String]) throws(CommandFailure) {
        switch words.first {
        case nil:
            let lines = overview.split(separator: "\n", omittingEmptySubsequences: false)
            throw CommandFailure(.usage, lines: ["a command is missing"] + lines.map { String($0) })
        case "--help", "-h", "help":
            try help(Array(words.dropFirst()))
        case "--version", "-V", "version":
            Output.line("jostle \(version)")
        case let name?:
            let command = try find(name)
            let arguments = try Arguments(parsing: Array(words.dropFirst()), for: command.usage)
            if arguments.wantsHelp { Output.text(command.usage.help) } else { try command.run(arguments) }
        }
    }

    private static func help(_ words: [String]) throws(CommandFailure) {
        guard let name = words.first else {
            Output.text(overview)
            return
        }
        Output.text(try find(name).usage.help)
    }

    private static func find(_ name: String) throws(CommandFailure) -> Command {
        for command in Command.all where command.usage.name == name { return command }
        let names = Command.all.map(\.usage.name).joined(separator: ", ")
        throw CommandFailure(.usage, "unknown command \"\(name)\"; the commands are \(names)")
    }

    private static var overview: String {
        """
        usage: jostle COMMAND [ARGUMENT]…

        Reads a motion sensor, recognises gestures and publishes both over MQTT.

        \(CommandUsage.table(Command.all.map { ($0.usage.name, $0.usage.summary) }))
          jostle COMMAND --help   shows the help of a command
          jostle --version        prints the version

        """
    }
}

extension Command {
    /// The subcommands in the order of the help.
    static var all: [Command] {
        [
            Command(usage: RunCommand.usage, run: RunCommand.run),
            Command(usage: DemoCommand.usage, run: DemoCommand.run),
            Command(usage: SimulateCommand.usage, run: SimulateCommand.run),
            Command(usage: WatchCommand.usage, run: WatchCommand.run),
            Command(usage: SwitchCommand.stopUsage, run: SwitchCommand.stop),
            Command(usage: SwitchCommand.startUsage, run: SwitchCommand.start),
            Command(usage: SwarmCommand.usage, run: SwarmCommand.run),
            Command(usage: ScanCommand.usage, run: ScanCommand.run),
            Command(usage: RecordCommand.usage, run: RecordCommand.run),
            Command(usage: ReplayCommand.usage, run: ReplayCommand.run),
            Command(usage: CalibrateCommand.usage, run: CalibrateCommand.run),
            Command(usage: TuneCommand.usage, run: TuneCommand.run),
            Command(usage: NoiseCommand.usage, run: NoiseCommand.run),
            Command(usage: CheckConfigCommand.usage, run: CheckConfigCommand.run),
        ]
    }
}
