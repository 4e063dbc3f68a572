internal import MotionCore

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
