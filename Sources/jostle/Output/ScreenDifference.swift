internal import LinuxSystem

/// A line of a screen, which is as long as its text has characters.
struct ScreenLine: Equatable {
    var text: String
    var style = Style.plain

    enum Style: Equatable {
        case plain
        /// What is above the others.
        case title
        /// What is new.
        case bold
        /// What is less important.
        case dim
        /// What somebody has to look after.
        case warning

        /// The colour's number and the like (ECMA-48, SGR); empty for none.
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

/// What has to be written to make one screen of another: only lines that differ.
struct ScreenDifference {
    /// The text for the terminal, in which nothing but this commands it; empty if there is no difference.
    let text: String

    /// The difference between two screens; everything if nothing is known of what is there.
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
