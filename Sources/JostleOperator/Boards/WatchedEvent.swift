internal import Documents
internal import JostleConfiguration
internal import JostleMessages
package import MotionCore

/// A phase of a gesture, as a device published it, formatted for people.
package struct WatchedEvent: Equatable, Sendable {
    /// Unique among all events; `nil` if the message has none.
    package var id: String?

    package var gesture: String
    package var phase: String

    /// The event's other fields, formatted: `axis x`, `14.2 m/s²`.
    package var details: [String]

    /// The dominant frequency of a vibration, Hz.
    package var frequency: Double?

    /// When the gesture was recognised, milliseconds since 1970; `nil` if the device's clock was not set.
    package var time: Int64?

    /// When it arrived here.
    package var arrival: Timestamp

    /// Whether the agent simulated the event, and whether the agent published it late.
    package var isSimulated: Bool
    package var isDelayed: Bool

    /// Returns `nil` if the message has no gesture or no phase.
    init?(_ fields: JSONValue, at now: Timestamp) {
        guard let gesture = fields["gesture"]?.foreignString, let phase = fields["phase"]?.foreignString else {
            return nil
        }
        self.gesture = gesture
        self.phase = phase
        id = fields["id"]?.foreignString
        arrival = now
        isSimulated = fields["simulated"]?.bool ?? false
        isDelayed = fields["delayed"]?.bool ?? false
        time = fields.reportTime
        frequency = fields["frequency"]?.foreignNumber
        details = WatchedEvent.details(fields)
    }

    /// Whether the gesture was cancelled.
    package var isCancelled: Bool { phase == "cancelled" }

    /// The details and the event's flags, on one line.
    package var remarks: String {
        var parts = details
        if isSimulated { parts.append("simulated") }
        if isDelayed { parts.append("delayed") }
        if time == nil { parts.append("clock unset") }
        return parts.joined(separator: ", ")
    }

    private static func details(_ fields: JSONValue) -> [String] {
        var parts: [String] = []
        func add(_ name: String, _ decimals: Int, _ before: String, _ after: String) {
            guard let number = fields[name]?.foreignNumber else { return }
            parts.append(before + NumberText.decimal(number, decimals) + after)
        }
        add("count", 0, "", " times")
        if let direction = fields["direction"]?.foreignString { parts.append(direction) }
        if let from = fields["from"]?.foreignString, let to = fields["to"]?.foreignString {
            parts.append("\(from) to \(to)")
        }
        if let side = fields["side"]?.foreignString { parts.append("on \(side)") }
        if let axis = fields["axis"]?.foreignString { parts.append("axis \(axis)") }
        add("angle", 1, "", "°")
        add("rate", 0, "", " °/s")
        add("strength", 1, "", " m/s²")
        add("level", 2, "", " m/s² RMS")
        add("frequency", 1, "", " Hz")
        add("reversals", 0, "", " reversals")
        add("height", 2, "height ", " m")
        add("duration", 2, "after ", " s")
        add("longest_pause", 0, "longest pause ", " s")
        add("peak", 2, "peak ", " m/s²")
        if fields["spun"]?.bool == true { parts.append("spun") }
        if let decibels = fields["decibels"]?.foreignNumber, let octave = fields["octave"]?.foreignNumber {
            let change = "\(NumberText.decimal(abs(decibels), 1)) dB \(decibels < 0 ? "less" : "more")"
            parts.append("\(change) from \(NumberText.decimal(octave, 1)) to \(NumberText.decimal(2 * octave, 1)) Hz")
        }
        if let reason = fields["reason"]?.foreignString {
            let gesture = fields["gesture"]?.foreignString.flatMap { GestureKind(word: $0)?.gesture }
            let known = gesture.flatMap { CancellationReason(word: reason)?.explanation(of: $0) }
            parts.append(known ?? reason)
        }
        return parts
    }
}

/// A movement that was almost a gesture, as a device published it.
package struct WatchedNearMiss: Equatable, Sendable {
    /// The gesture that it almost was; empty if the device does not say.
    var gesture: String

    /// The device's sentence about it, and whether the movement was simulated.
    package var text: String

    /// When it happened by the device's clock, milliseconds since 1970.
    package var time: Int64?

    /// When it arrived here.
    package var arrival: Timestamp

    /// Returns `nil` if the message has no text.
    init?(_ fields: JSONValue, at now: Timestamp) {
        guard let sentence = fields["text"]?.foreignString else { return nil }
        gesture = fields["gesture"]?.foreignString ?? ""
        text = fields["simulated"]?.bool == true ? "\(sentence), simulated" : sentence
        time = fields["t"]?.foreignTime
        arrival = now
    }
}
