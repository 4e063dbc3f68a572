internal import MotionCore

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
