internal import MotionCore

/// Timing by a data-ready line. The line never wakes the driver: after each FIFO count the driver takes the queued
/// edges, checks them against the count, and uses them to timestamp the frames. Without a line, the compiler removes
/// this code.
extension ChipDriver where Bus: ~Copyable, Line: ~Copyable {
    /// The FIFO was emptied, so edges and frames must be matched again.
    mutating func restartLine() {
        guard Line.isWired else { return }
        matcher.pulse = part.dataReadyPulse
        if part.dataReadyPulse == .never { matcher.disable() } else { matcher.restart() }
        status.dataReady = matcher.status
    }

    /// Processes a FIFO count. The estimator only sees the count, so a faulty line cannot mislead it.
    mutating func observe(_ fill: Fill) {
        let completed = progress.taken + Int64(fill.frames)
        estimator.observe(completed: completed, from: fill.before, to: fill.after)
        guard Line.isWired else { return }
        matcher.gather(&line)
        let period = estimator.period
        let next = progress.taken + 1
        let expected = estimator.instant(ofSample: next)
        let uncertainty = estimator.isSettled ? EdgeLimits.settledUncertainty : EdgeLimits.unsettledUncertainty
        matcher.observe(
            completed: completed, taken: progress.taken, from: fill.before, to: fill.after, expecting: expected,
            uncertainty: uncertainty * period, period: period)
        matcher.checkEdges(next, through: completed, period: period, now: fill.after)
        status.dataReady = matcher.status
    }

    /// When frame `number` was complete, according to the line if possible, otherwise to the estimator.
    mutating func completion(ofFrame number: Int64) -> Timestamp {
        guard Line.isWired, let completion = matcher.completion(ofFrame: number) else {
            return estimator.timestamp(ofSample: number)
        }
        estimator.follow(completion.time, ofSample: number)
        if completion.isEdge { matcher.countTimedSample() }
        status.dataReady = matcher.status
        return completion.time
    }

    /// Publishes the sample period once it is known: from the matched edges if possible, otherwise from the FIFO's
    /// count.
    mutating func notePeriod() {
        let tracked = Line.isWired ? matcher.trackedPeriod : nil
        let measured = tracked ?? (estimator.isSettled ? estimator.period : nil)
        status.isPeriodMeasured = measured != nil
        guard let period = measured else { return }
        status.period = period
        status.periodDeviation = (period / estimator.nominalPeriod - 1) * 1e6
    }
}
