internal import MotionCore

/// Finds out which edge of a data-ready line belongs to which frame of the FIFO, and notices when that ends to be so.
///
/// Edges and frames are both counted, so all there is to find is one number, the `offset` between them. A look that
/// finds `n` frames between the host's instants `a` and `b` bounds it: the edges up to `a` have their frames in the FIFO,
/// and no more edges than those up to `b` can have. Looks that come between two samples pin it down. From then on every
/// look is held against it, and every edge against the line through those before: an edge that is off it gives no
/// instant, and where several in a row are, the match is given up.
///
/// Memory is fixed at `init`.
struct EdgeMatcher: ~Copyable {
    /// An edge with its number as one that does not wrap.
    struct Edge: BitwiseCopyable {
        var number: Int64
        var time: Timestamp
        var isOdd = false
    }

    enum Phase: BitwiseCopyable {
        case seeking
        case matched
        case lost
    }

    private(set) var phase = Phase.seeking
    private(set) var status = DataReadyStatus()

    /// The number of a frame's edge is the frame's plus this, while the phase is `matched`.
    private(set) var offset: Int64 = 0

    /// Whether edges come with every sample, only with the one that finds the FIFO empty, or not at all.
    var pulse = DataReadyPulse.everySample

    private let edges: UnsafeMutablePointer<Edge>
    private let scratch: UnsafeMutableBufferPointer<DataReadyEdge>
    private let capacity: Int
    private var first = 0
    private var count = 0
    /// The newest edge that came, and the newest that was dropped.
    private var newest: Edge?
    private var dropped: Edge?

    /// The offsets that the looks so far allow, and how many looks that were.
    private var lowest = Int64.min
    private var highest = Int64.max
    private var looks = 0
    /// Edges since seeking began, and when it did.
    private var sought = 0
    private var began: Timestamp?
    private var beganAtFrame: Int64 = 0

    /// Looks in a row that contradict the match, edges in a row that are off the line, and that line.
    private var contradictions = 0
    private var oddInARow = 0
    private var tracker = EdgeTracker()
    private var lastEdge: Timestamp?

    /// When a line that was given up is tried again, and how long the next pause is.
    private var retry: Timestamp?
    private var pause = EdgeLimits.firstPause
    private var matchedAt: Timestamp?

    /// Makes a matcher with room for so many edges.
    init(capacity: Int) {
        self.capacity = capacity
        edges = .allocate(capacity: capacity)
        scratch = .allocate(capacity: min(capacity, 64))
        if capacity > 0 { status.state = .seeking }
    }

    deinit {
        edges.deallocate()
        scratch.deallocate()
    }

    /// The FIFO was emptied: its frames are counted anew, so that the offset is sought anew.
    mutating func restart() {
        seek()
        pause = EdgeLimits.firstPause
    }

    /// The chip's pin is of no use: no edge is waited for.
    mutating func refuse() {
        if status.lastFault != .unsupported { status.failures += 1 }
        status.lastFault = .unsupported
        status.state = .unused
        phase = .lost
        retry = nil
        dropAll()
    }

    private mutating func seek() {
        phase = .seeking
        status.state = .seeking
        dropAll()
        lowest = .min
        highest = .max
        looks = 0
        sought = 0
        began = nil
        lastEdge = nil
        contradictions = 0
        oddInARow = 0
        tracker = EdgeTracker()
        matchedAt = nil
    }

    /// Takes what has queued up on a line; no more than there is room for, however fast a wire picks up edges.
    mutating func gather<Line: DataReadyLine & ~Copyable>(_ line: inout Line) {
        for _ in 0...capacity / scratch.count {
            let taken = line.takeEdges(into: scratch)
            for index in 0..<taken { append(scratch[index]) }
            guard taken == scratch.count else { return }
        }
    }

    private mutating func append(_ edge: DataReadyEdge) {
        var number = Int64(edge.number)
        if let newest {
            let step = Int64(Int32(bitPattern: edge.number &- UInt32(truncatingIfNeeded: newest.number)))
            number = newest.number + step
            if step > 1 { status.lostEdges += UInt64(step - 1) }
        }
        status.edges += 1
        sought += 1
        if count == capacity { drop(1) }
        let index = (first + count) % capacity
        edges[index] = Edge(number: number, time: edge.time)
        newest = edges[index]
        count += 1
        lastEdge = edge.time
    }

    /// The edge at `index`, oldest first.
    private func edge(_ index: Int) -> Edge { edges[(first + index) % capacity] }

    private mutating func drop(_ number: Int) {
        guard number > 0 else { return }
        dropped = edge(number - 1)
        first = (first + number) % capacity
        count -= number
    }

