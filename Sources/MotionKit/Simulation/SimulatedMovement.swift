internal import MotionCore
internal import VirtualIMU

/// A movement that is made up while the real sensor goes on: a name, and how often or for how long.
///
/// The virtual board lies flat and still before and after it. It moves in the axes of the body, so that a movement to the
/// left is one to the left however the sensor is mounted.
public struct SimulatedMovement: Equatable, Sendable {
    /// How often a movement may be repeated in one simulation.
    public static let counts = 1...20

    /// Seconds that a movement which does not end by itself may go on.
    public static let lengths = 1.0...600.0

    /// Seconds that a simulation lasts at most, but for gestures that take longer to end than usual.
    public static let longest = 900.0

    /// Seconds for which a movement that does not end by itself goes on where nobody says.
    public static let usualLength = 5.0

    /// The movements there are, and what the board does in each.
    public static var known: [(name: String, summary: String)] { SensorSelection.trajectories }

    /// What moves: one of `known`.
    public let name: String

    /// How many times in a row it moves so, with its own pauses between.
    public let count: Int

    /// Seconds from the command until the movement is over and what came of it should have been told.
    public let duration: Double

    private let kind: VirtualTrajectory
    private let length: Double?

    /// Makes a movement.
    ///
    /// - Parameters:
    ///   - name: one of `known`.
    ///   - count: how many times in a row; only of what ends by itself.
    ///   - seconds: how long it goes on; only of what does not end by itself, which is 5 s long unless said.
    /// - Throws: `SimulationError`, which says what is possible.
    public init(_ name: String, count: Int = 1, seconds: Double? = nil) throws(SimulationError) {
        guard let kind = VirtualTrajectory(rawValue: name) else {
            throw SimulationError.unknownMovement(name, known: VirtualTrajectory.allCases.map(\.name))
        }
        guard SimulatedMovement.counts.contains(count) else { throw SimulationError.badCount(count) }
        let endsByItself = kind.once.duration.isFinite
        if endsByItself, seconds != nil { throw SimulationError.endsByItself(name) }
        if !endsByItself, count != 1 { throw SimulationError.endless(name) }
        if let seconds, !SimulatedMovement.lengths.contains(seconds) { throw SimulationError.badLength(seconds) }
        let length = endsByItself ? nil : seconds ?? SimulatedMovement.usualLength
        let plan = SimulationPlan(kind, count: count, length: length)
        guard plan.duration <= SimulatedMovement.longest else {
            throw SimulationError.tooLong(name, count: count, seconds: plan.duration)
        }
        self.name = name
        self.count = count
        self.kind = kind
        self.length = length
        duration = plan.duration
    }

    /// What a virtual chip is moved along.
    var plan: SimulationPlan { SimulationPlan(kind, count: count, length: length) }
}

/// What a virtual chip is moved along: quiet, the movement, and quiet for good.
struct SimulationPlan: Sendable {
    /// Seconds of rest before the movement. The attitude filter finds the vertical and the gyroscope's bias in it, and
    /// recognizers the stillness out of which a gesture has to come. It passes as fast as it can be worked out.
    static let quiet = 8.0

    /// Seconds after the movement before anything counts as over: longer than any decision of a recognizer takes, that of a
    /// tap about a second one for example.
    static let settling = 2.0

    /// Seconds between two looks at whether something moves: a finger's tap lasts several of them.
    private static let step = 0.002

    let trajectory: any Trajectory

    /// Seconds from the beginning of the trajectory to the beginning and the end of the movement in it.
    let start: Double
    let end: Double

    /// Seconds from the beginning of the movement until it is over and settled.
    var duration: Double { end - start + SimulationPlan.settling }

    init(_ kind: VirtualTrajectory, count: Int, length: Double?) {
        var round = kind.once
        let onset = SimulationPlan.onset(of: round)
        if let length { round = Halted(round, after: onset + length) }
        // What a movement begins with is part of the quiet.
        let quiet = max(0, SimulationPlan.quiet - onset)
        trajectory = MotionSequence([Rest(quiet)] + Array(repeating: round, count: count))
        start = quiet + onset
        let end = length == nil ? SimulationPlan.end(of: round) : round.duration
        self.end = quiet + Double(count - 1) * round.duration + max(onset, end)
    }

    /// When a trajectory begins to move; 0 where it does not within ten seconds.
    private static func onset(of trajectory: any Trajectory) -> Double {
        let last = Int(min(trajectory.duration, 10) / step)
        let first = (0...last).first { moves(trajectory, at: Double($0) * step) }
        return first.map { max(0, Double($0 - 1) * step) } ?? 0
    }

    /// When a trajectory that ends has moved for the last time; 0 where it never does.
    private static func end(of trajectory: any Trajectory) -> Double {
        let last = Int(trajectory.duration / step)
        let moving = (0...last).last { moves(trajectory, at: Double($0) * step) }
        return moving.map { Double($0 + 1) * step } ?? 0
    }

    private static func moves(_ trajectory: any Trajectory, at time: Double) -> Bool {
        let motion = trajectory.motion(at: time)
        return motion.rotationRate.lengthSquared > 1e-12 || motion.acceleration.lengthSquared > 1e-12
    }
}
