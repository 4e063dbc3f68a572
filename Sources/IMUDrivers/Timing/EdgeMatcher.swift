internal import MotionCore

/// Matches the edges of a data-ready line to the frames of the FIFO, and notices when the match no longer holds.
///
/// Edges and frames are both numbered, so a single unknown remains: the `offset` between the numbers. A FIFO count of
/// `n` frames, read between the host times `a` and `b`, bounds it: edges up to `a` have their frames in the FIFO, and
/// no edge after `b` can. Counts that are read between two samples determine it. From then on, every count is checked
/// against the offset, and every edge against a line fitted to the earlier edges. An edge off that line is not used as
/// a timestamp; after several in a row, the match is given up.
///
/// Memory is fixed at `init`.
struct EdgeMatcher: ~Copyable {
    var status = DataReadyStatus()

    /// When edges occur: with every sample, only with the first sample in an empty FIFO, or never.
    var pulse = DataReadyPulse.everySample

    private var phase = EdgePhase.seeking(EdgeSearch())
    private var queue: EdgeQueue
    private var silence = EdgeSilence()
    private var outage = Outage<DataReadyFault>(
        firstPause: EdgeLimits.firstPause, longestPause: EdgeLimits.lastPause)
    private let scratch: UnsafeMutableBufferPointer<DataReadyEdge>

    /// Creates a matcher with room for this many edges.
    init(capacity: Int) {
        queue = EdgeQueue(capacity: capacity)
        scratch = .allocate(capacity: min(capacity, 64))
        if capacity > 0 { status.state = .seeking }
    }

    deinit {
        scratch.deallocate()
    }

    /// The FIFO was emptied. Its frames are numbered from zero again, so the offset changes.
    mutating func restart() {
        seek()
        outage.end()
    }

    /// The chip's pin cannot be used: edges are ignored.
    mutating func disable() {
        if status.lastFault != .unsupported { status.failures += 1 }
        status.lastFault = .unsupported
        status.state = .unused
        phase = .lost(retry: nil)
        queue.dropAll()
    }

    private mutating func seek() {
        phase = .seeking(EdgeSearch(edgesBefore: status.edges))
        status.state = .seeking
        queue.dropAll()
        silence = EdgeSilence()
    }

    /// Takes the edges queued on a line, at most as many as the queue can hold, however noisy the line is.
    mutating func gather<Line: DataReadyLine & ~Copyable>(_ line: inout Line) {
        for _ in 0...queue.capacity / scratch.count {
            let taken = line.takeEdges(into: scratch)
            for index in 0..<taken {
                status.lostEdges += queue.append(scratch[index])
                status.edges += 1
                silence.noteEdge(at: scratch[index].time)
            }
            guard taken == scratch.count else { return }
        }
    }

    // MARK: FIFO counts

    /// Processes a FIFO count, read between `a` and `b`, that found `completed` frames in all; `taken` of them had been
    /// read before. The edges were gathered after it.
    ///
    /// The first unread frame is expected at `start` according to the FIFO's count, give or take `uncertainty` seconds.
    /// An offset whose edges are further off is rejected.
    mutating func observe(
        completed: Int64, taken: Int64, from a: Timestamp, to b: Timestamp, expecting start: Timestamp,
        uncertainty: Double,
        period: Double
    ) {
        silence.noteCount(at: b, completed: completed)
        if case .lost(let retry) = phase {
            queue.dropAll()
            if let retry, b >= retry { seek() }
            return
        }
        if silence.isTooLong(completed: completed, at: b, pulse: pulse, period: period) {
            return giveUp(.silent, at: b)
        }
        switch pulse {
        case .everySample:
            let allowed = queue.offsets(completed: completed, from: a, to: b, period: period)
            switch phase {
            case .seeking(var search):
                if let allowed { search.narrow(to: allowed) }
                let next = Expectation(frame: taken + 1, time: start, uncertainty: uncertainty, period: period)
                acceptOffset(search, expecting: next, at: b)
            case .matched(var match):
                if let allowed { match.compare(with: allowed) }
                phase = .matched(match)
                if match.isRefuted { giveUp(.mismatched, at: b) }
            case .lost: break
            }
        case .whenFilled: matchNewestEdge(completed: completed, taken: taken, to: b)
        case .never: queue.dropAll()
        }
        if case .matched(let match) = phase, b.seconds(since: match.since) > EdgeLimits.trustAfter {
            outage.end()
        }
    }

