internal import MotionCore

extension SamplePeriodEstimator {
    /// The gap that a period leaves between the upper and the lower bounds, at the anchor's index.
    private struct Gap {
        /// The line's latest and earliest instant, seconds after the newest upper bound.
        var latest: Double
        var earliest: Double

        var margin: Double { (latest - earliest) / 2 }
        var middle: Double { (latest + earliest) / 2 }
    }

    /// While a shift of the period moves the line by less than this many periods it keeps to what it was believed to be:
    /// a few samples' bounds would bend it anywhere.
    private static var priorWeight: Double { 8 }

    /// Golden sections of the search: 0.618^40 · 2 · 15 % is about 1e-9 of a period.
    private static var searchSteps: Int { 40 }

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

    /// The period within the tolerance that leaves the widest gap, by golden section.
    ///
    /// The gap's width is a minimum of linear functions of the period less a maximum of such: concave, so there is one
    /// summit and the section finds it.
    private func widestGapPeriod(priorWeight: Double) -> Double {
        let ratio = 0.618_033_988_749_894_8
        var low = max(priorPeriod * (1 - tolerance), nominalPeriod * (1 - Self.widestTolerance))
        var high = min(priorPeriod * (1 + tolerance), nominalPeriod * (1 + Self.widestTolerance))
        var left = high - ratio * (high - low)
        var right = low + ratio * (high - low)
        var leftScore = score(left, priorWeight: priorWeight)
        var rightScore = score(right, priorWeight: priorWeight)
        for _ in 0..<Self.searchSteps {
            if leftScore < rightScore {
                low = left
                left = right
                leftScore = rightScore
                right = low + ratio * (high - low)
                rightScore = score(right, priorWeight: priorWeight)
            } else {
                high = right
                right = left
                rightScore = leftScore
                left = high - ratio * (high - low)
                leftScore = score(left, priorWeight: priorWeight)
            }
        }
        return (low + high) / 2
    }

    private func score(_ period: Double, priorWeight: Double) -> Double {
        gap(at: period, from: 0).margin - priorWeight * abs(period - priorPeriod)
    }

    private func gap(at period: Double, from first: Int) -> Gap {
        let newest = window[window.count - 1]
        var gap = Gap(latest: .infinity, earliest: -.infinity)
        for index in first..<window.count {
            let block = window[index]
            let upper =
                block.upperTime.seconds(since: newest.upperTime)
                - Double(block.upperIndex - newest.upperIndex) * period
            let lower =
                block.lowerTime.seconds(since: newest.upperTime)
                - Double(block.lowerIndex - newest.upperIndex) * period
            if upper < gap.latest { gap.latest = upper }
            if lower > gap.earliest { gap.earliest = lower }
        }
        return gap
    }
}
