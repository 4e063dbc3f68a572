/// A stretch of frames that may be a learned gesture.
struct GestureCandidate: BitwiseCopyable {
    var gesture: Int
    /// The first frame, and the one after the last.
    var start: Int
    var end: Int
    /// The score, and its parts.
    var distance: ShapeTable.Distance
    var isolation: Float
    /// Whether more moved after it than before.
    var isFollowed: Bool
    /// The copy of an example that it is most like.
    var copy: Int

    var score: Float { distance.sum + isolation }
    var length: Int { end - start }

    func overlaps(_ other: GestureCandidate) -> Bool { start < other.end && other.start < end }
}

/// Finds stretches of movement that may be learned gestures, and scores them.
///
/// A stretch is a whole movement between rests, or what dynamic time warping finds within a movement: each copy of an
/// example is followed through the frames, at half to twice its tempo, as long as the squared residual is small. The best end
/// of all copies is a candidate if no better one comes within 0.2 s.
struct CandidateFinder: ~Copyable {
    /// The share of the example's energy above which a path is dropped.
    private static let loose: Float = 0.60
    /// The share of the energy so far below which a path may be the gesture.
    private static let likely: Float = 0.35
    /// Frames without a better end before a candidate is scored.
    private static let wait = 5
    /// Below this energy for so many frames nothing is compared.
    static let rest: Float = 0.15
    static let restFrames = 15
    /// Frames of a candidate.
    private static let shortest = 4
    /// Movement before and after: weight, and frames.
    private static let isolationWeight: Float = 0.50
    private static let framesBefore = 8

    private let learned: LearnedGestures
    private var history = FrameHistory()
    private var lastActive = 0
    /// Whether something moves, so that frames are compared.
    private(set) var isActive = false

    /// For each point of each copy: the residual of the best path to it and where that began, for the present frame and the
    /// two before, and the squared distance of the point for this frame and the one before.
    private let residuals: FixedBuffer<Float>
    private let beginnings: FixedBuffer<Int32>
    private let steps: FixedBuffer<Float>
    private let points: Int
    /// The best end of each gesture that waits for a better one.
    private let ends: FixedBuffer<PathEnd>
    /// The shape of a candidate.
    private let shape = ShapeTable(count: 1)

    /// Not private: a test could not be compiled (Swift 6.3).
    struct PathEnd: BitwiseCopyable {
        var residual = Float.infinity
        var start = 0
        var last = 0
    }

    init(_ learned: LearnedGestures) {
        self.learned = learned
        points = learned.starts.last ?? 0
        residuals = FixedBuffer(repeating: .infinity, count: 3 * points)
        beginnings = FixedBuffer(repeating: 0, count: 3 * points)
        steps = FixedBuffer(repeating: 0, count: 2 * points)
        ends = FixedBuffer(repeating: PathEnd(), count: learned.members.count)
    }

    /// Whether a movement is in progress.
    var isMoving: Bool { history.isMoving }

    /// The frames so far.
    var count: Int { history.count }

    func frame(_ index: Int) -> MotionFrame { history.frame(index) }

    /// What follows is not the continuation of what was.
    mutating func interrupt() {
        guard history.first != count else { return }
        history.interrupt()
        isActive = false
        dropPaths()
    }

    private func dropPaths() {
        // A copy, here and below: Swift 6.0.3 crashes on a stored reference of a noncopyable value in a loop.
        let learned = self.learned
        for index in 0..<3 * points { residuals[index] = .infinity }
        for gesture in 0..<learned.members.count { ends[gesture] = PathEnd() }
    }

