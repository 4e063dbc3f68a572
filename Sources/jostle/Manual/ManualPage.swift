internal import JostleCommandLine

/// The text of a manual page, in the macros of man(7).
struct ManualPage {
    /// The source of the page.
    private(set) var source: String

    /// The page `title(section)`, with the line that man -k and whatis show.
    init(title: String, section: Int, summary: String, names: [String]) {
        source =
            ".TH \"\(ManualPage.text(title.uppercased()))\" \(section) \"\" \"jostle \(version)\" \"Jostle\"\n.SH NAME\n"
            + "\(names.map(ManualPage.text).joined(separator: ", ")) \\- \(ManualPage.text(summary))\n"
    }

    mutating func heading(_ title: String) {
        source += ".SH \"\(ManualPage.text(title))\"\n"
    }

    mutating func subheading(_ title: String) {
        source += ".SS \"\(ManualPage.text(title))\"\n"
    }

    /// A synopsis: the first word in bold.
    mutating func synopsis(_ words: [String]) {
        source += ".P\n\\fB\(ManualPage.text(words.first ?? ""))\\fR"
        for word in words.dropFirst() { source += " \(ManualPage.text(word))" }
        source += "\n"
    }

    /// Paragraphs as in the help: empty lines separate them, and indented lines are shown as they are.
    mutating func paragraphs(_ text: String) {
        var isVerbatim = false
        var isNew = true
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            let wantsVerbatim = line.hasPrefix("  ")
            if isVerbatim, !wantsVerbatim {
                source += ".EE\n"
                isNew = true
            }
            if line.isEmpty {
                isNew = true
                isVerbatim = false
                continue
            }
            if isNew || wantsVerbatim != isVerbatim { source += ".P\n" }
            if wantsVerbatim, !isVerbatim { source += ".EX\n" }
            source += ManualPage.line(String(line)) + "\n"
            (isVerbatim, isNew) = (wantsVerbatim, false)
        }
        if isVerbatim { source += ".EE\n" }
    }

    /// A term in bold, with what it means below.
    mutating func term(_ term: String, _ parameter: String? = nil, _ lines: [String]) {
        let value = parameter.map { " \\fI\(ManualPage.text($0))\\fR" } ?? ""
        source += ".TP\n\\fB\(ManualPage.text(term))\\fR\(value)\n"
        for (index, line) in lines.enumerated() {
            if index > 0 { source += ".br\n" }
            source += ManualPage.line(line) + "\n"
        }
    }

    /// A list of other pages: `jostle-run(1)`.
    mutating func references(_ pages: [(title: String, section: Int)]) {
        source += pages.map { "\\fB\(ManualPage.text($0.title))\\fR(\($0.section))" }.joined(separator: ",\n") + "\n"
    }

    /// Text with the characters escaped that have a meaning in the source.
    static func text(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "\\": escaped += "\\e"
            // A hyphen that can be copied into a shell, instead of a typographic one.
            case "-": escaped += "\\-"
            case "\"": escaped += "\\(dq"
            case "'": escaped += "\\(aq"
            case "`": escaped += "\\(ga"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            default: escaped.append(character)
            }
        }
        return escaped
    }

    /// A line of text, which is no request even if it begins with a full stop.
    private static func line(_ line: String) -> String {
        line.hasPrefix(".") ? "\\&\(text(line))" : text(line)
    }
}
