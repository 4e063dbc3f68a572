/// Reads and writes decimal numbers.
package enum NumberText {
    /// The number at the beginning of `text` and the rest: `[+-]digits[.digits][e[+-]digits]`.
    ///
    /// `nil` if there is no number. The value is infinite if the number is too large. Names such as `inf` and
    /// hexadecimal digits are not accepted.
    package static func leading(_ text: Substring) -> (value: Double, rest: Substring)? {
        var scanner = text
        var number = ""
        if let sign = scanner.first, sign == "-" || sign == "+" {
            number.append(sign)
            scanner.removeFirst()
        }
        let whole = digits(from: &scanner)
        var fraction: Substring = ""
        if scanner.first == ".", scanner.dropFirst().first.map(isDigit) ?? false {
            scanner.removeFirst()
            fraction = digits(from: &scanner)
        }
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        number += "\(whole.isEmpty ? "0" : whole).\(fraction.isEmpty ? "0" : fraction)"
        if let exponent = exponent(from: &scanner) { number += exponent }
        return Double(number).map { ($0, scanner) }
    }

    /// The number if it makes up all of `text`, else `nil`.
    package static func whole(_ text: String) -> Double? {
        guard let (value, rest) = leading(text[...]), rest.isEmpty else { return nil }
        return value
    }

    /// A finite number rounded to `decimals`, without trailing zeros; in exponent form only from 9·10¹⁵ units of the
    /// last decimal.
    package static func decimal(_ value: Double, _ decimals: Int) -> String {
        var text: [UInt8] = []
        append(value, decimals, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Appends the text of `decimal`.
    static func append(_ value: Double, _ decimals: Int, to text: inout [UInt8]) {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let units = (value * scale).rounded()
        guard abs(units) < 9e15 else {
            text += "\(value)".utf8
            return
        }
        if units < 0 { text.append(UInt8(ascii: "-")) }
        var (digits, places) = (UInt64(abs(units)), decimals)
        while places > 0, digits % 10 == 0 { (digits, places) = (digits / 10, places - 1) }
        append(digits, places, to: &text)
    }

    /// Appends an integer.
    static func append(_ value: Int64, to text: inout [UInt8]) {
        if value < 0 { text.append(UInt8(ascii: "-")) }
        append(value.magnitude, 0, to: &text)
    }

    /// Appends digits, the last `places` of them behind a point.
    private static func append(_ digits: UInt64, _ places: Int, to text: inout [UInt8]) {
        let capacity = max(20, places + 1) + 1
        withUnsafeTemporaryAllocation(of: UInt8.self, capacity: capacity) { buffer in
            // From the last digit to the first.
            var (rest, start, position) = (digits, capacity, 0)
            repeat {
                if position == places, position > 0 {
                    start -= 1
                    buffer[start] = UInt8(ascii: ".")
                }
                start -= 1
                buffer[start] = UInt8(ascii: "0") + UInt8(truncatingIfNeeded: rest % 10)
                (rest, position) = (rest / 10, position + 1)
            } while rest > 0 || position <= places
            text.append(contentsOf: UnsafeBufferPointer(rebasing: buffer[start...]))
        }
    }

    /// The number rounded to nine decimals, which hides rounding errors of unit conversions.
    package static func rounded(_ value: Double) -> String {
        // Above a million, the ninth decimal is below the resolution of a Double.
        guard abs(value) < 1e6 else { return exact(value) }
        return exact((value * 1e9).rounded() / 1e9)
    }

    /// The shortest text that reads back as the same number.
    package static func exact(_ value: Double) -> String {
        // Adding zero turns -0 into 0.
        let text = "\(value + 0)"
        return text.hasSuffix(".0") ? String(text.dropLast(2)) : text
    }

    private static func exponent(from scanner: inout Substring) -> String? {
        guard let letter = scanner.first, letter == "e" || letter == "E" else { return nil }
        var rest = scanner.dropFirst()
        var exponent = "e"
        if let sign = rest.first, sign == "-" || sign == "+" {
            exponent.append(sign)
            rest.removeFirst()
        }
        let power = digits(from: &rest)
        guard !power.isEmpty else { return nil }
        scanner = rest
        return exponent + power
    }

    private static func digits(from scanner: inout Substring) -> Substring {
        let digits = scanner.prefix(while: isDigit)
        scanner = scanner[digits.endIndex...]
        return digits
    }

    private static func isDigit(_ character: Character) -> Bool {
        character >= "0" && character <= "9" && character.isASCII
    }

    // MARK: JSON's notation

    /// Whether a text is a number in JSON's notation, `-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?`, and within the
    /// range of a double.
    package static func isJSON(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || (0x30...0x39).contains(first),
            Double(text)?.isFinite == true
        else { return false }
        // What Double reads beyond JSON: hexadecimal digits, zeros in front, no digits after the point.
        let digits = text.utf8.drop { $0 == UInt8(ascii: "-") }
        let isWhole = { (byte: UInt8) in (0x30...0x39).contains(byte) }
        let integer = digits.prefix(while: isWhole)
        guard !integer.isEmpty, integer.count == 1 || integer.first != 0x30 else { return false }
        let rest = digits.dropFirst(integer.count)
        switch rest.first {
        case nil, UInt8(ascii: "e"), UInt8(ascii: "E"): return true
        case UInt8(ascii: "."): return rest.dropFirst().first.map(isWhole) ?? false
        default: return false
        }
    }

    // MARK: The canonical form

    /// A number of JSON as ECMAScript writes it (Number::toString of ECMA-262, which RFC 8785 prescribes): the shortest
    /// digits that read back as the same number, in exponent form from 10²¹ and below 10⁻⁶. It must be within the range
    /// of a double.
    package static func canonical(_ text: String) -> String {
        guard let value = Double(text), value != 0 else { return "0" }
        let (digits, point) = shortestDigits(of: abs(value))
        return (value < 0 ? "-" : "") + canonical(digits, point)
    }

    /// `point` is the number of digits before the decimal point; it may be negative or beyond the digits.
    private static func canonical(_ digits: String, _ point: Int) -> String {
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
