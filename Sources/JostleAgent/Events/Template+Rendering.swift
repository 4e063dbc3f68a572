internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

/// An event with all the values that a template can use.
struct EventFacts {
    var event: GestureEvent
    var stamp: EventStamp
    var device: String
    var isSimulated: Bool

    /// The text of a field as in the event's payload, without quotes; `nil` if the event lacks the field.
    func text(of field: Template.Field) -> String? {
        switch field {
        case .event: Payloads.event(event, id: stamp.id, at: stamp.time, isSimulated: isSimulated).description
        case .device: device
        case .gesture: event.gesture.word
        case .phase: event.phase.word
        case .id: stamp.id
        case .t: String(stamp.time)
        case .strength: number(event.strength, decimals: 2)
        case .axis: event.axis?.word
        case .reversals: event.reversals.map { String($0) }
        case .direction: event.direction?.word
        case .side: event.side?.word
        case .from: event.from?.word
        case .to: event.to?.word
        case .count: event.count.map { String($0) }
        case .angle: number(event.angle.map { $0 * degreesPerRadian }, decimals: 1)
        case .rate: number(event.rate.map { $0 * degreesPerRadian }, decimals: 1)
        case .level: number(event.level, decimals: 3)
        case .frequency: number(event.frequency, decimals: 2)
        case .height: number(event.height, decimals: 2)
        case .duration: number(event.duration, decimals: 3)
        case .reason: event.reason?.word
        case .simulated: isSimulated ? "true" : "false"
        }
    }

    private func number(_ value: Double?, decimals: Int) -> String? {
        guard let value, value.isFinite else { return nil }
        return NumberText.decimal(value, decimals)
    }
}

extension Template {
    /// The text with the placeholders replaced.
    func text(of facts: EventFacts) -> String {
        parts.map { part in
            switch part {
            case .text(let text): text
            case .field(let field, let otherwise): facts.text(of: field) ?? otherwise
            }
        }.joined()
    }
}
