import Foundation

/// A picture (SVG) of terminal windows, one below the other.
struct TerminalPicture {
    struct Window {
        let title: String
        /// What each row shows, after the escape sequence of its style.
        let rows: [String]
    }

    let columns: Int
    let windows: [Window]

    /// Pixels: a character, a row, what is left free around the rows, the bar with the title, and between two windows.
    private static let cell = 8.43
    private static let (row, margin, bar, gap) = (17, 16, 36, 12)
    private static let (background, text) = ("#14181f", "#d6dde6")

    /// The text as it stands in a picture, which contains it if it shows it.
    static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    var svg: String {
        let width = Int(Double(columns) * Self.cell) + 2 * Self.margin
        var top = 0
        var parts: [String] = []
        for window in windows {
            let height = Self.bar + window.rows.count * Self.row + Self.margin
            parts.append(
                """
                <rect x="1" y="\(top + 1)" width="\(width - 2)" height="\(height - 2)" rx="8" fill="\(Self.background)" \
                stroke="#39424e"/>
                """)
            for (x, colour) in [(20, "#ec6a5e"), (38, "#f4bf4f"), (56, "#61c554")] {
                parts.append("<circle cx=\"\(x)\" cy=\"\(top + 17)\" r=\"5\" fill=\"\(colour)\"/>")
            }
            parts.append(
                """
                <text x="\(width / 2)" y="\(top + 22)" fill="#8b98a8" text-anchor="middle">\(Self.escaped(window.title))</text>
                """)
            for (index, row) in window.rows.enumerated() {
                parts += Self.parts(row, at: top + Self.bar + index * Self.row)
            }
            top += height + Self.gap
        }
        return """
            <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(width) \(top - Self.gap)" \
            font-family="ui-monospace,SFMono-Regular,Menlo,DejaVu Sans Mono,monospace" font-size="14">
            \(parts.joined(separator: "\n"))
            </svg>

            """
    }

    /// A row at a height. Every character takes a cell, whatever the font is.
    private static func parts(_ row: String, at top: Int) -> [String] {
        let style = row.firstMatch(of: /^\e\[([\d;]*)m/).map { String($0.1) } ?? ""
        let text = String(row.replacing(/\e\[[\d;]*m/, with: "").reversed().drop { $0 == " " }.reversed())
        guard !text.isEmpty else { return [] }
        let length = (Double(text.count) * cell).rounded()
        var (parts, look) = ([String](), "fill=\"\(self.text)\"")
        switch style {
        case "7":
            look = "fill=\"\(background)\""
            parts.append(
                "<rect x=\"\(margin)\" y=\"\(top)\" width=\"\(Int(length))\" height=\"\(Self.row)\" fill=\"\(self.text)\"/>"
            )
        case "1": look = "fill=\"#ffffff\" font-weight=\"bold\""
        case "2": look = "fill=\"#8b98a8\""
        case "1;33": look = "fill=\"#ffd479\" font-weight=\"bold\""
        case "32": look = "fill=\"#7ee787\""
        default: break
        }
        parts.append(
            """
            <text x="\(margin)" y="\(top + 13)" \(look) textLength="\(Int(length))" lengthAdjust="spacingAndGlyphs" \
            xml:space="preserve">\(escaped(text))</text>
            """)
        return parts
    }
}
