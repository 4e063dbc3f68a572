internal import MotionCore

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
        margin = recent.margin
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
