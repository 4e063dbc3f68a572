package import JostleConfiguration
package import MotionCore

extension JostleSettings.EventFilter {
    /// Whether an event satisfies every condition. A condition on a field that the event lacks is not satisfied.
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
    /// Whether the rule takes part in a gesture, decided at its beginning.
    ///
    /// A consuming rule must decide at the beginning, because the later responders then receive nothing of that
    /// gesture. Other rules take part in every gesture of their kind, and apply the filter to the phase on which they
    /// act.
    func takesPart(in beginning: GestureEvent) -> Bool {
        beginning.gesture == gesture && (!isConsuming || filter.accepts(beginning))
    }

    /// Whether the rule acts on an event of a gesture in which it takes part.
    func acts(on event: GestureEvent) -> Bool {
        event.phase == actingPhase && (isConsuming || filter.accepts(event))
    }
}