    private mutating func dropAll() { drop(count) }

    // MARK: Looks

    /// Takes note of a look between `a` and `b` that found `completed` frames in all, of which `taken` had been read
    /// before. The edges have been gathered after it.
    ///
    /// The first frame that has not been read is expected at `start`, by the FIFO's fill, give or take `doubt` seconds: an
    /// offset of which the edges are off by more is none.
    mutating func look(
        completed: Int64, taken: Int64, from a: Timestamp, to b: Timestamp, expecting start: Timestamp, doubt: Double,
        period: Double
    ) {
        if began == nil {
            began = b
            beganAtFrame = completed
        }
        if phase == .lost {
            dropAll()
            if let retry, b >= retry { seek() }
            return
        }
        if isSilent(completed: completed, at: b, period: period) { return lose(.silent, at: b) }
        switch pulse {
        case .everySample:
            lookAtAll(completed: completed, from: a, to: b, period: period)
            if phase == .seeking { tryOffset(taken + 1, expecting: start, doubt: doubt, period: period, at: b) }
        case .whenFilled: lookAtOne(completed: completed, taken: taken, to: b)
        case .never: dropAll()
        }
        if phase == .matched, let matchedAt, b.seconds(since: matchedAt) > EdgeLimits.trustAfter {
            pause = EdgeLimits.firstPause
        }
    }

    /// Whether frames have come for so long without an edge that none will come.
    private func isSilent(completed: Int64, at now: Timestamp, period: Double) -> Bool {
        guard let since = lastEdge ?? began else { return false }
        let periods = pulse == .everySample ? EdgeLimits.silentPeriods : EdgeLimits.silentBatchPeriods
        let patience = max(EdgeLimits.silence, periods * period)
        return now.seconds(since: since) > patience && completed - beganAtFrame >= EdgeLimits.silentFrames
    }

    private mutating func lookAtAll(completed: Int64, from a: Timestamp, to b: Timestamp, period: Double) {
        guard let oldest = dropped?.number ?? (count > 0 ? edge(0).number - 1 : nil) else { return }
        let slack = min(EdgeLimits.slack, period / 8)
        var sure = oldest
        var possible = oldest
        let surely = a.advanced(bySeconds: -slack)
        let possibly = b.advanced(bySeconds: slack)
        for index in 0..<count {
            let edge = edge(index)
            if edge.time <= surely { sure = edge.number }
            if edge.time <= possibly { possible = edge.number }
        }
        let low = sure - completed
        let high = possible - completed
        if phase == .matched {
            contradictions = offset >= low && offset <= high ? 0 : contradictions + 1
            if contradictions >= EdgeLimits.contradictions { lose(.mismatched, at: b) }
            return
        }
        narrow(low, high)
    }

    /// Believes in the only offset that is left, where all speaks for it.
    private mutating func tryOffset(
        _ first: Int64, expecting start: Timestamp, doubt: Double, period: Double, at now: Timestamp
    ) {
        if looks >= EdgeLimits.leastLooks, lowest == highest, sought >= EdgeLimits.leastEdges,
            isRegular(period: period)
        {
            if isExpected(first, offset: lowest, expecting: start, doubt: doubt, period: period) {
                offset = lowest
                return match(at: now)
            }
            // An edge was missed while it was sought, say.
            looks = 0
            lowest = .min
            highest = .max
        }
        giveUpSeeking(at: now, period: period)
        dropAll()
    }

    /// Whether the edge of frame `first`, or the first after it, comes when that is expected.
    private func isExpected(
        _ first: Int64, offset: Int64, expecting start: Timestamp, doubt: Double, period: Double
    ) -> Bool {
        for index in 0..<count {
            let edge = edge(index)
            let frame = edge.number - offset
            guard frame >= first else { continue }
            let expected = start.advanced(bySeconds: Double(frame - first) * period)
            return abs(edge.time.seconds(since: expected)) <= doubt
        }
        return false
    }

    private mutating func narrow(_ low: Int64, _ high: Int64) {
        if max(low, lowest) <= min(high, highest) {
            lowest = max(low, lowest)
            highest = min(high, highest)
            looks += 1
        } else {
            lowest = low
            highest = high
            looks = 1
        }
    }

    /// The only edge since the FIFO was read empty is that of the next frame.
    private mutating func lookAtOne(completed: Int64, taken: Int64, to b: Timestamp) {
        if count > 1 { drop(count - 1) }
        guard count == 1, completed > taken else { return dropAll() }
        offset = edge(0).number - taken - 1
        if phase == .seeking { match(at: b) }
    }

