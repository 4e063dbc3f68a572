internal import MotionCore
internal import VirtualIMU

/// A movement to simulate while the real sensor continues: its name, and how often or for how long.
///
/// The virtual board lies flat and still before and after it. It moves along the axes of the body, so that a movement to
/// the left is to the left however the sensor is mounted.
public struct SimulatedMovement: Equatable, Sendable {
    /// The allowed numbers of repetitions.
    public static let counts = 1...20

    /// The allowed durations of a movement that does not end by itself, seconds.
    public static let lengths = 1.0...600.0

    /// The maximum duration of a simulation, seconds. Only gestures that take unusually long to end may exceed it.
    public static let maximumDuration = 900.0

    /// The default duration of a movement that does not end by itself, seconds.
    public static let defaultLength = 5.0

    /// All movements, and what the board does in each.
    public static var known: [(name: String, summary: String)] { SensorSelection.trajectories }

    /// The name: one of `known`.
    public let name: String

    /// The number of repetitions, with the movement's own pauses in between.
    public let count: Int

    /// Seconds from the start until the movement is over and its gestures should have been reported.
    public let duration: Double

    private let kind: VirtualTrajectory
    private let length: Double?

    /// Creates a movement.
    ///
    /// - Parameters:
    ///   - name: one of `known`.
    ///   - count: the number of repetitions; only 1 if the movement does not end by itself.
    ///   - seconds: the duration; only for a movement that does not end by itself. The default is 5 s.
    /// - Throws: `SimulationError`, with the allowed values.
    public init(_ name: String, count: Int = 1, seconds: Double? = nil) throws(SimulationError) {
        guard let kind = VirtualTrajectory(rawValue: name) else {
            throw SimulationError.unknownMovement(name, known: VirtualTrajectory.allCases.map(\.name))
        }
        guard SimulatedMovement.counts.contains(count) else { throw SimulationError.badCount(count) }
        let endsByItself = kind.once.duration.isFinite
        if endsByItself, seconds != nil { throw SimulationError.endsByItself(name) }
        if !endsByItself, count != 1 { throw SimulationError.endless(name) }
        if let seconds, !SimulatedMovement.lengths.contains(seconds) { throw SimulationError.badLength(seconds) }
        let length = endsByItself ? nil : seconds ?? SimulatedMovement.defaultLength
        let plan = SimulationPlan(kind, count: count, length: length)
        guard plan.duration <= SimulatedMovement.maximumDuration else {
            throw SimulationError.tooLong(name, count: count, seconds: plan.duration)
        }
        self.name = name
        self.count = count
        self.kind = kind
        self.length = length
        duration = plan.duration
    }

    /// The trajectory of the virtual chip.
    var plan: SimulationPlan { SimulationPlan(kind, count: count, length: length) }
}

/// The trajectory of the virtual chip: rest, the movement, and rest without an end.
struct SimulationPlan: Sendable {
    /// Seconds of rest before the movement. They let the attitude filter find the vertical and the gyroscope's bias, and
    /// give recognizers the rest that a gesture has to start from. This time is simulated as fast as the processor can.
    static let quiet = 8.0

    /// Seconds to wait after the movement: longer than any recognizer takes to decide, such as the tap recognizer, which
    /// waits for a second tap.
    static let settling = 2.0

    /// The time resolution of the search for movement, seconds: a tap with a finger lasts for several steps.
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
        // The rest at the start of a trajectory is part of the quiet time.
        let quiet = max(0, SimulationPlan.quiet - onset)
        trajectory = MotionSequence([Rest(quiet)] + Array(repeating: round, count: count))
        start = quiet + onset
        let end = length == nil ? SimulationPlan.end(of: round) : round.duration
        self.end = quiet + Double(count - 1) * round.duration + max(onset, end)
    }

    /// When a trajectory begins to move; 0 if it does not within ten seconds.
    private static func onset(of trajectory: any Trajectory) -> Double {
        let last = Int(min(trajectory.duration, 10) / step)
        let first = (0...last).first { moves(trajectory, at: Double($0) * step) }
        return first.map { max(0, Double($0 - 1) * step) } ?? 0
    }

    /// When a finite trajectory last moves; 0 if it never does.
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
