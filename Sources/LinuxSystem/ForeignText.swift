/// Text that came over the network or out of a file, made fit for a terminal or a log: nothing in it commands the terminal or
/// looks like lines of our own.
package enum ForeignText {
    /// Whether a character commands a terminal, ends a line or turns the direction of writing: the control characters C0 and C1
    /// (U+009B is as good as ESC [), DEL, the separators of lines and paragraphs, and the bidirectional controls.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// A text in one line, with control characters spelt out: `\u{1b}[2J`.
    package static func oneLine(_ text: String) -> String {
        replacingControls(in: text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// The same for a text of several lines, whose line feeds stay.
    package static func lines(_ text: String) -> String {
        replacingControls(in: text) { $0 == "\n" ? "\n" : "\\u{\(String($0.value, radix: 16))}" }
    }

    /// A JSON text in one line, with the same value: within its strings control characters become `\u009b`, and between its
    /// values, which is the only place where JSON allows those of C0, blanks.
    package static func json(_ text: String) -> String {
        replacingControls(in: text) { $0.value < 0x20 ? " " : jsonEscape($0) }
    }

    /// A character of the first 65 536 as an escape in a JSON string.
    package static func jsonEscape(_ scalar: Unicode.Scalar) -> String {
        let digits = String(scalar.value, radix: 16)
        return "\\u" + String(repeating: "0", count: max(0, 4 - digits.count)) + digits
    }

    private static func replacingControls(in text: String, _ replacement: (Unicode.Scalar) -> String) -> String {
        guard text.unicodeScalars.contains(where: isControl) else { return text }
        var clean = ""
        for scalar in text.unicodeScalars {
            if isControl(scalar) { clean += replacement(scalar) } else { clean.unicodeScalars.append(scalar) }
        }
        return clean
    }
}
