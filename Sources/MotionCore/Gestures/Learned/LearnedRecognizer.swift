internal import CMotionMath

/// What a movement is judged by that may be a learned gesture.
package struct LearnedScore: Sendable, Equatable, BitwiseCopyable {
    /// The score, and what it consists of: differences of shape, loudness and tempo from the nearest example, and movement just
    /// before and after.
    package var score: Double
    package var shape: Double
    package var loudness: Double
    package var tempo: Double
    package var isolation: Double
    /// The number of the nearest example.
    package var example: Int
}

/// A movement that was almost a learned gesture, and what it lacked.
package struct LearnedMiss: Sendable, Equatable, BitwiseCopyable {
    /// The event that it would have been: its score is not below the threshold, and its confidence not above 0.5.
    package var event: GestureEvent
    package var score: LearnedScore
    /// The score below which it would have been the gesture.
    package var threshold: Double
    package var lack: Lack

    /// The part of the score but for which it would have been the gesture; the shape if there is no such part.
    package enum Lack: UInt8, CaseIterable, Sendable, BitwiseCopyable {
        /// It went another way.
        case shape
        /// It was smaller or gentler than the nearest example, or larger.
        case weaker
        case stronger
        /// It took less time than the nearest example, or more.
        case quicker
        case slower
        /// Something moved just before it, or just after it.
        case movementBefore
        case movementAfter

        /// The reason of a near miss that says the same.
        var reason: NearMiss.Reason {
            switch self {
            case .shape: .notConvincing
            case .weaker: .tooWeak
            case .stronger: .tooStrong
            case .quicker: .tooQuick
            case .slower: .tooSlow
            case .movementBefore: .noQuietBefore
            case .movementAfter: .noQuietAfter
            }
        }
    }

    /// The same as that of other gestures: the value is the score.
    package var nearMiss: NearMiss {
        var miss = NearMiss(
            .learned, lack.reason, at: event.timestamp, value: score.score, limit: threshold, unit: .one,
            name: event.name)
        miss.example = score.example
        return miss
    }
}

