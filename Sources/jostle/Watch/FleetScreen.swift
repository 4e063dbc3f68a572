internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import MotionCore

/// The screen of a fleet: one line per device, those that need attention first.
struct FleetScreen {
    let glyphs: Glyphs
    /// Formats milliseconds since 1970 as the time of day.
    var timeOfDay: (Int64) -> String = { WallClock.timeOfDay(milliseconds: $0) }
    /// Milliseconds since 1970.
    var wallTime: (Timestamp) -> Int64 = { WallClock.milliseconds(at: $0) }

    /// Columns for the time, the gesture and the phase of the last event: `13:50:03 vibration recognized`.
    private static let lastEvent = 29

    /// The screen's lines, cut to the size of the window.
    func lines(
        _ model: FleetModel, _ connection: ConnectionStatus, at now: Timestamp, size: ScreenSize
    ) -> [ScreenLine] {
        let devices = model.boards.values.sorted { a, b in
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

    private func summary(_ devices: [FleetBoard]) -> String {
        let online = devices.count { $0.isOnline == true }
        let problems = devices.count { $0.health?.problems.isEmpty == false }
        return "\(devices.count) devices, \(online) online" + (problems > 0 ? ", \(problems) with problems" : "")
    }

    private func problem(_ model: FleetModel, _ connection: ConnectionStatus) -> String? {
        if let problem = connection.problem { return problem }
        if let leftOut = model.leftOutText { return leftOut }
        let malformed = model.boards.values.filter { $0.malformedMessages > 0 }
        guard let first = malformed.min(by: { $0.id < $1.id }), let reason = first.lastProblem else { return nil }
        return "malformed messages of \(malformed.count) devices, of \(first.id): \(reason)"
    }

    private func table(_ devices: [FleetBoard], _ now: Timestamp, room: Int, columns: Int) -> [ScreenLine] {
        guard room > 0 else { return [] }
        let width = min(max(8, devices.map(\.id.count).max() ?? 0), max(8, columns / 3))
        // Without layers, the column would only take room. Rate and state give way to what happened last.
        let hasLayers = devices.contains { !$0.layers.isEmpty }
        let widths = (rate: 12, state: 18)
        var rest = columns - width - 12 - (hasLayers ? 13 : 0) - FleetScreen.lastEvent
        let hasState = rest >= widths.state
        if hasState { rest -= widths.state }
        // A name says more than the rate, also if it has to be cut.
        let nameWidth = min(rest - 2, devices.compactMap { FleetScreen.name($0)?.count }.max() ?? 0)
        let hasNames = nameWidth >= 6
        if hasNames { rest -= nameWidth + 2 }
        let hasRate = hasState && rest >= widths.rate
        func row(
            _ id: String, _ name: String, _ availability: String, _ layers: String, _ rate: String, _ state: String,
            _ last: String
        ) -> String {
            let rateColumn = String(repeating: " ", count: max(0, 10 - rate.count)) + rate
            var cells = [glyphs.fit(glyphs.clean(id), width)]
            if hasNames { cells.append(glyphs.fit(glyphs.clean(name), nameWidth)) }
            cells.append(glyphs.fit(availability, 8))
            // As wide as the longest status, rolled_back.
            if hasLayers { cells.append(glyphs.fit(glyphs.clean(layers), 11)) }
            if hasRate { cells.append(glyphs.fit(rateColumn, 10)) }
            if hasState { cells.append(glyphs.fit(glyphs.clean(state), 16)) }
            cells.append(glyphs.clean(last))
            return cells.joined(separator: "  ")
        }
        var lines = [ScreenLine(row("device", "name", "", "config", "rate", "state", "last gesture"), .dim)]
        // If there is no room for all devices, the last row has the number of the others.
        let isCut = devices.count > room - 1
        for device in devices.prefix(isCut ? max(0, room - 2) : devices.count) {
            let rate = device.health?.rate.map { formatted($0, "%.1f Hz") } ?? "-"
            let state = device.state.map(WatchText.state) ?? "-"
            let layers = device.worstStatus?.word ?? "-"
            let text = row(
                device.id, FleetScreen.name(device) ?? "", WatchText.availability(device.isOnline), layers, rate, state,
                last(device, now))
            let isDim = device.isStopped || device.isOnline == false
            let style: ScreenLine.Style = isDim ? .dim : device.needsAttention ? .warning : .plain
            lines.append(ScreenLine(text, style))
        }
        if isCut { lines.append(ScreenLine("and \(devices.count - max(0, room - 2)) more", .dim)) }
        return lines
    }

    /// The name for people; `nil` if there is none but the id.
    static func name(_ device: FleetBoard) -> String? { device.report?.name.flatMap { $0 == device.id ? nil : $0 } }

    /// The last gesture, or for how long the device has been offline, or its problems, or the layer that it does not follow.
    private func last(_ device: FleetBoard, _ now: Timestamp) -> String {
        if let offline = WatchText.offline(device, at: now, milliseconds: wallTime(now)), offline != "offline" {
            return offline
        }
        if let problems = device.health?.problems, !problems.isEmpty {
            return "problems: \(problems.joined(separator: ", "))"
        }
        if let layer = device.layers.first(where: \.status.isProblem) { return WatchText.layer(layer) }
        guard let event = device.events.first else { return "" }
        return "\(event.time.map(timeOfDay) ?? "--:--:--") \(WatchText.event(event))"
    }
}

/// The state of the connection to the broker, for people.
struct ConnectionStatus {
    /// A short description: `connected to mqtt://localhost:1883, MQTT 5`.
    private(set) var text = "not connected yet"

    /// Why the last attempt failed, and the seconds until the next.
    private var failure: (reason: String, retryAfter: Double?)?

    /// The refused subscriptions.
    private(set) var refusals: [String] = []

    /// The number of messages dropped because they arrived too fast.
    private(set) var droppedMessages = 0

    /// Updates the status with a report.
    ///
    /// - Returns: a line about it; `nil` if it is not worth one.
    mutating func update(with report: BrokerView.Report) -> String? {
        switch report {
        case .connecting(let broker):
            text = "connecting to \(broker)"
            return nil
        case .connected(let broker, let version):
            text = "connected to \(broker), MQTT \(version)"
            failure = nil
            refusals = []
            return text
        case .failed(let reason, let seconds):
            text = "not connected"
            // A repeated failure with the same reason is reported only once.
            let isNew = failure?.reason != reason
            failure = (reason, seconds)
            return isNew ? "not connected: \(reason)" : nil
        case .refused(let filter, let reason):
            let refusal = "may not subscribe to \(filter): \(reason)"
            if refusals.count < 8 { refusals.append(refusal) }
            return refusal
        case .listening, .message: return nil
        }
    }

    /// Why nothing is shown although the broker answers: it does not know the device.
    var unknownDevice: String?

    /// Adds to the number of dropped messages.
    mutating func addDropped(_ count: Int) { droppedMessages += count }

    /// The present problem; `nil` if there is none.
    var problem: String? {
        if let failure {
            let again = failure.retryAfter.map { "trying again in \(decimal($0, 1)) s: " } ?? ""
            return again + failure.reason
        }
        if let refusal = refusals.first { return refusal }
        if let unknownDevice { return unknownDevice }
        return droppedMessages > 0 ? "\(droppedMessages) messages arrived too fast and were dropped" : nil
    }
}

/// Texts that several views share.
enum WatchText {
    /// The items of a health report, the most important first.
    static func health(_ health: FleetBoard.Health) -> [String] {
        var items: [String] = []
        func add(_ value: Double?, _ text: (String) -> String, _ decimals: Int = 0) {
            if let value { items.append(text(decimal(value, decimals))) }
        }
        if let state = health.sensorState { items.append("sensor \(state)") }
        add(health.rate, { "\($0) Hz" }, 1)
        add(health.period) { "period \($0) ppm" }
        add(health.gaps) { "gaps \($0)" }
        add(health.busErrors) { "bus errors \($0)" }
        add(health.outbox) { "outbox \($0)" }
        add(health.processor, { "CPU \($0) %" }, 1)
        add(health.memory, { "memory \($0) MiB" }, 1)
        if let uptime = health.uptime { items.append("up \(durationText(uptime))") }
        if let sensor = health.sensor { items.append(sensor) }
        return items
    }

    /// A layer: `group:laundry 3 rejected (2 in force): gestures.shake.sensitivity out of bounds`.
    static func layer(_ layer: BoardReport.Layer) -> String {
        let revision = layer.revision.map { " \($0)" } ?? ""
        let inForce = layer.inForce.flatMap { $0 == layer.revision ? nil : " (\($0) in force)" } ?? ""
        let error = layer.error.map { ": \($0)" } ?? ""
        return "\(layer.name)\(revision) \(layer.status.word)\(inForce)\(error)"
    }

    /// The state in a few words.
    static func state(_ state: FleetBoard.State) -> String {
        var words = ["\(state.side ?? "-") up", state.isMoving == true ? "moving" : "still"]
        if state.isVibrating == true { words.append("vibrating") }
        if state.isSimulated { words.append("virtual sensor") }
        if state.isStopped { words.append("stopped") }
        return words.joined(separator: ", ")
    }

    /// The phase of a machine: `running 12 min, not as it was`.
    static func machine(_ machine: FleetBoard.Machine, at milliseconds: Int64) -> String {
        phase(machine, at: milliseconds) + (machine.isChanged ? ", \(changed)" : "")
    }

    static func phase(_ machine: FleetBoard.Machine, at milliseconds: Int64) -> String {
        machine.phase.word + (machine.seconds(at: milliseconds).map { " \(durationText($0))" } ?? "")
    }

    static let changed = "not as it was"

    /// How long a device has been offline, or when it last reported, for example `offline for 3 min`; `nil` if it is not
    /// offline. `milliseconds` is the time now since 1970.
    static func offline(_ device: FleetBoard, at now: Timestamp, milliseconds: Int64) -> String? {
        guard device.isOnline == false else { return nil }
        if let since = device.offlineSince { return "offline for \(durationText(now.seconds(since: since)))" }
        guard let last = device.lastReport, last <= milliseconds else { return "offline" }
        return "offline, last report \(durationText(Double(milliseconds - last) / 1000)) ago"
    }

    /// The availability in a word.
    static func availability(_ isOnline: Bool?) -> String { isOnline.map { $0 ? "online" : "offline" } ?? "unknown" }

    /// An event on one line.
    static func event(_ event: WatchedEvent) -> String {
        let remarks = event.remarks
        return "\(event.gesture) \(event.phase)\(remarks.isEmpty ? "" : ", \(remarks)")"
    }
}

extension String {
    /// The text, or another one if it is empty.
    func ifEmpty(_ other: String) -> String { isEmpty ? other : self }
}