    /// Whether the newest edges are a sample apart: a line that carries something else is not to be matched by chance.
    private func isRegular(period: Double) -> Bool {
        guard count > 0 else { return false }
        var before = dropped ?? edge(0)
        for index in 0..<count {
            let edge = edge(index)
            let expected = Double(edge.number - before.number) * period
            let spacing = edge.time.seconds(since: before.time)
            if abs(spacing - expected) > EdgeLimits.unevenness(over: expected) { return false }
            before = edge
        }
        return true
    }

    private mutating func match(at now: Timestamp) {
        phase = .matched
        status.state = .used
        matchedAt = now
        contradictions = 0
        oddInARow = 0
        tracker = EdgeTracker()
    }

    private mutating func giveUpSeeking(at now: Timestamp, period: Double) {
        guard let began, sought > 0 else { return }
        let patience = max(EdgeLimits.seeking, EdgeLimits.soughtPeriods * period)
        if now.seconds(since: began) > patience { lose(.mismatched, at: now) }
    }

    /// Gives the line up until the FIFO is reset, or for a pause that grows with every failure.
    private mutating func lose(_ fault: DataReadyFault, at now: Timestamp) {
        status.failures += 1
        status.lastFault = fault
        dropAll()
        phase = .lost
        status.state = .unused
        retry = now.advanced(bySeconds: pause)
        pause = min(2 * pause, EdgeLimits.lastPause)
    }

    // MARK: Edges of frames

    /// Holds the edges of the frames from `first` to `last` against the line through those before, and lays it on.
    mutating func judge(_ first: Int64, through last: Int64, period: Double, now: Timestamp) {
        guard phase == .matched else { return }
        if tracker.count == 0, pulse == .everySample, let dropped {
            tracker.begin(frame: dropped.number - offset, time: dropped.time, period: period)
        }
        for index in 0..<count {
            let slot = (self.first + index) % capacity
            let edge = edges[slot]
            let frame = edge.number - offset
            guard frame >= first else { continue }
            guard frame <= last else { break }
            // What found no room in a batch comes again.
            guard tracker.count == 0 || tracker.distance(toFrame: frame) > 0 else { continue }
            edges[slot].isOdd = !fits(frame, edge.time, period: period)
            guard oddInARow < EdgeLimits.oddInARow else { return lose(.mismatched, at: now) }
        }
    }

    /// Whether an edge comes when its frame is due; then the line is laid on.
    private mutating func fits(_ frame: Int64, _ time: Timestamp, period: Double) -> Bool {
        guard tracker.count > 0 else {
            tracker.begin(frame: frame, time: time, period: period)
            return true
        }
        let limit =
            tracker.count < EdgeLimits.young
            ? EdgeLimits.unevenness(over: Double(tracker.distance(toFrame: frame)) * period)
            : max(EdgeLimits.tolerance, EdgeLimits.toleranceRatio * period)
        guard abs(time.seconds(since: tracker.instant(ofFrame: frame))) <= limit else {
            status.oddEdges += 1
            oddInARow += 1
            return false
        }
        oddInARow = 0
        tracker.add(frame: frame, time: time)
        return true
    }

    /// Whether there is a line through the edges that is worth more than the estimate of the FIFO's fill.
    var isTracking: Bool { phase == .matched && tracker.count >= EdgeLimits.young }

    /// The period of the line through the edges, seconds.
    var period: Double { tracker.period }

    /// When a frame was complete: at its edge, or where that did not come or is not believed, as the line through the others
    /// tells; `nil` where that is not known.
    func completion(ofFrame frame: Int64) -> (time: Timestamp, isEdge: Bool)? {
        if let instant = instant(ofFrame: frame) { return (instant, true) }
        return isTracking ? (tracker.instant(ofFrame: frame), false) : nil
    }

    /// The instant of a frame's edge; `nil` where it did not come or is not believed.
    private func instant(ofFrame frame: Int64) -> Timestamp? {
        guard phase == .matched, count > 0 else { return nil }
        let wanted = frame + offset
        // Without losses the edges are numbered without gaps: it is where it should be, or somewhat before.
        var index = Int(min(max(0, wanted - edge(0).number), Int64(count - 1)))
        while index > 0 && edge(index).number > wanted { index -= 1 }
        let found = edge(index)
        return found.number == wanted && !found.isOdd ? found.time : nil
    }

    /// Forgets the edges of the frames up to `frame`.
    mutating func forget(through frame: Int64) {
        guard phase == .matched else { return }
        var old = 0
        while old < count && edge(old).number <= frame + offset { old += 1 }
        drop(old)
    }

    /// Counts a sample that has the instant of an edge.
    mutating func countTimedSample() { status.timedSamples += 1 }
}
