internal import MotionCore

/// A data-ready line wakes nobody. At every look the edges that have queued up are taken along with the FIFO's count, held
/// against it, and give the frames their instants; where there is no line, the compiler leaves nothing of this.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// The FIFO was emptied: which edge belongs to which frame has to be found out again.
    mutating func restartLine() {
        guard Line.isWired else { return }
        matcher.pulse = part.dataReadyPulse
        if part.dataReadyPulse == .never { matcher.refuse() } else { matcher.restart() }
        status.dataReady = matcher.status
    }

    /// Learns from a look: the estimator from the count alone, which nothing that is wrong with a line can mislead.
    mutating func observe(_ fill: Fill) {
        let completed = progress.taken + Int64(fill.frames)
        estimator.observe(completed: completed, from: fill.before, to: fill.after)
        guard Line.isWired else { return }
        matcher.gather(&line)
        let period = estimator.period
        let next = progress.taken + 1
        let expected = estimator.instant(ofSample: next)
        let doubt = estimator.isSettled ? EdgeLimits.settledDoubt : EdgeLimits.unsettledDoubt
        matcher.look(
            completed: completed, taken: progress.taken, from: fill.before, to: fill.after, expecting: expected,
            doubt: doubt * period, period: period)
        matcher.judge(next, through: completed, period: period, now: fill.after)
        status.dataReady = matcher.status
    }

    /// When frame `number` was complete: as the line tells, or the estimator.
    mutating func completion(ofFrame number: Int64) -> Timestamp {
        guard Line.isWired, let completion = matcher.completion(ofFrame: number) else {
            return estimator.timestamp(ofSample: number)
        }
        estimator.follow(completion.time, ofSample: number)
        if completion.isEdge { matcher.countTimedSample() }
        status.dataReady = matcher.status
        return completion.time
    }

    /// Notes the sample period, once it is known: of the edges where they are matched, else of the FIFO's fill.
    mutating func notePeriod() {
        let tracked = Line.isWired ? matcher.trackedPeriod : nil
        guard let period = tracked ?? (estimator.isSettled ? estimator.period : nil) else { return }
        status.period = period
        status.periodDeviation = (period / estimator.nominalPeriod - 1) * 1e6
    }
}
