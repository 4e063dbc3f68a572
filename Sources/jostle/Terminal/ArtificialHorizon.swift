internal import Glibc
internal import MotionCore

/// The horizon as seen along the body's x axis with its z axis up; the ground is filled.
///
/// Positive pitch lowers the nose and shows more ground; positive roll leans to the right and raises the ground there.
/// The picture covers 60° up and down; beyond that, a strip of sky or ground remains.
enum ArtificialHorizon {
    /// Degrees from the centre to the upper edge.
    private static let range = 60.0

    private static let lowerBlocks: [Character] = [" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    private static let asciiBlocks: [Character] = [" ", " ", ".", ".", ":", ":", "#", "#", "#"]

    /// The picture for angles in degrees; assumes that characters are twice as high as wide.
    static func lines(roll: Double, pitch: Double, size: ScreenSize, glyphs: Glyphs) -> [String] {
        let angle = roll * radiansPerDegree
        let perRow = 2 * range / Double(max(1, size.rows))
        let limit = range - perRow / 2
        let shown = max(-limit, min(limit, pitch))
        let center = (column: Double(size.columns - 1) / 2, row: Double(size.rows - 1) / 2)
        let up = (sine: sin(angle), cosine: cos(angle))
        var picture: [[Character]] = []
        for row in 0..<size.rows {
            let line: [Character] = (0..<size.columns).map { column in
                let right: Double = Double(column) - center.column
                let above: Double = center.row - Double(row)
                let x = right * perRow / 2
                let y = above * perRow
                return cell(x, y, shown, up.sine, up.cosine, perRow, glyphs)
            }
            picture.append(line)
        }
        mark(&picture, glyphs)
        return picture.map { String($0) }
    }

    /// The character for a cell, from the number of eighths of its height that lie below the horizon.
    private static func cell(
        _ x: Double, _ y: Double, _ pitch: Double, _ sine: Double, _ cosine: Double, _ height: Double,
        _ glyphs: Glyphs
    ) -> Character {
        var eighths = 0
        var isLowestGround = false
        for part in 0..<8 {
            let offset: Double = (Double(part) - 3.5) / 8
            let level = y + offset * height
            let above = level * cosine - x * sine
            guard above < pitch else { continue }
            eighths += 1
            if part == 0 { isLowestGround = true }
        }
        guard glyphs.isUnicode else { return asciiBlocks[eighths] }
        if isLowestGround || eighths == 0 { return lowerBlocks[eighths] }
        // Upside down, the ground is in the upper part of the cell, for which there is only a half block.
        return eighths < 3 ? " " : eighths < 6 ? "▀" : "█"
    }

    /// Draws the symbol of the board in the centre.
    private static func mark(_ picture: inout [[Character]], _ glyphs: Glyphs) {
        guard let width = picture.first?.count, width >= 13 else { return }
        let row = (picture.count - 1) / 2
        let middle = (width - 1) / 2
        let wing: Character = glyphs.isUnicode ? "─" : "-"
        for distance in 2...5 {
            picture[row][middle - distance] = wing
            picture[row][middle + distance] = wing
        }
        picture[row][middle] = glyphs.isUnicode ? "┼" : "+"
    }
}

/// A scale of angles around the heading, as in a cockpit: it moves right when the board turns left, to larger angles.
enum HeadingTape {
    /// Degrees per column.
    private static let perColumn = 3.0

    /// The marker and, below it, the scale.
    static func lines(heading: Double, columns: Int, glyphs: Glyphs) -> [String] {
        let middle = (columns - 1) / 2
        var band = Array(repeating: Character(glyphs.isUnicode ? "·" : "."), count: max(0, columns))
        for angle in stride(from: -720.0, through: 720, by: 30) {
            let distance = (angle - heading) / perColumn
            let column = middle - Int(distance.rounded())
            let wrapped = Int(angle.truncatingRemainder(dividingBy: 360))
            let label = "\(wrapped > 180 ? wrapped - 360 : wrapped <= -180 ? wrapped + 360 : wrapped)"
            let start = column - label.count / 2
            guard start >= 0, start + label.count <= columns else { continue }
            for (offset, character) in label.enumerated() { band[start + offset] = character }
        }
        let mark = String(repeating: " ", count: max(0, middle)) + (glyphs.isUnicode ? "▼" : "v")
        return [mark, String(band)]
    }
}
