/// The movements in which somebody shows a gesture once.
package struct ShownMovements: Sendable {
    package private(set) var movements: [[MotionFrame]] = []
    /// Seconds of the longest movement that has not the length of an example; 0 if there is none.
    package private(set) var unsuitable = 0.0

    /// The movements in a recording.
    package init(_ recorded: [SampledFrame]) {
        var collector = MovementCollector()
        for frame in recorded { collector.add(frame) }
        self = collector.take()
    }

    /// Movements that are known already; `unsuitable`: frames.
    package init(movements: [[MotionFrame]], unsuitable: Int = 0) {
        self.movements = movements
        self.unsuitable = Double(unsuitable) / MotionFrame.rate
    }

    /// The movement of each recording that is most like those of the others; `nil` for a recording without one.
    package static func alike(_ shown: [ShownMovements]) -> [[MotionFrame]?] {
        var all: [(recording: Int, frames: [MotionFrame])] = []
        for (recording, one) in shown.enumerated() { for frames in one.movements { all.append((recording, frames)) } }
        let shapes = ShapeTable(count: all.count)
        for (number, one) in all.enumerated() { shapes.set(number, count: one.frames.count) { one.frames[$0] } }
        var best: (choice: [Int?], sum: Float) = ([], .infinity)
        for number in all.indices {
            // The movement of each recording that is most like this one, and how much.
            var choice = [Int?](repeating: nil, count: shown.count)
            var distances = [Float](repeating: .infinity, count: shown.count)
            for (other, one) in all.enumerated() {
                let limit = distances[one.recording]
                guard let distance = shapes.distance(number, to: shapes, other, below: limit) else { continue }
                (choice[one.recording], distances[one.recording]) = (other, distance.sum)
            }
            let sum = distances.reduce(Float(0)) { $0 + ($1 < .infinity ? $1 : 0) }
            if sum < best.sum { best = (choice, sum) }
        }
        return best.choice.map { number in number.map { all[$0].frames } }
    }
}

/// Collects the movements between rests in which somebody shows a gesture.
package struct MovementCollector: ~Copyable {
    /// The share of the strongest movement's energy that one must have: people return to where they began, and fidget.
    private static let weakest: Float = 0.3

    private var history = FrameHistory()
    private var found: [(frames: [MotionFrame], energy: Float)] = []
    private var unsuitable = 0
    /// Frames for which it has been moving or resting.
    private var frames = 0

    package init() {}

    /// Whether a movement is in progress.
    package var isMoving: Bool { history.isMoving }

    /// Whether a movement has ended since the last `take`.
    package var hasMoved: Bool { !found.isEmpty || unsuitable > 0 }

    /// For how long it has been moving, or resting, s.
    package var seconds: Double { Double(frames) / MotionFrame.rate }

    package mutating func add(_ frame: SampledFrame) {
        let wasMoving = history.isMoving
        let ended = history.add(frame)
        frames = history.isMoving == wasMoving ? frames + 1 : 0
        guard let ended else { return }
        guard LearnedGesture.lengths.contains(ended.count) else {
            unsuitable = max(unsuitable, ended.count)
            return
        }
        let energy = ended.reduce(Float(0)) { $0 + history.energy($1) * history.energy($1) }
        found.append((ended.map { history.frame($0) }, energy))
    }

    /// Removes and returns the movements so far, but those that are weak beside the strongest.
    package mutating func take() -> ShownMovements {
        let strongest = found.reduce(Float(0)) { max($0, $1.energy) }
        let kept = found.filter { $0.energy >= MovementCollector.weakest * strongest }.map { $0.frames }
        defer { (found, unsuitable) = ([], 0) }
        return ShownMovements(movements: kept, unsuitable: unsuitable)
    }

    /// What follows is not the continuation of what was.
    package mutating func interrupt() {
        history.interrupt()
        (found, unsuitable, frames) = ([], 0, 0)
    }
}

