package import MotionCore
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

    private let kind: Kind
    private let length: Double?

    private enum Kind: Equatable, Sendable {
        case known(VirtualTrajectory)
        /// The first example of a learned gesture.
        case shown(LearnedGesture)
    }

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
        let endsByItself = kind.once.duration.isFinite
        if endsByItself, seconds != nil { throw SimulationError.endsByItself(name) }
        if !endsByItself, count != 1 { throw SimulationError.endless(name) }
        if let seconds, !SimulatedMovement.lengths.contains(seconds) { throw SimulationError.badLength(seconds) }
        let length = endsByItself ? nil : seconds ?? SimulatedMovement.defaultLength
        try self.init(name, .known(kind), count: count, length: length)
    }

    /// Creates the movement of a learned gesture: its first example.
    package init(_ gesture: LearnedGestureSettings, count: Int = 1) throws(SimulationError) {
        try self.init("\(gesture.name)", .shown(gesture.gesture), count: count, length: nil)
    }

    private init(_ name: String, _ kind: Kind, count: Int, length: Double?) throws(SimulationError) {
        guard SimulatedMovement.counts.contains(count) else { throw SimulationError.badCount(count) }
        let plan = SimulatedMovement.plan(kind, count: count, length: length)
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
    var plan: SimulationPlan { SimulatedMovement.plan(kind, count: count, length: length) }

    private static func plan(_ kind: Kind, count: Int, length: Double?) -> SimulationPlan {
        switch kind {
        case .known(let known): SimulationPlan(known.once, count: count, length: length)
        case .shown(let gesture):
            SimulationPlan(RecordedTrajectory(gesture.samples(count: count), isLooped: false), count: 1, length: nil)
        }
    }
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

    init(_ round: any Trajectory, count: Int, length: Double?) {
        var round = round
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

extension LearnedGesture {
    /// What a sensor on a body measures that lies flat, moves like the first example as often as `count`, and rests a second
    /// before and after each.
    fileprivate func samples(count: Int) -> [MotionSample] {
        let rest = [MotionFrame](repeating: .zero, count: Int(MotionFrame.rate))
        let frames = rest + (0..<count).flatMap { _ in (examples.first ?? []) + rest }
        var attitude = Quaternion.identity
        var previous = Vector3.zero
        return frames.enumerated().map { index, frame in
            let rate = frame.measuredRate
            attitude = (attitude * Quaternion(rotationVector: (0.5 / MotionFrame.rate) * (previous + rate))).normalized
            previous = rate
            return MotionSample(
                timestamp: Timestamp(seconds: Double(index) / MotionFrame.rate),
                acceleration: frame.measuredAcceleration + attitude.unrotate(Vector3(0, 0, standardGravity)),
                rotationRate: rate, flags: .rotationRate)
        }
    }
}
