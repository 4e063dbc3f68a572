internal import Documents
internal import JostleConfiguration
package import MotionCore

/// The contract names of gestures in topics, payloads and CSV files.
extension Gesture {
    /// The gesture's contract name.
    package var word: String {
        switch self {
        case .shake: "shake"
        case .tap: "tap"
        case .flick: "flick"
        case .turn: "turn"
        case .flip: "flip"
        case .tilt: "tilt"
        case .fall: "fall"
        case .impact: "impact"
        case .motion: "motion"
        case .vibration: "vibration"
        }
    }
}

extension Gesture {
    /// The gesture with this contract name; `nil` if there is none.
    package init?(word: String) {
        guard let gesture = Gesture.allCases.first(where: { $0.word == word }) else { return nil }
        self = gesture
    }
}

extension GestureSet {
    /// The contract names of the members.
    package var words: [String] { Gesture.allCases.filter(contains).map(\.word) }
}

extension MotionDirection {
    /// The direction's contract name.
    package var word: String {
        switch self {
        case .left: "left"
        case .right: "right"
        case .up: "up"
        case .down: "down"
        case .forward: "forward"
        case .backward: "backward"
        }
    }
}

extension GesturePhase {
    /// The phase's contract name.
    package var word: String {
        switch self {
        case .began: "began"
        case .changed: "changed"
        case .ended: "ended"
        case .cancelled: "cancelled"
        case .recognized: "recognized"
        }
    }
}

extension CancellationReason {
    /// The reason's contract name.
    package var word: String {
        switch self {
        case .tooWeak: "too_weak"
        case .tooLong: "too_long"
        case .interrupted: "interrupted"
        case .sensorLost: "sensor_lost"
        case .disabled: "disabled"
        case .stopped: "stopped"
        case .restarted: "restarted"
        case .tooShort: "too_short"
        case .tilted: "tilted"
        }
    }
}

extension BodyAxis {
    /// The axis's contract name.
    package var word: String {
        switch self {
        case .x: "x"
        case .y: "y"
        case .z: "z"
        }
    }
}

extension BodySide {
    /// The side's contract name.
    package var word: String {
        switch self {
        case .plusX: "+x"
        case .minusX: "-x"
        case .plusY: "+y"
        case .minusY: "-y"
        case .plusZ: "+z"
        case .minusZ: "-z"
        }
    }
}

extension HeadingQuality {
    /// The quality's value in payloads.
    package var word: String {
        switch self {
        case .learning: "learning"
        case .tracking: "tracking"
        case .disturbed: "disturbed"
        }
    }
}

extension CancellationReason {
    /// A clause for people: why a gesture of this kind was cancelled.
    package func explanation(of gesture: Gesture) -> String {
        switch self {
        case .tooWeak:
            gesture == .fall ? "it did not land hard, as if it was caught" : "it faded before it was certain"
        case .tooShort: gesture == .shake ? "it stopped before the fourth swing" : "it stopped before it was certain"
        case .tooLong:
            gesture == .turn
                ? "it lasted longer than its knob_duration, or maximum_duration if its mode is free"
                : "it lasted longer than its maximum_duration"
        case .tilted: "the board was tilted while it was turned"
        case .interrupted: "another gesture took precedence, or samples are missing"
        case .sensorLost: "the sensor failed"
        case .disabled: "the gesture was disabled"
        case .stopped: "sensing or the agent stopped"
        case .restarted: "the agent was restarted"
        }
    }

    /// The reason with this contract name; `nil` if there is none.
    package init?(word: String) {
        guard let reason = CancellationReason.allCases.first(where: { $0.word == word }) else { return nil }
        self = reason
    }
}

extension Double {
    /// The number as text, with at most this many decimals.
    package func rounded(to decimals: Int) -> String { NumberText.decimal(self, decimals) }
}

extension Duration {
    /// The duration in seconds.
    package var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
