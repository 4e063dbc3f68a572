internal import Glibc

/// The columns and rows of a window.
struct ScreenSize: Equatable {
    var columns: Int
    var rows: Int
}

/// What a terminal can show: with Unicode the characters known to be one column wide, else ASCII alone.
struct Glyphs {
    let isUnicode: Bool

    init(isUnicode: Bool) {
        self.isUnicode = isUnicode
    }

    /// What the locale in the environment says (setlocale(3)): the first of the variables that is set counts.
    static var ofTerminal: Glyphs {
        let name = ["LC_ALL", "LC_CTYPE", "LANG"].lazy.compactMap(Configuration.variable).first ?? ""
        let codeset = name.uppercased()
        return Glyphs(isUnicode: codeset.contains("UTF-8") || codeset.contains("UTF8"))
    }

    /// A text of characters that are one column wide each; others are a question mark. So nothing in it commands the
    /// terminal, and columns stay where they are.
    func clean(_ text: String) -> String {
        if text.utf8.allSatisfy({ (0x20..<0x7F).contains($0) }) { return text }
        var clean = ""
        for scalar in text.unicodeScalars {
            if (0x20..<0x7F).contains(scalar.value) || isUnicode && Glyphs.isOneColumn(scalar) {
                clean.unicodeScalars.append(scalar)
            } else {
                clean += Glyphs.substitutes[scalar] ?? "?"
            }
        }
        return clean
    }

    /// A text in so many columns, its end left out where it is longer.
    func cut(_ text: String, _ columns: Int) -> String {
        guard text.count > columns else { return text }
        let mark = isUnicode ? "…" : "~"
        return columns <= 0 ? "" : text.prefix(columns - 1) + mark
    }

    /// The same, filled with blanks.
    func fit(_ text: String, _ columns: Int) -> String {
        let text = cut(text, columns)
        return text + String(repeating: " ", count: max(0, columns - text.count))
    }

    /// A text at the left and one at the right end of a line; where there is no room for both, the left one.
    func spread(_ left: String, _ right: String, _ columns: Int) -> String {
        let gap = columns - left.count - right.count
        guard gap >= 2 else { return fit(left, columns) }
        return left + String(repeating: " ", count: gap) + right
    }

    private static let substitutes: [UnicodeScalar: String] = [
        "°": " deg", "²": "^2", "µ": "u", "…": "...", "·": ".", "●": "*", "○": "o", "→": "->", "≤": "<=", "–": "-",
    ]

    /// Latin, Greek, Cyrillic, punctuation, arrows, lines, blocks; neither combining nor wide characters.
    private static func isOneColumn(_ scalar: UnicodeScalar) -> Bool {
        switch scalar.value {
        case 0xA1...0xAC, 0xAE...0x24F, 0x391...0x3C9, 0x400...0x482, 0x48A...0x52F, 0x2010...0x2015, 0x2018...0x2026,
            0x2190...0x2193, 0x2264...0x2265, 0x2500...0x259F, 0x25BC, 0x25CB, 0x25CF:
            true
        default: false
        }
    }
}
