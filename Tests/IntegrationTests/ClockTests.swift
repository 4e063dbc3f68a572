import BrokerTestSupport
import Foundation
import Glibc
import JostleMessages
import Testing

/// Requirement: an event says if its time may be wrong. The agent remembers the time, so that it notices after a power
/// cut that the clock of the board has lost some.
@Suite(.needsBroker) struct ClockTests {
    /// Runs an agent until it has recognised a tap and reported its health. Returns the event's and the report's
    /// members.
    private func run(state: String) async throws -> (event: [String: Any], health: [String: Any], log: String) {
        let broker = try await TestBroker.started()
        defer { broker.kill() }
        let observer = try await Observer(broker.port)
        let settings = ["publish.health.interval=1 s"]
        let agent = try JostleProgram.virtualAgent(broker: broker.port, "tap", settings, state: state)
        defer { agent.kill() }
        let isComplete = await observer.sees { try !$0.objects("event/tap").isEmpty && !$0.objects("health").isEmpty }
        try #require(isComplete, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        return (
            try #require(observer.objects("event/tap").first), try #require(observer.objects("health").last),
            agent.errors
        )
    }

    @Test func marksEventsWhenClockHasLostTime() async throws {
        let directory = try TemporaryDirectory()
        let start = time(nil)
        let first = try await run(state: directory.path)
        let firstProblems = first.health["problems"] as? [String]
        #expect(first.event["clock"] == nil && firstProblems?.contains("clock") != true, "\(first.log)")
        let line = try String(contentsOfFile: directory.path("last-time"), encoding: .utf8)
        let milliseconds = try #require(line.split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        #expect(milliseconds / 1000 >= start && milliseconds / 1000 <= time(nil))

        // In another boot, the time was an hour later than now.
        let later = "jostle last time 1\nanother-boot 5000000000 \((time(nil) + 3600) * 1000)\n"
        try directory.write(later, to: "last-time")
        let second = try await run(state: directory.path)
        #expect(second.event["clock"] as? String == (WallClock.isSynchronised ? nil : "unset"), "\(second.log)")
        let problems = second.health["problems"] as? [String]
        #expect((problems?.contains("clock") ?? false) == !WallClock.isSynchronised)
        #expect(second.log.contains("a time that is on disk already") == !WallClock.isSynchronised)
        // What is known stays known.
        let kept = try String(contentsOfFile: directory.path("last-time"), encoding: .utf8)
        #expect(WallClock.isSynchronised || kept == later)
    }
}