    /// When a frame is due according to the FIFO's count, give or take `uncertainty` seconds.
    private struct Expectation {
        var frame: Int64
        var time: Timestamp
        var uncertainty: Double
        var period: Double
    }

    /// Accepts the only remaining offset if it passes all checks.
    private mutating func acceptOffset(_ search: EdgeSearch, expecting next: Expectation, at now: Timestamp) {
        var search = search
        let searchedEdges = Int(status.edges - search.edgesBefore)
        if let offset = search.found, searchedEdges >= EdgeLimits.fewestEdges, queue.isRegular(period: next.period) {
            if isExpected(next, offset: offset) { return match(offset, at: now) }
            // An edge may have been missed during the search.
            search.forgetCounts()
        }
        phase = .seeking(search)
        let timeout = max(EdgeLimits.searchTimeout, EdgeLimits.searchPeriods * next.period)
        if let began = silence.began, searchedEdges > 0, now.seconds(since: began) > timeout {
            giveUp(.mismatched, at: now)
        }
        queue.dropAll()
    }

    /// Whether the edge of the next frame, or of the first later frame that has one, arrives when expected.
    private func isExpected(_ next: Expectation, offset: Int64) -> Bool {
        let count = queue.count
        for index in 0..<count {
            let edge = queue[index]
            let frame = edge.number - offset
            guard frame >= next.frame else { continue }
            let expected = next.time.advanced(bySeconds: Double(frame - next.frame) * next.period)
            return abs(edge.time.seconds(since: expected)) <= next.uncertainty
        }
        return false
    }

    /// For a pin that pulses once per batch: the newest edge is the next frame's.
    private mutating func matchNewestEdge(completed: Int64, taken: Int64, to b: Timestamp) {
        let count = queue.count
        if count > 1 { queue.drop(count - 1) }
        guard count > 0, completed > taken else { return queue.dropAll() }
        let offset = queue[0].number - taken - 1
        switch phase {
        case .seeking: match(offset, at: b)
        case .matched(var match):
            match.offset = offset
            phase = .matched(match)
        case .lost: break
        }
    }

    private mutating func match(_ offset: Int64, at now: Timestamp) {
        phase = .matched(EdgeMatch(offset: offset, since: now))
        status.state = .used
    }

    /// Gives the line up until the FIFO is reset, or for a pause that grows with every failure.
    private mutating func giveUp(_ fault: DataReadyFault, at now: Timestamp) {
        status.failures += 1
        status.lastFault = fault
        queue.dropAll()
        outage.fail(with: fault, at: now)
        phase = .lost(retry: outage.retry)
        status.state = .unused
    }

    // MARK: Frame timestamps

    /// Checks the edges of frames `first` to `last` against the line fitted to earlier edges, and adds those that fit.
    mutating func checkEdges(_ first: Int64, through last: Int64, period: Double, now: Timestamp) {
        guard case .matched(var match) = phase else { return }
        if match.tracker.count == 0, pulse == .everySample, let dropped = queue.dropped {
            match.begin(with: dropped, period: period)
        }
        let count = queue.count
        for index in 0..<count {
            let edge = queue[index]
            let frame = edge.number - match.offset
            guard frame >= first else { continue }
            guard frame <= last else { break }
            // Frames that did not fit into a batch are presented again.
            guard !match.hasTaken(frame) else { continue }
            let isOutlier = !match.fits(frame, edge.time, period: period)
            queue.mark(index, isOutlier: isOutlier)
            if isOutlier { status.outlierEdges += 1 }
            if match.isRefuted { return giveUp(.mismatched, at: now) }
        }
        phase = .matched(match)
    }

    /// The period of the fitted line, seconds; `nil` until it is more accurate than the estimate from the FIFO's count.
    var trackedPeriod: Double? {
        guard case .matched(let match) = phase, match.isTracking else { return nil }
        return match.tracker.period
    }

    /// When a frame was complete: the time of its edge or, if that is missing or was rejected, the fitted line's. `nil`
    /// if neither is known.
    func completion(ofFrame frame: Int64) -> (time: Timestamp, isEdge: Bool)? {
        guard case .matched(let match) = phase else { return nil }
        if let instant = queue.instant(of: frame + match.offset) { return (instant, true) }
        return match.isTracking ? (match.tracker.instant(ofFrame: frame), false) : nil
    }

    /// Drops the edges of the frames up to `frame`.
    mutating func forget(through frame: Int64) {
        guard case .matched(let match) = phase else { return }
        queue.drop(through: frame + match.offset)
    }
}

