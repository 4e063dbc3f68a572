/// A daily period from one minute of the day to another; 22:00-07:00 extends past midnight.
package struct DailySpan: Equatable, Sendable {
    /// The first minute, and the first minute after the end, counted from midnight: 0 … 1439, and 1 … 1440.
    package let start: Int
    package let end: Int

    /// Returns `nil` if a minute is out of range or the span is empty. Midnight as the end means the end of the day.
    package init?(from start: Int, to end: Int) {
        let end = end == 0 ? 1440 : end
        guard (0..<1440).contains(start), (1...1440).contains(end), start != end else { return nil }
        self.start = start
        self.end = end
    }

    /// Whether a minute of the day is within the span.
    package func contains(minute: Int) -> Bool {
        start < end ? (start..<end).contains(minute) : minute >= start || minute < end
    }

    /// Parses `22:00-07:00`; returns `nil` if the text is malformed.
    init?(_ text: String) {
        let ends = text.split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let start = DailySpan.minute(ends[0]), let end = DailySpan.minute(ends[1]) else {
            return nil
        }
        self.init(from: start, to: end)
    }

    /// The span in the form in which it is configured.
    var text: String { "\(DailySpan.text(start))-\(DailySpan.text(end))" }

    /// The minutes from midnight to `7:05` or `07:05`; 24:00 is the end of the day.
    private static func minute(_ text: Substring) -> Int? {
        let parts = text.drop { $0 == " " }.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, (1...2).contains(parts[0].count) else { return nil }
        var minutes = parts[1]
        while minutes.last == " " { minutes.removeLast() }
        guard minutes.count == 2, (parts[0] + minutes).allSatisfy({ $0.isASCII && $0.isNumber }),
            let hour = Int(parts[0]), let minute = Int(minutes), minute < 60, hour < 24 || hour == 24 && minute == 0
        else { return nil }
        return hour * 60 + minute
    }

    private static func text(_ minute: Int) -> String {
        let digits = { (number: Int) in number < 10 ? "0\(number)" : "\(number)" }
        return "\(digits(minute / 60)):\(digits(minute % 60))"
    }
}
