/// Why a movement is not simulated.
public enum SimulationError: Error, Equatable, Sendable {
    /// There is no movement of this name.
    case unknownMovement(String, known: [String])
    /// It cannot be repeated so often.
    case badCount(Int)
    /// It cannot go on for so many seconds.
    case badLength(Double)
    /// It ends by itself: how long it takes is not for others to say.
    case endsByItself(String)
    /// It never ends by itself: it cannot be repeated.
    case endless(String)
    /// Repeated so often it would take this many seconds.
    case tooLong(String, count: Int, seconds: Double)
    /// Another movement is being simulated.
    case busy(String)
    /// Nothing runs: there is nobody to tell of gestures.
    case notRunning
    /// The system has no descriptor or thread left.
    case resources
}

extension SimulationError: CustomStringConvertible {
    /// What is wrong, and what is possible instead.
    public var description: String {
        switch self {
        case .unknownMovement(let name, let known):
            return "there is no movement \"\(name)\"; there are \(known.joined(separator: ", "))"
        case .badCount(let count):
            let counts = SimulatedMovement.counts
            return "\(count) times is not possible; \(counts.lowerBound) to \(counts.upperBound) are"
        case .badLength(let seconds):
            let lengths = SimulatedMovement.lengths
            return "\(seconds) s are not possible; \(lengths.lowerBound) to \(lengths.upperBound) are"
        case .endsByItself(let name):
            return "\(name) ends by itself: it can be repeated and not be told how long to take"
        case .endless(let name):
            return "\(name) does not end by itself: it can be told how long to take and not be repeated"
        case .tooLong(let name, let count, let seconds):
            return "\(name) \(count) times takes \(seconds.rounded()) s; \(SimulatedMovement.longest) s are possible"
        case .busy(let name): return "\(name) is being simulated; try again when it is over"
        case .notRunning: return "the sensor is not being read, so that nobody would hear of a gesture"
        case .resources: return "the system has no file descriptor or thread left"
        }
    }
}
