internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

/// The program: finds and runs the subcommand, and converts its result into an exit status.
enum Tool {
    static func main(_ words: [String]) -> ExitStatus {
        ExitStatus.ofProgram("jostle") { () throws in try run(words) }
    }

    private static func run(_ words: [String]) throws {
        switch words.first {
        case nil:
            throw Failure(.usage, lines: ["a command is missing"] + lines(overview))
        case "--help", "-h", "help":
            try help(Array(words.dropFirst()))
        case "--version", "-V", "version":
            Output.line("jostle \(version)")
            Output.text(versionDetails)
        case let name?:
            try run(try find(name, among: Command.all), Array(words.dropFirst()))
        }
    }

    private static func run(_ command: Command, _ words: [String]) throws {
        guard command.commands.isEmpty else {
            switch words.first {
            case nil: throw Failure(.usage, lines: ["a command is missing"] + lines(command.help))
            case "--help", "-h": Output.text(command.help)
            case let name?: try run(try find(name, among: command.commands), Array(words.dropFirst()))
            }
            return
        }
        let arguments = try Arguments(parsing: words, for: command.usage)
        if arguments.wantsHelp { Output.text(command.help) } else { try command.run(arguments) }
    }

    private static func help(_ words: [String]) throws {
        var text = overview
        var commands = Command.all
        for name in words where !commands.isEmpty {
            let command = try find(name, among: commands)
            (text, commands) = (command.help, command.commands)
        }
        Output.text(text)
    }

    private static func find(_ name: String, among commands: [Command]) throws -> Command {
        for command in commands where command.word == name { return command }
        let words = commands.filter { !$0.usage.isHidden }.map(\.word)
        let suggestion = EditDistance.suggestion(for: name, among: words)
        throw Failure(
            .usage,
            lines: ["unknown command \"\(name)\"\(suggestion)", "The commands are \(words.joined(separator: ", "))"])
    }

    private static func lines(_ text: String) -> [String] {
        text.split(separator: "\n", omittingEmptySubsequences: false).map { String($0) }
    }

    private static var overview: String {
        """
        usage: jostle COMMAND [ARGUMENT]…

        Reads a motion sensor, recognises gestures and publishes both over MQTT.

        \(CommandUsage.table(Command.all.filter { !$0.usage.isHidden }.map { ($0.usage.name, $0.usage.summary) }))
          jostle COMMAND --help   shows the help of a command
          jostle --version        prints the version, and those of the libraries

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
            Command(usage: PageUsage.usage, run: OtherProgram.page.run),
            Command(usage: SwitchCommand.stopUsage, run: SwitchCommand.stop),
            Command(usage: SwitchCommand.startUsage, run: SwitchCommand.start),
            Command(usage: SwarmUsage.usage, run: OtherProgram.swarm.run),
            Command(usage: SetupCommand.usage, run: SetupCommand.run),
            Command(usage: DoctorCommand.usage, run: DoctorCommand.run),
            Command(usage: ScanCommand.usage, run: ScanCommand.run),
            Command(usage: RecordCommand.usage, run: RecordCommand.run),
            Command(usage: ReplayCommand.usage, run: ReplayCommand.run),
            Command(usage: RecordingsCommand.usage, run: RecordingsCommand.run),
            Command(usage: CalibrateCommand.usage, run: CalibrateCommand.run),
            Command(usage: TuneCommand.usage, run: TuneCommand.run),
            Command(usage: LearnCommand.usage, run: LearnCommand.run),
            Command(usage: MachineCommand.usage, run: MachineCommand.run),
            Command(usage: NoiseCommand.usage, run: NoiseCommand.run),
            Command(usage: CheckConfigCommand.usage, run: CheckConfigCommand.run),
            ConfigCommand.command,
            Command(usage: SupportCommand.usage, run: SupportCommand.run),
            FleetCommand.command,
            Command(usage: RunActionCommand.usage, run: RunActionCommand.run),
            Command(usage: CompleteCommand.usage, run: CompleteCommand.run),
            Command(usage: ManualCommand.usage, run: ManualCommand.run),
        ]
    }
}
