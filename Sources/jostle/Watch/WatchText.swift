internal import JostleOperator
internal import MotionCore

/// Texts that several views share.
enum WatchText {
    /// A duration, easy to read at a glance: `41 s`, `12 min`, `3 h 12 min`, `5 d 3 h`.
    static func duration(_ seconds: Double) -> String {
        let whole = Int(max(0, min(seconds, 1e9)))
        switch whole {
        case ..<60: return "\(whole) s"
        case ..<3600: return "\(whole / 60) min"
        case ..<86_400: return "\(whole / 3600) h \(whole / 60 % 60) min"
        default: return "\(whole / 86_400) d \(whole / 3600 % 24) h"
        }
    }

    /// The items of a health report, the most important first.
    static func health(_ health: WatchedDevice.Health) -> [String] {
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
        add(health.memory, { "memory \($0) MB" }, 1)
        if let uptime = health.uptime { items.append("up \(duration(uptime))") }
        if let sensor = health.sensor { items.append(sensor) }
        return items
    }

    /// The layers of the configuration, with status and revision.
    static func configuration(_ configuration: WatchedConfiguration) -> String {
        configuration.layers.map(layer).joined(separator: ", ")
    }

    /// A layer: `group:laundry 3 rejected (2 in force): gestures.shake.sensitivity out of bounds`.
    static func layer(_ layer: WatchedConfiguration.Layer) -> String {
        let revision = layer.revision.map { " \($0)" } ?? ""
        let inForce = layer.revisionInForce.flatMap { $0 == layer.revision ? nil : " (\($0) in force)" } ?? ""
        let error = layer.error.map { ": \($0)" } ?? ""
        return "\(layer.name)\(revision) \(layer.status)\(inForce)\(error)"
    }

    /// The state in a few words.
    static func state(_ state: WatchedDevice.State) -> String {
        var words = ["\(state.side ?? "-") up", state.isMoving == true ? "moving" : "still"]
        if state.isVibrating == true { words.append("vibrating") }
        if state.isSimulated { words.append("virtual sensor") }
        if state.isStopped { words.append("stopped") }
        return words.joined(separator: ", ")
    }

    /// How long a device has been offline, or when it last reported, for example `offline for 3 min`; `nil` if it is not
    /// offline. `milliseconds` is the time now since 1970.
    static func offline(_ device: WatchedDevice, at now: Timestamp, milliseconds: Int64) -> String? {
        guard device.isOnline == false else { return nil }
        if let since = device.offlineSince { return "offline for \(duration(now.seconds(since: since)))" }
        guard let last = device.lastReport, last <= milliseconds else { return "offline" }
        return "offline, last report \(duration(Double(milliseconds - last) / 1000)) ago"
    }

    /// The availability in a word.
    static func availability(_ device: WatchedDevice) -> String {
        device.isOnline.map { $0 ? "online" : "offline" } ?? "unknown"
    }

    /// An event on one line.
    static func event(_ event: WatchedEvent) -> String {
        let remarks = event.remarks
        return "\(event.gesture) \(event.phase)\(remarks.isEmpty ? "" : ", \(remarks)")"
    }
}
