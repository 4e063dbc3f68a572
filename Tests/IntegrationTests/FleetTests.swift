import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a running agent takes over the fleet's configuration live, and keeps it through crashes and outages.
@Suite(.needsBroker) struct FleetTests {
    private let rig = Rig()

    /// How often the agent is killed: more with `JOSTLE_KILLS`.
    private static let kills = ProcessInfo.processInfo.environment["JOSTLE_KILLS"].flatMap { Int($0) } ?? 8

    private static func layer(_ revision: Int, _ config: String) -> String {
        #"{"schema":1,"revision":\#(revision),"config":\#(config)}"#
    }

    private static func sensitivity(_ revision: Int) -> String {
        layer(revision, #"{"gestures":{"shake":{"sensitivity":\#(revision % 10 + 1)}}}"#)
    }

    /// The last report.
    private func report(_ observer: Observer) throws -> [String: Any] {
        try observer.objects("config/reported").last ?? [:]
    }

    private func status(_ observer: Observer, _ layer: String) throws -> (word: String, revision: Int) {
        let found = (try report(observer)["layers"] as? [String: [String: Any]])?[layer] ?? [:]
        return (found["status"] as? String ?? "", found["revision"] as? Int ?? 0)
    }

    private func publish(_ rig: AgentRig, _ topic: String, _ text: String) throws {
        try rig.observer.publish(topic, text, retain: true)
    }

    @Test(.timeLimit(.minutes(2))) func appliesLayersLive() async throws {
        let rig = try await AgentRig("rest")
        try #require(await rig.measures())
        try publish(rig, "jostle/_all/config", Self.sensitivity(8))
        #expect(await rig.observer.sees { try status($0, "all") == ("applied", 8) })
        try publish(rig, "jostle/_registry/dut", #"{"schema":1,"revision":1,"groups":["laundry"]}"#)
        try publish(rig, "jostle/_group/laundry/config", Self.layer(3, #"{"gestures":{"tap":{"enabled":false}}}"#))
        #expect(await rig.observer.sees { try status($0, "group:laundry") == ("applied", 3) })
        try publish(rig, "jostle/dut/config/desired", Self.layer(1, #"{"gestures":{"shake":{"sensitivity":70}}}"#))
        #expect(await rig.observer.sees { try status($0, "device") == ("rejected", 1) })
        let settings = try #require(try report(rig.observer)["settings"] as? [String: Any])
        let gestures = try #require(settings["gestures"] as? [String: [String: Any]])
        #expect(gestures["shake"]?["sensitivity"] as? Int == 9 && gestures["tap"]?["enabled"] as? Bool == false)
        // A simulated tap is no longer recognised, a shake is.
        try rig.send("simulate", #"{"movement":"tap"}"#)
        #expect(await rig.replies("simulate") { $0["ok"] as? Bool == true })
        #expect(rig.agent.errors.contains("gestures.tap.enabled: true -> false"))
    }

    /// The sensor is configured again without a restart of the agent, and the samples go on.
    @Test(.timeLimit(.minutes(2))) func changesSensorRateLive() async throws {
        let rig = try await AgentRig("rest")
        try #require(await rig.measures())
        let process = rig.agent.processIdentifier
        try publish(
            rig, "jostle/_all/config",
            Self.layer(1, #"{"sensor":{"rate":"100 Hz"},"publish":{"health":{"interval":"1 s"}}}"#))
        #expect(await rig.observer.sees { try status($0, "all") == ("applied", 1) })
        #expect(
            await rig.observer.sees { observer in
                try observer.objects("health").last.map { health in
                    let rate = health["rate"] as? Double ?? 0
                    return health["problem"] as? Bool == false && (90...110).contains(rate)
                } ?? false
            })
        #expect(rig.agent.isRunning && rig.agent.processIdentifier == process)
    }

    /// A rate that the chip does not have is undone at once.
    @Test(.timeLimit(.minutes(2))) func undoesRateThatSensorRefuses() async throws {
        let rig = try await AgentRig("rest")
        try #require(await rig.measures())
        try publish(rig, "jostle/_all/config", Self.layer(1, #"{"sensor":{"rate":"2000 Hz"}}"#))
        #expect(
            await rig.observer.sees { try status($0, "all") == ("rolled_back", 1) },
            "\(rig.observer.texts("config/reported").last ?? "") \(rig.agent.errors)")
        let count = rig.observer.messages("attitude").count
        #expect(await rig.observer.sees { $0.messages("attitude").count > count })
    }

    /// Killed at any moment between receiving and reporting, the agent comes back with the old or the new configuration,
    /// and reports which.
    @Test(.timeLimit(.minutes(30))) func survivesKills() async throws {
        let directory = try TemporaryDirectory()
        let broker = try await rig.broker()
        var run = ""
        for revision in 1...Self.kills {
            let observer = try await Observer(broker.port)
            let agent = try rig.virtualAgent(broker: broker.port, "rest", [], state: directory.path)
            defer { agent.kill() }
            // What the last change left is whole, and reported by the new process.
            let last = revision - 1
            try #require(
                await observer.sees { observer in
                    guard let new = try report(observer)["run"] as? String, new != run else { return false }
                    return try status(observer, "all") == (last == 0 ? ("none", 0) : ("applied", last))
                }, "kill \(last): \(agent.errors)")
            run = try report(observer)["run"] as? String ?? ""
            let settings = try report(observer)["settings"] as? [String: Any]
            let shake = (settings?["gestures"] as? [String: [String: Any]])?["shake"]
            #expect(shake?["sensitivity"] as? Int == (last == 0 ? 5 : last % 10 + 1), "kill \(last)")
            // The first reading ends, so that the change is taken live.
            try await Task.sleep(for: .milliseconds(900))
            try observer.publish("jostle/_all/config", Self.sensitivity(revision), retain: true)
            try await Task.sleep(for: .microseconds(Int64.random(in: 0...30_000)))
            agent.signal(SIGKILL)
        }
    }

    /// The broker dies in the middle of a change and comes back: no change is lost, and none is undone.
    @Test(.timeLimit(.minutes(3))) func survivesBrokerRestart() async throws {
        let rig = try await AgentRig("rest")
        try publish(rig, "jostle/_all/config", Self.sensitivity(1))
        #expect(await rig.observer.sees { try status($0, "all") == ("applied", 1) })
        rig.broker.kill()
        try await Task.sleep(for: .seconds(2))
        try await rig.broker.start()
        try #require(await rig.observer.subscribed(times: 2))
        // The broker has lost its store.
        #expect(await rig.observer.sees { try status($0, "all") == ("missing", 1) })
        try publish(rig, "jostle/_all/config", Self.sensitivity(2))
        #expect(await rig.observer.sees { try status($0, "all") == ("applied", 2) })
    }
}
