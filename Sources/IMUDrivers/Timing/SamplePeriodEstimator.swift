package import MotionCore

/// Finds when a chip measured each sample, from nothing but the host's clock and the fill of the chip's FIFO.
///
/// A chip samples to its own oscillator, which is off by per cents and drifts with temperature, and the host looks when
/// its scheduler lets it. A look between the host's instants `a` and `b` that finds `n` samples complete proves two things,
/// however late it came: sample `n` was complete by `b`, and sample `n + 1` was not at `a`. The estimator keeps such
/// bounds and lays the line *instant = phase + index · period* through the gap between the upper and the lower ones,
/// as far from both as possible (set-membership identification: no assumption about how lateness is distributed).
/// Where no line fits, the oscillator has drifted, and the oldest bounds go.
///
/// Memory is fixed at `init`; an observation costs a few comparisons, and a fit of some 64 points about once a second.
package struct SamplePeriodEstimator: ~Copyable {
    /// The period that the chip would have with a perfect oscillator, seconds.
    package let nominalPeriod: Double

    /// The period as measured so far, seconds; the nominal one at first.
    package internal(set) var period: Double

    /// Times the samples' numbering turned out not to match the clock any more and the phase was sought anew.
    package private(set) var slips: UInt64 = 0

    var window = BoundWindow()
    /// The line passes through this point.
    var anchorIndex: Int64 = 0
    var anchorTime = Timestamp(nanoseconds: 0)
    /// What the period is believed to be while the bounds do not tell.
    var priorPeriod: Double
    /// How far from `priorPeriod` the period may lie, as a ratio.
    var tolerance = widestTolerance
    /// Half the width of the gap between the bounds at the last fit, seconds; below zero where no line fits.
    var margin: Double = 0

    /// The newest sample that the host has seen, and when.
    private var newestIndex: Int64 = 0
    private var newestBound = Timestamp(nanoseconds: 0)
    private var contradictions = 0
    private var lastIndex: Int64 = 0
    private var lastTimestamp: Timestamp?

    /// The widest deviation from the nominal period that is believed: PS 6.6 allows 5 % for the plain oscillator at 25 °C
    /// and 15 % over temperature; parts that claim to be an MPU-6050 are not always.
    static var widestTolerance: Double { 0.15 }

    /// How far the period may have moved while the samples were interrupted: temperature, mostly.
    static var restartTolerance: Double { 0.005 }

    /// A timestamp follows the one before at one period give or take this ratio, so that corrections of the phase do not
    /// appear as jerks in whatever divides by the time step.
    static var slewRatio: Double { 0.05 }

    /// The shortest step between two timestamps, as a ratio of the period, where they would be in the future otherwise.
    static var shortestStep: Double { 0.5 }

    /// Observations in a row that must contradict the line by more than half a sample before it is given up.
    static var contradictionLimit: Int { 3 }

    /// Seconds of observations after which the period is usable.
    static var settlingSpan: Double { 1.5 }

    /// Makes an estimator for samples `nominalPeriod` seconds apart.
    package init(nominalPeriod: Double) {
        self.nominalPeriod = nominalPeriod
        period = nominalPeriod
        priorPeriod = nominalPeriod
    }

    /// The period's deviation from the nominal one, parts per million: positive where the chip is slow.
    package var deviation: Double { (period / nominalPeriod - 1) * 1e6 }

    /// Whether there has been an observation since the last `restart`: without one, no instant is known.
    package var hasPhase: Bool { window.count > 0 }

    /// Whether the period rests on measurement rather than on the datasheet.
    package var isSettled: Bool { window.span >= Self.settlingSpan }

    /// Takes note that `completed` samples were complete when the host looked, some time from `before` to `after`.
    ///
    /// Samples are numbered from 1 since the last `restart`; a look that finds none is as good as any other.
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
        if window.add(observation, period: period) { fit() }
        respect(observation)
    }

    /// Takes note that sample `index` was given another timestamp than the line's, from which later ones go on.
    package mutating func follow(_ timestamp: Timestamp, ofSample index: Int64) {
        lastIndex = index
        lastTimestamp = timestamp
    }

    /// Starts the numbering anew, after the FIFO was emptied or the chip restarted: the period stays, the phase is sought.
    package mutating func restart() {
        forgetPhase()
        lastTimestamp = nil
    }

    /// When sample `index` is, was or will be complete, as far as is known now.
    package func instant(ofSample index: Int64) -> Timestamp {
        anchorTime.advanced(bySeconds: Double(index - anchorIndex) * period)
    }

    /// The timestamp of sample `index`: samples must be asked for in order.
    ///
    /// It follows `instant(ofSample:)` without jumps, and is always later than the one before.
    package mutating func timestamp(ofSample index: Int64) -> Timestamp {
        var timestamp = instant(ofSample: index)
        if let lastTimestamp {
            let steps = Double(max(1, index - lastIndex))
            let step = timestamp.seconds(since: lastTimestamp) / steps
            let bounded = min(max(step, (1 - Self.slewRatio) * period), (1 + Self.slewRatio) * period)
            if bounded != step { timestamp = lastTimestamp.advanced(bySeconds: bounded * steps) }
            // What the slow correction would put after the host has already seen it is corrected faster.
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
        // Sample n came after the look that would have seen sample n + 1: somewhere within one period.
        let uncertainty = period + observation.upperTime.seconds(since: observation.lowerTime)
        anchorIndex = observation.upperIndex
        anchorTime = observation.upperTime.advanced(bySeconds: -uncertainty / 2)
    }

    private mutating func forgetPhase() {
        if isSettled {
            priorPeriod = period
            tolerance = Self.restartTolerance
        }
        window.removeAll()
        contradictions = 0
    }

    /// Moves the line just as far as the newest observation demands, without waiting for the next fit.
    private mutating func respect(_ observation: BoundWindow.Block) {
        let late = instant(ofSample: observation.upperIndex).seconds(since: observation.upperTime)
        let early = observation.lowerTime.seconds(since: instant(ofSample: observation.lowerIndex))
        if late > 0 {
            anchorTime = anchorTime.advanced(bySeconds: -late)
        } else if early > 0 {
            anchorTime = anchorTime.advanced(bySeconds: early)
        }
    }
}
