package import MotionCore

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
    init?(_ fields: MessageFields, at now: Timestamp) {
        guard let sentence = fields.text("text") else { return nil }
        gesture = fields.text("gesture") ?? ""
        text = fields.flag("simulated") == true ? "\(sentence), simulated" : sentence
        time = fields.number("t").flatMap(WatchedEvent.credible)
        arrival = now
    }
}
