internal import Glibc
internal import LinuxSystem

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

extension LogLogPlot {
    /// The width and height of a decade in characters.
    private static let decadeSize = (width: 13, height: 6)

    /// The plot in characters: each curve as the last letter of its name, `*` if several coincide.
    var text: String {
        let width = (xDecades.count - 1) * LogLogPlot.decadeSize.width
        let height = (yDecades.count - 1) * LogLogPlot.decadeSize.height
        let grid = letters(width: width, height: height)
        let labels = yDecades.map(LogLogPlot.label)
        let margin = labels.map(\.count).max() ?? 0
        var text = "\(title), \(yLabel)\n"
        for row in stride(from: height, through: 0, by: -1) {
            let (decade, rest) = row.quotientAndRemainder(dividingBy: LogLogPlot.decadeSize.height)
            let label = rest == 0 ? labels[decade] : ""
            text += String(repeating: " ", count: margin - label.count) + label + (rest == 0 ? " +" : " |")
            text += String(grid[row]).trimmingTrailingBlanks + "\n"
        }
        return text + axis(margin: margin)
    }

    /// The lines below the plot: the axis, and its labels centred under the decades.
    private func axis(margin: Int) -> String {
        let blank = String(repeating: " ", count: margin + 1)
        let decade = "+" + String(repeating: "-", count: LogLogPlot.decadeSize.width - 1)
        var line = blank + String(repeating: decade, count: xDecades.count - 1) + "+\n" + blank
        var column = 0
        for (index, exponent) in xDecades.enumerated() {
            let label = LogLogPlot.label(exponent)
            let start = max(column, index * LogLogPlot.decadeSize.width - label.count / 2)
            line += String(repeating: " ", count: start - column) + label
            column = start + label.count
        }
        return line + "  \(xLabel)\n"
    }

    /// The characters of the plot area, lowest row first.
    private func letters(width: Int, height: Int) -> [[Character]] {
        var grid = [[Character]](repeating: [Character](repeating: " ", count: width + 1), count: height + 1)
        for curve in series {
            guard let letter = curve.name.last else { continue }
            for column in 0...width {
                guard let position = curve.position(at: Double(column) / Double(width), xDecades, yDecades) else {
                    continue
                }
                let row = max(0, min(height, Int((position * Double(height)).rounded())))
                grid[row][column] = grid[row][column] == " " ? letter : "*"
            }
        }
        return grid
    }
}

extension LogLogPlot.Series {
    /// The height of the curve at `x`, both as fractions of their axes; `nil` beyond the curve's ends.
    fileprivate func position(at x: Double, _ xDecades: ClosedRange<Int>, _ yDecades: ClosedRange<Int>) -> Double? {
        let places = points.map {
            (x: LogLogPlot.position($0.x, in: xDecades), y: LogLogPlot.position($0.y, in: yDecades))
        }
        for (left, right) in zip(places, places.dropFirst()) where left.x <= x && x <= right.x {
            let share = right.x > left.x ? (x - left.x) / (right.x - left.x) : 0
            return left.y + share * (right.y - left.y)
        }
        return nil
    }
}

extension String {
    fileprivate var trimmingTrailingBlanks: String {
        var text = self
        while text.last == " " { text.removeLast() }
        return text
    }
}

/// Plots below one another as a picture: SVG 1.1 without scripts, style sheets or embedded fonts.
struct SVGFigure {
    private let plots: [LogLogPlot]

    /// Creates a figure with the plots from top to bottom.
    init(_ plots: [LogLogPlot]) {
        self.plots = plots
    }

    // Pixels.
    private static let width = 720
    private static let height = 360
    private static let field = (left: 80.0, top: 40.0, width: 600.0, height: 260.0)

    /// Colours that colour-blind people can distinguish (Okabe, Ito: "Color universal design", 2008).
    private static let colours = ["#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9"]

