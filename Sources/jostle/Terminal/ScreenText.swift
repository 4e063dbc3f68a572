internal import Glibc
internal import JostleCommandLine
internal import LinuxSystem

/// The size of a window in columns and rows.
struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int
}

/// The characters that a terminal can show: with Unicode those known to be one column wide, else ASCII only.
struct Glyphs {
    let isUnicode: Bool

    /// According to the locale in the environment (setlocale(3)): the first of the variables that is set.
    static var ofTerminal: Glyphs {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(Configuration.variable).first ?? ""
        let codeset = name.uppercased()
        return Glyphs(isUnicode: codeset.contains(text: "UTF-8") || codeset.contains(text: "UTF8"))
    }

    /// The text with only characters that are one column wide; others become a question mark. So the text cannot
    /// control the terminal, and columns stay aligned.
    func clean(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var clean = ""
        for scalar in text.unicodeScalars {
            if (0x20..<0x7F).contains(scalar.value) || isUnicode && Glyphs.isOneColumn(scalar) {
                clean.unicodeScalars.append(scalar)
            } else if scalar == "°" {
                // `112 °/s`, but `90°`.
                clean += clean.hasSuffix(" ") ? "deg" : " deg"
            } else {
                clean += Glyphs.substitutes[scalar] ?? "?"
            }
        }
        return clean
    }

    /// The text, cut to a number of columns.
    func cut(_ text: String, _ columns: Int) -> String {
        guard text.count > columns else { return text }
        let mark = isUnicode ? "…" : "~"
        return columns <= 0 ? "" : text.prefix(columns - 1) + mark
    }

    /// The text, cut or padded to a number of columns.
    func fit(_ text: String, _ columns: Int) -> String {
        let text = cut(text, columns)
        return text + String(repeating: " ", count: max(0, columns - text.count))
    }

    /// Two texts at the left and right ends of a line; only the left one if there is no room for both.
    func spread(_ left: String, _ right: String, _ columns: Int) -> String {
        let gap = columns - left.count - right.count
        guard gap >= 2 else { return fit(left, columns) }
        return left + String(repeating: " ", count: gap) + right
    }

    private static let substitutes: [UnicodeScalar: String] = [
        "²": "^2", "µ": "u", "…": "...", "·": ".", "●": "*", "○": "o", "→": "->", "≤": "<=", "–": "-",
    ]

    /// Latin, Greek, Cyrillic, punctuation, arrows, lines, blocks; no combining and no wide characters.
    private static func isOneColumn(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0xA1...0xAC, 0xAE...0x24F, 0x391...0x3C9, 0x400...0x482, 0x48A...0x52F, 0x2010...0x2015, 0x2018...0x2026,
            0x2190...0x2193, 0x2264...0x2265, 0x2500...0x259F, 0x25BC, 0x25CB, 0x25CF:
            true
        default: false
        }
    }
}

/// A table with columns as wide as their widest cell, two blanks apart.
struct TextTable {
    private let rows: [[String]]
    private let rightAligned: ClosedRange<Int>?

    /// Creates a table; the columns in `rightAligned` are aligned at the right. Without any, the last cell of a row may
    /// be longer than its column.
    init(_ rows: [[String]], rightAligned: ClosedRange<Int>? = nil) {
        self.rows = rows.map { $0.map(ForeignText.oneLine) }
        self.rightAligned = rightAligned
    }

    /// The table, one line per row.
    var description: String {
        let columns = rows.map(\.count).max() ?? 0
        let widths = (0..<columns).map { column in
            rows.map { row in
                let isOpen = rightAligned == nil && column == row.count - 1
                return row.indices.contains(column) && !isOpen ? row[column].count : 0
            }.max() ?? 0
        }
        var text = ""
        for row in rows {
            let cells = row.enumerated().map { column, cell in
                let padding = String(repeating: " ", count: max(0, widths[column] - cell.count))
                return rightAligned?.contains(column) == true ? padding + cell : cell + padding
            }
            var line = "  " + cells.joined(separator: "  ")
            while line.last == " " { line.removeLast() }
            text += line + "\n"
        }
        return text
    }
}
