internal import JostleOperator
internal import MotionCore

/// The screen of a fleet: a line a device, those first that somebody has to look after.
struct FleetScreen {
    let glyphs: Glyphs
    /// The time of day of milliseconds since 1970.
    let timeOfDay: (Int64) -> String

    /// The screen's lines, none longer than the window is wide, and no more than it has rows.
    func lines(_ model: WatchModel, _ link: WatchLink, size: ScreenSize) -> [ScreenLine] {
        let devices = model.devices.values.sorted { a, b in
            a.isInTrouble == b.isInTrouble ? a.id < b.id : a.isInTrouble
        }
        let left = glyphs.clean(" " + summary(devices))
        var lines = [ScreenLine(glyphs.spread(left, glyphs.clean(link.text + " "), size.columns), .title)]
        if let trouble = trouble(model, link) { lines.append(ScreenLine(glyphs.clean(" " + trouble), .warning)) }
        if devices.isEmpty {
            lines.append(ScreenLine("no device was heard of yet", .dim))
        } else {
            lines += table(devices, room: size.rows - lines.count, columns: size.columns)
        }
        return lines.prefix(max(0, size.rows)).map { ScreenLine(glyphs.cut($0.text, size.columns), $0.style) }
    }

    private func summary(_ devices: [WatchedDevice]) -> String {
        let online = devices.count { $0.isOnline == true }
        let problems = devices.count { $0.health?.problems.isEmpty == false }
        return "\(devices.count) devices, \(online) online" + (problems > 0 ? ", \(problems) with problems" : "")
    }

    private func trouble(_ model: WatchModel, _ link: WatchLink) -> String? {
        if let trouble = link.trouble { return trouble }
        if model.unwatched > 0 {
            let bound = WatchModel.maximumDevices
            return "more than \(bound) devices: \(model.unwatched) messages of others were left aside"
        }
        let malformed = model.devices.values.filter { $0.malformed > 0 }
        guard let one = malformed.min(by: { $0.id < $1.id }), let complaint = one.complaint else { return nil }
        return "messages of \(malformed.count) devices make no sense, of \(one.id): \(complaint)"
    }

    private func table(_ devices: [WatchedDevice], room: Int, columns: Int) -> [ScreenLine] {
        guard room > 0 else { return [] }
        let width = min(max(8, devices.map(\.id.count).max() ?? 0), max(8, columns / 3))
        var lines = [ScreenLine(row(width, "device", "", "rate", "state", "last gesture"), .dim)]
        // The last row says how many there is no room for.
        let isCut = devices.count > room - 1
        for device in devices.prefix(isCut ? max(0, room - 2) : devices.count) {
            let rate = device.health?.rate.map { formatted($0, "%.1f Hz") } ?? "-"
            let state = device.state.map(WatchWords.state) ?? "-"
            let text = row(width, device.id, WatchWords.availability(device), rate, state, last(device))
            let style: ScreenLine.Style = device.isInTrouble ? .warning : device.isStopped ? .dim : .plain
            lines.append(ScreenLine(text, style))
        }
        if isCut { lines.append(ScreenLine("and \(devices.count - max(0, room - 2)) more", .dim)) }
        return lines
    }

    private func row(
        _ width: Int, _ id: String, _ availability: String, _ rate: String, _ state: String, _ last: String
    ) -> String {
        let rateColumn = String(repeating: " ", count: max(0, 10 - rate.count)) + rate
        let cells = [
            glyphs.fit(glyphs.clean(id), width), glyphs.fit(availability, 8), glyphs.fit(rateColumn, 10),
            glyphs.fit(glyphs.clean(state), 16), glyphs.clean(last),
        ]
        return cells.joined(separator: "  ")
    }

    /// The last gesture, or what is wrong.
    private func last(_ device: WatchedDevice) -> String {
        if let problems = device.health?.problems, !problems.isEmpty {
            return "problems: \(problems.joined(separator: ", "))"
        }
        guard let event = device.events.first else { return "" }
        return "\(event.time.map(timeOfDay) ?? "--:--:--") \(WatchWords.event(event))"
    }
}
