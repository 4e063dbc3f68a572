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
    private(set) var status = DataReadyStatus()

    /// When edges occur: with every sample, only with the first sample in an empty FIFO, or never.
    var pulse = DataReadyPulse.everySample

    private var phase = EdgePhase.seeking(EdgeSearch())
    private var queue: EdgeQueue
    private var silence = EdgeSilence()
    /// The next pause before a failed line is tried again, seconds.
    private var pause = EdgeLimits.firstPause
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
        pause = EdgeLimits.firstPause
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
            pause = EdgeLimits.firstPause
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
        phase = .lost(retry: now.advanced(bySeconds: pause))
        status.state = .unused
        pause = min(2 * pause, EdgeLimits.lastPause)
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

    /// Counts a sample that was timed by an edge.
    mutating func countTimedSample() { status.timedSamples += 1 }
}
