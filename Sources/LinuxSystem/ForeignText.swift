internal import CLinuxSystem

/// Makes text from the network or from files safe for terminals and logs, so that it can neither control the terminal
/// nor imitate our own lines.
package enum ForeignText {
    /// Whether a character can control a terminal, end a line or change the writing direction: the control characters
    /// C0 and C1 (U+009B is equivalent to ESC [), DEL, line and paragraph separators, and the bidirectional controls.
    package static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0, 0x061C, 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    /// The text on one line, with control characters spelt out: `\u{1b}[2J`.
    package static func oneLine(_ text: String) -> String {
        replacingControls(in: text) { "\\u{\(String($0.value, radix: 16))}" }
    }

    /// The same, cut after `limit` characters (Unicode scalars): enough to recognise it. The rest is not even looked at.
    package static func excerpt(_ text: String, limit: Int = 60) -> String {
        let shown = text.unicodeScalars.prefix(limit)
        return oneLine(String(shown)) + (shown.endIndex == text.unicodeScalars.endIndex ? "" : "…")
    }

    /// The same for a text of several lines: line feeds are kept.
    package static func lines(_ text: String) -> String {
        replacingControls(in: text) { $0 == "\n" ? "\n" : "\\u{\(String($0.value, radix: 16))}" }
    }

    /// A JSON text on one line, with the same value. Within strings, control characters become `\u009b`. C0 characters,
    /// which JSON allows only between values, become spaces.
    package static func json(_ text: String) -> String {
        replacingControls(in: text) { $0.value < 0x20 ? " " : jsonEscape($0) }
    }

    /// A character below U+10000 as an escape in a JSON string.
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

/// The standard output of the C library, to which `print` writes.
package enum StandardOutput {
    /// Flushes it, and returns whether everything since the start was written: fflush(3), ferror(3).
    package static func isWritten() -> Bool { jostle_standard_output_is_written() != 0 }
}
