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

    private static func tenTo(_ exponent: Int) -> Double {
        var result = 1.0
        for _ in 0..<abs(exponent) { result *= 10 }
        return exponent < 0 ? 1 / result : result
    }

    /// Rounds to a tenth of a pixel.
    private static func number(_ value: Double) -> String { decimal(value, 1) }

    private static func escaped(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
