import Foundation
import JostleConfiguration
import Testing

@testable import JostleAgent

/// Requirement: gestures are silent in their quiet hours, by local time, and only changes are returned.
@Suite struct QuietHoursTests {
    private func hours(_ settings: String...) throws -> QuietHours {
        QuietHours(try JostleSettings.load(file: nil, overrides: settings).settings.allQuietHours)
    }

    private func minute(_ hour: Int, _ minute: Int = 0) -> Int { hour * 60 + minute }

    @Test func returnsOnlyChanges() throws {
        var quiet = try hours("gestures.shake.when.quiet_hours=[22:00-07:00, 13:00-14:00]")
        #expect(!quiet.isEmpty)
        #expect(quiet.change(atMinute: minute(21, 59)) == nil)
        #expect(quiet.change(atMinute: minute(22)) == [.shake])
        #expect(quiet.change(atMinute: minute(22)) == nil)
        #expect(quiet.change(atMinute: minute(0)) == nil)
        #expect(quiet.change(atMinute: minute(6, 59)) == nil)
        #expect(quiet.change(atMinute: minute(7)) == [])
        #expect(quiet.change(atMinute: minute(13, 30)) == [.shake])
        #expect(quiet.change(atMinute: minute(14)) == [])
    }

    @Test func gesturesHaveIndividualHours() throws {
        var quiet = QuietHours([
            .shake: [try #require(DailySpan(from: 60, to: 120))], .tap: [try #require(DailySpan(from: 90, to: 30))],
        ])
        #expect(quiet.change(atMinute: 0) == [.tap])
        #expect(quiet.change(atMinute: 60) == [.shake])
        #expect(quiet.change(atMinute: 90) == [.shake, .tap])
        #expect(quiet.change(atMinute: 120) == [.tap])
    }

    @Test func silencesNothingWithoutClock() throws {
        var quiet = try hours("gestures.shake.when.quiet_hours=00:00-24:00")
        #expect(quiet.change(atMinute: nil) == nil)
        #expect(quiet.change(atMinute: 5) == [.shake])
        #expect(quiet.change(atMinute: nil) == [])
        #expect(try hours().isEmpty)
    }

    /// The process's time zone, set once: Central European Time as a rule, which needs no time-zone database.
    private static let centralEurope: Void = {
        setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3", 1)
    }()

    /// Seconds since 1970 of a moment in 2026, UTC.
    private func utc(_ month: Int, _ day: Int, _ hour: Int, _ minute: Int = 0) throws -> Int {
        var calendar = Calendar(identifier: .gregorian)
        calendar.timeZone = try #require(TimeZone(identifier: "UTC"))
        let parts = DateComponents(year: 2026, month: month, day: day, hour: hour, minute: minute)
        return Int(try #require(calendar.date(from: parts)).timeIntervalSince1970)
    }

    @Test func usesLocalTime() throws {
        _ = Self.centralEurope
        #expect(LocalTime.minuteOfDay(at: try utc(1, 15, 23, 30)) == minute(0, 30))
        #expect(LocalTime.minuteOfDay(at: try utc(7, 15, 23, 30)) == minute(1, 30))
    }

    /// 29 March 2026: 01:59 CET is followed by 03:00 CEST.
    @Test func skipsHourWhenSummerTimeBegins() throws {
        _ = Self.centralEurope
        var quiet = try hours("gestures.shake.when.quiet_hours=[01:30-02:30, 03:15-03:30]")
        let changes = try (0..<240).compactMap { step -> String? in
            let instant = try utc(3, 29, 0) + step * 60
            let local = LocalTime.minuteOfDay(at: instant)
            return quiet.change(atMinute: local).map { "\(step) \(local ?? -1) \($0.isEmpty)" }
        }
        // From 01:30, half an hour after 00:00 UTC, to 03:00, half an hour later on that day; then 03:15 to 03:30.
        #expect(changes == ["30 90 false", "60 180 true", "75 195 false", "90 210 true"])
    }

    /// 25 October 2026: 02:59 CEST is followed by 02:00 CET.
    @Test func repeatsHourWhenSummerTimeEnds() throws {
        _ = Self.centralEurope
        var quiet = try hours("gestures.shake.when.quiet_hours=02:30-02:45")
        let changes = try (0..<240).compactMap { step -> String? in
            let local = LocalTime.minuteOfDay(at: try utc(10, 25, 0) + step * 60)
            return quiet.change(atMinute: local).map { "\(step) \(local ?? -1) \($0.isEmpty)" }
        }
        #expect(changes == ["30 150 false", "45 165 true", "90 150 false", "105 165 true"])
    }

    @Test func unsetClockHasNoTimeOfDay() {
        #expect(LocalTime.minuteOfDay(at: 0) == nil)
        #expect(LocalTime.minuteOfDay(at: 1_600_000_000) == nil)
        #expect(LocalTime.minuteOfDay() != nil)
    }
}

extension GestureKind {
    fileprivate static let shake = GestureKind(.shake)
    fileprivate static let tap = GestureKind(.tap)
}
