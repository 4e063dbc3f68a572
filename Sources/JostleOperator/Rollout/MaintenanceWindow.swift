/// The time of day in which the steps of a rollout may begin; it may span midnight.
package struct MaintenanceWindow: Equatable, Sendable {
    /// Minutes since midnight.
    package let start: Int
    package let end: Int

    private static let day = 24 * 60

    /// Reads `02:00-05:00`; `nil` for another text.
    package init?(_ text: String) {
        let times = text.split(separator: "-", omittingEmptySubsequences: false).map { MaintenanceWindow.minutes($0) }
        guard times.count == 2, let start = times[0], let end = times[1], start != end else { return nil }
        self.start = start
        self.end = end
    }

    private static func minutes(_ text: Substring) -> Int? {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false)
        guard parts.count == 2, parts.allSatisfy({ $0.count == 2 && $0.allSatisfy { $0.isASCII && $0.isNumber } }),
            let hours = Int(parts[0]), let minutes = Int(parts[1]), hours < 24, minutes < 60
        else { return nil }
        return 60 * hours + minutes
    }

    /// The length, s.
    package var length: Double { Double((end - start + MaintenanceWindow.day) % MaintenanceWindow.day) * 60 }

    /// Whether a step that takes `duration` seconds may begin at a time of day, seconds since midnight, and end at another
    /// one: both must be in the window. In a night in which the clock is set, they are not `duration` apart.
    package func admits(secondsSinceMidnight now: Double, duration: Double, end: Double? = nil) -> Bool {
        elapsed(at: now) + duration <= length && end.map { elapsed(at: $0) <= length } != false
    }

    /// Seconds since the beginning of the window, at a time of day.
    private func elapsed(at time: Double) -> Double {
        let day = Double(MaintenanceWindow.day) * 60
        return (time - Double(start) * 60 + day).truncatingRemainder(dividingBy: day)
    }

    /// `02:00-05:00`.
    package var text: String { "\(MaintenanceWindow.text(start))-\(MaintenanceWindow.text(end))" }

    private static func text(_ minutes: Int) -> String {
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(two(minutes / 60)):\(two(minutes % 60))"
    }
}
