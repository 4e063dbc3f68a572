internal import MotionCore

/// Measures the period of samples with known times over about half a minute, because it drifts with temperature.
struct PeriodMeter {
    /// Seconds of samples before the first estimate.
    private static let minimumSpan = 2.0
    /// Seconds after which the older half is discarded.
    private static let maximumSpan = 32.0

    private var first: (time: Timestamp, count: Int)?
    private var middle: (time: Timestamp, count: Int)?
    private var last: (time: Timestamp, count: Int)?

    /// Takes the time of the next sample. No sample may be missing since the previous one.
    mutating func take(_ time: Timestamp) {
        let count = (last?.count ?? -1) + 1
        last = (time, count)
        guard let first, let middle else {
            self.first = (time, count)
            self.middle = (time, count)
            return
        }
        if time.seconds(since: middle.time) > PeriodMeter.maximumSpan / 2 {
            if middle.count > first.count { self.first = middle }
            self.middle = (time, count)
        }
    }

    /// Seconds; `nil` until there are enough samples.
    var period: Double? {
        guard let first, let last, last.count > first.count else { return nil }
        let span = last.time.seconds(since: first.time)
        return span >= PeriodMeter.minimumSpan ? span / Double(last.count - first.count) : nil
    }
}
