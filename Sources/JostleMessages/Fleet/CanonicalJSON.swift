package import JostleConfiguration

/// The canonical form of JSON (RFC 8785): equal values have equal bytes, whatever program wrote them.
package enum CanonicalJSON {
    /// Writes a value: members sorted by the UTF-16 code units of their names, numbers as ECMAScript writes them, no
    /// spaces.
    ///
    /// - Throws: for a number beyond the range of a double.
    package static func text(of node: ConfigurationNode) throws(ConfigurationProblem) -> String {
        var text = ""
        try write(node, into: &text)
        return text
    }

    private static func write(_ node: ConfigurationNode, into text: inout String) throws(ConfigurationProblem) {
        switch node.value {
        case .null: text += "null"
        case .scalar(let string, .quoted): quote(string, into: &text)
        case .scalar("true", .plain): text += "true"
        case .scalar("false", .plain): text += "false"
        case .scalar(let number, .plain):
            guard let value = Double(number), value.isFinite else {
                throw ConfigurationProblem(at: node.position, found: number, "is not a number in the range of JSON")
            }
            text += ECMAScriptNumber.text(of: value)
        case .sequence(let elements):
            text += "["
            for (index, element) in elements.enumerated() {
                if index > 0 { text += "," }
                try write(element, into: &text)
            }
            text += "]"
        case .mapping(let entries):
            text += "{"
            let sorted = entries.sorted { $0.key.utf16.lexicographicallyPrecedes($1.key.utf16) }
            for (index, entry) in sorted.enumerated() {
                if index > 0 { text += "," }
                quote(entry.key, into: &text)
                text += ":"
                try write(entry.node, into: &text)
            }
            text += "}"
        }
    }

    /// Escapes only what JSON requires, in the shortest form.
    private static func quote(_ string: String, into text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\u{08}": text += "\\b"
            case "\t": text += "\\t"
            case "\n": text += "\\n"
            case "\u{0C}": text += "\\f"
            case "\r": text += "\\r"
            case "\u{00}"..."\u{1F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}

/// Writes numbers as ECMAScript does: Number::toString of ECMA-262, which RFC 8785 prescribes.
enum ECMAScriptNumber {
    /// The shortest digits that read back as the same number, in exponent form from 10²¹ and below 10⁻⁶.
    static func text(of value: Double) -> String {
        if value == 0 { return "0" }
        let (digits, point) = shortestDigits(of: abs(value))
        return (value < 0 ? "-" : "") + text(digits, point)
    }

    /// `point` is the number of digits before the decimal point; it may be negative or beyond the digits.
    private static func text(_ digits: String, _ point: Int) -> String {
        let count = digits.utf8.count
        switch point {
        case 1...21 where count <= point: return digits + zeros(point - count)
        case 1...21: return "\(digits.prefix(point)).\(digits.dropFirst(point))"
        case -5...0: return "0." + zeros(-point) + digits
        default:
            let exponent = point - 1
            let fraction = count > 1 ? ".\(digits.dropFirst())" : ""
            return "\(digits.prefix(1))\(fraction)e\(exponent < 0 ? "-" : "+")\(abs(exponent))"
        }
    }

    private static func zeros(_ count: Int) -> String { String(repeating: "0", count: count) }

    /// The significant digits without zeros at either end, and the position of the decimal point among them.
    private static func shortestDigits(of value: Double) -> (digits: String, point: Int) {
        // Swift's description has the shortest digits too: 5e-324, 1.2345e+20, 0.001, 100.0.
        let parts = "\(value)".split(separator: "e", maxSplits: 1)
        let exponent = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        let mantissa = parts[0].split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        var point = mantissa[0].utf8.count + exponent
        var digits = mantissa.joined()[...]
        while digits.first == "0" {
            digits.removeFirst()
            point -= 1
        }
        while digits.last == "0" { digits.removeLast() }
        return (String(digits), point)
    }
}
