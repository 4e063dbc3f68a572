/// Why a movement cannot be simulated.
public enum SimulationError: Error, Equatable, Sendable {
    /// There is no movement of this name.
    case unknownMovement(String, known: [String])
    /// The number of repetitions is out of range.
    case badCount(Int)
    /// The duration, in seconds, is out of range.
    case badLength(Double)
    /// The movement ends by itself, so that it takes no duration.
    case endsByItself(String)
    /// The movement does not end by itself, so that it cannot be repeated.
    case endless(String)
    /// With this number of repetitions, it would take too long.
    case tooLong(String, count: Int, seconds: Double)
    /// Another movement is being simulated.
    case busy(String)
    /// The manager is not running, so it would not deliver gestures.
    case notRunning
    /// The system has no file descriptor or thread left.
    case resources
}

extension SimulationError: CustomStringConvertible {
    /// What is wrong, and what is possible instead.
    public var description: String {
        switch self {
        case .unknownMovement(let name, let known):
            return "there is no movement \"\(name)\"; the movements are \(known.joined(separator: ", "))"
        case .badCount(let count):
            let counts = SimulatedMovement.counts
            return "the count must be \(counts.lowerBound) to \(counts.upperBound), not \(count)"
        case .badLength(let seconds):
            let lengths = SimulatedMovement.lengths
            return "the duration must be \(lengths.lowerBound) to \(lengths.upperBound) s, not \(seconds) s"
        case .endsByItself(let name):
            return "\(name) ends by itself: it can be repeated, but takes no duration"
        case .endless(let name):
            return "\(name) does not end by itself: it takes a duration, but cannot be repeated"
        case .tooLong(let name, let count, let seconds):
            let longest = SimulatedMovement.maximumDuration
            return "\(name) \(count) times takes \(seconds.rounded()) s, more than \(longest) s"
        case .busy(let name): return "\(name) is being simulated; try again when it is over"
        case .notRunning: return "the sensor is not being read, so no gesture would be reported"
        case .resources: return "the system has no file descriptor or thread left"
        }
    }
}
