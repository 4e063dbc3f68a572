internal import Glibc

/// The program: finds the subcommand, runs it, and turns what comes of it into an exit status.
enum Tool {
    static func main(_ words: [String]) -> ExitStatus {
        do throws(CommandFailure) {
            try run(words)
            return .success
        } catch {
            printError("jostle: \(error.message)")
            return error.status
        }
    }

    private static func run(_ words: [String]) throws(CommandFailure) {
        switch words.first {
        case nil:
            throw CommandFailure(.usage, "a command is missing\n\(overview)")
        case "--help", "-h", "help":
            try help(Array(words.dropFirst()))
        case "--version", "-V", "version":
            print("jostle \(version)")
        case let name?:
            let command = try find(name)
            let arguments = try Arguments(parsing: Array(words.dropFirst()), for: command.usage)
            if arguments.wantsHelp { print(command.usage.help, terminator: "") } else { try command.run(arguments) }
        }
    }

    private static func help(_ words: [String]) throws(CommandFailure) {
        guard let name = words.first else {
            print(overview, terminator: "")
            return
        }
        print(try find(name).usage.help, terminator: "")
    }

    private static func find(_ name: String) throws(CommandFailure) -> Command {
        for command in Command.all where command.usage.name == name { return command }
        let names = Command.all.map(\.usage.name).joined(separator: ", ")
        throw CommandFailure(.usage, "there is no command \"\(name)\"; there are \(names)")
    }

    private static var overview: String {
        """
        usage: jostle COMMAND [ARGUMENT]…

        Reads a motion sensor, recognises gestures and publishes both over MQTT.

        \(CommandUsage.table(Command.all.map { ($0.usage.name, $0.usage.summary) }))
          jostle COMMAND --help   says more about a command
          jostle --version        says which version this is

        """
    }

    /// Writes a line to standard error.
    static func printError(_ text: String) {
        var line = text + "\n"
        _ = line.withUTF8 { write(STDERR_FILENO, $0.baseAddress, $0.count) }
    }
}
