internal import MotionCore

/// What is known of which edge of a data-ready line belongs to which frame.
enum EdgePhase: BitwiseCopyable {
    /// It is being found out.
    case seeking(EdgeSearch)
    /// It is known.
    case matched(EdgeMatch)
    /// The line is of no use until then; with `nil`, until the FIFO is reset.
    case lost(retry: Timestamp?)
}

/// The search for the offset between the numbers of edges and frames.
struct EdgeSearch: BitwiseCopyable {
    /// Edges that had come before it began.
    let edgesBefore: UInt64
    /// The offsets that the looks so far allow, and how many looks that were.
    private var offsets = EdgeOffsets()
    private var looks = 0

    init(edgesBefore: UInt64 = 0) {
        self.edgesBefore = edgesBefore
    }

    /// The only offset that is left, if enough looks agree on it.
    var found: Int64? { looks >= EdgeLimits.leastLooks ? offsets.only : nil }

    /// Takes what a look allows; if that contradicts the looks before, they count no more.
    mutating func narrow(to allowed: EdgeOffsets) {
        let lowest = max(allowed.lowest, offsets.lowest)
        let highest = min(allowed.highest, offsets.highest)
        let isPossible = lowest <= highest
        offsets = isPossible ? EdgeOffsets(lowest: lowest, highest: highest) : allowed
        looks = isPossible ? looks + 1 : 1
    }

    /// Forgets the looks so far: an edge was missed between them, say.
    mutating func forgetLooks() {
        offsets = EdgeOffsets()
        looks = 0
    }
}

/// A line whose edges belong to known frames, and what it is held against.
struct EdgeMatch: BitwiseCopyable {
    /// The number of a frame's edge is the frame's plus this.
    var offset: Int64
    /// When it was found.
    let since: Timestamp
    /// The line through the edges.
    private(set) var tracker = EdgeTracker()
    /// Looks in a row that contradict the offset, and edges in a row that are off the line.
    private var contradictions = 0
    private var oddInARow = 0

    init(offset: Int64, since: Timestamp) {
        self.offset = offset
        self.since = since
    }

    /// Whether there is a line through the edges that is worth more than the estimate of the FIFO's fill.
    var isTracking: Bool { tracker.count >= EdgeLimits.young }

    /// Whether so many edges or looks have been wrong that it is one no longer.
    var isRefuted: Bool {
        contradictions >= EdgeLimits.contradictions || oddInARow >= EdgeLimits.oddInARow
    }

    /// Holds the offset against what a look allows.
    mutating func compare(with allowed: EdgeOffsets) {
        contradictions = allowed.contains(offset) ? 0 : contradictions + 1
    }

    /// Begins the line with an edge that came before all others.
    mutating func begin(with edge: EdgeQueue.Edge, period: Double) {
        tracker.begin(frame: edge.number - offset, time: edge.time, period: period)
    }

    /// Whether a frame's edge has been laid on the line.
    func hasTaken(_ frame: Int64) -> Bool { tracker.count > 0 && tracker.distance(toFrame: frame) <= 0 }

    /// Whether an edge comes when its frame is due; then the line is laid on.
    mutating func fits(_ frame: Int64, _ time: Timestamp, period: Double) -> Bool {
        guard tracker.count > 0 else {
            tracker.begin(frame: frame, time: time, period: period)
            return true
        }
        let limit =
            tracker.count < EdgeLimits.young
            ? EdgeLimits.unevenness(over: Double(tracker.distance(toFrame: frame)) * period)
            : max(EdgeLimits.tolerance, EdgeLimits.toleranceRatio * period)
        guard abs(time.seconds(since: tracker.instant(ofFrame: frame))) <= limit else {
            oddInARow += 1
            return false
        }
        oddInARow = 0
        tracker.add(frame: frame, time: time)
        return true
    }
}

/// How long a line has been silent.
struct EdgeSilence: BitwiseCopyable {
    /// When it was first looked at, and how many frames there had been.
    private(set) var began: Timestamp?
    private var framesBefore: Int64 = 0
    private var lastEdge: Timestamp?

    /// Takes note of a look that found `completed` frames in all.
    mutating func noteLook(at now: Timestamp, completed: Int64) {
        guard began == nil else { return }
        began = now
        framesBefore = completed
    }

    mutating func noteEdge(at time: Timestamp) { lastEdge = time }

    /// Whether frames have come for so long without an edge that none will come.
    func isTooLong(completed: Int64, at now: Timestamp, pulse: DataReadyPulse, period: Double) -> Bool {
        guard let since = lastEdge ?? began else { return false }
        let periods = pulse == .everySample ? EdgeLimits.silentPeriods : EdgeLimits.silentBatchPeriods
        let patience = max(EdgeLimits.silence, periods * period)
        return now.seconds(since: since) > patience && completed - framesBefore >= EdgeLimits.silentFrames
    }
}