    /// Adds a frame, and passes each candidate to `emit` whose score is below that of `limit` for its gesture.
    mutating func add(_ frame: SampledFrame, limit: (Int) -> Float, emit: (GestureCandidate) -> Void) {
        let learned = self.learned
        let index = count
        let movement = history.add(frame)
        if history.energy(index) > CandidateFinder.rest {
            lastActive = index
            if !isActive {
                isActive = true
                for earlier in max(history.first, index - CandidateFinder.restFrames)..<index {
                    follow(earlier, isLast: false, limit: limit, emit: emit)
                }
            }
        }
        guard isActive else { return }
        let isLast = index - lastActive > CandidateFinder.restFrames
        follow(index, isLast: isLast, limit: limit, emit: emit)
        if let movement {
            for (gesture, member) in learned.members.enumerated() {
                let isAlike =
                    2 * movement.count >= member.lengths.lowerBound && movement.count <= 2 * member.lengths.upperBound
                guard isAlike, movement.count >= CandidateFinder.shortest else { continue }
                judge(gesture, movement, limit: limit(gesture), emit)
            }
        }
        if isLast {
            isActive = false
            dropPaths()
        }
    }

    /// Continues the paths through the points of a copy with a frame, as far as their residuals are below `most`.
    private func follow(_ copy: Range<Int>, _ frame: MotionFrame, _ index: Int, most: Float) {
        // The frames before and the present one, each at the copy's first point. What is infinite leads nowhere; a step of the
        // frame before or the point before was computed if a path leads through it.
        let first = copy.lowerBound
        let residual = residuals.base + index % 3 * points + first
        let before = residuals.base + (index + 2) % 3 * points + first
        let earlier = residuals.base + (index + 1) % 3 * points + first
        let beginning = beginnings.base + index % 3 * points + first
        let beginningBefore = beginnings.base + (index + 2) % 3 * points + first
        let beginningEarlier = beginnings.base + (index + 1) % 3 * points + first
        let step = steps.base + (index & 1) * points + first
        let stepBefore = steps.base + (1 - index & 1) * points + first
        let example = learned.frames.base + first

        step[0] = frame.squaredDistance(to: example[0])
        residual[0] = step[0] < most ? step[0] : .infinity
        beginning[0] = Int32(truncatingIfNeeded: index)
        // The residuals of the frame before at the point before, and at the one before that.
        var (one, two) = (before[0], Float.infinity)
        for point in 1..<copy.count {
            let three = earlier[point &- 1]
            let next = before[point]
            if one < .infinity || two < .infinity || three < .infinity {
                let own = frame.squaredDistance(to: example[point])
                step[point] = own
                var (least, start) = (one + own, beginningBefore[point &- 1])
                if two < .infinity {
                    let sum = two + step[point &- 1] + own
                    if sum < least { (least, start) = (sum, beginningBefore[point &- 2]) }
                }
                if three < .infinity {
                    let sum = three + 0.5 * (stepBefore[point] + own)
                    if sum < least { (least, start) = (sum, beginningEarlier[point &- 1]) }
                }
                residual[point] = least < most ? least : .infinity
                beginning[point] = start
            } else {
                residual[point] = .infinity
            }
            (one, two) = (next, one)
        }
    }

    /// Continues the paths of all copies with a frame.
    private mutating func follow(_ index: Int, isLast: Bool, limit: (Int) -> Float, emit: (GestureCandidate) -> Void) {
        let learned = self.learned
        let frame = history.frame(index)
        let (row, before) = (index % 3 * points, (index + 2) % 3 * points)
        for gesture in 0..<learned.members.count {
            let copies = learned.members[gesture].copies
            var best = PathEnd()
            for copy in copies {
                let to = learned.starts[copy + 1]
                follow(learned.starts[copy]..<to, frame, index, most: CandidateFinder.loose * learned.energies[copy])
                let relative = residuals[row + to - 1] / learned.energies[copy]
                if relative < best.residual {
                    best = PathEnd(residual: relative, start: Int(beginnings[row + to - 1]), last: index)
                }
            }
            if best.residual < CandidateFinder.loose, best.residual < ends[gesture].residual { ends[gesture] = best }
            let end = ends[gesture]
            guard end.residual < .infinity, isLast || index - end.last >= CandidateFinder.wait else { continue }
            ends[gesture] = PathEnd()
            let points = learned.starts[copies.lowerBound]..<learned.starts[copies.upperBound]
            for point in points {
                if Int(beginnings[row + point]) <= end.last { residuals[row + point] = .infinity }
                if Int(beginnings[before + point]) <= end.last { residuals[before + point] = .infinity }
            }
            guard end.last + 1 - end.start >= CandidateFinder.shortest else { continue }
            judge(gesture, end.start..<end.last + 1, limit: limit(gesture), emit)
        }
    }

