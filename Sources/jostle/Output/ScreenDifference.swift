internal import JostleCommandLine
internal import LinuxSystem

/// A line of a screen; every character takes one column.
struct ScreenLine: Equatable {
    var text: String
    var style = Style.plain

    enum Style: Equatable {
        case plain
        /// The screen's title.
        case title
        /// New content.
        case bold
        /// Less important content.
        case dim
        /// A problem that needs attention.
        case warning

        /// The escape sequence for the style (ECMA-48, SGR); empty for none.
        var code: String {
            switch self {
            case .plain: ""
            case .title: "\u{1B}[7m"
            case .bold: "\u{1B}[1m"
            case .dim: "\u{1B}[2m"
            case .warning: "\u{1B}[1;33m"
            }
        }
    }

    init(_ text: String, _ style: Style = .plain) {
        self.text = text
        self.style = style
    }
}

/// The output that turns one screen into another: only the lines that differ.
struct ScreenDifference {
    /// The text with its terminal commands; empty if there is no difference.
    let text: String

    /// The difference between two screens; the whole new screen if the old one is unknown.
    init(from old: [ScreenLine]?, to new: [ScreenLine]) {
        var text = old == nil ? "\u{1B}[2J" : ""
        for row in 0..<max(old?.count ?? 0, new.count) {
            let line = row < new.count ? new[row] : ScreenLine("")
            if let old, row < old.count, old[row] == line { continue }
            text += "\u{1B}[\(row + 1);1H"
            let shown = ForeignText.oneLine(line.text)
            text += line.style == .plain ? shown : line.style.code + shown + "\u{1B}[0m"
            text += "\u{1B}[K"
        }
        self.text = text
    }
}

extension Output {
    /// Draws on the terminal; returns false, with errno set, on failure.
    static func writes(_ difference: ScreenDifference) -> Bool { writes(safe: difference.text) }
}
