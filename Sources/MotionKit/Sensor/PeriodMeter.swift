internal import MotionCore

/// Measures the period of samples whose times are known, over half a minute or so: it drifts with temperature.
struct PeriodMeter {
    /// Seconds of samples before anything is said.
    private static let shortest = 2.0
    /// Seconds after which the older half is forgotten.
    private static let longest = 32.0

    private var first: (time: Timestamp, count: Int)?
    private var middle: (time: Timestamp, count: Int)?
    private var last: (time: Timestamp, count: Int)?

    /// Takes the time of the next sample; between it and the one before none is missing.
    mutating func take(_ time: Timestamp) {
        let count = (last?.count ?? -1) + 1
        last = (time, count)
        guard let first, let middle else {
            self.first = (time, count)
            self.middle = (time, count)
            return
        }
        if time.seconds(since: middle.time) > PeriodMeter.longest / 2 {
            if middle.count > first.count { self.first = middle }
            self.middle = (time, count)
        }
    }

    /// Seconds; `nil` while there are too few.
    var period: Double? {
        guard let first, let last, last.count > first.count else { return nil }
        let span = last.time.seconds(since: first.time)
        return span >= PeriodMeter.shortest ? span / Double(last.count - first.count) : nil
    }
}
