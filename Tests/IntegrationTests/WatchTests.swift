import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: from any machine that reaches the broker, a user can watch one device or a fleet live.
@Suite(.needsBroker) struct WatchTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private func watch(_ port: UInt16, _ words: String..., environment: [String: String] = [:]) throws -> JostleProgram
    {
        try rig.run(
            ["watch", "--broker", "mqtt://127.0.0.1:\(port)"] + words,
            environment: ["LC_ALL": "C.UTF-8"].merging(environment) { $1 })
    }

    private func retained(_ topic: String, _ text: String) -> MQTTMessage {
        MQTTMessage(topic: "jostle/" + topic, text: text, qos: .atLeastOnce, retain: true)
    }

    /// Waits until the output satisfies a condition.
    private func writes(_ program: JostleProgram, _ condition: (String) -> Bool) async -> Bool {
        await eventually { condition(program.output) || !program.isRunning } && condition(program.output)
    }

    // MARK: Lines

    @Test func watchesOnlyDeviceInLines() async throws {
        let (broker, _, agent) = try await rig.observedAgent("demo")
        let program = try watch(broker.port)
        let expected = [
            "dut  online", "dut  attitude  roll ", "dut  state  +z up", "dut  health  sensor ", "shake began, axis x",
        ]
        #expect(await writes(program) { text in expected.allSatisfy { text.contains($0) } }, "\(program.output)")
        #expect(await writes(program) { $0.contains("shake ended, axis x") }, "\(program.output)")
        // The output is not a terminal, so it contains no control characters.
        #expect(!program.output.contains("\u{1B}") && !program.output.contains("\r") && program.errors.isEmpty)
        #expect(await agent.terminate() == 0)
        #expect(await writes(program) { $0.contains("dut  offline") }, "\(program.output)")
        #expect(await program.terminate() == 0)
    }

    /// At rest, the next attitude would come with the heartbeat.
    @Test func asksForStateAtOnce() async throws {
        let rig = try await AgentRig.measuring("rest", "publish.attitude.heartbeat=1 h", "publish.attitude.deadband=90")
        let program = try watch(rig.broker.port, "--device", "dut")
        #expect(await writes(program) { $0.contains("dut  attitude  roll ") }, "\(program.output)")
        try await rig.observer.catchUp()
        #expect(rig.observer.messages("command/get-state").count == 1)
        #expect(await program.terminate() == 0)
    }

    @Test func namesKnownDevicesForUnknownOne() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("washer-1/availability", "online"))
        try observer.publish(retained("dryer/availability", "offline"))
        #expect(await observer.availability("offline", of: "dryer"))
        let program = try watch(broker.port, "--device", "wahser-1")
        let text =
            "the broker knows no device wahser-1; it knows dryer, washer-1; did you mean \"washer-1\"?"
        #expect(await writes(program) { $0.contains(text) }, "\(program.output)")
        // It may be switched on meanwhile.
        try observer.publish(retained("wahser-1/availability", "online"))
        #expect(await writes(program) { $0.contains("wahser-1  online") }, "\(program.output)")
        #expect(await program.terminate() == 0)
    }

    @Test func saysThatTheBrokerSendsNoRetainedMessages() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("dryer/availability", "online"))
        #expect(await observer.availability("online", of: "dryer"))
        let proxy = try rig.proxy(to: broker.port, .withholdsRetained)
        let program = try watch(proxy.port)
        #expect(await writes(program) { $0.contains("this broker sends no retained messages") }, "\(program.output)")
        #expect(await program.terminate() == 0)
        // A topic without a wildcard arrives.
        let document = #"{"schema":1,"revision":2,"config":{"gestures":{"tap":{"sensitivity":3}}}}"#
        for layer in ["_all", "_group/g"] { try observer.publish(retained("\(layer)/config", document)) }
        try await observer.catchUp()
        let list = try await jostle("fleet", "list", "--broker", "mqtt://127.0.0.1:\(proxy.port)")
        #expect(list.status == 69 && list.errors.contains("as RabbitMQ does not"), "\(list)")
        // A change builds on what the broker holds.
        let change = ["fleet", "set", "--group", "g", "gestures.shake.sensitivity=7", "--no-wait"]
        let set = try await JostleProgram(change + ["--broker", "mqtt://127.0.0.1:\(proxy.port)"]).outcome()
        #expect(set.status == 0 && set.output == "group:g: published as revision 3\n", "\(set)")
        try await observer.catchUp()
        #expect(observer.texts("config", of: "_group/g").last?.contains("\"tap\"") == true)
        // Nothing is left behind.
        try await observer.catchUp()
        let last = Dictionary(observer.all.map { ($0.topic, $0.payload) }, uniquingKeysWith: { $1 })
        #expect(last.filter { $0.key.hasPrefix("jostle/_reply/") }.allSatisfy { $0.value.isEmpty }, "\(last.keys)")
        // An empty broker that sends what it holds knows no device.
        let empty = try await rig.broker()
        let nothing = try await jostle("fleet", "list", "--broker", "mqtt://127.0.0.1:\(empty.port)")
        #expect(nothing.status == 0 && nothing.output == "The broker knows no device.\n", "\(nothing)")
    }

    /// Its message at the broker would stay.
    @Test func leavesNothingBehindWhenInterrupted() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let proxy = try rig.proxy(to: broker.port, .withholdsRetained)
        let program = try watch(proxy.port)
        let stored = { observer.all.filter { $0.topic.hasPrefix("jostle/_reply/") }.map { !$0.payload.isEmpty } }
        #expect(await eventually { stored() == [true] }, "\(program.output)")
        #expect(await program.terminate() == 0)
        #expect(await eventually { stored() == [true, false] }, "\(observer.topics)")
    }

    /// Each command has its own limit of time. amqtt 0.12.1 behaves so.
    @Test func reachesBrokersThatAreSilentOnMQTT5() async throws {
        let (broker, _, agent) = try await rig.observedAgent("rest")
        let proxy = try rig.proxy(to: broker.port, .ignoresVersion5)
        let program = try watch(proxy.port, "--device", "dut")
        let url = "mqtt://127.0.0.1:\(proxy.port)"
        #expect(await writes(program) { $0.contains("connected to \(url), MQTT 3.1.1") }, "\(program.output)")
        #expect(await writes(program) { $0.contains("dut  online") }, "\(program.output)")
        #expect(await program.terminate() == 0)
        let list = try await jostle("fleet", "list", "--broker", url).expect(status: 0)
        #expect(list.output.contains("dut"), "\(list) \(agent.errors)")
        let fleet = try await jostle("fleet", "command", "ping", "--device", "dut", "--broker", url)
        #expect(fleet.status == 0 && fleet.output.contains("done"), "\(fleet) \(agent.errors)")
        let stop = try await jostle("stop", "--on", "dut", "--set", "mqtt.broker=\(url)")
        #expect(stop.status == 0 && stop.output == "dut: stopped\n", "\(stop) \(agent.errors)")
    }

    @Test func namesBrokersThatRetainNothing() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nretain_available false")
        let program = try watch(broker.port)
        #expect(await writes(program) { $0.contains("this broker sends no retained messages") }, "\(program.output)")
        #expect(await program.terminate() == 0)
        let list = try await jostle("fleet", "list", "--broker", "mqtt://127.0.0.1:\(broker.port)")
        #expect(list.status == 69 && list.errors.contains("this broker sends no retained messages"), "\(list)")
    }

    @Test func survivesMalformedAndHostileMessages() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("dut/availability", "online"))
        let program = try watch(broker.port, "--device", "dut", environment: ["LC_ALL": "C"])
        #expect(await writes(program) { $0.contains("dut  online") })
        let nested = String(repeating: "[", count: 60_000)
        let colourful = "{\"t\":1e999,\"rate\":1e308,\"sensor\":\"\\u001b[2J\\u009bm°\\n\"}"
        for text in ["{", "\u{1B}]0;owned\u{7}", nested, colourful] {
            try observer.publish("jostle/dut/health", text)
        }
        try observer.publish(
            MQTTMessage(topic: "jostle/dut/event/shake", text: "{\"gesture\":\"a\\nb\",\"phase\":\"began\"}"))
        #expect(await writes(program) { $0.contains("a\\u{a}b began, clock unset") }, "\(program.output)")
        #expect(program.output.components(separatedBy: "malformed  ").count == 4, "\(program.output)")
        #expect(program.output.contains("health  \\u{1b}[2J\\u{9b}m deg\\u{a}\n"), "\(program.output)")
        #expect(program.output.utf8.allSatisfy { $0 == 0x0A || (0x20..<0x7F).contains($0) }, "\(program.output)")
        #expect(await program.terminate() == 0)
    }

    @Test func printsOneJSONLinePerMessage() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("dut/availability", "online"))
        try observer.publish(retained("dut/state", "{\"side\":\n\"+x\"}"))
        // The broker has them before the program asks for them.
        try await observer.catchUp()
        let program = try watch(broker.port, "--device", "dut", "--json")
        #expect(await writes(program) { $0.split(separator: "\n").count >= 2 })
        let objects = try program.output.split(separator: "\n").map { try #require(try JSON.object(String($0))) }
        let state = try #require(objects.first { $0["topic"] as? String == "jostle/dut/state" })
        #expect(state["retained"] as? Bool == true)
        #expect((state["payload"] as? [String: Any])?["side"] as? String == "+x")
        #expect(objects.contains { $0["payload"] as? String == "online" })
        #expect(await program.terminate() == 0)
    }

    @Test func printsMessagesAsTheyAre() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("dut/availability", "online"))
        try observer.publish(retained("dut/state", "{\"side\":\n\"+x\"}"))
        let program = try watch(broker.port, "--device", "dut", "--raw")
        let lines = ["jostle/dut/availability online", #"jostle/dut/state {"side":\u{a}"+x"}"#]
        let hasAll = { (text: String) in Set(text.split(separator: "\n").map(String.init)) == Set(lines) }
        #expect(await writes(program, hasAll), "\(program.output)")
        #expect(await program.terminate() == 0)
    }

    /// Whoever reads has enough: that is no failure.
    @Test(arguments: ["--json", "--plain", "--raw"])
    func endsWithItsReader(format: String) async throws {
        let (broker, observer) = try await rig.observedBroker()
        for id in 1...5 { try observer.publish(retained("washer-\(id)/availability", "online")) }
        let script = #"{ "$1" watch --broker "mqtt://127.0.0.1:$2" "$3" --for 60; echo "status $?" >&2; } | head -n 1"#
        let program = try rig.run(
            ["-c", script, "sh", Products.program.path, "\(broker.port)", format],
            environment: ["JOSTLE_CONFIG": "/dev/null"], program: URL(fileURLWithPath: "/bin/sh"))
        #expect(await eventually { program.output.contains("\n") }, "\(program.errors)")
        for number in 1...200 where program.isRunning {
            try observer.publish("jostle/washer-1/health", "{\"rate\":\(number)}")
            try await Task.sleep(for: .milliseconds(50))
        }
        #expect(await program.exitStatus() == 0)
        #expect(program.errors.hasSuffix("status 0\n") && !program.errors.contains("output"), "\(program.errors)")
    }

    @Test func reportsUnreachableBrokerAndRetries() async throws {
        let broker = try TestBroker()
        let program = try watch(broker.port, "--device", "dut")
        let refused = "not connected: mqtt://127.0.0.1:\(broker.port): Connection refused"
        #expect(await writes(program) { $0.contains(refused) })
        try await broker.start()
        #expect(await writes(program) { $0.contains("connected to mqtt://127.0.0.1:\(broker.port), MQTT 5") })
        #expect(await program.terminate() == 0)
    }

    @Test func reportsRefusalAndRetries() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous false")
        let program = try watch(broker.port, "--device", "dut")
        #expect(await writes(program) { $0.contains("the broker refused the connection: ") }, "\(program.output)")
        #expect(await program.terminate() == 0)
    }

    @Test func refusesEmbeddedBroker() async throws {
        try await jostle("watch", "--broker", "embedded").expect(status: 78, errors: "mqtt.broker is embedded")
        try await jostle("watch", "--broker", "http://example.org").expect(status: 78, errors: "mqtt.broker")
    }

    // MARK: Screens

    /// Starts the program on a terminal of 80 columns and 24 rows.
    private func watch(_ port: UInt16, on terminal: Terminal, in directory: TemporaryDirectory) throws -> ChildProcess {
        try terminal.resize(columns: 80, rows: 24)
        return try rig.run(
            on: terminal, in: directory,
            [
                "JOSTLE_CONFIG=/dev/null", "LC_ALL=C.UTF-8", "TERM=xterm", Products.program.path, "watch", "--broker",
                "mqtt://127.0.0.1:\(port)",
            ])
    }

    private func shows(_ terminal: Terminal, _ texts: String...) async -> Bool {
        await eventually { texts.allSatisfy { text in terminal.rows.contains { $0.contains(text) } } }
    }

    /// The terminal is restored: main screen, cursor, echo.
    private func expectRestored(_ terminal: Terminal, _ child: ChildProcess) async {
        #expect(await terminal.exitStatus(of: child) == 0)
        #expect(terminal.text.hasSuffix("\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l"), "\(terminal.text.suffix(60))")
        #expect(terminal.echoes)
    }

    @Test(arguments: [SIGTERM, SIGINT, 0])
    func showsDeviceAndRestoresTerminal(signal: Int32) async throws {
        let (broker, _, _) = try await rig.observedAgent("demo")
        let terminal = try Terminal()
        let child = try watch(broker.port, on: terminal, in: directory)
        #expect(await shows(terminal, "dut  ● online", "roll", "▼", "memory", "shake     ended"), "\(terminal.rows)")
        #expect(terminal.text.hasPrefix("\u{1B}[?1049h\u{1B}[?25l\u{1B}[?7l") && !terminal.echoes)
        try terminal.resize(columns: 40, rows: 6)
        Foundation.kill(child.identifier, SIGWINCH)
        #expect(await shows(terminal, "roll "), "\(terminal.rows)")
        #expect(await eventually { !terminal.rows[0].isEmpty && terminal.rows.allSatisfy { $0.count <= 40 } })
        #expect(terminal.rows.dropFirst(6).allSatisfy { $0.isEmpty }, "\(terminal.rows)")
        if signal == 0 { terminal.write("q") } else { Foundation.kill(child.identifier, signal) }
        await expectRestored(terminal, child)
    }

    @Test func showsFleetWhileBrokerIsAway() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try observer.publish(retained("washer-1/availability", "online"))
        try observer.publish(retained("washer-1/health", "{\"rate\":199.8,\"problems\":[]}"))
        try observer.publish(retained("washer-2/availability", "offline"))
        #expect(await observer.availability("offline", of: "washer-2"))
        let terminal = try Terminal()
        let child = try watch(broker.port, on: terminal, in: directory)
        #expect(await shows(terminal, "2 devices, 1 online", "washer-1  online      199.8 Hz", "washer-2  offline"))
        let shake = "{\"id\":\"a-1\",\"t\":1795182603123,\"gesture\":\"shake\",\"phase\":\"began\"}"
        try observer.publish("jostle/washer-1/event/shake", shake)
        #expect(await shows(terminal, "shake began"), "\(terminal.rows)")
        broker.kill()
        #expect(await shows(terminal, "not connected", "trying again in", "washer-1"), "\(terminal.rows)")
        Foundation.kill(child.identifier, SIGHUP)
        await expectRestored(terminal, child)
    }
}
