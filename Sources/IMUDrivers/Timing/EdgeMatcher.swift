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
    private(set) var status = DataReadyStatus()

    /// Whether edges come with every sample, only with the one that finds the FIFO empty, or not at all.
    var pulse = DataReadyPulse.everySample

    private var phase = EdgePhase.seeking(EdgeSearch())
    private var queue: EdgeQueue
    private var silence = EdgeSilence()
    /// How long the next pause is before a line that failed is tried again, seconds.
    private var pause = EdgeLimits.firstPause
    private let scratch: UnsafeMutableBufferPointer<DataReadyEdge>

    /// Makes a matcher with room for so many edges.
    init(capacity: Int) {
        queue = EdgeQueue(capacity: capacity)
        scratch = .allocate(capacity: min(capacity, 64))
        if capacity > 0 { status.state = .seeking }
    }

    deinit {
        scratch.deallocate()
    }

    /// The FIFO was emptied: its frames are counted from zero, so that the offset is another.
    mutating func restart() {
        seek()
        pause = EdgeLimits.firstPause
    }

    /// The chip's pin is of no use: no edge is waited for.
    mutating func refuse() {
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

    /// Takes what has queued up on a line; no more than there is room for, however fast a wire picks up edges.
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
        silence.noteLook(at: b, completed: completed)
        if case .lost(let retry) = phase {
            queue.dropAll()
            if let retry, b >= retry { seek() }
            return
        }
        if silence.isTooLong(completed: completed, at: b, pulse: pulse, period: period) { return lose(.silent, at: b) }
        switch pulse {
        case .everySample:
            let allowed = queue.offsets(completed: completed, from: a, to: b, period: period)
            switch phase {
            case .seeking(var search):
                if let allowed { search.narrow(to: allowed) }
                let next = Expectation(frame: taken + 1, time: start, doubt: doubt, period: period)
                conclude(search, expecting: next, at: b)
            case .matched(var match):
                if let allowed { match.compare(with: allowed) }
                phase = .matched(match)
                if match.isRefuted { lose(.mismatched, at: b) }
            case .lost: break
            }
        case .whenFilled: lookAtOne(completed: completed, taken: taken, to: b)
        case .never: queue.dropAll()
        }
        if case .matched(let match) = phase, b.seconds(since: match.since) > EdgeLimits.trustAfter {
            pause = EdgeLimits.firstPause
        }
    }

    /// When a frame and those after it are due, by the FIFO's fill, give or take `doubt` seconds.
    private struct Expectation {
        var frame: Int64
        var time: Timestamp
        var doubt: Double
        var period: Double
    }

    /// Believes in the only offset that is left, if all speaks for it.
    private mutating func conclude(_ search: EdgeSearch, expecting next: Expectation, at now: Timestamp) {
        var search = search
        let sought = Int(status.edges - search.edgesBefore)
        if let offset = search.found, sought >= EdgeLimits.leastEdges, queue.isRegular(period: next.period) {
            if isExpected(next, offset: offset) { return match(offset, at: now) }
            // An edge was missed while it was sought, say.
            search.forgetLooks()
        }
        phase = .seeking(search)
        let patience = max(EdgeLimits.seeking, EdgeLimits.soughtPeriods * next.period)
        if let began = silence.began, sought > 0, now.seconds(since: began) > patience { lose(.mismatched, at: now) }
        queue.dropAll()
    }

    /// Whether the edge of the frame that is next, or the first after it, comes when that is expected.
    private func isExpected(_ next: Expectation, offset: Int64) -> Bool {
        let count = queue.count
        for index in 0..<count {
            let edge = queue[index]
            let frame = edge.number - offset
            guard frame >= next.frame else { continue }
            let expected = next.time.advanced(bySeconds: Double(frame - next.frame) * next.period)
            return abs(edge.time.seconds(since: expected)) <= next.doubt
        }
        return false
    }

    /// The only edge since the FIFO was read empty is that of the next frame.
    private mutating func lookAtOne(completed: Int64, taken: Int64, to b: Timestamp) {
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
    private mutating func lose(_ fault: DataReadyFault, at now: Timestamp) {
        status.failures += 1
        status.lastFault = fault
        queue.dropAll()
        phase = .lost(retry: now.advanced(bySeconds: pause))
        status.state = .unused
        pause = min(2 * pause, EdgeLimits.lastPause)
    }

    // MARK: Edges of frames

    /// Holds the edges of the frames from `first` to `last` against the line through those before, and lays it on.
    mutating func judge(_ first: Int64, through last: Int64, period: Double, now: Timestamp) {
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
            // What found no room in a batch comes again.
            guard !match.hasTaken(frame) else { continue }
            let isOdd = !match.fits(frame, edge.time, period: period)
            queue.mark(index, isOdd: isOdd)
            if isOdd { status.oddEdges += 1 }
            if match.isRefuted { return lose(.mismatched, at: now) }
        }
        phase = .matched(match)
    }

    /// The period of the line through the edges, seconds; `nil` before it is worth more than the estimate of the FIFO's fill.
    var trackedPeriod: Double? {
        guard case .matched(let match) = phase, match.isTracking else { return nil }
        return match.tracker.period
    }

    /// When a frame was complete: at its edge, or if that did not come or is not believed, as the line through the others
    /// has it; `nil` if that is not known.
    func completion(ofFrame frame: Int64) -> (time: Timestamp, isEdge: Bool)? {
        guard case .matched(let match) = phase else { return nil }
        if let instant = queue.instant(of: frame + match.offset) { return (instant, true) }
        return match.isTracking ? (match.tracker.instant(ofFrame: frame), false) : nil
    }

    /// Forgets the edges of the frames up to `frame`.
    mutating func forget(through frame: Int64) {
        guard case .matched(let match) = phase else { return }
        queue.drop(through: frame + match.offset)
    }

    /// Counts a sample that has the instant of an edge.
    mutating func countTimedSample() { status.timedSamples += 1 }
}
