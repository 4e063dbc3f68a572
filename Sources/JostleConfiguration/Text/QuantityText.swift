/// Reads quantities as the reports of agents have them.
package enum QuantityText {
    /// The Hz of a frequency such as `200 Hz`; `nil` if it is none.
    package static func frequency(_ text: String) -> Double? { read(text, .frequency) }

    /// The seconds of a duration such as `60 s` or `1 h`; `nil` if it is none.
    package static func duration(_ text: String) -> Double? { read(text, .duration) }

    private static func read(_ text: String, _ dimension: Dimension) -> Double? {
        do {
            let value = try dimension.read(text)
            return value >= 0 ? value : nil
        } catch {
            return nil
        }
    }
}
