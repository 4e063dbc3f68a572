package import JostleConfiguration
package import MotionCore

extension JostleSettings.EventFilter {
    /// Whether an event has all that is asked; a field that it lacks fits nothing.
    package func accepts(_ event: GestureEvent) -> Bool {
        fits(event.count, counts) && fits(event.axis, axes) && fits(event.direction, directions)
            && fits(event.side, sides) && fits(event.from, from) && fits(event.to, to)
            && exceeds(event.strength, strengthAbove) && exceeds(event.angle.map(abs), angleAbove)
            && exceeds(event.duration, durationAbove)
    }

    private func fits<Value: Equatable>(_ value: Value?, _ allowed: [Value]?) -> Bool {
        guard let allowed else { return true }
        return value.map(allowed.contains) ?? false
    }

    private func exceeds(_ value: Double?, _ limit: Double?) -> Bool {
        guard let limit else { return true }
        return value.map { $0 > limit } ?? false
    }
}

extension JostleSettings.Action {
    /// Whether the rule takes part in a gesture, judged by its beginning.
    ///
    /// A rule that consumes has to know then: the others are to hear nothing of that gesture. One that does not takes part
    /// in every gesture of its kind, and looks closer at the phase on which it acts.
    func takesPart(in beginning: GestureEvent) -> Bool {
        beginning.gesture == gesture && (!isConsuming || filter.accepts(beginning))
    }

    /// Whether the rule acts on an event of a gesture that it takes part in.
    func acts(on event: GestureEvent) -> Bool {
        event.phase == actingPhase && (isConsuming || filter.accepts(event))
    }
}
