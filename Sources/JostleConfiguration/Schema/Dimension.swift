internal import Documents
internal import LinuxSystem
internal import MotionCore

/// A physical quantity and the units in which it may be written.
struct Dimension: Sendable {
    /// Its name in messages, with the article.
    let name: String

    /// The unit of a number without a unit.
    let defaultUnit: Unit

    /// The other units.
    let otherUnits: [Unit]

    /// Whether the number may begin with `±`, as is usual for ranges.
    let allowsPlusMinus: Bool

    /// A regular expression (ECMA 262) for a number with or without a unit, for JSON Schema.
    let pattern: String

    init(_ name: String, _ defaultUnit: Unit, _ otherUnits: Unit..., allowsPlusMinus: Bool = false) {
        self.name = name
        self.defaultUnit = defaultUnit
        self.otherUnits = otherUnits
        self.allowsPlusMinus = allowsPlusMinus
        let symbols = ([defaultUnit] + otherUnits).flatMap(\.symbols)
            .map { $0.replacing("^", with: "\\^") }.joined(separator: "|")
        let sign = allowsPlusMinus ? "(±|\\+/-|\\+-)? ?" : ""
        pattern = "^\(sign)[+-]?([0-9]+(\\.[0-9]+)?|\\.[0-9]+)([eE][+-]?[0-9]+)? *(\(symbols))?$"
    }

    /// All units, the default one first.
    var units: [Unit] { [defaultUnit] + otherUnits }

    /// A unit of a quantity.
    struct Unit: Sendable {
        /// Its spellings, the preferred one first.
        let symbols: [String]

        /// The SI value of 1 is `multiplier / divisor`; as a quotient, 20 ms is exactly the Double 0.02.
        let multiplier: Double
        let divisor: Double

        /// The SI values that are written in this unit if they are integral in it.
        let shown: Range<Double>

        init(_ symbols: String..., multiplier: Double = 1, divisor: Double = 1, shown: Range<Double> = 0..<0) {
            self.symbols = symbols
            self.multiplier = multiplier
            self.divisor = divisor
            self.shown = shown
        }

        /// The preferred spelling.
        var symbol: String { symbols.first ?? "" }

        /// The SI value of `value` units.
        func si(_ value: Double) -> Double { value * multiplier / divisor }

        /// The number of units in an SI value.
        func count(_ value: Double) -> Double { value * divisor / multiplier }
    }

    static let frequency = Dimension("a frequency", Unit("Hz"), Unit("kHz", multiplier: 1000))

    /// Of a machine, turns a minute.
    static let runningSpeed = Dimension("a speed", Unit("rpm", divisor: 60), Unit("Hz"))

    static let duration = Dimension(
        "a duration", Unit("s"), Unit("ms", divisor: 1000, shown: 0.000_999..<0.1),
        Unit("µs", "μs", "us", divisor: 1e6), Unit("min", multiplier: 60),
        Unit("h", multiplier: 3600, shown: 3600..<86_400), Unit("d", multiplier: 86_400, shown: 86_400..<1e9))

    static let angle = Dimension("an angle", Unit("°", "deg", multiplier: radiansPerDegree), Unit("rad"))

    static let acceleration = Dimension(
        "an acceleration", Unit("m/s²", "m/s^2", "m/s2"), Unit("g", multiplier: standardGravity))

    static let accelerationRange = Dimension(
        "an acceleration", Unit("g", multiplier: standardGravity), Unit("m/s²", "m/s^2", "m/s2"), allowsPlusMinus: true)

    static let rotationRange = Dimension(
        "a rate of rotation", Unit("°/s", "deg/s", "dps", multiplier: radiansPerDegree), Unit("rad/s"),
        allowsPlusMinus: true)
}

extension Dimension {
    /// The SI value of a number with or without a unit.
    func read(_ text: String) throws(ValueRefusal) -> Double {
        var rest = text[...]
        if allowsPlusMinus {
            for sign in ["±", "+/-", "+-"] where rest.hasPrefix(sign) {
                rest = rest.dropFirst(sign.count).drop { $0 == " " }
                break
            }
        }
        guard let (number, afterNumber) = NumberText.leading(rest) else { throw ValueRefusal("is not \(name)") }
        let symbol = afterNumber.drop { $0 == " " }
        guard !symbol.hasPrefix(",") else { throw ValueRefusal("is not \(name); use a decimal point, not a comma") }
        guard let unit = symbol.isEmpty ? defaultUnit : units.first(where: { $0.symbols.contains(String(symbol)) })
        else {
            throw ValueRefusal("is not \(name); its units are \(units.map(\.symbol).joined(separator: ", "))")
        }
        let value = unit.si(number)
        guard value.isFinite else { throw ValueRefusal("is too large a number") }
        return value
    }

    /// The value in its most readable unit.
    func text(_ value: Double) -> String {
        let unit =
            otherUnits.first { unit in
                let count = unit.count(value)
                return unit.shown.contains(value) && abs(count - count.rounded()) < 1e-6
            } ?? defaultUnit
        return "\(NumberText.rounded(unit.count(value))) \(unit.symbol)"
    }
}

/// Reads quantities as the reports of agents have them.
package enum QuantityText {
    /// The Hz of a frequency such as `200 Hz`; `nil` if it is none.
    package static func frequency(_ text: String) -> Double? { read(text, .frequency) }

    /// The seconds of a duration such as `60 s` or `1 h`; `nil` if it is none.
    package static func duration(_ text: String) -> Double? { read(text, .duration) }

    private static func read(_ text: String, _ dimension: Dimension) -> Double? {
        guard let value = try? dimension.read(text), value >= 0 else { return nil }
        return value
    }
}