    /// The picture as SVG.
    var description: String {
        let height = SVGFigure.height * plots.count
        var text = """
            <?xml version="1.0" encoding="UTF-8"?>
            <svg xmlns="http://www.w3.org/2000/svg" width="\(SVGFigure.width)" height="\(height)" \
            viewBox="0 0 \(SVGFigure.width) \(height)" font-family="sans-serif" font-size="12">
            <rect width="100%" height="100%" fill="white"/>

            """
        for (index, plot) in plots.enumerated() {
            text += "<g transform=\"translate(0 \(index * SVGFigure.height))\">\n"
            text += SVGFigure.frame(plot)
            for (number, curve) in plot.series.enumerated() {
                text += SVGFigure.curve(curve, number, in: plot)
            }
            text += "</g>\n"
        }
        return text + "</svg>\n"
    }

    /// The grid, its labels and the title.
    private static func frame(_ plot: LogLogPlot) -> String {
        let right = number(field.left + field.width)
        let bottom = number(field.top + field.height)
        var lines = ""
        var labels = ""
        for exponent in plot.xDecades {
            let x = number(horizontal(tenTo(exponent), in: plot))
            lines += "M\(x) \(number(field.top))V\(bottom)"
            labels += label(LogLogPlot.label(exponent), x: x, y: number(field.top + field.height + 18), "middle")
        }
        for exponent in plot.yDecades {
            let y = vertical(tenTo(exponent), in: plot)
            lines += "M\(number(field.left)) \(number(y))H\(right)"
            labels += label(LogLogPlot.label(exponent), x: number(field.left - 8), y: number(y + 4), "end")
        }
        return """
            <path d="\(lines)" stroke="#ccc" fill="none"/>
            \(labels)\(label("\(plot.title), \(plot.yLabel)", x: number(field.left), y: "24", "start"))\
            \(label(plot.xLabel, x: right, y: number(field.top + field.height + 36), "end"))
            """
    }

    /// A curve with an error bar at each point, and its name.
    private static func curve(_ curve: LogLogPlot.Series, _ index: Int, in plot: LogLogPlot) -> String {
        let colour = colours[index % colours.count]
        var line = ""
        var bars = ""
        for point in curve.points {
            let x = number(horizontal(point.x, in: plot))
            line += (line.isEmpty ? "" : " ") + "\(x),\(number(vertical(point.y, in: plot)))"
            // Smaller error bars are not visible.
            guard point.relativeError > 0.02 else { continue }
            let low = max(point.y * (1 - point.relativeError), tenTo(plot.yDecades.lowerBound))
            let high = min(point.y * (1 + point.relativeError), tenTo(plot.yDecades.upperBound))
            bars += "M\(x) \(number(vertical(low, in: plot)))V\(number(vertical(high, in: plot)))"
        }
        let place = number(field.left + field.width - 60 + 24 * Double(index))
        return """
            <polyline points="\(line)" fill="none" stroke="\(colour)" stroke-width="2"/>
            <path d="\(bars)" stroke="\(colour)" fill="none"/>
            <text x="\(place)" y="24" fill="\(colour)" font-weight="bold">\(escaped(curve.name))</text>

            """
    }

    private static func label(_ text: String, x: String, y: String, _ anchor: String) -> String {
        "<text x=\"\(x)\" y=\"\(y)\" text-anchor=\"\(anchor)\">\(escaped(text))</text>\n"
    }

    private static func horizontal(_ x: Double, in plot: LogLogPlot) -> Double {
        field.left + field.width * LogLogPlot.position(x, in: plot.xDecades)
    }

    private static func vertical(_ y: Double, in plot: LogLogPlot) -> Double {
        field.top + field.height * (1 - LogLogPlot.position(y, in: plot.yDecades))
    }

    private static func tenTo(_ exponent: Int) -> Double { pow(10, Double(exponent)) }

    /// Rounds to a tenth of a pixel.
    private static func number(_ value: Double) -> String { decimal(value, 1) }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }
}
