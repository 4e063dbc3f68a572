internal import LinuxSystem

/// Writes JSON strings.
package enum JSONText {
    /// A text as a JSON string, also valid as a double-quoted YAML scalar; terminal control characters are escaped too.
    package static func quoted(_ text: String) -> String {
        guard !text.utf8.allSatisfy(isPlain) else { return "\"\(text)\"" }
        var quoted = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"": quoted += "\\\""
            case "\\": quoted += "\\\\"
            case "\n": quoted += "\\n"
            case "\r": quoted += "\\r"
            case "\t": quoted += "\\t"
            case _ where ForeignText.isControl(scalar): quoted += ForeignText.jsonEscape(scalar)
            default: quoted.unicodeScalars.append(scalar)
            }
        }
        return quoted + "\""
    }

    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x20..<0x7F).contains(byte) && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
    }
}
