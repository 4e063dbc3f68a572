internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import MotionCore

/// The screen of one device, adapted to the size of the window: a smaller window shows less.
struct DeviceScreen {
    let glyphs: Glyphs
    /// Formats milliseconds since 1970 as the time of day.
    var timeOfDay: (Int64) -> String = { WallClock.timeOfDay(milliseconds: $0) }
    /// Milliseconds since 1970.
    var wallTime: (Timestamp) -> Int64 = { WallClock.milliseconds(at: $0) }

    /// The width of the figures beside the horizon, columns.
    private static let figures = 30

    /// Seconds after which an attitude counts as outdated: twice the default heartbeat.
    private static let freshness = 60.0

    /// The screen's lines, cut to the size of the window.
    func lines(
        _ device: FleetBoard, _ connection: ConnectionStatus, at now: Timestamp, size: ScreenSize
    ) -> [ScreenLine] {
        let header = header(device, connection, now, size)
        let health = health(device, size.columns)
        var lines: [ScreenLine] = []
        let room = size.rows - header.count - health.count - 2 - 4
        // The smallest instruments, so that there is still a line for the last gesture.
        if size.columns >= 60, size.rows >= 18, room >= 8 {
            lines += instruments(device, now, size, room: room)
            lines += health
            lines.append(ScreenLine(""))
        } else {
            lines += brief(device, now)
            if size.rows >= 10, size.rows > header.count + lines.count + health.count { lines += health }
        }
        lines += gestures(device, room: size.rows - header.count - lines.count)
        // What an offline device last reported is not what it does now.
        if device.isOnline == false { for index in lines.indices { lines[index].style = .dim } }
        return (header + lines).prefix(max(0, size.rows)).map {
            ScreenLine(glyphs.cut($0.text, size.columns), $0.style)
        }
    }

    // MARK: Header

    /// The title and, if there is a problem, a line about it.
    private func header(
        _ device: FleetBoard, _ connection: ConnectionStatus, _ now: Timestamp, _ size: ScreenSize
    ) -> [ScreenLine] {
        let offline = WatchText.offline(device, at: now, milliseconds: wallTime(now))
        let availability = offline.map { "○ \($0)" } ?? (device.isOnline == true ? "● online" : "○ no message yet")
        let stopped = device.isStopped ? ", stopped" : ""
        let name = FleetScreen.name(device).map { ", \($0)" } ?? ""
        let left = glyphs.clean(" \(device.id)\(name)  \(availability)\(stopped)")
        var lines = [ScreenLine(glyphs.spread(left, glyphs.clean(connection.text + " "), size.columns), .title)]
        if let problem = problem(device, connection) { lines.append(ScreenLine(glyphs.clean(" " + problem), .warning)) }
        return lines
    }

    private func problem(_ device: FleetBoard, _ connection: ConnectionStatus) -> String? {
        if let problem = connection.problem { return problem }
        if let health = device.health, !health.problems.isEmpty {
            let fault = (health.sensorFault ?? health.sensorAdvice).map { ": \($0)" } ?? ""
            return "problems: \(health.problems.joined(separator: ", "))\(fault)"
        }
        guard let reason = device.lastProblem else { return nil }
        return "\(device.malformedMessages) malformed messages, the last: \(reason)"
    }

    // MARK: Attitude and state

