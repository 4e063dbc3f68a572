import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a gesture runs a program, which nobody can bring about, choose or switch on over MQTT.
@Suite(.needsBroker) struct ProgramActionTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// The most that can be allowed over MQTT: a configuration that allows more of the rules is refused.
    private static let everything =
        "[gestures, attitude, motion, publish, sensor, home_assistant, log, 'actions.*.enabled', actions.siren.enabled]"

    /// A program that writes a line for each run.
    private func program(_ name: String = "siren", _ script: String = "") throws -> String {
        let text = """
            #!/bin/sh
            echo "$JOSTLE_GESTURE $JOSTLE_PHASE $JOSTLE_DEVICE $* $(cat)" >>"$0.log"
            \(script)
            """
        return try directory.write(text + "\n", to: name, permissions: 0o755)
    }

    private func runs(_ program: String) -> [String] {
        let text = (try? String(contentsOfFile: "\(program).log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").map(String.init)
    }

    private func observedAgent(
        _ rules: String, _ settings: String..., environment: [String: String] = [:]
    ) async throws -> (Observer, JostleProgram) {
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest", ["actions=[\(rules)]", "publish.health.interval=1 s"] + settings,
            environment: environment)
        try #require(
            await observer.sees { !$0.messages("config/reported").isEmpty && !$0.messages("attitude").isEmpty },
            "\(agent.errors)")
        return (observer, agent)
    }

    /// Simulates a tap, and waits for its event.
    private func tap(_ observer: Observer) async throws {
        let (events, results) = (
            observer.messages("event/tap").count, observer.messages("command/simulate/result").count
        )
        try observer.publish("jostle/dut/command/simulate", #"{"movement":"tap"}"#)
        await observer.expect { $0.messages("event/tap").count > events }
        try observer.publish("jostle/dut/command/simulate", #"{"stop":true}"#)
        await observer.expect { $0.messages("command/simulate/result").count >= results + 2 }
    }

    private func actions(_ observer: Observer) throws -> [String: Any] {
        try observer.objects("health").last?["actions"] as? [String: Any] ?? [:]
    }

    @Test func gestureRunsProgram() async throws {
        let siren = try program("siren", "echo it howls; exit 0")
        let bad = try program("bad", "echo it breaks >&2; exit 3")
        let (observer, agent) = try await observedAgent(
            "{on: tap, name: siren, run: [\(siren), 'a b', $HOME], simulated: true}, "
                + "{on: tap, name: bad, run: \(bad), simulated: true}")
        try await tap(observer)
        #expect(await eventually { runs(siren).count == 1 && runs(bad).count == 1 }, "\(agent.errors)")
        let line = try #require(runs(siren).first)
        #expect(line.hasPrefix("tap recognized dut a b $HOME {\"id\":\""), "\(line)")
        let event = try #require(
            try JSONSerialization.jsonObject(with: Data(line.drop { $0 != "{" }.utf8)) as? [String: Any])
        #expect(event["simulated"] as? Bool == true && event["device"] as? String == "dut")
        let published = try #require(try observer.objects("event/tap").first)
        #expect(event["id"] as? String == published["id"] as? String)
        #expect(await agent.logs("action siren: it howls"))
        #expect(await agent.logs("action bad: it breaks"))
        #expect(await agent.logs("action bad: \(bad) exited with status 3"))
        await observer.expect(agent) {
            try actions($0)["done"] as? Int == 1
                && actions($0)["faults"] as? [String] == ["bad: \(bad) exited with status 3"]
                && ($0.objects("health").last?["problems"] as? [String])?.contains("actions") == true
        }
        #expect(await agent.terminate() == 0)
    }

    /// The sensor is virtual, and its movements are simulated: both count as simulated.
    @Test func simulatedEventRunsNothing() async throws {
        let siren = try program()
        let (observer, agent) = try await observedAgent(
            "{on: tap, run: \(siren)}, {on: tap, publish: {topic: lamp}}")
        try await tap(observer)
        await observer.expect(agent) { $0.topics.contains("lamp") }
        #expect(await agent.logs("action on tap recognized left out: the event is simulated"))
        #expect(await agent.terminate() == 0)
        #expect(runs(siren).isEmpty)
    }

    /// The loop goes on while a program hangs, which is killed in time and at the end of the agent.
    @Test func programThatHangsDelaysNothing() async throws {
        let slow = try program("slow", "sleep 300")
        let (observer, agent) = try await observedAgent(
            "{on: tap, name: slow, run: \(slow), time_limit: 400 s, simulated: true}, "
                + "{on: tap, name: brief, run: [\(slow), brief], time_limit: 0.5 s, simulated: true}")
        try await tap(observer)
        #expect(await agent.logs("action brief: \(slow) was killed: it did not end within 0.5 s"), "\(agent.errors)")
        let reports = observer.messages("health").count
        await observer.expect(agent) { $0.messages("health").count >= reports + 2 }
        for _ in 1...6 { try await tap(observer) }
        await observer.expect(agent) { try actions($0)["dropped"] as? Int ?? 0 >= 1 }
        #expect(runs(slow).count { !$0.contains("brief") } == 1)
        let start = ContinuousClock.now
        #expect(await agent.terminate() == 0)
        #expect(ContinuousClock.now - start < .seconds(20))
    }

    /// Whatever is allowed, no message chooses the program or switches the rule on: a value, a document, each layer of the
    /// fleet.
    @Test func nothingOverMQTTChangesTheRule() async throws {
        let (siren, other) = (try program(), try program("other"))
        let (observer, agent) = try await observedAgent(
            "{on: tap, name: siren, enabled: false, run: \(siren), simulated: true}",
            "settings.allow=\(Self.everything)", "fleet.remote=\(Self.everything)", "device.groups=[laundry]")
        let rule = #"{"on":"tap","name":"siren","run":"\#(other)","simulated":true}"#
        let patches = [
            #"{"actions":[\#(rule)]}"#, #"{"actions":{"siren":{"run":"\#(other)"}}}"#,
            #"{"actions":{"siren":{"enabled":true}}}"#, #"{"actions":{"siren":null}}"#, #"{"actions":null}"#,
            #"{"actions":{"siren":{"enabled":null}}}"#, #"{"actions":{"siren":{"simulated":true}}}"#,
        ]
        // The values of a home.
        let values = [
            ("actions", "[\(rule)]"), ("actions.siren.run", other), ("actions.siren.enabled", "true"),
            ("actions/siren/enabled", "true"), ("actions.siren", #"{"enabled": true}"#),
            ("actions.siren.post", "http://127.0.0.1:1/"), ("actions.0.run", other), ("actions[0].run", other),
        ]
        for (key, value) in values { try observer.publish("jostle/dut/set/\(key)", value) }
        for patch in patches { try observer.publish("jostle/dut/set", patch) }
        await observer.expect(agent) { observer in
            let refused = try observer.objects("config/reported").last?["refused"] as? [[String: String]] ?? []
            return Set(refused.compactMap { $0["key"] }).isSuperset(of: [
                "actions", "actions.siren.run", "actions.siren.enabled", "actions.siren.post",
            ])
        }
        // The fleet's layers.
        var revision = 0
        for (topic, layer) in [
            ("_all", "all"), ("_group/laundry", "group:laundry"), ("dut/config/desired", "device"),
        ] {
            for patch in patches {
                revision += 1
                let document = #"{"schema":1,"revision":\#(revision),"config":\#(patch)}"#
                try observer.publish(
                    "jostle/\(topic)\(layer == "device" ? "" : "/config")", document, retain: true)
                await observer.expect(agent) { observer in
                    let layers = try observer.objects("config/reported").last?["layers"] as? [String: [String: Any]]
                    return layers?[layer]?["revision"] as? Int == revision
                        && layers?[layer]?["status"] as? String == "rejected"
                }
            }
        }
        try await tap(observer)
        #expect(await agent.terminate() == 0)
        #expect(runs(siren).isEmpty && runs(other).isEmpty)
        let settings = try #require(try observer.setting("actions") as? [[String: Any]])
        #expect(
            settings.count == 1 && settings[0]["enabled"] as? Bool == false && settings[0]["run"] as? String == siren)
    }

    /// Over MQTT a rule can be switched off, and back to what the file says.
    @Test func ruleCanBeSwitchedOff() async throws {
        let siren = try program()
        let (observer, agent) = try await observedAgent(
            "{on: tap, name: siren, run: [\(siren), hush-argument], simulated: true}, "
                + "{on: fall, post: 'https://127.0.0.1/hush-token'}")
        try observer.publish("jostle/dut/set/actions.siren.enabled", "false")
        await observer.expect(agent) { try $0.origin("actions.siren.enabled") == "local" }
        try await tap(observer)
        #expect(runs(siren).isEmpty)
        try observer.publish("jostle/dut/set/actions.siren.enabled", "")
        await observer.expect(agent) { try $0.origin("actions.siren.enabled") != "local" }
        try await tap(observer)
        #expect(await eventually { runs(siren).count == 1 }, "\(agent.errors)")
        #expect(await agent.terminate() == 0)
        // Neither arguments nor URLs are published.
        let all = observer.all.map { String(decoding: $0.payload, as: UTF8.self) }.joined()
        #expect(!all.contains("hush-") && all.contains("(hidden)"), "\(all.prefix(2000))")
        #expect(!agent.errors.contains("hush-"), "\(agent.errors)")
    }

    /// The page is one of those who publish on `set`.
    @Test func pageCannotChangeTheRule() async throws {
        let (siren, other) = (try program(), try program("other"))
        let (broker, observer) = try await rig.observedBroker()
        let agent = try rig.virtualAgent(
            broker: broker.port, "rest",
            [
                "actions=[{on: tap, name: siren, enabled: false, run: \(siren), simulated: true}]",
                "settings.allow=\(Self.everything)",
            ])
        try #require(await observer.sees { !$0.messages("config/reported").isEmpty }, "\(agent.errors)")
        let page = try await rig.page(broker: broker.port, ["page.control=true"])
        let cookie = try page.signIn()
        for (key, value) in [("actions.siren.enabled", "true"), ("actions.siren.run", "\"\(other)\"")] {
            // 503 until the page is connected.
            try #require(
                await eventually {
                    let body = #"{"board":"dut","key":"\#(key)","value":\#(value)}"#
                    return (try? page.post("/api/set", body, cookie).status) == 202
                }, "\(page.program.errors)")
            await observer.expect(agent) { observer in
                let refused = try observer.objects("config/reported").last?["refused"] as? [[String: String]] ?? []
                return refused.contains { $0["key"] == key && $0["reason"]?.contains("over MQTT") == true }
            }
        }
        try await tap(observer)
        #expect(await agent.terminate() == 0)
        #expect(runs(siren).isEmpty && runs(other).isEmpty)
    }

    /// A service asks `jostle run-action` over a socket, as systemd starts it, and only for listed programs.
    @Test(.enabled(if: OptionalProgram.path("systemd-socket-activate") != nil, "there is no systemd-socket-activate"))
    func serviceAsksAtSocket() async throws {
        let siren = try program("siren", "echo from a unit of its own")
        let list = try directory.write("# none\n", to: "programs", permissions: 0o644)
        let socket = directory.path("run.socket")
        let activate = try #require(OptionalProgram.path("systemd-socket-activate"))
        let (observer, agent) = try await observedAgent(
            "{on: tap, name: siren, run: \(siren), simulated: true}", environment: ["JOSTLE_RUN_SOCKET": socket])
        try await tap(observer)
        #expect(
            await agent.logs(
                "action siren: \(siren) cannot be run: \(socket): No such file or directory; sudo systemctl"),
            "\(agent.errors)")
        let service = try rig.run(
            ["--accept", "--inetd", "--listen=\(socket)", Products.program.path, "run-action", "--programs", list],
            program: URL(fileURLWithPath: activate))
        #expect(await eventually { FileManager.default.fileExists(atPath: socket) }, "\(service.errors)")
        try await tap(observer)
        #expect(
            await agent.logs("action siren: \(siren) is not in \(list), the list of programs that may run"),
            "\(agent.errors)\(service.errors)")
        #expect(runs(siren).isEmpty)
        try directory.write("\(siren)\n", to: "programs", permissions: 0o644)
        try await tap(observer)
        #expect(await agent.logs("action siren: it works again"), "\(agent.errors)\(service.errors)")
        #expect(runs(siren).count == 1)
        // The output is in the log of that unit.
        #expect(await service.logs("action siren: from a unit of its own"), "\(service.errors)")
        #expect(!agent.errors.contains("from a unit of its own"))
        #expect(await agent.terminate() == 0)
    }
}
