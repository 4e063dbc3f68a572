import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a rule with a name is switched off and on over MQTT while the agent runs, also after a restart, and the other
/// rules go on.
@Suite(.needsBroker) struct RuleSwitchTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private static let rules =
        "actions=[{on: tap, name: lamp, publish: {topic: lamp, payload: '${id}'}}, "
        + "{on: tap, publish: {topic: other, payload: '${id}'}}]"

    private func agent(_ broker: TestBroker) throws -> JostleProgram {
        try rig.agent(
            broker: broker.port,
            ["sensor.driver=virtual", "sensor.trajectory=rest", "sensor.rate=200Hz", Self.rules],
            state: directory.path("state"))
    }

    private func set(_ observer: Observer, _ topic: String, _ value: String) throws {
        try observer.publish("jostle/dut/\(topic)", value)
    }

    /// Simulates a tap, and waits for the message of the rule without a name, which comes after that of the other one.
    private func tap(_ observer: Observer) async throws {
        let count = observer.topics.count { $0 == "other" }
        try set(observer, "command/simulate", #"{"movement":"tap"}"#)
        #expect(await observer.sees { $0.topics.count { $0 == "other" } > count })
        // Otherwise the next one would be refused as busy.
        let results = observer.messages("command/simulate/result").count
        try set(observer, "command/simulate", #"{"stop":true}"#)
        #expect(await observer.sees { $0.messages("command/simulate/result").count > results })
    }

    private func report(_ observer: Observer) throws -> (origin: String?, isOff: Bool, refused: [[String: String]]) {
        let report = try observer.objects("config/reported").last ?? [:]
        let rules = (report["settings"] as? [String: Any])?["actions"] as? [[String: Any]] ?? []
        return (
            (report["origins"] as? [String: String])?["actions.lamp.enabled"],
            rules.first?["enabled"] as? Bool == false, report["refused"] as? [[String: String]] ?? []
        )
    }

    @Test func switchesWhileTheAgentRuns() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let first = try agent(broker)
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(first.errors)")
        try await tap(observer)
        #expect(observer.topics.count { $0 == "lamp" } == 1)

        try set(observer, "set/actions/lamp/enabled", "false")
        #expect(await observer.sees { try report($0).origin == "local" && report($0).isOff }, "\(first.errors)")
        try await tap(observer)
        #expect(observer.topics.count { $0 == "lamp" } == 1)
        #expect(first.errors.contains("actions.lamp.enabled: true -> false"))

        try set(observer, "set/actions.lmap.enabled", "false")
        await observer.expect(first) {
            try report($0).refused.contains {
                $0["key"] == "actions.lmap.enabled" && $0["reason"]?.contains("did you mean \"lamp\"?") == true
            }
        }
        #expect(await first.terminate() == 0)

        let second = try agent(broker)
        #expect(await observer.availability("online", count: 2), "\(second.errors)")
        try await tap(observer)
        #expect(observer.topics.count { $0 == "lamp" } == 1)
        try set(observer, "set", #"{"actions": {"lamp": {"enabled": true}}}"#)
        #expect(await observer.sees { try report($0).origin == "local" && !report($0).isOff }, "\(second.errors)")
        try await tap(observer)
        #expect(observer.topics.count { $0 == "lamp" } == 2)
        try set(observer, "set/actions.lamp", #"{"enabled": false}"#)
        #expect(await observer.sees { try report($0).isOff }, "\(second.errors)")
        try set(observer, "set/actions.lamp.enabled", "")
        #expect(await observer.sees { try report($0).origin == nil && !report($0).isOff }, "\(second.errors)")
        // What a rule publishes cannot be changed.
        try set(observer, "set/actions", #"[{"on": "tap", "publish": {"topic": "x"}}]"#)
        await observer.expect(second) {
            try report($0).refused.contains {
                $0["key"] == "actions" && $0["reason"] == "cannot be set over MQTT"
            }
        }
        #expect(await second.terminate() == 0)
    }

    /// The commands on the board name the switch and its origin, and clear it.
    @Test func commandsShowAndClearIt() async throws {
        let file = directory.path("jostle.yaml")
        try "actions: [{ on: tap, name: lamp, publish: { topic: lamp } }]\n"
            .write(toFile: file, atomically: true, encoding: .utf8)
        _ = try directory.write(#"{"actions.lamp.enabled": false}"#, to: "state/local-settings.json")
        func run(_ words: String...) async throws -> (Int32?, String, String) {
            let program = try rig.run(
                words + ["--config", file], environment: ["STATE_DIRECTORY": directory.path("state")])
            defer { program.kill() }
            return (await program.exitStatus(), program.output, program.errors)
        }
        let shown = try await run("config", "show", "--origin")
        #expect(shown.0 == 0 && shown.1.contains("enabled: false") && shown.1.contains("lamp off: "), "\(shown)")
        let checked = try await run("check-config")
        #expect(
            checked.0 == 0
                && (checked.1 + checked.2).contains("actions.lamp.enabled is false, set over MQTT"), "\(checked)")
        let cleared = try await run("config", "clear", "actions.lamp.enabled", "--state", directory.path("state"))
        #expect(cleared.0 == 0 && cleared.1.contains("actions.lamp.enabled: cleared; true"), "\(cleared)")
    }
}