    /// The horizon and the figures side by side, and the heading below.
    private func instruments(_ device: FleetBoard, _ now: Timestamp, _ size: ScreenSize, room: Int) -> [ScreenLine] {
        // Odd, so that there is a middle row.
        let height = max(7, min(15, room - 3) - 1) | 1
        let width = (min(4 * height, size.columns - DeviceScreen.figures - 3) - 1) | 1
        let figures = figures(device, now)
        let picture =
            device.attitude.map {
                ArtificialHorizon.lines(
                    roll: $0.roll, pitch: $0.pitch, size: ScreenSize(columns: width, rows: height), glyphs: glyphs)
            } ?? Array(repeating: String(repeating: " ", count: width), count: height)
        let wall = glyphs.clean(glyphs.isUnicode ? "│" : "|")
        var lines = (0..<max(height, min(figures.count, room - 2))).map { row in
            let left = row < picture.count ? wall + picture[row] + wall : glyphs.fit("", width + 2)
            return ScreenLine(left + "  " + (row < figures.count ? figures[row] : ""))
        }
        if let attitude = device.attitude {
            lines += HeadingTape.lines(heading: attitude.yaw, columns: width + 2, glyphs: glyphs).map {
                ScreenLine($0)
            }
        }
        return lines + [ScreenLine("")]
    }

    /// Names and values, aligned, the most important first.
    private func figures(_ device: FleetBoard, _ now: Timestamp) -> [String] {
        var rows: [(String, String)] = []
        if let attitude = device.attitude {
            rows += [
                ("roll", number(attitude.roll, "%8.1f°")), ("pitch", number(attitude.pitch, "%8.1f°")),
                ("heading", number(attitude.yaw, "%8.1f°")),
            ]
        } else {
            rows.append(("attitude", "unknown"))
        }
        if let state = device.state {
            rows.append(("side up", aligned(state.side ?? "-")))
            if let tilt = state.tilt { rows.append(("tilt", number(tilt, "%8.1f°"))) }
            rows += [("moving", aligned(word(state.isMoving))), ("vibrating", vibration(state))]
        }
        if let machine = device.machine {
            let phase = WatchText.phase(machine, at: wallTime(now)).dropFirst(machine.phase.word.count)
            rows.append(("machine", aligned(machine.phase.word) + phase))
            if machine.isChanged { rows.append(("", aligned(WatchText.changed))) }
        }
        if let motion = device.motion {
            if let acceleration = motion.acceleration { rows.append(("accel.", number(acceleration, "%8.2f m/s²"))) }
            if let rotation = motion.rotation { rows.append(("rotation", number(rotation, "%8.1f °/s"))) }
        }
        if let temperature = device.motion?.temperature ?? device.health?.temperature {
            rows.append(("chip", number(temperature, "%8.1f °C")))
        }
        if let age = age(device, now) { rows.append(("attitude", age)) }
        return rows.map { glyphs.fit($0.0, 10) + glyphs.clean($0.1) }
    }

    /// Attitude and state on two lines, for a small window.
    private func brief(_ device: FleetBoard, _ now: Timestamp) -> [ScreenLine] {
        var first = "attitude unknown"
        if let attitude = device.attitude {
            first =
                "roll \(number(attitude.roll, "%.1f°"))  pitch \(number(attitude.pitch, "%.1f°"))  "
                + "heading \(number(attitude.yaw, "%.1f°"))"
        }
        guard let state = device.state else { return [ScreenLine(glyphs.clean(first))] }
        let moving = state.isMoving == true ? "moving" : "still"
        var second = "\(state.side ?? "-") up, \(moving)"
        if let machine = device.machine, machine.phase != .off || machine.isChanged {
            second += ", machine \(WatchText.machine(machine, at: wallTime(now)))"
        } else if state.isVibrating == true {
            second += ", vibrating"
        }
        return [first, second].map { ScreenLine(glyphs.clean($0)) }
    }

    private func vibration(_ state: FleetBoard.State) -> String {
        guard let level = state.vibration, level > 0 else { return aligned(word(state.isVibrating)) }
        return "\(aligned(word(state.isVibrating))), \(number(level, "%.2f m/s²"))"
    }

    /// A word, right-aligned with the numbers.
    private func aligned(_ word: String) -> String { String(repeating: " ", count: max(0, 8 - word.count)) + word }

    private func word(_ flag: Bool?) -> String { flag.map { $0 ? "yes" : "no" } ?? "-" }

