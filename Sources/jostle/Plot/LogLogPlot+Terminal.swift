internal import Glibc

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
