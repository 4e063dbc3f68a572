internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator

/// What a shell may suggest for an unfinished command line.
struct Completion: Equatable {
    struct Word: Equatable {
        let text: String
        /// A few words about it; may be empty.
        let summary: String
    }

    /// In the order in which they are to be shown.
    private(set) var words: [Word] = []

    /// Whether the shell is also to suggest files.
    private(set) var includesFiles = false

    /// Whether the shell is also to suggest directories.
    private(set) var includesDirectories = false

    /// Whether the word goes on after a suggestion, so that no space is to follow it.
    private(set) var hasNoSpace = false

    private let current: String
    private let names: FleetNames

    /// Finds the suggestions for the last of some words; the first one follows the name of the program.
    init(of line: [String], among commands: [Command], names: FleetNames) {
        self.names = names
        current = line.last ?? ""
        let words = line.dropLast()
        var (group, rest) = (commands, words[...])
        var command: Command?
        while !group.isEmpty, let word = rest.popFirst() {
            // Nothing is known about what follows an unknown command.
            guard let next = group.first(where: { $0.word == word }) else { return }
            (command, group) = (next, next.commands)
        }
        guard group.isEmpty, let command else {
            for command in group where !command.usage.isHidden { add(command.word, command.usage.summary) }
            if current.hasPrefix("-") { addGlobalOptions(isFirstWord: words.isEmpty) }
            return
        }
        complete(command.usage, after: Array(rest))
    }

    private mutating func addGlobalOptions(isFirstWord: Bool) {
        add("--help", "show this help")
        if isFirstWord { add("--version", "print the version") }
    }

    private mutating func complete(_ usage: CommandUsage, after words: [String]) {
        var rest = words[...]
        var given: Set<String> = []
        var operands = 0
        var optionsHaveEnded = false
        while let word = rest.popFirst() {
            guard !optionsHaveEnded, word.hasPrefix("-"), word != "-" else {
                operands += 1
                continue
            }
            if word == "--" { optionsHaveEnded = true }
            let parts = word.split(separator: "=", maxSplits: 1)
            guard let option = usage.options.first(where: { "--\($0.name)" == parts[0] }) else { continue }
            given.insert(option.name)
            guard option.value != nil, parts.count == 1 else { continue }
            guard rest.popFirst() != nil else {
                add(option.suggestions)
                return
            }
        }
        if !optionsHaveEnded, current.hasPrefix("-") {
            addOptions(of: usage, without: given)
        } else if let operand = operands < usage.operands.count ? usage.operands[operands] : usage.operands.last,
            operands < usage.operands.count || operand.isRepeatable
        {
            add(operand.suggestions)
        }
    }

    /// Options that may still be given, or the values of the one before `=`.
    private mutating func addOptions(of usage: CommandUsage, without given: Set<String>) {
        if let end = current.firstIndex(of: "=") {
            let name = current[..<end].dropFirst(2)
            guard let option = usage.options.first(where: { $0.name == name }), option.value != nil else { return }
            add(option.suggestions, after: String(current[...end]))
            return
        }
        for option in usage.options where option.isRepeatable || !given.contains(option.name) {
            add("--\(option.name)", option.help)
        }
        add("--help", "show this help")
    }

    private mutating func add(_ suggestions: Suggestions, after prefix: String = "") {
        switch suggestions {
        case .none: break
        case .words(let words): for word in words { add(prefix + word) }
        case .wordsOrFiles(let words):
            for word in words { add(prefix + word) }
            includesFiles = true
        case .files: includesFiles = true
        case .directories: includesDirectories = true
        case .ids: for id in names.ids { add(prefix + id) }
        case .groups: for group in names.groups { add(prefix + group) }
        case .documents:
            add(prefix + "all")
            for group in names.groups { add("\(prefix)group:\(group)") }
            for id in names.ids { add("\(prefix)device:\(id)") }
            for id in names.ids { add("\(prefix)registry:\(id)") }
        case .keys: for key in ConfigurationSchema.keys { add(prefix + key.path, key.summary) }
        case .assignments: addAssignments(after: prefix)
        }
    }

    private mutating func addAssignments(after prefix: String) {
        let assignment = current.dropFirst(prefix.count)
        guard let end = assignment.firstIndex(of: "=") else {
            for key in ConfigurationSchema.keys { add("\(prefix)\(key.path)=", key.summary) }
            hasNoSpace = !words.isEmpty
            return
        }
        let key = String(assignment[..<end])
        for choice in ConfigurationSchema.choices(of: key) { add("\(prefix)\(key)=\(choice)") }
    }

    private mutating func add(_ text: String, _ summary: String = "") {
        if text.hasPrefix(current) { words.append(Word(text: text, summary: summary)) }
    }
}

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
            Operand(
                "WORD", help: "the words after the program, up to the unfinished one", isRequired: false,
                isRepeatable: true)
        ], isHidden: true)

    static func run(_ arguments: Arguments) throws {
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
