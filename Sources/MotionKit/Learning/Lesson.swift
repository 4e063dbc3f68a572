package import MotionCore

/// The examples of a gesture, what there is to say of them, and the gesture that is learned from them.
///
/// Recordings and the examples of a guided session are judged here alike.
package struct Lesson: ~Copyable {
    /// The largest median distance between examples.
    package static let mostDifferent = 0.80
    /// The median distance above which one in ten is missed, that above which four in ten are, and that below which hardly
    /// one is.
    private static let different = 0.5
    private static let veryDifferent = 0.75
    private static let alike = 0.4
    /// The loudness of an example that is too weak, the longest that repeats well, s, the distance at which one is unlike the
    /// others, and the largest ratio of tempi.
    private static let weak = 0.35
    static let longest = 3.0
    private static let outlier = 0.6
    private static let tempo = 2.0
    /// The share of an example's duration that another gesture has which is like it as a whole.
    private static let part = 0.6

    private var learner: GestureLearner
    private let examples: [ShownExample]
    /// The everyday movement that is nearest.
    private var activity: String?

    /// - Parameter examples: at least one, with one movement each.
    package init(_ examples: [ShownExample]) {
        learner = GestureLearner(examples.map(\.movement))
        self.examples = examples
    }

    /// The examples to keep if there are more than a gesture may have: those that are least alike.
    package static func kept(of examples: [ShownExample]) -> [ShownExample] {
        GestureLearner.spread(examples.map(\.movement), keeping: LearnedGesture.counts.upperBound).map { examples[$0] }
    }

    /// Keeps the gesture apart from movement that it must not be.
    package mutating func avoid(_ movement: EverydayMovement) {
        for stretch in movement.stretches where learner.avoid(stretch.frames) { activity = stretch.activity }
    }

    package var gesture: LearnedGesture { learner.gesture }

    /// Seconds, and the distance from the nearest other example; infinite without others.
    package func duration(of example: Int) -> Double { learner.duration(of: example) }
    package func distance(of example: Int) -> Double { learner.distances[example] }

    /// The RMS of an example's energy: 1 is 5 m/s² or 3 rad/s.
    package func loudness(of example: Int) -> Double { learner.loudness(of: example) }

    /// Whether the examples are so alike that no more are needed.
    package var isEnough: Bool { learner.median < Lesson.alike }

    /// What there is to say of an example.
    package func findings(of example: Int) -> [ExampleFinding] {
        var findings: [ExampleFinding] = []
        if learner.loudness(of: example) < Lesson.weak { findings.append(.tooWeak) }
        if learner.duration(of: example) > Lesson.longest { findings.append(.tooLong) }
        if isUnlikeTheOthers(example) { findings.append(.unlikeOthers) }
        // A gesture that is only a part of this one gives way to it.
        let least = Lesson.part * learner.duration(of: example)
        if let other = examples[example].learned.first(where: { $0.duration ?? 0 > least }), let name = other.name {
            findings.append(.likeLearned("\(name)"))
        }
        if examples[example].isClipped { findings.append(.clipped) }
        if !examples[example].hasRotationRate { findings.append(.noRotationRate) }
        return findings
    }

    /// Of two that differ, neither is the outlier.
    private func isUnlikeTheOthers(_ example: Int) -> Bool {
        guard examples.count > 1 else { return false }
        return learner.distances[example] > max(Lesson.outlier, 2 * learner.median)
    }

    /// The everyday movement that is so near that no threshold would help.
    package var hopelesslyNear: String? { learner.isEverydayMovement ? activity : nil }

    /// The median distance of the examples from one another, and whether it is too large to learn anything.
    package var median: Double { learner.median }
    package var isRefused: Bool { learner.median > Lesson.mostDifferent }

    /// What there is to say of all examples together.
    package var remarks: [Remark] {
        var remarks: [Remark] = []
        let durations = examples.indices.map { learner.duration(of: $0) }
        if learner.median > Lesson.veryDifferent {
            remarks.append(.veryDifferent)
        } else if learner.median > Lesson.different {
            remarks.append(.different)
        }
        if let most = durations.max(), let least = durations.min(), most > Lesson.tempo * least {
            remarks.append(.unevenTempo)
        }
        if learner.isLikeEverydayMovement, let activity { remarks.append(.likeEveryday(activity)) }
        let gestures = examples.reduce(GestureSet()) { $0.union($1.gestures) }
        if !gestures.isEmpty { remarks.append(.alsoRecognised(gestures)) }
        return remarks
    }

    /// What there is to say of the examples together.
    package enum Remark: Equatable, Sendable {
        /// One in ten is missed, or four in ten.
        case different
        case veryDifferent
        case unevenTempo
        case likeEveryday(String)
        case alsoRecognised(GestureSet)
    }
}

/// What there is to say of one example.
package enum ExampleFinding: Equatable, Sendable {
    /// More than one movement.
    case several
    case tooShort
    case tooLong
    case tooWeak
    case unlikeOthers
    /// It is like this activity.
    case likeEveryday(String)
    /// It is like this learned gesture.
    case likeLearned(String)
    /// It is also these built-in gestures.
    case alsoRecognised(GestureSet)
    case clipped
    case noRotationRate

    /// Whether an example of which it is so does not count.
    package var isFault: Bool {
        switch self {
        case .several, .tooShort, .tooLong, .tooWeak, .unlikeOthers, .likeEveryday, .likeLearned: true
        case .alsoRecognised, .clipped, .noRotationRate: false
        }
    }
}
