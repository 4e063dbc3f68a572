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
        let strongest = found.map(\.energy).max() ?? 0
        movements = found.filter { $0.energy >= ShownMovements.weakest * strongest }.map(\.frames)
    }

    /// The movement of each recording that is most like those of the others; `nil` for a recording without one.
    package static func alike(_ shown: [ShownMovements]) -> [[MotionFrame]?] {
        let all = shown.enumerated().flatMap { index, one in one.movements.map { (index, $0) } }
        let shapes = ShapeTable(count: all.count)
        for (number, (_, frames)) in all.enumerated() { shapes.set(number, count: frames.count) { frames[$0] } }
        /// The movement of a recording that is most like another movement, and how much.
        func nearest(to number: Int, in recording: Int) -> (number: Int, distance: Float)? {
            var best: (Int, Float)?
            for (other, (index, _)) in all.enumerated() where index == recording {
                let distance = shapes.distance(number, to: shapes, other, below: best?.1 ?? .infinity)
                if let distance { best = (other, distance.sum) }
            }
            return best
        }
        var best: (choice: [Int?], sum: Float) = ([], .infinity)
        for (number, (index, _)) in all.enumerated() {
            let choice = shown.indices.map { $0 == index ? (number, 0) : nearest(to: number, in: $0) }
            let sum = choice.reduce(Float(0)) { $0 + ($1?.1 ?? 0) }
            if sum < best.sum { best = (choice.map { $0?.0 }, sum) }
        }
        return best.choice.map { $0.map { all[$0].1 } }
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
        gesture = LearnedGesture(examples: examples, threshold: min(Rule.cap, Rule.spread * median + Rule.margin))
        finder = CandidateFinder(LearnedGestures([gesture]))
    }

    /// The RMS of an example's energy: 1 is 5 m/s² or 3 rad/s.
    package func loudness(of example: Int) -> Double { shapes.loudness(of: example) }

    /// Seconds.
    package func duration(of example: Int) -> Double { shapes.duration(of: example) }

    /// Whether the threshold is low because everyday movement is near.
    package var isLikeEverydayMovement: Bool { gesture.threshold < 0.55 && gesture.threshold < 0.9 * ownThreshold }

    private var ownThreshold: Double { min(Rule.cap, Rule.spread * median + Rule.margin) }

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
