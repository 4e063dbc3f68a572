import BrokerTestSupport
import Foundation
import Testing

/// Requirement: every command in the documentation is one that the program takes.
@Suite(.needsProgram) struct CommandTests {
    /// What a subcommand takes, from its `--help`.
    private struct Usage {
        /// All words of the help.
        var words: Set<String>
        var operands: ClosedRange<Int>
        /// The options, and whether each has a value.
        var options: [String: Bool]
    }

    private let directory: TemporaryDirectory
    private let usages: [String: Usage]

    init() throws {
        directory = try TemporaryDirectory()
        var usages: [String: Usage] = [:]
        try CommandTests.read([], directory, into: &usages)
        self.usages = usages
    }

    /// Reads the help of all commands below a group; of the program if `path` is empty.
    private static func read(
        _ path: [String], _ directory: TemporaryDirectory, into usages: inout [String: Usage]
    ) throws {
        let overview = try Program.run(path + ["--help"], in: directory).output
        for match in overview.matches(of: /\n  ([a-z-]+)  +/) where !match.1.hasPrefix("-") {
            let words = path + [String(match.1)]
            let help = try Program.run(words + ["--help"], in: directory).output
            let synopsis = help.prefix { $0 != "\n" }.split(separator: " ").dropFirst(2 + words.count)
            if synopsis.first == "COMMAND" {
                try read(words, directory, into: &usages)
                continue
            }
            let operands = synopsis.filter { !$0.hasPrefix("[OPTION]") }
            let required = operands.filter { !$0.hasPrefix("[") }.count
            let isOpen = operands.contains { $0.contains("…") }
            let options = help.matches(of: /\n  --([a-z-]+)( [^ ]+)?  +/).map { (String($0.1), $0.2 != nil) }
            usages[words.joined(separator: " ")] = Usage(
                words: Set(help.matches(of: /[a-z]+(-[a-z]+)*/).map { String($0.0) }),
                operands: required...(isOpen ? 100 : operands.count), options: Dictionary(uniqueKeysWithValues: options)
            )
        }
    }

    /// Every command that people use is on the page, and every option of a fleet's commands somewhere in the text.
    @Test func fleetCommandsAreDescribed() throws {
        let page = try Documentation.page("docs/command-line.md").prose
        let names = usages.keys.filter { $0.hasPrefix("fleet ") }
        #expect(names.count > 12)
        for name in names {
            #expect(page.contains("`jostle \(name)"), "docs/command-line.md does not describe jostle \(name)")
        }
        let text = try Documentation.text(of: "docs/fleet.md") + Documentation.text(of: "docs/command-line.md")
        for option in Set(names.flatMap { usages[$0].map { Array($0.options.keys) } ?? [] }) where option != "help" {
            let isDescribed = text.contains("--\(option)")
            #expect(isDescribed, "neither docs/fleet.md nor docs/command-line.md describes --\(option)")
        }
    }

    @Test func subcommandsAndOptionsExist() throws {
        #expect(usages.count > 10)
        var count = 0
        for command in try Documentation.commands() where command.words.first == "jostle" {
            count += 1
            try check(command)
        }
        #expect(count > 50)
    }

    /// Without a host, they use a broker on the reader's own machine, where there is often none.
    @Test func mosquittoCommandsNameTheBroker() throws {
        var count = 0
        for command in try Documentation.commands() {
            guard ["mosquitto_pub", "mosquitto_sub"].contains(command.words.first) else { continue }
            // The name of a program alone is no command.
            if command.isMention, command.words.count == 1 { continue }
            count += 1
            #expect(command.words.contains("-h"), "\(command.place): \(command.words.joined(separator: " ")) has no -h")
        }
        #expect(count > 5)
    }

    /// Options that the text mentions without their command: `--explain`.
    @Test func mentionedOptionsExist() throws {
        let options = Set(usages.values.flatMap(\.options.keys))
        var count = 0
        for command in try Documentation.commands() {
            guard command.isMention, let word = command.words.first, word.hasPrefix("--") else { continue }
            count += 1
            let name = String(word.dropFirst(2).prefix { $0 != "=" })
            #expect(options.contains(name), "\(command.place): no command has the option \(word)")
        }
        #expect(count > 10)
    }

