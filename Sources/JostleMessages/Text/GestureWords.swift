internal import Documents
internal import JostleConfiguration
package import MotionCore

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
    package func explanation(of gesture: Gesture) -> String { gesture.facts.cancellations[self] ?? explanation }

    /// The clause for gestures that have no better one.
    package var explanation: String {
        switch self {
        case .tooWeak: "it faded before it was certain"
        case .tooShort: "it stopped before it was certain"
        case .tooLong: "it lasted longer than its maximum_duration"
        case .tilted: "the board was tilted while it was turned"
        case .interrupted: "another gesture took precedence, or samples are missing"
        case .sensorLost: "the sensor failed"
        case .disabled: "the gesture was disabled"
        case .stopped: "sensing or the agent stopped"
        case .restarted: "the agent was restarted"
        }
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
