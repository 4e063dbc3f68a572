package import MotionCore

/// The table of gestures in docs/gestures.md, for checking what is asked of their events: it grows with the table.
extension Gesture {
    /// Whether it has a beginning and an end.
    var hasDuration: Bool {
        switch self {
        case .shake, .turn, .tilt, .fall, .motion, .vibration: true
        case .tap, .flick, .flip, .impact: false
        }
    }

    /// The phases that it goes through.
    package var phases: [GesturePhase] {
        switch self {
        case .turn: [.began, .changed, .ended, .cancelled]
        case _ where hasDuration: [.began, .ended, .cancelled]
        default: [.recognized]
        }
    }

    /// The first of them.
    var firstPhase: GesturePhase { hasDuration ? .began : .recognized }

    /// What is told of it in at least one of its phases.
    var fields: Set<Template.Field> {
        let own: Set<Template.Field> =
            switch self {
            case .shake: [.strength, .axis, .reversals]
            case .tap: [.count, .side, .strength]
            case .flick: [.direction, .strength, .duration]
            case .turn: [.axis, .angle, .direction]
            case .flip: [.from, .to, .angle, .duration]
            case .tilt: [.angle]
            case .fall: [.height, .strength]
            case .impact: [.strength, .side]
            case .motion: []
            case .vibration: [.level, .frequency]
            }
        let ofAll: Set<Template.Field> = [.event, .device, .gesture, .phase, .id, .t, .simulated]
        return own.union(ofAll).union(hasDuration ? [.duration, .reason] : [])
    }
}
