package import MotionCore

/// Estimates when a chip measured each sample, using only the host's clock and the chip's FIFO counts.
///
/// A chip samples by its own oscillator, which may be wrong by several per cent and drifts with temperature, and the
/// host reads the count whenever its scheduler allows. A count of `n` completed samples, read between the host times
/// `a` and `b`, proves two things, however late it came: sample `n` was complete by `b`, and sample `n + 1` was not
/// complete at `a`. The estimator collects such bounds and places the line *time = phase + index · period* in the gap
/// between the upper and lower ones, as far from both as possible (set-membership identification, which assumes nothing
/// about the distribution of the delays). If no line fits, the oscillator has drifted, and the oldest bounds are
/// dropped.
///
/// Memory is fixed at `init`. An observation costs a few comparisons; a fit over some 64 points takes place about once
/// a second.
package struct SamplePeriodEstimator: ~Copyable {
    /// The period that the chip would have with a perfect oscillator, seconds.
    package let nominalPeriod: Double

    /// The period as estimated so far, seconds; initially the nominal one.
    package internal(set) var period: Double

    /// How often the sample numbers no longer matched the clock and the phase was searched for again.
    package private(set) var slips: UInt64 = 0

    var window = BoundWindow()
    /// A point on the line.
    var anchorIndex: Int64 = 0
    var anchorTime = Timestamp(nanoseconds: 0)
    /// The period assumed as long as the bounds do not determine it.
    var priorPeriod: Double
    /// The allowed deviation from `priorPeriod`, as a ratio.
    var tolerance = widestTolerance
    /// Half the width of the gap between the bounds at the last fit, seconds; negative if no line fits.
    var margin: Double = 0

    /// The newest completed sample, and when its count was read.
    private var newestIndex: Int64 = 0
    private var newestBound = Timestamp(nanoseconds: 0)
    private var contradictions = 0
    /// When some sample was complete before the samples were numbered anew, if the chip has sampled on since then.
    private var clockPhase: Timestamp?
    /// Whether the phase is that of a stream before this one.
    private(set) var keepsPhase = false
    private var lastIndex: Int64 = 0
    private var lastTimestamp: Timestamp?

    /// The largest accepted deviation from the nominal period. PS 6.6 allows 5 % for the plain oscillator at 25 °C and
    /// 15 % over temperature; clones of the MPU-6050 may be worse.
    static var widestTolerance: Double { 0.15 }

    /// How far the period may have moved while sampling was interrupted, mostly because of temperature.
    static var restartTolerance: Double { 0.005 }

    /// The step between consecutive timestamps may deviate from the period by this ratio, so that phase corrections do
    /// not appear as jerks in code that divides by the time step.
    static var slewRatio: Double { 0.05 }

    /// The shortest step between two timestamps, as a ratio of the period, used if they would otherwise lie in the
    /// future.
    static var shortestStep: Double { 0.5 }

    /// Consecutive observations that must contradict the line by more than half a sample before it is discarded.
    static var contradictionLimit: Int { 3 }

    /// How far a chip's clock may run away from the estimate, as a ratio: temperature, and the error of the period.
    static var clockDrift: Double { 0.0005 }

    /// By how many periods the line must be wrong to be fitted anew at once.
    static var wrongness: Double { 0.05 }

    /// Seconds of observations after which the period can be used.
    static var settlingSpan: Double { 1.5 }

    /// Creates an estimator for samples `nominalPeriod` seconds apart.
    package init(nominalPeriod: Double) {
        self.nominalPeriod = nominalPeriod
        period = nominalPeriod
        priorPeriod = nominalPeriod
    }

    /// The period's deviation from the nominal one, parts per million; positive if the chip is slow.
    package var deviation: Double { (period / nominalPeriod - 1) * 1e6 }

    /// Whether there has been an observation since the last `restart`. Without one, no time is known.
    package var hasPhase: Bool { window.count > 0 }

    /// Whether the period has been measured; until then it comes from the datasheet.
    package var isSettled: Bool { window.span >= Self.settlingSpan }

    /// Records that `completed` samples were complete when the host read the count, some time between `before` and
    /// `after`.
    ///
    /// Samples are numbered from 1 after each `restart`. A count that finds no samples is as useful as any other.
    package mutating func observe(completed: Int64, from before: Timestamp, to after: Timestamp) {
        let observation = BoundWindow.Block(
            upperIndex: completed, upperTime: after, lowerIndex: completed + 1, lowerTime: before)
        newestIndex = completed
        newestBound = after
        guard window.count > 0 else { return begin(observation) }

        let late = instant(ofSample: completed).seconds(since: after)
        let early = before.seconds(since: instant(ofSample: completed + 1))
        if isSettled && max(late, early) > period / 2 {
            contradictions += 1
            guard contradictions >= Self.contradictionLimit else { return }
            slips += 1
            forgetPhase()
            return begin(observation)
        }
        contradictions = 0
        let isWrong = max(late, early) > Self.wrongness * period
        if window.add(observation, period: period) || isWrong { fit() }
        satisfy(observation)
    }

    /// Records that sample `index` was given this timestamp instead of the line's. Later timestamps continue from it.
    package mutating func follow(_ timestamp: Timestamp, ofSample index: Int64) {
        lastIndex = index
        lastTimestamp = timestamp
    }

    /// Restarts the numbering after the FIFO was emptied or the chip was restarted. The period is kept. If the chip
    /// `samplesOn`, so is the phase; otherwise it is searched for again.
    package mutating func restart(samplesOn: Bool = false) {
        let phase = samplesOn && isSettled ? instant(ofSample: newestIndex) : clockPhase
        forgetPhase()
        clockPhase = samplesOn ? phase : nil
        keepsPhase = false
        lastTimestamp = nil
    }

    /// When sample `index` is, was or will be complete, according to the present estimate.
    package func instant(ofSample index: Int64) -> Timestamp {
        anchorTime.advanced(bySeconds: Double(index - anchorIndex) * period)
    }

    /// The timestamp of sample `index`. Samples must be requested in order.
    ///
    /// It follows `instant(ofSample:)` without jumps, and is always later than the previous timestamp.
    package mutating func timestamp(ofSample index: Int64) -> Timestamp {
        var timestamp = instant(ofSample: index)
        if let lastTimestamp {
            let steps = Double(max(1, index - lastIndex))
            let step = timestamp.seconds(since: lastTimestamp) / steps
            let bounded = min(max(step, (1 - Self.slewRatio) * period), (1 + Self.slewRatio) * period)
            if bounded != step { timestamp = lastTimestamp.advanced(bySeconds: bounded * steps) }
            // A timestamp later than the count that already included the sample is corrected faster.
            let seen = newestBound.advanced(bySeconds: Double(index - newestIndex) * period)
            timestamp = min(timestamp, max(seen, lastTimestamp.advanced(bySeconds: Self.shortestStep * period * steps)))
        }
        lastIndex = index
        lastTimestamp = timestamp
        return timestamp
    }

    private mutating func begin(_ observation: BoundWindow.Block) {
        contradictions = 0
        _ = window.add(observation, period: period)
        // Sample n was completed after a count that would have included sample n + 1: some time within one period.
        let uncertainty = period + observation.upperTime.seconds(since: observation.lowerTime)
        anchorIndex = observation.upperIndex
        let middle = observation.upperTime.advanced(bySeconds: -uncertainty / 2)
        anchorTime = middle
        // The chip's clock tells the phase better, unless its drift since then may amount to more.
        guard let phase = clockPhase else { return }
        clockPhase = nil
        let elapsed = middle.seconds(since: phase)
        guard elapsed >= 0, elapsed * Self.clockDrift < 0.1 * period else { return }
        anchorTime = phase.advanced(bySeconds: (elapsed / period).rounded() * period)
        keepsPhase = true
    }

    private mutating func forgetPhase() {
        if isSettled {
            priorPeriod = period
            tolerance = Self.restartTolerance
        }
        window.removeAll()
        contradictions = 0
    }

    /// Moves the line just far enough to satisfy the newest observation, without waiting for the next fit.
    private mutating func satisfy(_ observation: BoundWindow.Block) {
        let late = instant(ofSample: observation.upperIndex).seconds(since: observation.upperTime)
        let early = observation.lowerTime.seconds(since: instant(ofSample: observation.lowerIndex))
        if late > 0 {
            anchorTime = anchorTime.advanced(bySeconds: -late)
        } else if early > 0 {
            anchorTime = anchorTime.advanced(bySeconds: early)
        }
    }
}
