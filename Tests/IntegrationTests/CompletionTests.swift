import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the shells complete commands, options, keys and their values, and the names of a fleet.
@Suite(.enabled(if: Products.hasProgram, "the program was not built")) struct CompletionTests {
    private let directory: TemporaryDirectory

    init() throws {
        directory = try TemporaryDirectory()
        try directory.write("id door\nid washer-1\nid washer-2\ngroup laundry\n", to: "fleet-names")
        try directory.write("", to: "washing.csv")
    }

    /// Lines and the last words that the shells make of them.
    private static let lines = [
        ("fle", "fleet"), ("fleet rollb", "rollback"), ("fleet group ad", "add"), ("fleet set --no-w", "--no-wait"),
        ("fleet set --device washer-", "washer-1 washer-2"), ("fleet list --group ", "laundry"),
        ("fleet show do", "door"), ("fleet group add la", "laundry"), ("fleet group add laundry d", "door"),
        ("watch --dev", "--device"), ("fleet list --status rej", "rejected"), ("config sh", "show"),
        ("fleet rollback al", "all"), ("fleet log --document registry:washer-", "registry:washer-1 registry:washer-2"),
        ("fleet set --all gestures.shake.sens", "gestures.shake.sensitivity="),
        ("run --set log.level=w", "log.level=warning"),
        ("calibrate accel", "accelerometer"), ("simulate gentle", "gentle-shake"), ("replay wash", "washing.csv"),
        ("record --config wash", "washing.csv"), ("swarm --dev", "--devices"),
    ]

    /// The program of a line, its name, and the words after it. The swarm is a program of its own.
    private func parts(of line: String) -> (program: URL, name: String, words: String) {
        line.hasPrefix("swarm ")
            ? (Products.swarmProgram, "jostle-swarm", String(line.dropFirst(6))) : (Products.program, "jostle", line)
    }

    private func script(_ name: String) -> String {
        URL(fileURLWithPath: #filePath).appendingPathComponent("../../../deploy/completions/jostle.\(name)")
            .standardizedFileURL.path
    }

    private static func has(_ program: String) -> Bool {
        ["/bin", "/usr/bin"].contains { FileManager.default.isExecutableFile(atPath: "\($0)/\(program)") }
    }

    private func output(_ command: String...) throws -> String {
        try runCommand(command, in: directory)
        return try String(contentsOfFile: directory.path("out"), encoding: .utf8)
    }

    @Test(.enabled(if: has("bash"), "bash is not installed"), arguments: lines)
    func bash(line: String, completions: String) throws {
        let (program, name, line) = parts(of: line)
        // bash splits words at these too, and replaces only the last part.
        var parts: [String] = []
        var part = ""
        for character in line {
            if character == " " || character == ":" || character == "=" {
                if !part.isEmpty { parts.append(part) }
                part = ""
                if character != " " { parts.append(String(character)) }
            } else {
                part.append(character)
            }
        }
        if !part.isEmpty || line.hasSuffix(" ") { parts.append(part) }
        let words = ([program.path] + parts).map { "'\($0)'" }.joined(separator: " ")
        let text = try output(
            "bash", "-c",
            "export STATE_DIRECTORY=.; . '\(script("bash"))'; COMP_WORDS=(\(words)); COMP_CWORD=\(parts.count); "
                + "COMP_LINE='\(name) \(line)'; COMP_POINT=\(name.utf8.count + 1 + line.utf8.count); _jostle; echo \"${COMPREPLY[@]}\" >out"
        )
        let start = line.split(separator: " ", omittingEmptySubsequences: false).last.map(String.init) ?? ""
        let replaced = start.lastIndex { ":=".contains($0) }.map { String(start[...$0]) } ?? ""
        let expected = completions.split(separator: " ").map { String($0.dropFirst(replaced.count)) }
        #expect(text == expected.joined(separator: " ") + "\n")
    }

    /// The functions of zsh that show suggestions print them instead.
    @Test(.enabled(if: has("zsh"), "zsh is not installed"), arguments: lines)
    func zsh(line: String, completions: String) throws {
        let (program, _, line) = parts(of: line)
        let words =
            ([program.path] + line.split(separator: " ", omittingEmptySubsequences: false).map(String.init))
        let text = try output(
            "zsh", "-f", "-c",
            """
            export STATE_DIRECTORY=.
            _describe() { shift 2; for suggestion in "${(@P)1}"; do print -r -- "${${suggestion//\\\\:/%}%%:*}"; done >>list }
            _files() { print -r -- $words[CURRENT]*(N) >>list }
            : >list
            words=(\(words.map { "'\($0)'" }.joined(separator: " "))); CURRENT=$#words
            . '\(script("zsh"))'
            tr '%' ':' <list | xargs >out
            """)
        #expect(text == completions + "\n")
    }

    @Test(.enabled(if: has("fish"), "fish is not installed"), arguments: lines)
    func fish(line: String, completions: String) throws {
        let (_, name, line) = parts(of: line)
        for program in [Products.program, Products.swarmProgram] {
            try FileManager.default.createSymbolicLink(
                atPath: directory.path(program.lastPathComponent), withDestinationPath: program.path)
        }
        let text = try output(
            "fish", "--no-config", "-c",
            "set -x STATE_DIRECTORY .; set -x PATH . $PATH; set -x HOME .; source '\(script("fish"))'; "
                + "complete -C '\(name) \(line)' | string replace -r '\\t.*' '' | xargs >out")
        let words = text.split(whereSeparator: \.isWhitespace)
        #expect(Set(words) == Set(completions.split(separator: " ")))
    }
}
