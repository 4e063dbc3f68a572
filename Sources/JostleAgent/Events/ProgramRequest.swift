internal import Documents
internal import Glibc
internal import JostleConfiguration
internal import LinuxSystem

/// A program to run for a rule, and how it is run: without a shell, with the event in its environment and on its standard
/// input. The agent runs it itself or, as a service, sends it to `jostle run-action`, which has no sandbox.
package struct ProgramRequest: Equatable, Sendable {
    /// What the rule is called in the log.
    package var title: String
    /// The program and its arguments.
    package var words: [String]
    /// Seconds after which it is killed.
    package var seconds: Double
    /// The event's JSON.
    package var event: String

    /// The most bytes of a request: a program with 31 arguments of 4096 bytes, escaped.
    package static let maximumBytes = 1 << 19

    /// The bytes of each output that are kept.
    private static let longestOutput = 1 << 14

    init(title: String, words: [String], seconds: Double, event: String) {
        self.title = title
        self.words = words
        self.seconds = seconds
        self.event = event
    }

    // MARK: The message

    /// Reads a request; `nil` if it is none.
    package init?(_ bytes: [UInt8]) {
        let limits = ReaderLimits(bytes: ProgramRequest.maximumBytes)
        guard let tree = try? JSONReader.readObject(bytes, source: .message("request"), limits: limits),
            let title = tree["title"]?.string, let seconds = tree["seconds"]?.number, (0...600).contains(seconds),
            let event = tree["event"]?.string, event.utf8.count < ChildProgram.longestInput
        else { return nil }
        let words = (tree["words"]?.elements ?? []).compactMap(\.string)
        guard words.first?.hasPrefix("/") ?? false, words.allSatisfy({ !$0.utf8.contains(0) }) else { return nil }
        self.init(title: title, words: words, seconds: seconds, event: event)
    }

    var bytes: [UInt8] {
        let tree: JSONValue = [
            "title": .string(title), "words": .strings(words), "seconds": .number(seconds), "event": .string(event),
        ]
        return Array(tree.compactText.utf8)
    }

    /// The answer to a request: why it failed, or nothing.
    package static func answer(_ failure: String?) -> [UInt8] {
        let tree: JSONValue = failure.map { ["failure": .string($0)] } ?? [:]
        return Array("\(tree.compactText)\n".utf8)
    }

    /// Reads an answer.
    ///
    /// - Returns: why the program failed; `nil` if it did not.
    /// - Throws: if it is no answer.
    static func failure(in answer: [UInt8]) throws -> String? {
        let tree = try JSONReader.readObject(answer, source: .message("answer"), limits: ReaderLimits())
        return tree["failure"]?.string.map { ForeignText.excerpt($0, limit: 300) }
    }

    // MARK: Running

    /// The variables of the program: `JOSTLE_GESTURE`, `JOSTLE_PHASE` and so on, for each field of the event.
    package var variables: [String: String] {
        guard let tree = try? JSONReader.read(Array(event.utf8), source: .message("event")) else { return [:] }
        let fields = Template.Field.allCases.filter { $0 != .event }.map(\.rawValue) + ["adopted", "recording"]
        var variables: [String: String] = [:]
        for field in fields {
            guard let text = tree[field]?.text, !text.utf8.contains(0) else { continue }
            variables["JOSTLE_\(field.uppercased())"] = text
        }
        return variables
    }

    /// Runs the program to its end, and passes each line that it prints on.
    ///
    /// - Returns: why it failed; `nil` if it did not.
    package func run(isInterrupted: () -> Bool = { false }, line: (String) -> Void) -> String? {
        let program = words.first ?? ""
        do {
            let outcome = try ChildProgram(program, Array(words.dropFirst())).run(
                within: seconds, limit: ProgramRequest.longestOutput, input: Array("\(event)\n".utf8),
                variables: variables, isInterrupted: isInterrupted)
            for text in [outcome.output, outcome.errors] {
                for one in text.split(whereSeparator: \.isNewline) { line(String(one)) }
            }
            if outcome.isCut { line("… more than \(ProgramRequest.longestOutput) bytes, the rest is left out") }
            switch outcome.end {
            case .exited(0): return nil
            case .exited(let status): return "\(program) exited with status \(status)"
            case .killed(let signal): return "\(program) was killed by signal \(signal)"
            case .stopped where isInterrupted(): return "\(program) was killed, because the agent ends"
            case .stopped:
                return "\(program) was killed: it did not end within \(NumberText.rounded(seconds)) s"
            }
        } catch {
            return "\(program): \(error)"
        }
    }
}

/// The programs that rules may run, one a line: a file that only its owner, root, can change.
package struct ProgramList {
    /// Where an installation has it.
    package static let path = "/etc/jostle/programs"

    private let path: String

    package init(_ path: String = ProgramList.path) {
        self.path = path
    }

    /// Why a program may not be run; `nil` if it may.
    package func refusal(of program: String) -> String? {
        var status = stat()
        guard stat(path, &status) == 0 else {
            return "\(path), the list of programs that may run: \(systemMessage(errno))"
        }
        // Its own user can run the same programs without this list.
        guard [0, geteuid()].contains(status.st_uid) && status.st_mode & 0o022 == 0 else {
            return "\(path): others than root can change it; run chown root \(path) && chmod go-w \(path)"
        }
        do {
            let text = String(decoding: try FileContents.bytes(of: path, limit: 1 << 16), as: UTF8.self)
            let isListed =
                program.hasPrefix("/")
                && text.split(whereSeparator: \.isNewline).contains { line in
                    var line = line.drop { $0.isWhitespace }
                    while line.last?.isWhitespace ?? false { line.removeLast() }
                    return line == program
                }
            return isListed ? nil : "\(program) is not in \(path), the list of programs that may run"
        } catch {
            return "\(path): \(error)"
        }
    }
}