/// Makes a gesture of examples: how much they differ, how near everyday movement comes, and so how like them a movement must be.
package struct GestureLearner: ~Copyable {
    /// The threshold: at most `cap`; a multiple of the examples' median distance from one another, and a margin; and a share of
    /// the distance to everyday movement.
    private enum Rule {
        static let cap = 0.90
        static let spread = 1.6
        static let margin = 0.25
        static let everyday = 0.95
        /// The threshold below which everyday movement is too near.
        static let near = 0.55
    }

    package private(set) var gesture: LearnedGesture
    /// The distance of each example from the nearest other one, and their median.
    package let distances: [Double]
    package let median: Double
    /// The lowest score of everyday movement.
    package private(set) var nearest = Double.infinity
    /// The threshold that follows from the examples alone.
    private let ownThreshold: Double
    private let shapes: ShapeTable
    private var finder: CandidateFinder

    /// Learns from two examples or more; of one it is only known how near everyday movement comes.
    package init(_ examples: [[MotionFrame]]) {
        let shapes = ShapeTable(count: examples.count)
        for (index, example) in examples.enumerated() { shapes.set(index, count: example.count) { example[$0] } }
        let distances = examples.indices.map { index in
            var least = Float.infinity
            for other in examples.indices where other != index {
                if let distance = shapes.distance(index, to: shapes, other, below: least) { least = distance.sum }
            }
            return Double(least)
        }
        let sorted = distances.sorted()
        median = 0.5 * (sorted[(sorted.count - 1) / 2] + sorted[sorted.count / 2])
        self.distances = distances
        self.shapes = shapes
        ownThreshold = min(Rule.cap, Rule.spread * median + Rule.margin)
        gesture = LearnedGesture(examples: examples, threshold: ownThreshold)
        finder = CandidateFinder(LearnedGestures(gesture))
    }

    /// The RMS of an example's energy: 1 is 5 m/s² or 3 rad/s.
    package func loudness(of example: Int) -> Double { shapes.loudness(of: example) }

    /// Seconds.
    package func duration(of example: Int) -> Double { shapes.duration(of: example) }

    /// Whether the threshold is low because everyday movement is near.
    package var isLikeEverydayMovement: Bool { gesture.threshold < Rule.near && gesture.threshold < 0.9 * ownThreshold }

    /// Whether everyday movement is too near whatever the examples are like.
    package var isEverydayMovement: Bool { Rule.everyday * nearest < Rule.near }

    /// The numbers of the examples to keep if there may be at most `count`: of the two that are most alike, the one that is also
    /// nearer to a third goes, the older of two that are as near, until few enough are left.
    package static func spread(_ examples: [[MotionFrame]], keeping count: Int) -> [Int] {
        let shapes = ShapeTable(count: examples.count)
        for (index, example) in examples.enumerated() { shapes.set(index, count: example.count) { example[$0] } }
        var kept = Array(examples.indices)
        while kept.count > max(count, 1) {
            var least = (place: 0, distances: [Float]())
            for (place, index) in kept.enumerated() {
                let distances = kept.filter { $0 != index }.compactMap {
                    shapes.distance(index, to: shapes, $0, below: .infinity)?.sum
                }.sorted()
                if place == 0 || distances.lexicographicallyPrecedes(least.distances) { least = (place, distances) }
            }
            kept.remove(at: least.place)
        }
        return kept
    }

    /// Lowers the threshold so that this stretch of movement is not the gesture. Returns whether it is the nearest so far.
    package mutating func avoid(_ stretch: [MotionFrame]) -> Bool {
        var least = Float(nearest)
        for frame in stretch {
            finder.add(SampledFrame(frame)) { _ in
                least
            } emit: {
                least = min(least, $0.score)
            }
        }
        finder.interrupt()
        guard Double(least) < nearest else { return false }
        nearest = Double(least)
        gesture.threshold = min(ownThreshold, Rule.everyday * nearest)
        return true
    }
}
