internal import MotionCore

extension SamplePeriodEstimator {
    /// The gap that a period leaves between the upper and the lower bounds, at the anchor's index.
    private struct Gap {
        /// The line's latest and earliest instant, seconds after the newest upper bound.
        var latest: Double
        var earliest: Double

        /// Samples from the newest upper bound to the bounds that these come from.
        var latestIndex = 0.0
        var earliestIndex = 0.0

        var margin: Double { (latest - earliest) / 2 }
        /// How the margin changes with the period.
        var slope: Double { (earliestIndex - latestIndex) / 2 }
        var middle: Double { (latest + earliest) / 2 }
    }

    /// While a shift of the period moves the line by less than this many periods it keeps to what it was believed to be:
    /// a few samples' bounds would bend it anywhere.
    private static var priorWeight: Double { 8 }

    /// Tangents drawn at most: a handful suffice, and each cuts off most of what is left.
    private static var mostTangents: Int { 32 }

    /// A width of the gap that is no gain any more, seconds.
    private static var negligible: Double { 1e-12 }

    /// Fewer blocks than this are never given up for want of a fitting line.
    private static var fewestBlocks: Int { 8 }

    /// Over this many seconds no drift of an oscillator matters.
    private static var straightSpan: Double { 8 }

    /// Lays the line anew: the period for which the gap between the bounds is widest, and the middle of the gap that the
    /// newest bounds leave for it.
    mutating func fit() {
        guard window.count > 1 else { return }
        var best = widestGapPeriod(priorWeight: Self.priorWeight)
        while gap(at: best, from: 0).margin < 0 {
            best = widestGapPeriod(priorWeight: 0)
            guard gap(at: best, from: 0).margin < 0 && window.count > Self.fewestBlocks else { break }
            window.dropFirst(window.count / 4)
        }
        // Over a long window a drift of the period bends the line: its newest quarter says best where the phase is now.
        let first = window.span < Self.straightSpan ? 0 : window.count - window.count / 4
        let recent = gap(at: best, from: first)
        let newest = window[window.count - 1]
        period = best
        margin = recent.margin
        anchorIndex = newest.upperIndex
        anchorTime = newest.upperTime.advanced(bySeconds: recent.middle)
        if isSettled { tolerance = Self.widestTolerance }
    }

    /// The period within the tolerance that leaves the widest gap.
    ///
    /// The gap's width is a minimum of linear functions of the period less a maximum of such: concave, and made of straight
    /// pieces. So no summit is above the point where the tangents on either side of it meet; where the curve reaches that
    /// point, it is the summit, and else a tangent there takes the place of the one that slopes the same way.
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

    /// A straight line that touches the gap's width, less what a departure from the prior period costs, over the period.
    private struct Tangent {
        var period: Double
        /// Seconds, and how it changes with the period.
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
