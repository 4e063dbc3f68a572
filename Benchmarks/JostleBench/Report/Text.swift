/// The alignment of a column's content.
enum Alignment {
    case left
    case right
}

/// Pads `text` with spaces to `width` characters.
func padded(_ text: String, to width: Int, _ alignment: Alignment) -> String {
    let spaces = String(repeating: " ", count: max(0, width - text.count))
    return alignment == .left ? text + spaces : spaces + text
}

/// Formats a non-negative number with `decimals` decimals.
func fixed(_ value: Double, decimals: Int) -> String {
    var scale = 1
    for _ in 0..<decimals { scale *= 10 }
    let units = Int((value * Double(scale)).rounded())
    guard decimals > 0 else { return "\(units)" }
    let fraction = "\(units % scale)"
    return "\(units / scale)." + String(repeating: "0", count: decimals - fraction.count) + fraction
}

/// Allocations per sample. Only an exact zero is printed as 0.
func allocationText(_ allocations: Double) -> String {
    allocations == 0 ? "0" : allocations < 0.0001 ? "<0.0001" : fixed(allocations, decimals: 4)
}
