import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a value set over MQTT, which takes precedence over the file, never surprises: every command that shows or
/// writes a value says so, and it can be cleared.
@Suite(.needsBroker) struct LayersInForceTests {
    private let rig = Rig()

    private static let key = "gestures.shake.sensitivity"
    let directory: TemporaryDirectory
    let file: String

    init() throws {
        directory = try TemporaryDirectory()
        file = directory.path("jostle.yaml")
        try directory.write("device: { id: dut }\ngestures:\n  shake: { sensitivity: 8 }\n", to: "jostle.yaml")
    }

    func run(_ words: [String]) async throws -> Outcome {
        return try await JostleProgram(words, environment: ["STATE_DIRECTORY": directory.path("state")]).outcome()
    }

    func storeValue() throws {
        try directory.write("{\"\(Self.key)\": 2}\n", to: "state/local-settings.json")
    }

    @Test func commandsSayWhichValueWins() async throws {
        try storeValue()
        let advice = "clear it with: jostle config clear \(Self.key)"
        let shown = try await run(["check-config", file, "--show"])
        #expect(shown.output.contains("sensitivity: 8  # \(file):3:25; not in force: \(Self.key) is 2, set over MQTT"))
        #expect(shown.status == 0 && shown.errors.contains(advice), "\(shown.errors)")
        let checked = try await run(["check-config", file])
        #expect(
            checked.output.contains("\(Self.key) is 2, set over MQTT, which takes precedence over the file; \(advice)"))
        let config = try await run(["config", "show", "--config", file])
        #expect(config.output.contains("sensitivity: 2") && config.errors.contains(advice), "\(config)")
    }

    private func tune(_ words: String...) async throws -> Outcome {
        try directory.write(Recording.shake(duration: 6), to: "shown.csv")
        try directory.write(Recording.tilted, to: "ordinary.csv")
        return try await run(
            [
                "tune", "shake", "--config", file, "--shown", directory.path("shown.csv"), "--ordinary",
                directory.path("ordinary.csv"), "--yes",
            ] + words)
    }

    @Test func tuneSaysWhatWinsAndClearsIt() async throws {
        try storeValue()
        let broker = try await rig.broker()
        let first = try await tune("--take", "9").expect(status: 0)
        #expect(
            first.output.contains("\(Self.key) is 2, set over MQTT. That takes precedence over the file, which has 8."))
        #expect(first.output.contains("It stays 2; clear it with"), "\(first.output)")
        #expect(try String(contentsOfFile: file, encoding: .utf8).contains("sensitivity: 9"))
        let second = try await tune("--take", "9", "--clear", "--set", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)")
        #expect(
            second.status == 0
                && second.output.contains(
                    "Cleared the value that was set over MQTT: \(Self.key) is 9, from the next start."),
            "\(second)")
        let config = try await run(["config", "show", "--config", file])
        #expect(config.output.contains("sensitivity: 9") && config.errors.isEmpty, "\(config)")
    }

    @Test func clearsValueInRunningAgent() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", ["\(Self.key)=8"], state: directory.path("state"))
        #expect(await observer.availability("online"), "\(agent.errors)")
        try observer.publish("jostle/dut/set/\(Self.key)", "2")
        let origin = { (observer: Observer) in
            (try observer.objects("config/reported").last?["origins"] as? [String: String])?[Self.key]
        }
        #expect(await observer.sees { try origin($0) == "local" }, "\(agent.errors)")
        try await run(["config", "clear", "--config", file, "--all", Self.key]).expect(status: 64)
        let outcome = try await run(
            ["config", "clear", Self.key, "--config", file, "--set", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.output == "\(Self.key): cleared; 8, from the configuration, is in force now\n")
        #expect(await observer.sees { try origin($0) == "argument" }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// Behind the back of a running agent, the file would be changed without effect.
    @Test func leavesDirectoryToRunningAgent() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try storeValue()
        let agent = try rig.virtualAgent(broker: broker.port, "rest", [], state: directory.path("state"))
        #expect(await observer.availability("online"), "\(agent.errors)")
        let holder = "jostle (process \(agent.processIdentifier))"
        let direct = try await run(["config", "clear", Self.key, "--config", file, "--state", directory.path("state")])
        #expect(direct.status == 69 && direct.errors.contains("\(holder) uses the state directory"), "\(direct)")
        let elsewhere = try await run(
            [
                "config", "clear", Self.key, "--config", file, "--set",
                "mqtt.broker=mqtt://127.0.0.1:\(Loopback.freePort())",
            ])
        #expect(elsewhere.status == 69 && elsewhere.errors.contains("\(holder) runs"), "\(elsewhere)")
        #expect(try String(contentsOfFile: directory.path("state/local-settings.json"), encoding: .utf8).contains("2"))
        #expect(await agent.terminate() == 0)
        let stopped = try await run(
            [
                "config", "clear", Self.key, "--config", file, "--set",
                "mqtt.broker=mqtt://127.0.0.1:\(Loopback.freePort())",
            ])
        #expect(
            stopped.status == 0
                && stopped.output
                    == "\(Self.key): cleared; 8, from the configuration, applies from the next start of the agent\n",
            "\(stopped)")
    }

    /// The agent's user, who can put a link there, must not choose owner and permissions of what root writes.
    @Test func clearTakesNothingFromTheTargetOfALink() async throws {
        let target = try directory.write("{\"\(Self.key)\": 2}\n", to: "target", permissions: 0o600)
        try FileManager.default.createDirectory(atPath: directory.path("state"), withIntermediateDirectories: true)
        let link = directory.path("state/local-settings.json")
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        if geteuid() == 0 { try #require(chown(target, 1, 1) == 0) }
        let text = try String(contentsOfFile: target, encoding: .utf8)
        try await run(["config", "clear", "--all", "--config", file, "--state", directory.path("state")])
            .expect(status: 0)
        #expect(try String(contentsOfFile: target, encoding: .utf8) == text)
        var status = stat()
        if lstat(link, &status) == 0 {
            #expect(status.st_mode == S_IFREG | 0o644 && status.st_uid == geteuid())
        }
    }

    @Test func clearsAllInDirectory() async throws {
        try storeValue()
        let outcome = try await run(
            ["config", "clear", "--all", "--config", file, "--state", directory.path("state")])
        #expect(outcome.status == 0 && outcome.output.contains("\(Self.key): cleared; 8"), "\(outcome)")
        let again = try await run(["config", "clear", "--all", "--config", file])
        #expect(again.status == 0 && again.output == "No value is set over MQTT.\n", "\(again)")
    }
}