    private func check(_ command: ShellCommand) throws {
        let name = command.words.dropFirst().first ?? "--help"
        // A placeholder, or what the program says of itself.
        if name.allSatisfy(\.isUppercase) || ["--help", "--version"].contains(name) { return }
        var names = [name]
        while usages.keys.contains(where: { $0.hasPrefix(names.joined(separator: " ") + " ") }) {
            guard command.words.count > 1 + names.count else {
                #expect(command.isMention, "\(command.place): a command of \(name) is missing")
                return
            }
            names.append(command.words[1 + names.count])
            // A placeholder.
            if names.last?.allSatisfy(\.isUppercase) == true { return }
        }
        guard let usage = usages[names.joined(separator: " ")] else {
            Issue.record("\(command.place): there is no command \(names.joined(separator: " "))")
            return
        }
        var rest = command.words.dropFirst(1 + names.count)
        var operands: [String] = []
        while let word = rest.popFirst() {
            guard word.hasPrefix("--") else {
                operands.append(word)
                continue
            }
            let parts = word.dropFirst(2).split(separator: "=", maxSplits: 1).map(String.init)
            guard let hasValue = usage.options[parts[0]] else {
                Issue.record("\(command.place): there is no option \(word)")
                return
            }
            guard hasValue else { continue }
            if let value = parts.count == 2 ? parts[1] : rest.popFirst() {
                try check(option: parts[0], value, command)
            } else {
                #expect(command.isMention, "\(command.place): \(word) needs a value")
            }
        }
        let isWhole = !command.isMention || !operands.isEmpty
        #expect(operands.count <= usage.operands.upperBound, "\(command.place): too many words")
        #expect(!isWhole || operands.count >= usage.operands.lowerBound, "\(command.place): a word is missing")
        // Names such as gyro or shake are in the help; FILE, rest.csv and $what are not names.
        for operand in operands where operand.allSatisfy({ $0.isLowercase || $0 == "-" }) {
            #expect(usage.words.contains(operand), "\(command.place): \(name) does not know \(operand)")
        }
    }

    private func check(option: String, _ value: String, _ command: ShellCommand) throws {
        guard option == "set", value != "KEY=VALUE", !value.hasSuffix("…") else { return }
        let result = try Program.run(["check-config", "--no-files", "--set", value], in: directory)
        #expect(result.status == 0, "\(command.place): \(result.output)")
    }

    @Test func examplesWithOutputPrintThatOutput() throws {
        var count = 0
        for page in try Documentation.pages() {
            for block in page.blocks where block.mark?.hasPrefix("wrong: ") == true {
                try directory.write(block.text, to: String(block.mark?.dropFirst(7) ?? ""))
            }
            for block in page.blocks where block.mark == "run" {
                let command = try #require(ShellCommand.all(in: Page(path: page.path, text: fenced(block))).first)
                let result = try Program.run(Array(command.words.dropFirst()), in: directory)
                let expected = block.lines.dropFirst().map { $0 + "\n" }.joined()
                #expect(result.output == expected, "\(page.path):\(block.line)")
                count += 1
            }
        }
        #expect(count >= 1)
    }

    private func fenced(_ block: Page.Block) -> String { "```\(block.language)\n\(block.text)```\n" }

    @Test func messagesInCommandsAreJSON() throws {
        var count = 0
        for command in try Documentation.commands() where command.words.first == "mosquitto_pub" {
            guard let flag = command.words.firstIndex(of: "-m"), flag + 1 < command.words.count else { continue }
            let payload = command.words[flag + 1]
            guard payload.hasPrefix("{") else { continue }
            count += 1
            #expect(throws: Never.self, "\(command.place): \(payload)") {
                try JSONSerialization.jsonObject(with: Data(payload.utf8))
            }
        }
        #expect(count >= 2)
    }
}