/// The state of matching a data-ready line's edges to frames.
enum EdgePhase: BitwiseCopyable {
    /// The offset is being searched for.
    case seeking(EdgeSearch)
    /// The offset is known.
    case matched(EdgeMatch)
    /// The line is given up until `retry`, or until the FIFO is reset if that is `nil`.
    case lost(retry: Timestamp?)
}

/// The search for the offset between edge numbers and frame numbers.
struct EdgeSearch: BitwiseCopyable {
    /// Edges received before the search began.
    let edgesBefore: UInt64
    /// The offsets that are consistent with the counts so far, and the number of those counts.
    private var offsets = EdgeOffsets()
    private var counts = 0

    init(edgesBefore: UInt64 = 0) {
        self.edgesBefore = edgesBefore
    }

    /// The only remaining offset, if enough counts agree on it.
    var found: Int64? { counts >= EdgeLimits.fewestCounts ? offsets.only : nil }

    /// Narrows the search to the offsets that a count allows. A count that contradicts the earlier ones replaces them.
    mutating func narrow(to allowed: EdgeOffsets) {
        let lowest = max(allowed.lowest, offsets.lowest)
        let highest = min(allowed.highest, offsets.highest)
        let isPossible = lowest <= highest
        offsets = isPossible ? EdgeOffsets(lowest: lowest, highest: highest) : allowed
        counts = isPossible ? counts + 1 : 1
    }

    /// Discards the counts so far, for example because an edge was missed between them.
    mutating func forgetCounts() {
        offsets = EdgeOffsets()
        counts = 0
    }
}

/// A matched line, with the statistics that may refute the match.
struct EdgeMatch: BitwiseCopyable {
    /// A frame's number plus this is its edge's number.
    var offset: Int64
    /// When the match was found.
    let since: Timestamp
    /// The line fitted to the edges.
    private(set) var tracker = EdgeTracker()
    /// Consecutive counts that contradict the offset, and consecutive edges off the fitted line.
    private var contradictions = 0
    private var consecutiveOutliers = 0

    init(offset: Int64, since: Timestamp) {
        self.offset = offset
        self.since = since
    }

    /// Whether the fitted line is more accurate than the estimate from the FIFO's count.
    var isTracking: Bool { tracker.count >= EdgeLimits.fewestTrackedEdges }

    /// Whether too many consecutive edges or counts contradict the match.
    var isRefuted: Bool {
        contradictions >= EdgeLimits.contradictions || consecutiveOutliers >= EdgeLimits.consecutiveOutliers
    }

    /// Checks the offset against the offsets that a count allows.
    mutating func compare(with allowed: EdgeOffsets) {
        contradictions = allowed.contains(offset) ? 0 : contradictions + 1
    }

    /// Starts the fitted line with an edge that precedes all others.
    mutating func begin(with edge: EdgeQueue.Edge, period: Double) {
        tracker.begin(frame: edge.number - offset, time: edge.time, period: period)
    }

    /// Whether a frame's edge has already been added to the fitted line.
    func hasTaken(_ frame: Int64) -> Bool { tracker.count > 0 && tracker.distance(toFrame: frame) <= 0 }

    /// Whether an edge arrives when its frame is due. If so, it is added to the fitted line.
    mutating func fits(_ frame: Int64, _ time: Timestamp, period: Double) -> Bool {
        guard tracker.count > 0 else {
            tracker.begin(frame: frame, time: time, period: period)
            return true
        }
        let limit =
            tracker.count < EdgeLimits.fewestTrackedEdges
            ? EdgeLimits.unevenness(over: Double(tracker.distance(toFrame: frame)) * period)
            : max(EdgeLimits.tolerance, EdgeLimits.toleranceRatio * period)
        guard abs(time.seconds(since: tracker.instant(ofFrame: frame))) <= limit else {
            consecutiveOutliers += 1
            return false
        }
        consecutiveOutliers = 0
        tracker.add(frame: frame, time: time)
        return true
    }
}

/// Detects a line without edges.
struct EdgeSilence: BitwiseCopyable {
    /// When the first count was read, and the number of frames at that time.
    private(set) var began: Timestamp?
    private var framesBefore: Int64 = 0
    private var lastEdge: Timestamp?

    /// Records a count that found `completed` frames in all.
    mutating func noteCount(at now: Timestamp, completed: Int64) {
        guard began == nil else { return }
        began = now
        framesBefore = completed
    }

    mutating func noteEdge(at time: Timestamp) { lastEdge = time }

