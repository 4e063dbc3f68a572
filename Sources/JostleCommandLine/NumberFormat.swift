internal import Glibc

/// A number formatted by vsnprintf(3), such as `%.9g`.
package func printed(_ value: Double, _ format: String) -> String {
    // The largest number has 309 digits.
    withUnsafeTemporaryAllocation(of: CChar.self, capacity: 400) { buffer in
        let length = withVaList([value]) { vsnprintf(buffer.baseAddress, buffer.count, format, $0) }
        let text = UnsafeRawBufferPointer(buffer).prefix(max(0, min(Int(length), buffer.count - 1)))
        return String(decoding: text, as: UTF8.self)
    }
}

/// A number formatted for people, such as `%.1f`, `%+.1f`, `%.3g`: zero has no minus sign, even if rounding produced
/// it.
package func formatted(_ value: Double, _ format: String) -> String {
    let text = printed(value, format)
    let isZero = !text.contains { ("1"..."9").contains($0) }
    return isZero ? String(text.drop { $0 == "-" }) : text
}

/// A number with three significant digits and no exponent, so that a column of them is comparable.
package func threeDigits(_ value: Double) -> String {
    switch abs(value) {
    case 100...: formatted(value, "%.0f")
    case 10..<100: formatted(value, "%.1f")
    case 1..<10: formatted(value, "%.2f")
    case 0.1..<1: formatted(value, "%.3f")
    case 0.01..<0.1: formatted(value, "%.4f")
    case 0.001..<0.01: formatted(value, "%.5f")
    default: formatted(value, "%.3g")
    }
}
