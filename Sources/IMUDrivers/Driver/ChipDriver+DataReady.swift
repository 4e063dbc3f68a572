internal import MotionCore

/// A data-ready line wakes nobody. At every look the edges that have queued up are taken along with the FIFO's count, held
/// against it, and give the frames their instants; where there is no line, the compiler leaves nothing of this.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// The FIFO was emptied: which edge belongs to which frame has to be found out again.
    mutating func restartLine() {
        guard Line.isWired else { return }
        matcher.pulse = part.dataReadyPulse
        matcher.restart()
        status.dataReady = matcher.status
    }

    /// Lets the estimator learn from a look: of the edges where they are known to belong to the frames, else of the count.
    mutating func observe(_ fill: Fill) {
        let completed = taken + Int64(fill.frames)
        guard Line.isWired else { return estimator.observe(completed: completed, from: fill.before, to: fill.after) }
        matcher.gather(&line)
        let period = estimator.period
        matcher.look(completed: completed, taken: taken, from: fill.before, to: fill.after, period: period)
        guard matcher.phase == .matched else {
            status.dataReady = matcher.status
            return estimator.observe(completed: completed, from: fill.before, to: fill.after)
        }
        // Without a sample there has been no look at all; then nothing is expected yet.
        if !estimator.hasPhase { estimator.observe(completed: completed, from: fill.before, to: fill.after) }
        let next = taken + 1
        let expected = estimator.instant(ofSample: next)
        let narrow = max(EdgeLimits.narrowTolerance, EdgeLimits.narrowRatio * period)
        let tolerance = max(narrow, 2 * estimator.lateness)
        matcher.judge(
            next, through: completed, expecting: expected, period: period, tolerance: tolerance, now: fill.after)
        var learnt = false
        var frame = next
        while frame <= completed {
            if let instant = matcher.instant(ofFrame: frame) {
                estimator.observe(sample: frame, at: instant)
                learnt = true
            }
            frame += 1
        }
        if !learnt { estimator.observe(completed: completed, from: fill.before, to: fill.after) }
        status.dataReady = matcher.status
    }

    /// When frame `number` was complete: at its edge, or when the estimator says.
    mutating func completion(ofFrame number: Int64) -> Timestamp {
        guard Line.isWired, let instant = matcher.instant(ofFrame: number) else {
            return estimator.timestamp(ofSample: number)
        }
        estimator.follow(instant, ofSample: number)
        matcher.countTimedSample()
        status.dataReady.timedSamples += 1
        return instant
    }
}
