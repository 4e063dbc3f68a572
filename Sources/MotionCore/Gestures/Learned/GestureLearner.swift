/// The movements in a recording that shows a gesture once.
package struct ShownMovements: Sendable {
    /// The share of the strongest movement's energy that one must have: people return to where they began, and fidget.
    private static let weakest: Float = 0.3

    package private(set) var movements: [[MotionFrame]] = []

    package init(_ recorded: [SampledFrame]) {
        var history = FrameHistory()
        var found: [(frames: [MotionFrame], energy: Float)] = []
        for frame in recorded {
            guard let range = history.add(frame), LearnedGesture.lengths.contains(range.count) else { continue }
            let energy = range.reduce(Float(0)) { $0 + history.energy($1) * history.energy($1) }
            found.append((range.map { history.frame($0) }, energy))
        }
        let strongest = found.reduce(Float(0)) { max($0, $1.energy) }
        movements = found.filter { $0.energy >= ShownMovements.weakest * strongest }.map { $0.frames }
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

/// Makes a gesture of examples: how much they differ, how near everyday movement comes, and so how like them a movement must be.
package struct GestureLearner: ~Copyable {
    /// The threshold: at most `cap`; a multiple of the examples' median distance from one another, and a margin; and a share of
    /// the distance to everyday movement.
    private enum Rule {
        static let cap = 0.90
        static let spread = 1.6
        static let margin = 0.25
        static let everyday = 0.95
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

    /// At least two examples.
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
    package var isLikeEverydayMovement: Bool { gesture.threshold < 0.55 && gesture.threshold < 0.9 * ownThreshold }

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
