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

    /// Whether fewer observations are enough to keep the estimate as exact as it is.
    var isExact: Bool { window.span >= Self.straightSpan }

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

extension SamplePeriodEstimator {
    /// The gap that a period leaves between the upper and lower bounds, at the anchor's index.
    private struct Gap {
        /// The latest and earliest times allowed for the line, seconds after the newest upper bound.
        var latest: Double
        var earliest: Double

        /// Samples from the newest upper bound to the bounds that set these limits.
        var latestIndex = 0.0
        var earliestIndex = 0.0

        var margin: Double { (latest - earliest) / 2 }
        /// How the margin changes with the period.
        var slope: Double { (earliestIndex - latestIndex) / 2 }
        var middle: Double { (latest + earliest) / 2 }
    }

    /// A change of period that moves the line by less than this many periods is suppressed in favour of the prior
    /// period: the bounds of a few samples would otherwise bend the line arbitrarily.
    private static var priorWeight: Double { 8 }

    /// The most tangents per fit. A handful is usually enough, because each one cuts off most of the remaining
    /// interval.
    private static var mostTangents: Int { 32 }

    /// An improvement of the gap below this is ignored, seconds.
    private static var negligible: Double { 1e-12 }

    /// Blocks are not dropped to obtain a fit if only this many are left.
    private static var fewestBlocks: Int { 8 }

    /// The time over which oscillator drift is negligible, seconds.
    private static var straightSpan: Double { 8 }

    /// Fits the line from scratch: the period with the widest gap between the bounds, and the phase in the middle of
    /// the gap that the newest bounds leave.
    mutating func fit() {
        guard window.count > 1 else { return }
        var best = widestGapPeriod(priorWeight: Self.priorWeight)
        while gap(at: best, from: 0).margin < 0 {
            best = widestGapPeriod(priorWeight: 0)
            guard gap(at: best, from: 0).margin < 0 else { break }
            if tolerance < Self.widestTolerance {
                // After an interruption, the period has moved farther than a chip's does: this may be another chip.
                priorPeriod = nominalPeriod
                tolerance = Self.widestTolerance
                continue
            }
            guard window.count > Self.fewestBlocks else { break }
            window.dropFirst(window.count / 4)
        }
        // Over a long window, drift of the period bends the line, so the newest quarter gives the best current phase.
        let first = window.span < Self.straightSpan ? 0 : window.count - window.count / 4
        let recent = gap(at: best, from: first)
        let newest = window[window.count - 1]
        var place = recent.middle
        if keepsPhase, window.span < Self.straightSpan, recent.margin >= 0 {
            // The first bounds leave a wide gap, and the chip's clock has not moved in it.
            let kept = instant(ofSample: newest.upperIndex).seconds(since: newest.upperTime)
            place = min(max(kept, recent.earliest), recent.latest)
        }
        period = best
        anchorIndex = newest.upperIndex
        anchorTime = newest.upperTime.advanced(bySeconds: place)
        if isSettled { tolerance = Self.widestTolerance }
    }

    /// The period within the tolerance that leaves the widest gap.
    ///
    /// The width of the gap is a minimum of linear functions of the period minus a maximum of such functions, so it is
    /// concave and piecewise linear. Its peak therefore cannot lie above the intersection of the tangents on its two
    /// sides. If the curve reaches the intersection, that is the peak; otherwise a tangent at the intersection replaces
    /// the one with the same sign of slope.
    private func widestGapPeriod(priorWeight: Double) -> Double {
        let lowest = max(priorPeriod * (1 - tolerance), nominalPeriod * (1 - Self.widestTolerance))
        let highest = min(priorPeriod * (1 + tolerance), nominalPeriod * (1 + Self.widestTolerance))
        var low = tangent(at: lowest, priorWeight: priorWeight)
        var high = tangent(at: highest, priorWeight: priorWeight)
        guard low.slope > 0 else { return lowest }
        guard high.slope < 0 else { return highest }
        for _ in 0..<Self.mostTangents {
            let rise = high.score - high.slope * (high.period - low.period) - low.score
            let meeting = min(max(low.period + rise / (low.slope - high.slope), low.period), high.period)
            let tangent = tangent(at: meeting, priorWeight: priorWeight)
            let bound = low.score + low.slope * (meeting - low.period)
            if bound - tangent.score <= Self.negligible || tangent.slope == 0 { return meeting }
            if tangent.slope > 0 { low = tangent } else { high = tangent }
        }
        return low.score > high.score ? low.period : high.period
    }

    /// A tangent to the score as a function of the period. The score is the width of the gap minus a penalty for
    /// departing from the prior period.
    private struct Tangent {
        var period: Double
        /// Seconds, and the derivative with respect to the period.
        var score: Double
        var slope: Double
    }

