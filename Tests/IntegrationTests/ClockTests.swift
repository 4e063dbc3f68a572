import BrokerTestSupport
import Foundation
import Glibc
import Testing

/// Requirement: an event says if its time may be wrong. The agent remembers the time, so that it notices after a power
/// cut that the clock of the board has lost some. Quiet hours follow only a time that is right.
///
/// `libClockState.so` decides whether the clock is synchronised, so that the tests do not depend on this machine.
@Suite(.needsBroker, .enabled(if: Products.hasClockState, "libClockState.so was not built")) struct ClockTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// Runs an agent until it has recognised a tap and reported its health. Returns the event's and the report's
    /// members.
    private func run(
        isSynchronised: Bool, _ settings: String...
    ) async throws -> (event: [String: Any], health: [String: Any], log: String) {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try agent(broker, isSynchronised: isSynchronised, ["publish.health.interval=1 s"] + settings)
        let isComplete = await observer.sees { try !$0.objects("event/tap").isEmpty && !$0.objects("health").isEmpty }
        try #require(isComplete, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        return (
            try #require(observer.objects("event/tap").first), try #require(observer.objects("health").last),
            agent.errors
        )
    }

    private func agent(_ broker: TestBroker, isSynchronised: Bool, _ settings: [String]) throws -> JostleProgram {
        try rig.virtualAgent(
            broker: broker.port, "tap", settings, state: directory.path,
            environment: [
                "LD_PRELOAD": Products.clockState.path,
                "CLOCK_STATE": isSynchronised ? "synchronised" : "unsynchronised",
            ])
    }

    /// Stores, as another boot would have, that the time was already an hour later than now. Returns the file's text.
    @discardableResult
    private func storeLaterTime() throws -> String {
        let later = "jostle last time 1\nanother-boot 5000000000 \((time(nil) + 3600) * 1000)\n"
        try directory.write(later, to: "last-time")
        return later
    }

    private func lastTime() throws -> String {
        try String(contentsOfFile: directory.path("last-time"), encoding: .utf8)
    }

    @Test func marksEventsWhenClockHasLostTime() async throws {
        let start = time(nil)
        let first = try await run(isSynchronised: true)
        let firstProblems = first.health["problems"] as? [String]
        #expect(first.event["clock"] == nil && firstProblems?.contains("clock") != true, "\(first.log)")
        #expect(first.health["clock"] as? String == "synchronised")
        let milliseconds = try #require(lastTime().split(whereSeparator: \.isWhitespace).last.flatMap { Int($0) })
        #expect(milliseconds / 1000 >= start && milliseconds / 1000 <= time(nil))

        let later = try storeLaterTime()
        let second = try await run(isSynchronised: false)
        #expect(second.event["clock"] as? String == "unset", "\(second.log)")
        let problems = second.health["problems"] as? [String]
        #expect(problems?.contains("clock") == true && second.health["clock"] as? String == "unsynchronised")
        #expect(second.log.contains("a time that is on disk already"))
        // What is known stays known.
        #expect(try lastTime() == later)

        // A synchronised clock is right whatever the file says.
        let third = try await run(isSynchronised: true)
        #expect(third.event["clock"] == nil && !third.log.contains("a time that is on disk already"), "\(third.log)")
        #expect(try lastTime() != later)
    }

    private static let quietAllDay = "gestures.tap.when.quiet_hours=00:00-24:00"

    @Test func silencesNothingWhileTimeMayBeWrong() async throws {
        try storeLaterTime()
        let run = try await run(isSynchronised: false, Self.quietAllDay)
        #expect(run.event["clock"] as? String == "unset" && !run.log.contains("quiet hours: tap"), "\(run.log)")
    }

    @Test func silencesGesturesWhenTimeIsRight() async throws {
        try storeLaterTime()
        let broker = try await rig.broker()
        let agent = try agent(broker, isSynchronised: true, [Self.quietAllDay])
        #expect(await agent.logs("quiet hours: tap"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }
}