    /// Whether the movement since the beginning of a candidate may still become one of these gestures: as a whole, if it began
    /// with the candidate and is not longer yet than they are, or as a part.
    func mayBecome(_ gestures: [Int], _ candidate: GestureCandidate) -> Bool {
        let learned = self.learned
        let isAtStart = candidate.start - history.movementStart < CandidateFinder.framesBefore
        for gesture in gestures {
            let longest = learned.members[gesture].longest
            if isAtStart, count - candidate.start <= longest + CandidateFinder.wait { return true }
            if isOnPath(of: gesture, candidate) { return true }
        }
        return false
    }

    /// Whether a path through any gesture, but not to its end, overlaps most of a candidate.
    func isOnPath(_ candidate: GestureCandidate) -> Bool {
        let learned = self.learned
        for gesture in learned.members.indices where isOnPath(of: gesture, candidate) { return true }
        return false
    }

    private func isOnPath(of gesture: Int, _ candidate: GestureCandidate) -> Bool {
        isOnPath(of: gesture, begunBefore: candidate.end - candidate.length / 2)
    }

    private func isOnPath(of gesture: Int, begunBefore frame: Int) -> Bool {
        let learned = self.learned
        let row = (count + 2) % 3 * points
        for copy in learned.members[gesture].copies {
            for point in learned.starts[copy]..<learned.starts[copy + 1] - 1 {
                let isGood = residuals[row + point] < CandidateFinder.likely * learned.energiesSoFar[point]
                if isGood, Int(beginnings[row + point]) < frame { return true }
            }
        }
        return false
    }

    /// Whether what began at a frame or before, and not just now, may be or become a gesture.
    func isLikely(_ gesture: Int, startedBy frame: Int) -> Bool {
        if ends[gesture].residual < CandidateFinder.likely, ends[gesture].start <= frame { return true }
        return isActive && isOnPath(of: gesture, begunBefore: min(frame + 1, count - CandidateFinder.shortest))
    }

    /// Scores a candidate.
    private func judge(_ gesture: Int, _ stretch: Range<Int>, limit: Float, _ emit: (GestureCandidate) -> Void) {
        let learned = self.learned
        let start = stretch.lowerBound
        guard count - start < FrameHistory.capacity - CandidateFinder.framesBefore else { return }
        shape.set(0, count: stretch.count) { history.frame(start + $0) }
        let (before, after) = surroundings(stretch)
        let isolation = CandidateFinder.isolationWeight * (0.5 * (before + after))
        var candidate = GestureCandidate(
            gesture: gesture, start: start, end: stretch.upperBound, distance: ShapeTable.Distance(),
            isolation: isolation, isFollowed: after > before, copy: -1)
        var left = limit - isolation
        for copy in learned.members[gesture].copies {
            guard let distance = shape.distance(0, to: learned.shapes, copy, below: left) else { continue }
            candidate.distance = distance
            candidate.copy = copy
            left = distance.sum
        }
        if candidate.copy >= 0 { emit(candidate) }
    }

    /// How much moved in the 0.32 s before and the 0.2 s after, against the movement itself: 0 for rest, 1 for as much.
    private func surroundings(_ stretch: Range<Int>) -> (before: Float, after: Float) {
        func rms(_ frames: Range<Int>) -> Float {
            guard !frames.isEmpty else { return 0 }
            var sum: Float = 0
            for index in frames { sum += history.energy(index) * history.energy(index) }
            return (sum / Float(frames.count)).squareRoot()
        }
        let within = rms(stretch) + 1e-6
        let before = max(history.first, stretch.lowerBound - CandidateFinder.framesBefore)..<stretch.lowerBound
        let after = stretch.upperBound..<min(stretch.upperBound + CandidateFinder.wait, count)
        return (min(1, rms(before) / within), min(1, rms(after) / within))
    }
}