    private func tangent(at period: Double, priorWeight: Double) -> Tangent {
        let gap = gap(at: period, from: 0)
        let departure = period - priorPeriod
        return Tangent(
            period: period, score: gap.margin - priorWeight * abs(departure),
            slope: gap.slope - (departure < 0 ? -priorWeight : priorWeight))
    }

    private func gap(at period: Double, from first: Int) -> Gap {
        let newest = window[window.count - 1]
        var gap = Gap(latest: .infinity, earliest: -.infinity)
        for index in first..<window.count {
            let block = window[index]
            let upperIndex = Double(block.upperIndex - newest.upperIndex)
            let upper = block.upperTime.seconds(since: newest.upperTime) - upperIndex * period
            let lowerIndex = Double(block.lowerIndex - newest.upperIndex)
            let lower = block.lowerTime.seconds(since: newest.upperTime) - lowerIndex * period
            if upper < gap.latest {
                gap.latest = upper
                gap.latestIndex = upperIndex
            }
            if lower > gap.earliest {
                gap.earliest = lower
                gap.earliestIndex = lowerIndex
            }
        }
        return gap
    }
}

/// Bounds on the completion times of samples, collected over about the last minute in a fixed amount of memory.
///
/// At first it keeps every observation. When it is full, it merges adjacent blocks, which preserves the whole history
/// at a coarser resolution. Once blocks span a second, it drops the oldest one instead.
struct BoundWindow: ~Copyable {
    /// The tightest bounds seen in one stretch of time.
    struct Block: BitwiseCopyable {
        /// Sample `upperIndex` was complete at `upperTime` or before.
        var upperIndex: Int64
        var upperTime: Timestamp
        /// Sample `lowerIndex` was not yet complete at `lowerTime`.
        var lowerIndex: Int64
        var lowerTime: Timestamp

        /// Merges `other` into `self`, keeping the tighter of each bound for samples `period` seconds apart.
        mutating func merge(_ other: Block, period: Double) {
            if other.upperTime.seconds(since: upperTime) < Double(other.upperIndex - upperIndex) * period {
                upperIndex = other.upperIndex
                upperTime = other.upperTime
            }
            if other.lowerTime.seconds(since: lowerTime) > Double(other.lowerIndex - lowerIndex) * period {
                lowerIndex = other.lowerIndex
                lowerTime = other.lowerTime
            }
        }
    }

    /// The most blocks it holds. The number is even; with blocks of 1 s to 2 s the window covers one to two minutes.
    static var capacity: Int { 64 }

    /// While blocks are shorter than this, a full window is merged instead of dropping its oldest block, seconds.
    static var longestMergedBlock: Double { 1 }

    /// Seconds after which a block is complete although it could have had more observations: these have become fewer.
    static var longestBlock: Double { 1.25 }

    private let blocks = UnsafeMutablePointer<Block>.allocate(capacity: BoundWindow.capacity)
    private(set) var count = 0
    private var observationsPerBlock = 1
    private var observationsInLast = 0
    private var lastBegan = Timestamp(nanoseconds: 0)

    deinit {
        blocks.deallocate()
    }

    /// The block at `index`, oldest first.
    subscript(index: Int) -> Block {
        precondition(index >= 0 && index < count, "block index out of range")
        return blocks[index]
    }

    /// Seconds from the oldest block to the newest.
    var span: Double {
        count == 0 ? 0 : blocks[count - 1].upperTime.seconds(since: blocks[0].upperTime)
    }

    /// Adds an observation. Returns whether it completed a block.
    mutating func add(_ observation: Block, period: Double) -> Bool {
        if count > 0 && observationsInLast < observationsPerBlock {
            blocks[count - 1].merge(observation, period: period)
            observationsInLast += 1
        } else {
            if count == Self.capacity { compact(period: period) }
            blocks[count] = observation
            count += 1
            observationsInLast = 1
            lastBegan = observation.upperTime
        }
        if observation.upperTime.seconds(since: lastBegan) >= Self.longestBlock {
            observationsInLast = observationsPerBlock
        }
        return observationsInLast >= observationsPerBlock
    }

    /// Drops the oldest `number` blocks.
    mutating func dropFirst(_ number: Int) {
        let dropped = min(max(0, number), count)
        for index in dropped..<count {
            blocks[index - dropped] = blocks[index]
        }
        count -= dropped
    }

    /// Drops everything.
    mutating func removeAll() {
        count = 0
        observationsPerBlock = 1
        observationsInLast = 0
    }

    private mutating func compact(period: Double) {
        guard span < Double(Self.capacity) * Self.longestMergedBlock else { return dropFirst(1) }
        for index in 0..<Self.capacity / 2 {
            blocks[index] = blocks[2 * index]
            blocks[index].merge(blocks[2 * index + 1], period: period)
        }
        count = Self.capacity / 2
        observationsPerBlock *= 2
        observationsInLast = observationsPerBlock
    }
}
