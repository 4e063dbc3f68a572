internal import JostleConfiguration
internal import LinuxSystem

/// A report for a maintainer: sections of text without secrets, together at most a megabyte.
struct SupportReport {
    /// The longest report, bytes.
    static let maximumBytes = 1 << 20

    /// The longest line, bytes: no message of the agent is longer.
    private static let maximumLine = 1 << 16

    private struct Section {
        let title: String
        let text: String
    }

    let secrets: SecretRemoval
    private var sections: [Section] = []
    /// How many bytes the sections may still have; the rest is for the introduction.
    private var left = SupportReport.maximumBytes - (1 << 13)

    init(secrets: SecretRemoval) {
        self.secrets = secrets
    }

    /// The titles of the sections, in their order.
    var titles: [String] { sections.map(\.title) }

    // MARK: Adding sections

    /// Adds a section. Of a text longer than `limit` bytes, whole lines are left out at the end, or with `keepsEnd` at the
    /// beginning.
    mutating func add(_ title: String, _ text: String, limit: Int = 1 << 15, keepsEnd: Bool = false) {
        // First, because a secret that is cut would not be recognised.
        let clean = secrets.cleaned(
            text.split(separator: "\t", omittingEmptySubsequences: false).joined(separator: "    "))
        var lines = ForeignText.lines(clean).split(separator: "\n", omittingEmptySubsequences: false)
            .map { "    " + SupportReport.shortened($0) }
        while let last = lines.last, last.allSatisfy({ $0 == " " }) { lines.removeLast() }
        var room = min(limit, left - title.utf8.count - 100)
        var kept: [String] = []
        for line in keepsEnd ? lines.reversed() : lines {
            room -= line.utf8.count + 1
            guard room >= 0 else { break }
            kept.append(line)
        }
        let missing = lines.count - kept.count
        if keepsEnd { kept.reverse() }
        if missing > 0 {
            kept.insert("    … \(missing) \(missing == 1 ? "line" : "lines") left out", at: keepsEnd ? 0 : kept.count)
        }
        let section = Section(
            title: title, text: kept.isEmpty ? "    nothing\n" : kept.map { $0 + "\n" }.joined())
        left -= section.title.utf8.count + section.text.utf8.count + 20
        sections.append(section)
    }

    /// Adds a section with a table of two columns.
    mutating func add(_ title: String, _ rows: [(String, String)]) {
        add(title, TextTable(rows.map { [$0.0, $0.1] }).description)
    }

    /// Adds a section with a message in JSON, over several lines.
    mutating func add(_ title: String, json bytes: [UInt8], limit: Int = 1 << 15) {
        add(title, SupportReport.text(ofJSON: bytes, secrets), limit: limit)
    }

    /// A JSON text over several lines without secrets; text that is no JSON stays as it is.
    static func text(ofJSON bytes: [UInt8], _ secrets: SecretRemoval) -> String {
        do throws(ConfigurationProblem) {
            let tree = try JSONReader.read(bytes, source: .message("report"))
            return secrets.cleaned(JSONValue(tree)).indentedText()
        } catch {
            return String(decoding: bytes, as: UTF8.self)
        }
    }

    private static func shortened(_ line: Substring) -> String {
        line.utf8.count <= maximumLine ? String(line) : String(line.prefix(maximumLine / 4)) + "…"
    }

    // MARK: The whole

    /// The report as a text with headings, of which each section is indented: readable as it is, and as Markdown.
    func text(_ title: String, made: String) -> String {
        var text = """
            # \(title)

            Made by `jostle support` \(made).
            Read it before you send it. \(SupportReport.promise)


            """
        text += titles.map { "- \($0)\n" }.joined()
        for section in sections { text += "\n## \(section.title)\n\n\(section.text)" }
        return text
    }

    /// What is left out.
    static let promise =
        "Passwords, user names, keys and the payloads of actions are left out: "
        + "\(SecretRemoval.mark) stands in their places."
}
