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

    private let learned: LearnedGestures
    private var sampler = FrameSampler()
    private var finder: CandidateFinder
    private var waiting: GestureCandidate?
    private var due = 0
    private let past = FixedBuffer<GestureCandidate?>(repeating: nil, count: LearnedRecognizer.remembered)
    private var pastCount = 0
    /// The score of the last gesture.
    private(set) var score: LearnedScore?

    package init(_ learned: LearnedGestures) {
        self.learned = learned
        finder = CandidateFinder(learned)
    }

    /// Forgets the movement so far.
    mutating func reset() {
        finder.interrupt()
        sampler.reset()
        waiting = nil
    }

    /// Processes a cell; returns an event if a gesture was recognised.
    mutating func update(_ cell: GestureCell) -> GestureEvent? {
        if waiting == nil, !finder.isActive, MotionFrame(of: cell).energy < LearnedRecognizer.idle {
            finder.interrupt()
            sampler.reset()
            return nil
        }
        guard let frame = sampler.add(cell) else { return nil }
        var candidates = Candidates(best: waiting, due: due)
        let (learned, index) = (self.learned, finder.count)
        let past = self.past.base
        finder.add(frame) {
            learned.members[$0].threshold
        } emit: { candidate in
            for number in 0..<LearnedRecognizer.remembered {
                if let earlier = past[number], earlier.overlaps(candidate) { return }
            }
            let key = LearnedRecognizer.key(candidate, learned.members[candidate.gesture].threshold)
            if let best = candidates.best, key >= LearnedRecognizer.key(best, learned.members[best.gesture].threshold) {
                return
            }
            candidates.best = candidate
            candidates.due = index + LearnedRecognizer.patience
        }
        waiting = candidates.best
        due = candidates.due
        guard let found = waiting else { return nil }
        let containers = learned.members[found.gesture].containers
        let isComplete = (index >= due || !finder.isOnPath(found)) && !finder.mayBecome(containers, found)
        guard isComplete || !finder.isMoving else { return nil }
        waiting = nil
        past[pastCount % LearnedRecognizer.remembered] = found
        pastCount += 1
        return event(found, at: cell.timestamp)
    }

    struct Candidates {
        var best: GestureCandidate?
        var due: Int
    }

    private static func key(_ candidate: GestureCandidate, _ threshold: Float) -> Float {
        candidate.score / threshold - lengthWeight * Float(log(Double(candidate.length)))
    }

    private mutating func event(_ found: GestureCandidate, at timestamp: Timestamp) -> GestureEvent {
        let learned = self.learned
        let member = learned.members[found.gesture]
        score = LearnedScore(
            score: Double(found.score), shape: Double(found.distance.shape), loudness: Double(found.distance.loudness),
            tempo: Double(found.distance.tempo), isolation: Double(found.isolation),
            example: (found.copy - member.copies.lowerBound) / LearnedGestures.tempiCount)
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
}
