/// A command in the documentation: `sudo jostle stop --on ID`.
struct ShellCommand {
    /// Where it is, for messages.
    let place: String
    /// Its words without what only changes how it runs: variables, `sudo`, `env`.
    let words: [String]
    /// It is in the text and not in a block, so it may be only the name of a command.
    let isMention: Bool

    /// The commands of a page: in `sh` blocks, after the prompt in `console` blocks, and in code spans of the text.
    static func all(in page: Page) -> [ShellCommand] {
        var commands: [ShellCommand] = []
        for block in page.blocks {
            let lines: [String]
            switch block.language {
            case "sh": lines = block.lines
            case "console": lines = block.lines.filter { $0.hasPrefix("$ ") }.map { String($0.dropFirst(2)) }
            default: continue
            }
            for words in split(lines.joined(separator: "\n")) {
                commands.append(ShellCommand(place: "\(page.path):\(block.line)", words: words, isMention: false))
            }
        }
        for span in page.codeSpans {
            for words in split(span) {
                commands.append(ShellCommand(place: "\(page.path), `\(span)`", words: words, isMention: true))
            }
        }
        return commands
    }

    /// Splits a script into commands and these into words, as a shell does for what the documentation uses of it.
    private static func split(_ script: String) -> [[String]] {
        var commands: [[String]] = [[]]
        var word: String?
        var quote: Character?
        var isComment = false
        func endWord() {
            if let text = word { commands[commands.count - 1].append(text) }
            word = nil
        }
        for character in script.replacing("\\\n", with: " ") {
            if isComment {
                isComment = character != "\n"
                if isComment { continue }
            }
            switch character {
            case let mark where mark == quote: quote = nil
            case _ where quote != nil: word?.append(character)
            case "'", "\"":
                quote = character
                word = word ?? ""
            case "#" where word == nil: isComment = true
            case " ": endWord()
            case "\n", ";", "|", "&", ">", "<":
                endWord()
                commands.append([])
            default: word = (word ?? "") + String(character)
            }
        }
        endWord()
        return commands.map { withoutPrefixes($0) }.filter { !$0.isEmpty }
    }

    private static func withoutPrefixes(_ words: [String]) -> [String] {
        var rest = words[...]
        while let word = rest.first {
            if word == "sudo" || word == "env" || word == "do" || word.contains(/^[A-Z_]+=/) {
                rest.removeFirst()
            } else if word == "-u" {
                rest = rest.dropFirst(2)
            } else {
                break
            }
        }
        if let program = rest.first, program.hasSuffix("/jostle") { rest[rest.startIndex] = "jostle" }
        return Array(rest)
    }
}