    /// Whether enough frames have arrived without an edge that the line counts as silent.
    func isTooLong(completed: Int64, at now: Timestamp, pulse: DataReadyPulse, period: Double) -> Bool {
        guard let since = lastEdge ?? began else { return false }
        let periods = pulse == .everySample ? EdgeLimits.silentPeriods : EdgeLimits.silentBatchPeriods
        let timeout = max(EdgeLimits.silence, periods * period)
        return now.seconds(since: since) > timeout && completed - framesBefore >= EdgeLimits.silentFrames
    }
}

/// A straight line fitted to the edges, *time = phase + frame · period*: a least-squares fit over the first edges, and
/// over about the last `memory` edges from then on, at a cost of one or two multiplications per edge.
///
/// This is a g-h filter with the weights of the growing-memory filter (Brookner, "Tracking and Kalman Filtering Made
/// Easy", 1998, section 1.2.10), which stop growing. Interrupt latency shifts the line by its mean only.
struct EdgeTracker: BitwiseCopyable {
    /// Edges that the fit rests on, at most `memory`.
    private(set) var count = 0
    private(set) var period = 0.0
    private var frame: Int64 = 0
    private var time = Timestamp(nanoseconds: 0)

    /// One second at 200 Hz, a time in which oscillator drift is negligible.
    static var memory: Int { 200 }

    /// When a frame was or will be complete.
    func instant(ofFrame frame: Int64) -> Timestamp {
        time.advanced(bySeconds: Double(frame - self.frame) * period)
    }

    /// Frames since the last edge.
    func distance(toFrame frame: Int64) -> Int64 { frame - self.frame }

    /// Starts with one edge and an assumed period.
    mutating func begin(frame: Int64, time: Timestamp, period: Double) {
        count = 1
        self.frame = frame
        self.time = time
        self.period = period
    }

    /// Adds the edge of a later frame.
    mutating func add(frame: Int64, time: Timestamp) {
        let steps = Double(frame - self.frame)
        let expected = instant(ofFrame: frame)
        let error = time.seconds(since: expected)
        count = min(count + 1, Self.memory)
        let n = Double(count)
        let weight = 2 * (2 * n - 1) / (n * (n + 1))
        let periodWeight = 6 / (n * (n + 1))
        self.time = expected.advanced(bySeconds: weight * error)
        self.frame = frame
        period += periodWeight * error / steps
    }
}

/// Limits for matching a data-ready line, in seconds unless stated otherwise.
enum EdgeLimits {
    /// Timing slack: the host may timestamp an edge after it has read the FIFO's count, and the FIFO may receive a
    /// frame after the edge.
    static var slack: Double { 0.001 }
    /// Consistent FIFO counts, and edges, needed before an offset is accepted.
    static var fewestCounts: Int { 2 }
    static var fewestEdges: Int { 4 }
    /// How far the spacing of two edges may deviate before the period is known. It allows for a slow or fast oscillator
    /// and for a slightly late interrupt.
    static func unevenness(over distance: Double) -> Double { 0.06 * distance + 0.000_2 }
    /// Consecutive counts that contradict the offset before it is rejected.
    static var contradictions: Int { 3 }
    /// Consecutive edges off their expected times before the offset is rejected. Late interrupts cause single ones.
    static var consecutiveOutliers: Int { 4 }
    /// Without an edge for this long, this many periods and this many frames, the line counts as silent.
    static var silence: Double { 0.5 }
    static var silentPeriods: Double { 10 }
    /// The same for a pin that pulses once per batch: twice the longest batch.
    static var silentBatchPeriods: Double { 40 }
    static var silentFrames: Int64 { 4 }
    /// How long, or how many periods, the offset is searched for.
    static var searchTimeout: Double { 3 }
    static var searchPeriods: Double { 40 }
    /// The first and the longest pause before a failed line is tried again, and how long it must work before the pause
    /// is reset.
    static var firstPause: Double { 1 }
    static var lastPause: Double { 64 }
    static var trustAfter: Double { 60 }
    /// Edges after which the fitted line predicts the next edge well enough.
    static var fewestTrackedEdges: Int { 32 }
    /// How far an edge may be off before an offset is rejected, as a ratio of the period, before and after the
    /// estimator has settled.
    static var unsettledUncertainty: Double { 0.75 }
    static var settledUncertainty: Double { 0.35 }
    /// How far an edge may be off the fitted line, in seconds, or as a ratio of the period if that is more.
    static var tolerance: Double { 0.000_25 }
    static var toleranceRatio: Double { 1.0 / 50 }
}
