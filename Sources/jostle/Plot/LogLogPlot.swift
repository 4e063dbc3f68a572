internal import Glibc

/// Curves over two logarithmic axes.
struct LogLogPlot {
    /// A curve, in the order of its x values; all numbers are above zero.
    struct Series {
        let name: String
        let points: [Point]
    }

    /// A point, and by how much its y is uncertain as a part of it.
    struct Point {
        let x: Double
        let y: Double
        let relativeError: Double
    }

    let title: String
    let xLabel: String
    let yLabel: String
    let series: [Series]

    /// The powers of ten between which all points lie.
    let xDecades: ClosedRange<Int>
    let yDecades: ClosedRange<Int>

    /// Makes a plot; `nil` where there is no point to show.
    init?(title: String, xLabel: String, yLabel: String, series: [Series]) {
        let points = series.flatMap(\.points)
        guard let x = LogLogPlot.decades(points.map(\.x)), let y = LogLogPlot.decades(points.map(\.y)) else {
            return nil
        }
        self.title = title
        self.xLabel = xLabel
        self.yLabel = yLabel
        self.series = series
        xDecades = x
        yDecades = y
    }

    private static func decades(_ values: [Double]) -> ClosedRange<Int>? {
        guard let least = values.min(), let most = values.max(), least > 0, most.isFinite else { return nil }
        // A power of ten that rounding put a little beyond its end still belongs to its decade.
        let lower = Int((log10(least) + 1e-9).rounded(.down))
        return lower...max(lower + 1, Int((log10(most) - 1e-9).rounded(.up)))
    }

    /// Where a value lies on an axis: 0 at its lower end, 1 at its upper.
    static func position(_ value: Double, in decades: ClosedRange<Int>) -> Double {
        (log10(value) - Double(decades.lowerBound)) / Double(decades.count - 1)
    }

    /// A power of ten as people write it: 0.01, 1, 1000.
    static func label(_ exponent: Int) -> String {
        abs(exponent) > 4
            ? "1e\(exponent)"
            : exponent < 0
                ? "0." + String(repeating: "0", count: -exponent - 1) + "1"
                : "1" + String(repeating: "0", count: exponent)
    }
}
