internal import JostleMessages
internal import JostleOperator
internal import JostleRuntime
internal import MotionCore

/// The screen of a demonstration: that of `jostle watch`, above it how to open the page, and below it the command with
/// which to subscribe.
struct DemoScreen {
    let glyphs: Glyphs
    /// Formats milliseconds since 1970 as the time of day.
    var timeOfDay: (Int64) -> String = { WallClock.timeOfDay(milliseconds: $0) }

    /// The screen's lines, cut to the size of the window. The address of the page and the command stay in view while the
    /// window has room for them and for three more lines.
    func lines(
        _ device: WatchedDevice, _ connection: ConnectionStatus, page: PageInvitation?, listen: String,
        notes: [String], at now: Timestamp, size: ScreenSize
    ) -> [ScreenLine] {
        let header = header(page, size)
        let command = DemoScreen.wrapped(listen, columns: size.columns).map { ScreenLine(glyphs.clean($0), .bold) }
        let title = ScreenLine(glyphs.clean("Listen from another terminal (Ctrl-C or q stops):"), .dim)
        var footer = notes.suffix(2).map { ScreenLine(glyphs.clean($0), .warning) } + [title] + command
        // A small window keeps the command and leaves out what explains it.
        if size.rows < header.count + footer.count + 14 { footer = command }
        if size.rows < header.count + footer.count + 3 { footer = [] }
        let room = ScreenSize(columns: size.columns, rows: size.rows - header.count - footer.count)
        var lines = DeviceScreen(glyphs: glyphs, timeOfDay: timeOfDay).lines(device, connection, at: now, size: room)
        while !footer.isEmpty, lines.count < room.rows { lines.append(ScreenLine("")) }
        return header + lines + footer.map { ScreenLine(glyphs.cut($0.text, size.columns), $0.style) }
    }

    /// How to open the page. A small window leaves out what explains the address, then the address.
    private func header(_ page: PageInvitation?, _ size: ScreenSize) -> [ScreenLine] {
        guard let page else { return [] }
        let address = divided(page.address, .title, size)
        guard size.rows >= address.count + 3 else { return [] }
        var lines: [ScreenLine] = []
        for (title, text) in page.steps {
            lines.append(ScreenLine(glyphs.cut("\(title):", size.columns), .bold))
            lines += text == page.address ? address : divided(text, .bold, size)
        }
        return size.rows < lines.count + 17 ? address : lines
    }

    /// A text on full lines, so that it can be copied.
    private func divided(_ text: String, _ style: ScreenLine.Style, _ size: ScreenSize) -> [ScreenLine] {
        guard size.columns > 0 else { return [] }
        var rest = glyphs.clean(text)[...]
        var lines: [ScreenLine] = []
        while !rest.isEmpty {
            lines.append(ScreenLine(String(rest.prefix(size.columns)), style))
            rest = rest.dropFirst(size.columns)
        }
        return lines
    }

    /// A command on lines of at most `columns`, continued as a shell does, so that it can be copied. A word that is
    /// longer is not divided.
    static func wrapped(_ command: String, columns: Int) -> [String] {
        guard command.count > columns else { return [command] }
        var lines: [String] = []
        var line = ""
        for word in command.split(separator: " ").map(String.init) {
            if line.isEmpty {
                line = word
            } else if line.count + 1 + word.count + 2 <= columns {
                line += " " + word
            } else {
                lines.append(line + " \\")
                line = "  " + word
            }
        }
        return lines + [line]
    }
}
