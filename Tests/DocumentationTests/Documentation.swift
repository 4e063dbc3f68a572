import Foundation
import Testing

/// The pages that readers see: README.md, CONTRIBUTING.md, SECURITY.md and docs/*.md.
enum Documentation {
    static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    /// The paths of all pages in the repository.
    static let paths: [String] = {
        let folder = repository.appendingPathComponent("docs").path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
        return ["README.md", "CONTRIBUTING.md", "SECURITY.md"]
            + names.filter { $0.hasSuffix(".md") }.sorted().map { "docs/\($0)" }
    }()

    /// All pages. They are read once.
    static func pages() throws -> [Page] { try read.get() }

    private static let read = Result { try paths.map { Page(path: $0, text: try text(of: $0)) } }

    /// The commands in all pages.
    static func commands() throws -> [ShellCommand] { try readCommands.get() }

    private static let readCommands = Result { try pages().flatMap(ShellCommand.all) }

    /// The page at a path in the repository.
    static func page(_ path: String) throws -> Page {
        try #require(try pages().first { $0.path == path }, "\(path) is no page")
    }

    static func text(of path: String) throws -> String {
        try String(contentsOf: repository.appendingPathComponent(path), encoding: .utf8)
    }

    /// All Swift files below a folder, joined.
    static func swiftSources(below folder: String) throws -> String {
        let root = repository.appendingPathComponent(folder)
        let names = FileManager.default.enumerator(atPath: root.path)?.compactMap { $0 as? String } ?? []
        return try names.filter { $0.hasSuffix(".swift") }.sorted()
            .map { try String(contentsOf: root.appendingPathComponent($0), encoding: .utf8) }.joined(separator: "\n")
    }
}

/// A page of Markdown, taken apart.
struct Page {
    /// A fenced block of code.
    struct Block {
        /// The word after the fence: `sh`, `yaml`, …
        var language: String
        /// The line before the fence if it is a comment: `Home Assistant` of `<!-- Home Assistant -->`.
        var mark: String?
        /// The number of its first line.
        var line: Int
        var lines: [String]

        /// Whether a block of YAML is for Jostle.
        var isConfiguration: Bool { mark != "Home Assistant" && mark?.hasPrefix("Prometheus: ") != true }

        var text: String { lines.map { $0 + "\n" }.joined() }
    }

    let path: String
    let lines: [String]
    private(set) var blocks: [Block] = []
    /// The text outside fenced blocks, with empty lines instead of them.
    private(set) var prose = ""
    /// The anchors of the headings, as GitHub names them.
    private(set) var anchors: Set<String> = []

    init(path: String, text: String) {
        self.path = path
        lines = text.split(separator: "\n", omittingEmptySubsequences: false).map(String.init)
        var open: Block?
        var mark: String?
        for (index, line) in lines.enumerated() {
            if line.hasPrefix("```") {
                if let block = open {
                    blocks.append(block)
                    open = nil
                } else {
                    open = Block(language: String(line.dropFirst(3)), mark: mark, line: index + 2, lines: [])
                }
                prose += "\n"
            } else if open != nil {
                open?.lines.append(line)
                prose += "\n"
            } else {
                prose += line + "\n"
            }
            mark = line.hasPrefix("<!--") ? line.wholeMatch(of: /<!-- (.+) -->/).map { String($0.1) } : nil
        }
        addAnchors()
    }

    /// The text in backticks, outside fenced blocks.
    var codeSpans: [String] {
        prose.matches(of: /`([^`\n]+)`/).map { String($0.1) }
    }

    /// The targets of links and pictures, outside code.
    var links: [String] {
        prose.replacing(/`[^`\n]*`/, with: "").matches(of: /\]\(([^)\s]+)\)/).map { String($0.1) }
    }

    private mutating func addAnchors() {
        for line in prose.split(separator: "\n") where line.hasPrefix("#") {
            guard let match = line.wholeMatch(of: /#{1,6} +(.+?) */) else { continue }
            let slug = Page.slug(of: String(match.1))
            var anchor = slug
            var number = 0
            while !anchors.insert(anchor).inserted {
                number += 1
                anchor = "\(slug)-\(number)"
            }
        }
    }

    /// GitHub's rule: the text of a heading in lower case, without all but letters, digits, `_`, `-` and spaces, which
    /// become `-`.
    static func slug(of heading: String) -> String {
        let text = heading.replacing(/\[([^\]]*)\]\([^)]*\)/) { $0.1 }.lowercased()
        let kept = text.unicodeScalars.filter { scalar in
            scalar == " " || scalar == "-" || scalar == "_" || scalar.properties.isAlphabetic
                || scalar.properties.numericType != nil
        }
        return String(String.UnicodeScalarView(kept)).replacing(" ", with: "-")
    }
}
