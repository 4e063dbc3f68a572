internal import JostleCommandLine
internal import JostleOperator

/// `jostle complete`: what the completion of a shell asks for. The scripts in deploy/completions only show its answer.
enum CompleteCommand {
    static let usage = CommandUsage(
        name: "complete", summary: "print what may follow an unfinished command line",
        details: """
            Each line has a suggestion for the last word and, after a space, what it is. After them, :files or :directories
            asks the shell for paths too, and :nospace for no space after the suggestion. The ids and groups are those that
            the last command of jostle fleet saw. There is no connection to the broker.
            """,
        operands: [
            CommandUsage.Operand(
                name: "WORD", help: "the words after the program, up to the unfinished one", isRequired: false,
                isRepeatable: true)
        ], isHidden: true)

    static func run(_ arguments: Arguments) throws(CommandFailure) {
        let names = FleetNames(stateDirectory: Configuration.stateDirectory)
        let completion = Completion(of: arguments.operands(from: 0), among: Command.all, names: names)
        for word in completion.words {
            Output.line(word.summary.isEmpty ? word.text : "\(word.text) \(word.summary)")
        }
        if completion.includesFiles { Output.line(":files") }
        if completion.includesDirectories { Output.line(":directories") }
        if completion.hasNoSpace { Output.line(":nospace") }
    }
}
