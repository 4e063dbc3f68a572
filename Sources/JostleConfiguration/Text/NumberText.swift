/// Reads and writes decimal numbers.
package enum NumberText {
    /// The number at the beginning of `text` and the rest: `[+-]digits[.digits][e[+-]digits]`.
    ///
    /// `nil` if there is no number. The value is infinite if the number is too large. Names such as `inf` and
    /// hexadecimal digits are not accepted.
    static func leading(_ text: Substring) -> (value: Double, rest: Substring)? {
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
    static func whole(_ text: String) -> Double? {
        guard let (value, rest) = leading(text[...]), rest.isEmpty else { return nil }
        return value
    }

    /// A finite number rounded to `decimals`, without trailing zeros; in exponent form only from 9·10¹⁵ units of the
    /// last decimal.
    package static func decimal(_ value: Double, _ decimals: Int) -> String {
        var scale = 1.0
        for _ in 0..<decimals { scale *= 10 }
        let units = (value * scale).rounded()
        guard abs(units) < 9e15 else { return "\(value)" }
        let whole = Int64(abs(units))
        let sign = units < 0 ? "-" : ""
        let divisor = Int64(scale)
        let (integer, fraction) = whole.quotientAndRemainder(dividingBy: divisor)
        guard fraction != 0 else { return "\(sign)\(integer)" }
        var digits = String(fraction)
        digits = String(repeating: "0", count: decimals - digits.count) + digits
        while digits.hasSuffix("0") { digits.removeLast() }
        return "\(sign)\(integer).\(digits)"
    }

    /// The number rounded to nine decimals, which hides rounding errors of unit conversions.
    static func rounded(_ value: Double) -> String {
        // Above a million, the ninth decimal is below the resolution of a Double.
        guard abs(value) < 1e6 else { return exact(value) }
        return exact((value * 1e9).rounded() / 1e9)
    }

    /// The shortest text that reads back as the same number.
    static func exact(_ value: Double) -> String {
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
}