/// Recognises gestures that somebody has shown.
///
/// Candidates of all gestures compete: one whose score is below its gesture's threshold waits until the movement is over, at most
/// 0.4 s, or as long as it may still become a gesture of which it is often a part. One that overlaps it, explains more, and fits about as well
/// takes its place.
package struct LearnedRecognizer: ~Copyable {
    /// How much the length counts between candidates that overlap.
    private static let lengthWeight: Float = 0.3
    /// Frames that a candidate waits for a better one: 0.4 s.
    static let patience = 10
    /// Below this energy of a cell, nothing is computed at rest.
    private static let idle: Float = 0.1
    /// Recognised candidates that are remembered, so that none is part of two.
    private static let remembered = 4
    /// A score below so many times the threshold is a near miss, and the frames after which nothing better can come.
    private static let nearly: Float = 1.5
    private static let settled = CandidateFinder.restFrames
    /// What a movement's own slow beginning and end add to its score.
    private static let ownBeginning: Float = 0.1

    private let learned: LearnedGestures
    private var sampler = FrameSampler()
    private var finder: CandidateFinder
    private var waiting: GestureCandidate?
    private var due = 0
    /// The candidate that came nearest without being the gesture, and what it lacked.
    private var almost: GestureCandidate?
    private var miss: LearnedMiss?
    private let past = FixedBuffer<GestureCandidate?>(repeating: nil, count: LearnedRecognizer.remembered)
    private var pastCount = 0
    /// The score of the last gesture.
    private(set) var score: LearnedScore?

    /// Whether to keep near misses for `takeMiss()`. Default: false.
    package var explainsNearMisses = false

    package init(_ learned: LearnedGestures) {
        self.learned = learned
        finder = CandidateFinder(learned)
    }

    /// Forgets the movement so far.
    mutating func reset() {
        finder.interrupt()
        sampler.reset()
        waiting = nil
        almost = nil
    }

    /// Removes and returns the last near miss.
    mutating func takeMiss() -> LearnedMiss? {
        defer { miss = nil }
        return miss
    }

    /// Processes a cell; returns an event if a gesture was recognised.
    mutating func update(_ cell: GestureCell) -> GestureEvent? {
        if waiting == nil, !finder.isActive, MotionFrame(of: cell).energy < LearnedRecognizer.idle {
            explain(at: cell.timestamp)
            finder.interrupt()
            sampler.reset()
            return nil
        }
        guard let frame = sampler.add(cell) else { return nil }
        var candidates = Candidates(best: waiting, due: due, almost: almost)
        let (learned, index) = (self.learned, finder.count)
        let past = self.past.base
        let reach = explainsNearMisses ? LearnedRecognizer.nearly : 1
        finder.add(frame) {
            reach * learned.members[$0].threshold
        } emit: { candidate in
            for number in 0..<LearnedRecognizer.remembered {
                if let earlier = past[number], earlier.overlaps(candidate) { return }
            }
            let threshold = learned.members[candidate.gesture].threshold
            guard candidate.distance.sum < threshold - candidate.isolation else {
                let least = candidates.almost.map { $0.score / learned.members[$0.gesture].threshold } ?? .infinity
                if candidate.score / threshold < least { candidates.almost = candidate }
                return
            }
            let key = LearnedRecognizer.key(candidate, threshold)
            if let best = candidates.best, key >= LearnedRecognizer.key(best, learned.members[best.gesture].threshold) {
                return
            }
            candidates.best = candidate
            candidates.due = index + LearnedRecognizer.patience
        }
        waiting = candidates.best
        due = candidates.due
        almost = candidates.almost
        guard let found = waiting else {
            if let almost, !finder.isMoving, index - almost.end >= LearnedRecognizer.settled {
                explain(at: cell.timestamp)
            }
            return nil
        }
        let containers = learned.members[found.gesture].containers
        let isComplete = (index >= due || !finder.isOnPath(found)) && !finder.mayBecome(containers, found)
        guard isComplete || !finder.isMoving else { return nil }
        waiting = nil
        if let missed = almost, missed.overlaps(found) { almost = nil }
        past[pastCount % LearnedRecognizer.remembered] = found
        pastCount += 1
        score = score(of: found)
        return event(found, at: cell.timestamp)
    }

    struct Candidates {
        var best: GestureCandidate?
        var due: Int
        var almost: GestureCandidate?
    }

    private static func key(_ candidate: GestureCandidate, _ threshold: Float) -> Float {
        candidate.score / threshold - lengthWeight * Float(log(Double(candidate.length)))
    }

    private func score(of found: GestureCandidate) -> LearnedScore {
        let learned = self.learned
        let first = learned.members[found.gesture].copies.lowerBound
        return LearnedScore(
            score: Double(found.score), shape: Double(found.distance.shape), loudness: Double(found.distance.loudness),
            tempo: Double(found.distance.tempo), isolation: Double(found.isolation),
            example: (found.copy - first) / LearnedGestures.tempiCount)
    }

    private func event(_ found: GestureCandidate, at timestamp: Timestamp) -> GestureEvent {
        let learned = self.learned
        let member = learned.members[found.gesture]
        var event = GestureEvent(.learned, .recognized, at: timestamp)
        event.name = member.settings.name
        event.variant = member.settings.variant
        event.confidence = 1 - Double(found.score / member.threshold) / 2
        event.duration = Double(found.length) / MotionFrame.rate
        var strength = 0.0
        for index in found.start..<found.end {
            strength = max(strength, finder.frame(index).measuredAcceleration.length)
        }
        event.strength = strength
        return event
    }

    /// Whether the movement whose middle was so many seconds ago may still become a gesture that holds this one back.
    func holds(_ gesture: Gesture, sinceMiddle seconds: Double) -> Bool {
        guard finder.isActive || waiting != nil else { return false }
        let middle = finder.count - Int(seconds * MotionFrame.rate)
        let learned = self.learned
        for (number, member) in learned.members.enumerated() where member.settings.held.contains(gesture) {
            if let waiting, waiting.gesture == number, waiting.start <= middle { return true }
            if finder.isLikely(number, startedBy: middle) { return true }
        }
        return false
    }

    /// Makes a near miss of the candidate that came nearest.
    private mutating func explain(at timestamp: Timestamp) {
        guard let found = almost else { return }
        almost = nil
        let learned = self.learned
        let threshold = learned.members[found.gesture].threshold
        let excess = found.score - threshold
        var lack = LearnedMiss.Lack.shape
        var most: Float = 0
        if found.distance.loudness >= excess, found.distance.loudness > most {
            most = found.distance.loudness
            lack = loudness(of: found) < learned.shapes.loudness(of: found.copy) ? .weaker : .stronger
        }
        if found.distance.tempo >= excess, found.distance.tempo > most {
            most = found.distance.tempo
            let seconds = Double(found.length) / MotionFrame.rate
            lack = seconds < learned.shapes.duration(of: found.copy) ? .quicker : .slower
        }
        // A movement that begins slowly is preceded by its own beginning.
        if found.isolation >= excess, found.isolation - LearnedRecognizer.ownBeginning > most {
            lack = found.isFollowed ? .movementAfter : .movementBefore
        }
        miss = LearnedMiss(
            event: event(found, at: timestamp), score: score(of: found), threshold: Double(threshold), lack: lack)
    }

    /// The RMS of a candidate's energy.
    private func loudness(of found: GestureCandidate) -> Double {
        var sum = 0.0
        for index in found.start..<found.end { sum += Double(finder.frame(index).squaredDistance(to: .zero)) }
        return (sum / Double(found.length)).squareRoot()
    }
}
