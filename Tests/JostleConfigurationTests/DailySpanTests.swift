import Testing

@testable import JostleConfiguration

/// Daily periods, also past midnight; they include their first minute but not their end.
@Suite struct DailySpanTests {
    @Test(arguments: [
        ("22:00-07:00", [22 * 60, 1439, 0, 419], [420, 720, 22 * 60 - 1]),
        ("13:00-14:30", [780, 869], [779, 870, 0]),
        ("00:00-24:00", [0, 720, 1439], []),
        ("22:00-00:00", [1320, 1439], [0, 1319]),
        ("23:59-00:01", [1439, 0], [1, 1438]),
        ("7:05-24:00", [425, 1439], [424, 0]),
    ])
    func containsMinutes(_ text: String, _ inside: [Int], _ outside: [Int]) throws {
        let span = try #require(DailySpan(text))
        for minute in inside { #expect(span.contains(minute: minute), "\(minute)") }
        for minute in outside { #expect(!span.contains(minute: minute), "\(minute)") }
        #expect(DailySpan(span.text) == span)
    }

    @Test func refusesEmptySpan() {
        #expect(DailySpan(from: 60, to: 60) == nil)
        #expect(DailySpan(from: 1440, to: 60) == nil)
        #expect(DailySpan(from: 0, to: 1441) == nil)
        #expect(DailySpan(from: 0, to: 0)?.end == 1440)
    }
}
