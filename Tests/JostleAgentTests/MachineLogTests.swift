import BrokerTestSupport
import JostleMessages
import JostleRuntime
import MotionCore
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: the last runs of a machine are kept, and a deviation is an event once, also over a restart.
@Suite struct MachineLogTests {
    private let directory = TemporaryDirectory.new()

    private var log: MachineLog { MachineLog(in: StateDirectory(path: directory.path)) }

    private func write(_ content: [UInt8]?) throws {
        try directory.write(String(decoding: try #require(content), as: UTF8.self), to: "machine-runs.json")
    }

    private func ended(_ seconds: Double, after duration: Double) -> GestureEvent {
        var event = GestureEvent(.vibration, .ended, at: Timestamp(seconds: seconds))
        event.duration = duration
        event.longestPause = 61
        event.peak = 0.5
        event.level = 0.25
        event.hasSpun = true
        return event
    }

    @Test func lastFiftyRunsAreKept() throws {
        var log = log
        var content: [UInt8]?
        for run in 1...60 { content = log.take(ended(Double(run) * 1000, after: Double(run))) }
        #expect(log.runs.count == 50)
        try write(content)
        let again = self.log
        #expect(again.runs == log.runs && again.runs.last?.duration == 60 && again.runs.last?.hasSpun == true)
        var adopted = ended(1, after: 1)
        adopted.beginning = .found
        log.expectNothing(adopted)
    }

    @Test func damagedFileMeansThatNoRunIsKnown() throws {
        for text in ["", "{", "[]", "{\"runs\":7}", "{\"runs\":[{\"t\":\"x\"},7]}"] {
            try directory.write(text, to: "machine-runs.json")
            #expect(log.runs.isEmpty)
        }
    }

    @Test func deviationBeginsAndEndsOnce() throws {
        var log = log
        var report = MachineReport(timestamp: Timestamp(seconds: 100), phase: .running)
        log.expectNothing(report)
        report.deviation = MachineDeviation(band: 5, decibels: 4, since: report.timestamp)
        let first = log.take(report)
        let began = try #require(first)
        #expect(began.began && began.since != nil)
        log.expectNothing(report)
        try write(began.content)

        var again = self.log
        again.expectNothing(report)
        report.deviation = nil
        let last = again.take(report)
        let ended = try #require(last)
        #expect(!ended.began && ended.since == began.since && ended.deviation.band == 5)
        again.expectNothing(report)
        try write(ended.content)
        var third = self.log
        third.expectNothing(report)
    }

    @Test func runsOfTodayAreCounted() throws {
        var log = log
        let now = WallClock.milliseconds(at: WallClock.monotonic)
        _ = log.take(ended(WallClock.monotonic.seconds - 3 * 86_400, after: 100))
        _ = log.take(ended(WallClock.monotonic.seconds, after: 200))
        var reading = ClockReading.start
        reading.wall = now
        var report = MachineReport(timestamp: WallClock.monotonic, phase: .running)
        report.duration = 50
        let payload = log.payload(report, VibrationSettings(), at: reading, isSimulated: false).description
        #expect(payload.contains(#""runs_today":1,"seconds_today":250,"duration":50"#), "\(payload)")
    }
}

extension MachineLog {
    fileprivate mutating func expectNothing(_ report: MachineReport) {
        let change = take(report)
        #expect(change == nil)
    }

    fileprivate mutating func expectNothing(_ event: GestureEvent) {
        let content = take(event)
        #expect(content == nil)
    }
}
