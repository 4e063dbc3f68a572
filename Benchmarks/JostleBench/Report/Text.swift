/// On which side of a column its content stands.
enum Alignment {
    case left
    case right
}

/// Fills `text` up with spaces to `width` characters.
func padded(_ text: String, to width: Int, _ alignment: Alignment) -> String {
    let spaces = String(repeating: " ", count: max(0, width - text.count))
    return alignment == .left ? text + spaces : spaces + text
}

/// A number that is not negative, with `decimals` decimals.
func fixed(_ value: Double, decimals: Int) -> String {
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    let units = Int((value * Double(scale)).rounded())
    guard decimals > 0 else { return "\(units)" }
    let fraction = "\(units % scale)"
    return "\(units / scale)." + String(repeating: "0", count: decimals - fraction.count) + fraction
}

/// Allocations a sample: a zero that is one stands alone, however few a small number rounds to.
func allocationText(_ allocations: Double) -> String {
    allocations == 0 ? "0" : allocations < 0.0001 ? "<0.0001" : fixed(allocations, decimals: 4)
}
