import BrokerTestSupport
import Foundation
import Testing

/// Requirement: `jostle setup` takes a newcomer from the wires to a configuration that works, writes nothing before it
/// works, and can be answered without a terminal.
@Suite(.needsBroker, .needsFakeAdapter) struct SetupTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()
    private let bus: FakeBus
    private let output: String

    init() throws {
        bus = try FakeBus()
        output = directory.path("etc")
    }

    private var answers: String { "\(output)/conf.d/10-setup.yaml" }
    private var passwordFile: String { "\(output)/mqtt-password" }

    private func text(of path: String) -> String? { try? String(contentsOfFile: path, encoding: .utf8) }

    private func permissions(of path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    private func setUp(_ options: String..., chip: String = "") async throws -> Outcome {
        try await setUp(options, chip: chip)
    }

    private func setUp(_ options: [String], chip: String = "", input: String = "") async throws -> Outcome {
        try await JostleProgram(
            ["setup", "--output", output, "--bus", bus.path] + options, input: input, fake: (bus.path, chip)
        ).outcome()
    }

    @Test func writesAConfigurationThatRuns() async throws {
        let broker = try await rig.broker()
        try await setUp(
            "--broker", "127.0.0.1:\(broker.port)", "--id", "dut", "--name", "Lamp \"1\"", "--area", "Hall"
        ).expect(status: 0, output: "ok: chip: MPU-6050 at 0x68", "ok: broker: mqtt://")
        let lines = text(of: answers)?.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            lines == [
                "device:", "  id: \"dut\"", "  name: \"Lamp \\\"1\\\"\"", "  area: \"Hall\"", "sensor:",
                "  bus: \"\(bus.path)\"", "mqtt:", "  broker: \"mqtt://127.0.0.1:\(broker.port)\"",
            ])
        let observer = try await Observer(broker.port)
        let agent = try rig.run(["run", "--config", "\(output)/jostle.yaml"], fake: (bus.path, ""))
        #expect(await observer.sees { $0.topics.contains("jostle/dut/attitude") }, "\(agent.errors)")

        // Again, with one other answer. The agent has the chip meanwhile.
        try await setUp("--area", "Cellar").expect(status: 0, output: "reads the chip")
        let written = try #require(text(of: answers))
        #expect(written.contains("area: \"Cellar\"") && written.contains("id: \"dut\"") && written.contains("broker:"))
        #expect(await agent.terminate() == 0)
    }

    @Test func writesNothingUnlessBothWork() async throws {
        let broker = try await rig.broker()
        let url = "mqtt://127.0.0.1:\(broker.port)"
        try await setUp("--broker", url, chip: "address=0x40").expect(status: 69, output: "Check the four wires")
        try await setUp("--broker", "mqtt://127.0.0.1:9").expect(status: 69, output: "Connection refused")
        try await setUp().expect(status: 64, errors: "--broker URL is needed")
        #expect(!FileManager.default.fileExists(atPath: output))
        let forced = try await setUp("--broker", "mqtt://127.0.0.1:9", "--no-test", chip: "address=0x40").expect(
            status: 0)
        #expect(text(of: answers)?.contains("127.0.0.1:9") == true, "\(forced)")
    }

    @Test func keepsThePasswordToItself() async throws {
        let broker = try await rig.broker(users: ["me": "opensesame"])
        let options = ["--broker", "mqtt://127.0.0.1:\(broker.port)", "--username", "me", "--password-file", "-"]
        try await setUp(options, input: "closed\n").expect(status: 69, output: "failed: login")
        #expect(!FileManager.default.fileExists(atPath: output))
        let right = try await setUp(options, input: "opensesame\n").expect(status: 0, output: "as user me")
        #expect(text(of: passwordFile) == "opensesame\n")
        #expect(try permissions(of: passwordFile) == 0o600 && permissions(of: answers) == 0o600)
        #expect(text(of: answers)?.contains("opensesame") == false && !right.output.contains("opensesame"))
        try await jostle("check-config", "\(output)/jostle.yaml").expect(status: 0)
        // A later run without it keeps it.
        let later = try await setUp("--name", "Door").expect(status: 0)
        #expect(text(of: passwordFile) == "opensesame\n", "\(later)")
        #expect(text(of: answers)?.contains("password_file") == true)
    }

    @Test func warnsOfFilesThatComeLater() async throws {
        let broker = try await rig.broker()
        try directory.write("device: { name: Fixed }\n", to: "etc/conf.d/20-name.yaml")
        try await setUp("--broker", "mqtt://127.0.0.1:\(broker.port)", "--name", "Other").expect(
            status: 0, output: "20-name.yaml also sets device.name, so that Other is not in force")
    }

    @Test func calibratesTheGyroscope() async throws {
        let broker = try await rig.broker()
        try await setUp("--broker", "mqtt://127.0.0.1:\(broker.port)", "--calibrate").expect(
            status: 0, output: "At rest it reads", "Stored in ")
    }

    @Test func refusesBadAnswers() async throws {
        try await setUp("--id", "a b", "--broker", "mqtt://127.0.0.1:9").expect(status: 64, errors: "--id is \"a b\"")
        try await setUp("--enable", "--no-enable", "--broker", "mqtt://127.0.0.1:9").expect(
            status: 64, errors: "exclude each other")
        try await setUp("--broker", "http://x").expect(status: 78, errors: "http://x")
        try await setUp("--driver", "virtual", "--calibrate", "--broker", "mqtt://127.0.0.1:9").expect(
            status: 64, errors: "--calibrate is for a sensor")
        #expect(!FileManager.default.fileExists(atPath: output))
    }

    /// The program on a terminal, on which questions are answered as they appear.
    private func dialogue(_ options: [String]) throws -> (terminal: Terminal, child: ChildProcess) {
        let terminal = try Terminal()
        let child = try rig.run(
            on: terminal, in: directory,
            [
                "STATE_DIRECTORY=\(output)/state", "LD_PRELOAD=\(Products.fakeAdapter.path)", "FAKE_I2C=\(bus.path)",
                "FAKE_I2C_OPTIONS=",
                Products.program.path, "setup", "--output", output, "--bus", bus.path,
            ] + options)
        return (terminal, child)
    }

    private func answer(_ question: String, _ text: String, on terminal: Terminal) async {
        #expect(
            await eventually { terminal.text.contains(question) }, "\(question): \(terminal.text)"
        )
        terminal.write(text + "\n")
    }

    /// The command of the README.
    @Test func asksForThePasswordOfAGivenUser() async throws {
        let broker = try await rig.broker(users: ["me": "opensesame"])
        let (terminal, child) = try dialogue(["--broker", "127.0.0.1:\(broker.port)", "--username", "me"])
        #expect(await eventually { terminal.text.contains("Password of me") })
        #expect(await eventually { !terminal.echoes })
        terminal.write("opensesame\n")
        await answer("Name of the device", "", on: terminal)
        await answer("Area that Home Assistant suggests", "", on: terminal)
        await answer(
            "Does Home Assistant 2024.11 or later use this broker? If you do not know: n [y/n]", "n", on: terminal)
        await answer("Write this? [y/n]", "y", on: terminal)
        #expect(await terminal.exitStatus(of: child) == 0, "\(terminal.text)")
        #expect(text(of: passwordFile) == "opensesame\n" && !terminal.text.contains("opensesame"))
        #expect(terminal.echoes)
    }

    @Test func asksOnATerminal() async throws {
        let broker = try await rig.broker()
        let (terminal, child) = try dialogue([])
        await answer(
            "that Home Assistant uses [mqtt://homeassistant.local]:", "127.0.0.1:9", on: terminal)
        await answer("User name at the broker, - for none:", "", on: terminal)
        await answer("Use it nevertheless? [y/n]", "n", on: terminal)
        await answer(
            "that Home Assistant uses [mqtt://127.0.0.1:9]:", "127.0.0.1:\(broker.port)", on: terminal)
        #expect(
            await eventually {
                terminal.text.components(separatedBy: "User name at the broker").count == 3
            })
        terminal.write("\n")
        await answer("Name of the device for people, - for none:", "Front door", on: terminal)
        await answer("Area that Home Assistant suggests, - for none:", "", on: terminal)
        await answer("Does Home Assistant 2024.11 or later", "y", on: terminal)
        await answer("Write this? [y/n]", "y", on: terminal)
        #expect(await terminal.exitStatus(of: child) == 0, "\(terminal.text)")
        let written = text(of: answers) ?? ""
        #expect(
            written.contains("name: \"Front door\"") && written.contains("discovery_form: \"device\""),
            "\(terminal.text)")
    }
}
