import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the page of a board shows for how long its machine has run today, and a restart of the page forgets nothing.
@Suite(.needsPage) struct PageRunningTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func page(_ broker: UInt16) async throws -> PageRig {
        try await PageRig(broker: broker, environment: ["STATE_DIRECTORY": directory.path("state"), "TZ": "UTC"])
    }

    private func publish(_ boards: SimulatedBoards, vibrating: Bool, at time: Date = Date()) {
        let milliseconds = Int64(time.timeIntervalSince1970 * 1000)
        boards.publish("jostle/washer/state", "{\"t\":\(milliseconds),\"moving\":false,\"vibrating\":\(vibrating)}")
    }

    private func running(_ events: PageEvents) -> (seconds: Double, since: Double?)? {
        guard let object = events.last("running")?.object, let seconds = object["today_seconds"] as? Double else {
            return nil
        }
        return (seconds, object["since"] as? Double)
    }

    @Test func runSurvivesRestartOfThePage() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        // It has run for an hour when the page starts, or since midnight.
        let start = Date().addingTimeInterval(-3600)
        publish(boards, vibrating: true, at: start)
        let first = try await page(broker.port)
        let events = try PageEvents(first, "board=washer", try first.signIn())
        let runs = await eventually { running(events)?.since != nil }
        #expect(runs, "\(events.all)")
        let since = try #require(running(events)?.since)
        #expect(abs(since / 1000 - start.timeIntervalSince1970) < 2)
        let midnight = Calendar(identifier: .gregorian).startOfUTCDay
        let seconds = try #require(running(events)?.seconds)
        #expect(seconds >= Date().timeIntervalSince(max(start, midnight)) - 60)

        // The machine ends while the page is away.
        first.program.signal(SIGTERM)
        #expect(await first.program.exitStatus() == 0)
        events.close()
        publish(boards, vibrating: false)
        let second = try await page(broker.port)
        defer { second.program.kill() }
        let again = try rig.events(second, "board=washer", try second.signIn())
        let ended = await eventually { running(again).map { $0.since == nil && $0.seconds >= seconds } == true }
        #expect(ended, "\(again.all("running")) \(second.program.errors)")

        // It runs again, and the board is lost.
        publish(boards, vibrating: true)
        #expect(await eventually { running(again)?.since != nil })
        boards.publish("jostle/washer/availability", "offline")
        #expect(await eventually { running(again).map { $0.since == nil } == true })
    }

    /// While nobody looks, the page reads attitudes only with something else.
    @Test func lastAttitudeOfABoardCounts() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        let page = try await page(broker.port)
        defer { page.program.kill() }
        publish(boards, vibrating: true)
        try await Task.sleep(for: .seconds(3))
        boards.publish("jostle/washer/attitude", #"{"t":1795182603123,"roll":90,"pitch":-45,"yaw":180}"#, retain: false)
        boards.publish("jostle/washer/availability", "offline")
        // The page has taken both before anybody looks.
        try await Task.sleep(for: .seconds(1))
        let events = try rig.events(page, "board=washer", try page.signIn())
        let isCounted = await eventually { running(events).map { $0.since == nil && $0.seconds > 2.5 } == true }
        #expect(isCounted, "\(events.all)")
    }

    @Test func damagedFileIsNamedInTheLogAndSetAside() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "washer")])
        publish(boards, vibrating: false)
        try directory.write("{\"schema\":1,\"date\":", to: "state/page-running")
        let page = try await page(broker.port)
        defer { page.program.kill() }
        #expect(page.program.errors.contains("the running hours of today are lost"), "\(page.program.errors)")
        #expect(page.program.errors.contains("page-running:1:"), "\(page.program.errors)")
        #expect(FileManager.default.fileExists(atPath: directory.path("state/page-running.bad")))
        let events = try rig.events(page, "board=washer", try page.signIn())
        let isCounted = await eventually { running(events).map { $0.seconds == 0 && $0.since == nil } == true }
        #expect(isCounted, "\(events.all)")
    }
}

extension Calendar {
    /// When today began in UTC.
    fileprivate var startOfUTCDay: Date {
        var calendar = self
        calendar.timeZone = TimeZone(identifier: "UTC") ?? calendar.timeZone
        return calendar.startOfDay(for: Date())
    }
}
