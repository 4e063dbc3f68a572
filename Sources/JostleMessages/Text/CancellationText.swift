package import MotionCore

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