    /// The age of the attitude if it is outdated.
    private func age(_ device: FleetBoard, _ now: Timestamp) -> String? {
        guard let seconds = device.attitude.map({ now.seconds(since: $0.arrival) }) else { return nil }
        return seconds < DeviceScreen.freshness ? nil : "\(durationText(seconds)) old"
    }

    /// A number formatted by `format`, which ends with the unit.
    private func number(_ value: Double, _ format: String) -> String {
        let end = format.firstIndex { $0 == "f" } ?? format.startIndex
        return formatted(value, String(format[...end])) + format[format.index(after: end)...]
    }

    // MARK: Health

    private func health(_ device: FleetBoard, _ columns: Int) -> [ScreenLine] {
        guard let health = device.health else { return [ScreenLine("health unknown", .dim)] }
        let items = WatchText.health(health).map(glyphs.clean)
        var lines: [String] = []
        for item in items {
            if let last = lines.last, last.count + item.count + 3 <= columns {
                lines[lines.count - 1] = last + "   " + item
            } else {
                lines.append(item)
            }
        }
        let style: ScreenLine.Style = device.isOnline == false ? .dim : .plain
        return lines.prefix(4).map { ScreenLine($0, style) } + configuration(device, style)
    }

    /// The layers of the configuration on one line, those that need attention first.
    private func configuration(_ device: FleetBoard, _ style: ScreenLine.Style) -> [ScreenLine] {
        guard !device.layers.isEmpty else { return [] }
        let problems = device.layers.filter(\.status.isProblem)
        let sorted = problems + device.layers.filter { !$0.status.isProblem }
        let text = "configuration: " + sorted.map(WatchText.layer).joined(separator: ", ")
        return [ScreenLine(glyphs.clean(text), problems.isEmpty ? style : .warning)]
    }

    // MARK: Gestures

    private func gestures(_ device: FleetBoard, room: Int) -> [ScreenLine] {
        guard room > 0 else { return [] }
        let events = DeviceScreen.gestures(device.events)
        var lines = events.isEmpty ? [ScreenLine("no gesture yet", .dim)] : self.lines(events.prefix(room))
        // Among the events in the order of arrival, so that they move down as gestures follow.
        // None of them takes the last line from the last gesture.
        let most = events.isEmpty ? max(1, room / 2) : room / 2
        for (newer, miss) in device.nearMisses.prefix(most).enumerated() {
            let later = events.prefix { $0.arrival > miss.arrival }.count + newer
            let time = miss.time.map(timeOfDay) ?? "--:--:--"
            if later <= lines.count {
                lines.insert(ScreenLine(glyphs.clean("\(time)  \(miss.text)"), .dim), at: later)
            }
        }
        if device.nearMisses.isEmpty, device.report?.publishesNearMisses == false {
            lines.append(ScreenLine("publish.near_misses is off: it would say why a movement was no gesture", .dim))
        }
        return Array(lines.prefix(room))
    }

    /// The last phase of each gesture: a turn that changes again and again takes no line from others.
    private static func gestures(_ events: [WatchedEvent]) -> [WatchedEvent] {
        // The gestures of which a later phase than those to come is there already.
        var continued: Set<String> = []
        return events.filter { event in
            switch event.phase {
            case "began": return continued.remove(event.gesture) == nil
            case "changed": return continued.insert(event.gesture).inserted
            case "ended", "cancelled": continued.insert(event.gesture)
            default: break
            }
            return true
        }
    }

    private func lines(_ events: some Sequence<WatchedEvent>) -> [ScreenLine] {
        events.enumerated().map { index, event in
            let time = event.time.map(timeOfDay) ?? "--:--:--"
            let text = "\(time)  \(glyphs.fit(event.gesture, 9)) \(glyphs.fit(event.phase, 10)) \(event.remarks)"
            let isOld = event.isCancelled || event.isDelayed || event.isSimulated
            return ScreenLine(glyphs.clean(text), isOld ? .dim : index == 0 ? .bold : .plain)
        }
    }
}
