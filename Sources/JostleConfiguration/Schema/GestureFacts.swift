package import MotionCore

/// Which phases and fields the events of each gesture have, for checking actions; keep it consistent with
/// the table in docs/gestures.md.
extension Gesture {
    /// Whether the gesture has a beginning and an end.
    var hasDuration: Bool {
        switch self {
        case .shake, .turn, .tilt, .fall, .motion, .vibration: true
        case .tap, .flick, .flip, .impact: false
        }
    }

    /// The phases that the gesture can go through.
    package var phases: [GesturePhase] {
        switch self {
        case .turn: [.began, .changed, .ended, .cancelled]
        case _ where hasDuration: [.began, .ended, .cancelled]
        default: [.recognized]
        }
    }

    /// The first phase.
    package var firstPhase: GesturePhase { hasDuration ? .began : .recognized }

    /// The fields present in at least one phase.
    var fields: Set<Template.Field> {
        let own: Set<Template.Field> =
            switch self {
            case .shake: [.strength, .axis, .reversals]
            case .tap: [.count, .side, .strength]
            case .flick: [.direction, .strength, .duration]
            case .turn: [.axis, .angle, .direction, .rate]
            case .flip: [.from, .to, .angle, .duration]
            case .tilt: [.angle]
            case .fall: [.height, .strength]
            case .impact: [.strength, .side]
            case .motion: []
            case .vibration: [.level, .frequency]
            }
        let common: Set<Template.Field> = [.event, .device, .gesture, .phase, .id, .t, .simulated]
        return own.union(common).union(hasDuration ? [.duration, .reason] : [])
    }
}
