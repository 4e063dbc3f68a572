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

/// The contract names in events, the same as in their payload.
enum GestureNames {
    static let gestures: KeyValuePairs<String, Gesture> = [
        "shake": .shake, "tap": .tap, "flick": .flick, "turn": .turn, "flip": .flip, "tilt": .tilt, "fall": .fall,
        "impact": .impact, "motion": .motion, "vibration": .vibration,
    ]
    static let phases: KeyValuePairs<String, GesturePhase> = [
        "began": .began, "changed": .changed, "ended": .ended, "cancelled": .cancelled, "recognized": .recognized,
    ]
    static let axes: KeyValuePairs<String, BodyAxis> = ["x": .x, "y": .y, "z": .z]
    static let directions: KeyValuePairs<String, MotionDirection> = [
        "left": .left, "right": .right, "up": .up, "down": .down, "forward": .forward, "backward": .backward,
    ]
    static let sides: KeyValuePairs<String, BodySide> = [
        "+x": .plusX, "-x": .minusX, "+y": .plusY, "-y": .minusY, "+z": .plusZ, "-z": .minusZ,
    ]

    /// The contract name of a gesture.
    static func name(of gesture: Gesture) -> String { gestures.first { $0.value == gesture }?.key ?? "" }

    /// The contract name of a phase.
    static func name(of phase: GesturePhase) -> String { phases.first { $0.value == phase }?.key ?? "" }
}
