import BrokerTestSupport
import Foundation
import Testing

/// Requirement: a demonstration disturbs neither the service on the same board nor anybody at its broker, and shows what
/// happens on any terminal.
@Suite(.needsBroker) struct DemoTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    /// The configuration of a board whose rule switches a lamp.
    private func board(_ port: UInt16, _ more: String = "") throws -> [String: String] {
        try directory.write(
            """
            device: { id: lamp }
            mqtt: { broker: "mqtt://127.0.0.1:\(port)" }
            sensor: { driver: virtual, trajectory: shake, rate: 50 Hz }
            actions: [{ on: shake, publish: { topic: lamp/set, payload: TOGGLE } }]
            \(more)
            """, to: "board.yaml")
        return ["JOSTLE_CONFIG": directory.path("board.yaml"), "TMPDIR": directory.path("")]
    }

    @Test func staysAwayFromTheBroker() async throws {
        let (broker, observer) = try await rig.observedBroker()
        for words in [["demo"], ["simulate", "shake"]] {
            let program = try await JostleProgram(words + ["--for", "6"], environment: try board(broker.port)).outcome()
                .expect(status: 0, output: "shake began, axis x")
            let listen = try #require(
                program.output.firstMatch(of: /-p (\d+) -v -t 'jostle\/(demo-[A-Za-z0-9_-]+)\/event\/#'/))
            #expect(listen.1 != "\(broker.port)" && listen.2 != "lamp")
            #expect(program.output.contains("on this machine only"))
        }
        #expect(observer.all.isEmpty, "\(observer.topics)")
        let left = try FileManager.default.contentsOfDirectory(atPath: directory.path(""))
        #expect(left == ["board.yaml"], "the state is not temporary: \(left)")
    }

    /// Any user of the machine could command the agent otherwise.
    @Test func admitsOnlyItsUser() async throws {
        let place = directory.path("a user's place")
        try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
        let program = try rig.run(
            ["demo", "--for", "100", "--no-page", "--set", "device.id=dut"]
                + [
                    "sensor.driver=virtual", "sensor.rate=50Hz", "sensor.trajectory=shake",
                ].flatMap { ["--set", $0] }, environment: ["TMPDIR": place])
        #expect(await eventually { program.output.contains("shake began") }, "\(program.output)\(program.errors)")
        let broker = try #require(program.output.firstMatch(of: /Broker: (mqtt:\/\/127\.0\.0\.1:(\d+)),/))
        // What it prints works, also with other programs.
        let listen = try #require(program.output.firstMatch(of: /Listen: (.+)\n/)).1
        try runCommand(["/bin/sh", "-c", "\(listen) -C 1 -W 30"], in: directory)
        let login = try #require(program.output.firstMatch(of: /Login: demo, with the password in (.+)\n/))
        try await jostle(
            "simulate", "tap", "--on", "dut", "--broker", String(broker.1), "--set", "mqtt.username=demo", "--set",
            "mqtt.password_file=\(login.1)"
        ).expect(status: 0)
        #expect(throws: (any Error).self) {
            try runCommand(
                ["mosquitto_pub", "-h", "127.0.0.1", "-p", String(broker.2), "-t", "jostle/dut/command/tare", "-n"],
                in: directory)
        }
        let password = try String(contentsOfFile: String(login.1), encoding: .utf8).trimmingCharacters(in: .newlines)
        #expect(password.count == 24)
        for name in try FileManager.default.contentsOfDirectory(atPath: "/proc") where Int(name) != nil {
            let words = FileManager.default.contents(atPath: "/proc/\(name)/cmdline") ?? Data()
            #expect(words.range(of: Data(password.utf8)) == nil, "process \(name)")
        }
        #expect(await program.terminate() == 0)
        #expect(try FileManager.default.contentsOfDirectory(atPath: place).isEmpty)
    }

    @Test func publishesWhereItIsTold() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let program = try rig.run(
            ["demo", "--for", "30", "--broker", "mqtt://127.0.0.1:\(broker.port)"],
            environment: try board(broker.port, "home_assistant: { discovery: true }"))
        #expect(await observer.sees { o in o.topics.contains { $0.hasSuffix("/event/shake") } }, "\(program.errors)")
        #expect(await program.terminate() == 0)
        let roots = Set(observer.topics.map { $0.split(separator: "/").prefix(2).joined(separator: "/") })
        #expect(roots.count == 1 && roots.first?.hasPrefix("jostle/demo-") == true, "\(roots)")
        let events = observer.all.filter { $0.topic.hasSuffix("/event/shake") }
        for event in events {
            let object = try #require(try JSON.object(String(decoding: event.payload, as: UTF8.self)))
            #expect(object["simulated"] as? Bool == true, "\(object)")
        }
    }

    @Test(.needsFakeAdapter) func leavesTheChipToTheService() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let bus = try FakeBus()
        let agent = try rig.agent(
            broker: broker.port, ["sensor.bus=\(bus.path)", "sensor.rate=50Hz"], fake: (bus.path, ""))
        #expect(await observer.sees { !$0.messages("attitude").isEmpty }, "\(agent.errors)")
        for driver in ["auto", "mpu6050"] {
            let file = directory.path("\(driver).yaml")
            try directory.write("sensor: { driver: \(driver), bus: \"\(bus.path)\" }\n", to: "\(driver).yaml")
            let demo = try rig.run(
                ["demo", "--for", "2"], environment: ["JOSTLE_CONFIG": file], fake: (bus.path, ""))
            defer { demo.kill() }
            #expect(await demo.exitStatus() == 0, "\(demo.errors)")
            #expect(demo.output.hasPrefix("No sensor: "), "\(demo.output)")
            #expect(demo.output.contains("jostle (process \(agent.processIdentifier)) uses it"), "\(demo.output)")
            #expect(demo.output.contains("Sensor: virtual MPU-6050 (demo)"), "\(demo.output)")
        }
        #expect(agent.isRunning)
    }

    /// The file of the service may be read by the service only.
    @Test func unusableConfigurationIsNamed() async throws {
        try directory.write("sensor: { raet: 5 }\n", to: "wrong.yaml")
        let outcome = try await jostle(
            "demo", "--for", "1", "--set", "sensor.driver=virtual",
            environment: ["JOSTLE_CONFIG": directory.path("wrong.yaml")]
        ).expect(status: 0)
        #expect(outcome.output.hasPrefix("The configuration of this board is not used: "), "\(outcome.output)")
        try await jostle("demo", "--for", "1", "--config", directory.path("wrong.yaml")).expect(status: 78)
    }

    // MARK: The terminal

    private func demo(on terminal: Terminal, _ environment: String...) throws -> ChildProcess {
        try rig.run(
            on: terminal, in: directory, showsErrors: true,
            ["-u", "SSH_CONNECTION", "JOSTLE_CONFIG=/dev/null"] + environment + [
                Products.program.path, "demo", "--set", "sensor.driver=virtual", "--set", "sensor.rate=50Hz",
                "--set", "sensor.trajectory=shake", "--for", "100",
            ])
    }

    @Test func showsHorizonAndCommandInAnyWindow() async throws {
        let terminal = try Terminal()
        try terminal.resize(columns: 80, rows: 24)
        let child = try demo(on: terminal, "LC_ALL=C.UTF-8", "TERM=xterm")
        let hasAll = { (texts: [String]) in texts.allSatisfy { text in terminal.rows.contains { $0.contains(text) } } }
        #expect(
            await eventually {
                hasAll([
                    "Web page: open this in a browser on this machine:", "/?token=", "● online", "▼",
                    "XDG_CONFIG_HOME=", "mosquitto_sub", "/event/#'", "shake     began", "virtual MPU-6050",
                ])
            }, "\(terminal.rows)")
        #expect(!terminal.echoes)
        try terminal.resize(columns: 50, rows: 20)
        #expect(await eventually { terminal.rows.allSatisfy { $0.count <= 50 } && hasAll(["mosquitto_sub", "roll "]) })
        terminal.write("q")
        #expect(await terminal.exitStatus(of: child) == 0 && terminal.echoes)
        // Nothing but log lines may follow, on the usual screen.
        let parts = terminal.text.components(separatedBy: "\u{1B}[?7h\u{1B}[?25h\u{1B}[?1049l")
        #expect(parts.count == 2 && !parts[1].contains("\u{1B}"), "\(terminal.text.suffix(60))")
    }

    /// Why there is no sensor is the end of the screen, and stays when that is gone; also over SSH, where more is shown.
    @Test(
        .enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"),
        arguments: ["", "192.0.2.7 50122 192.0.2.20 22"])
    func saysLastThatThereIsNoSensor(connection: String) async throws {
        let terminal = try Terminal()
        try terminal.resize(columns: 80, rows: 24)
        let child = try rig.run(
            on: terminal, in: directory,
            [
                "SSH_CONNECTION=\(connection)", "JOSTLE_CONFIG=/dev/null", "LC_ALL=C.UTF-8", "TERM=xterm",
                Products.program.path, "demo", "--for", "100",
            ])
        #expect(
            await eventually {
                let rows = terminal.rows.prefix(24)
                return rows.joined(separator: " ").hasSuffix("This one is virtual. More: jostle doctor")
                    && rows.contains { $0.hasPrefix("No sensor: ") }
                    && rows.contains { $0.contains("▼") || $0.contains("roll ") }
            }, "\(terminal.rows)")
        terminal.write("q")
        #expect(await terminal.exitStatus(of: child) == 0)
        let left = terminal.text.components(separatedBy: "\u{1B}[?1049l").last ?? ""
        #expect(
            left.hasPrefix("No sensor: ") && left.hasSuffix("This one is virtual. More: jostle doctor\r\n"), "\(left)")
    }

    @Test func usesOnlyWhatTheTerminalCanShow() async throws {
        for environment in [["LC_ALL=C", "TERM=xterm"], ["LC_ALL=C", "TERM=dumb"]] {
            let terminal = try Terminal()
            try terminal.resize(columns: 60, rows: 20)
            let child = try demo(on: terminal, environment[0], environment[1])
            defer { child.kill() }
            #expect(
                await eventually {
                    terminal.text.contains(environment[1] == "TERM=dumb" ? "attitude" : "shake     began")
                }, "\(terminal.text)")
            #expect(terminal.text.utf8.allSatisfy { $0 < 0x80 }, "\(terminal.text)")
            guard environment[1] == "TERM=dumb" else { continue }
            #expect(!terminal.text.contains("\u{1B}"), "\(terminal.text)")
            let attitudes = terminal.text.split(whereSeparator: \.isNewline).filter { $0.contains("attitude") }
            #expect(!attitudes.isEmpty && attitudes.allSatisfy { $0.count <= 60 }, "\(attitudes)")
        }
    }
}
