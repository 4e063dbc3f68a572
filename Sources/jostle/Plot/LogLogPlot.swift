internal import Glibc

/// Curves over two logarithmic axes.
struct LogLogPlot {
    /// A curve in the order of its x values; all numbers are positive.
    struct Series {
        let name: String
        let points: [Point]
    }

    /// A point, with the relative uncertainty of its y value.
    struct Point {
        let x: Double
        let y: Double
        let relativeError: Double
    }

    let title: String
    let xLabel: String
    let yLabel: String
    let series: [Series]

    /// The powers of ten that enclose all points.
    let xDecades: ClosedRange<Int>
    let yDecades: ClosedRange<Int>

    /// Returns `nil` if there is no point to show.
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
        // The tolerance keeps a power of ten with a rounding error in its decade.
        let lower = Int((log10(least) + 1e-9).rounded(.down))
        return lower...max(lower + 1, Int((log10(most) - 1e-9).rounded(.up)))
    }

    /// The position of a value on an axis: 0 at the lower end, 1 at the upper.
    static func position(_ value: Double, in decades: ClosedRange<Int>) -> Double {
        (log10(value) - Double(decades.lowerBound)) / Double(decades.count - 1)
    }

    /// A power of ten in decimal notation: 0.01, 1, 1000.
    static func label(_ exponent: Int) -> String {
        abs(exponent) > 4
            ? "1e\(exponent)"
            : exponent < 0
                ? "0." + String(repeating: "0", count: -exponent - 1) + "1"
                : "1" + String(repeating: "0", count: exponent)
    }
}
