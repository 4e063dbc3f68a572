internal import JostleCommandLine
internal import JostleMessages
internal import JostleOperator
internal import MotionCore

/// The screen of a fleet: one line per device, those that need attention first.
struct FleetScreen {
    let glyphs: Glyphs
    /// Formats milliseconds since 1970 as the time of day.
    let timeOfDay: (Int64) -> String
    /// Milliseconds since 1970.
    var wallTime: (Timestamp) -> Int64 = { WallClock.milliseconds(at: $0) }

    /// The screen's lines, cut to the size of the window.
    func lines(
        _ model: WatchModel, _ connection: ConnectionStatus, at now: Timestamp, size: ScreenSize
    ) -> [ScreenLine] {
        let devices = model.devices.values.sorted { a, b in
            a.needsAttention == b.needsAttention ? a.id < b.id : a.needsAttention
        }
        let left = glyphs.clean(" " + summary(devices))
        var lines = [ScreenLine(glyphs.spread(left, glyphs.clean(connection.text + " "), size.columns), .title)]
        if let problem = problem(model, connection) { lines.append(ScreenLine(glyphs.clean(" " + problem), .warning)) }
        if devices.isEmpty {
            lines.append(ScreenLine("no device yet", .dim))
        } else {
            lines += table(devices, now, room: size.rows - lines.count, columns: size.columns)
        }
        return lines.prefix(max(0, size.rows)).map { ScreenLine(glyphs.cut($0.text, size.columns), $0.style) }
    }

    private func summary(_ devices: [WatchedDevice]) -> String {
        let online = devices.count { $0.isOnline == true }
        let problems = devices.count { $0.health?.problems.isEmpty == false }
        return "\(devices.count) devices, \(online) online" + (problems > 0 ? ", \(problems) with problems" : "")
    }

    private func problem(_ model: WatchModel, _ connection: ConnectionStatus) -> String? {
        if let problem = connection.problem { return problem }
        if model.ignoredMessages > 0 {
            let limit = WatchModel.maximumDevices
            return "more than \(limit) devices: \(model.ignoredMessages) messages of others were ignored"
        }
        let malformed = model.devices.values.filter { $0.malformedMessages > 0 }
        guard let first = malformed.min(by: { $0.id < $1.id }), let reason = first.lastProblem else { return nil }
        return "malformed messages of \(malformed.count) devices, of \(first.id): \(reason)"
    }

    private func table(_ devices: [WatchedDevice], _ now: Timestamp, room: Int, columns: Int) -> [ScreenLine] {
        guard room > 0 else { return [] }
        let width = min(max(8, devices.map(\.id.count).max() ?? 0), max(8, columns / 3))
        // Without layers, the column would only take room.
        let hasLayers = devices.contains { $0.configuration != nil }
        func row(
            _ id: String, _ availability: String, _ layers: String, _ rate: String, _ state: String, _ last: String
        )
            -> String
        {
            self.row(width, id, availability, hasLayers ? layers : nil, rate, state, last)
        }
        var lines = [ScreenLine(row("device", "", "config", "rate", "state", "last gesture"), .dim)]
        // If there is no room for all devices, the last row has the number of the others.
        let isCut = devices.count > room - 1
        for device in devices.prefix(isCut ? max(0, room - 2) : devices.count) {
            let rate = device.health?.rate.map { formatted($0, "%.1f Hz") } ?? "-"
            let state = device.state.map(WatchText.state) ?? "-"
            let layers = device.configuration?.status ?? "-"
            let text = row(device.id, WatchText.availability(device), layers, rate, state, last(device, now))
            let isDim = device.isStopped || device.isOnline == false
            let style: ScreenLine.Style = isDim ? .dim : device.needsAttention ? .warning : .plain
            lines.append(ScreenLine(text, style))
        }
        if isCut { lines.append(ScreenLine("and \(devices.count - max(0, room - 2)) more", .dim)) }
        return lines
    }

    private func row(
        _ width: Int, _ id: String, _ availability: String, _ layers: String?, _ rate: String, _ state: String,
        _ last: String
    ) -> String {
        let rateColumn = String(repeating: " ", count: max(0, 10 - rate.count)) + rate
        var cells = [glyphs.fit(glyphs.clean(id), width), glyphs.fit(availability, 8)]
        // As wide as the longest status, rolled_back.
        if let layers { cells.append(glyphs.fit(glyphs.clean(layers), 11)) }
        cells += [glyphs.fit(rateColumn, 10), glyphs.fit(glyphs.clean(state), 16), glyphs.clean(last)]
        return cells.joined(separator: "  ")
    }

    /// The last gesture, or for how long the device has been offline, or its problems, or the layer that it does not follow.
    private func last(_ device: WatchedDevice, _ now: Timestamp) -> String {
        if let offline = WatchText.offline(device, at: now, milliseconds: wallTime(now)), offline != "offline" {
            return offline
        }
        if let problems = device.health?.problems, !problems.isEmpty {
            return "problems: \(problems.joined(separator: ", "))"
        }
        if let layer = device.configuration?.layers.first(where: \.needsAttention) { return WatchText.layer(layer) }
        guard let event = device.events.first else { return "" }
        return "\(event.time.map(timeOfDay) ?? "--:--:--") \(WatchText.event(event))"
    }
}
