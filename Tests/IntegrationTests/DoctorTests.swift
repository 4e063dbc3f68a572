import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: `jostle doctor` finds each thing that a newcomer gets wrong, and says what to do. Every failure is provoked
/// here with the real program, broker, device file and files.
@Suite(.needsBroker, .needsFakeAdapter) struct DoctorTests {
    private let rig = Rig()
    private let directory: TemporaryDirectory
    private let bus: FakeBus

    init() throws {
        directory = try TemporaryDirectory()
        bus = try FakeBus()
    }

    /// One finding of the report.
    private struct Check: Equatable {
        var name: String
        var verdict: String
        var text: String
        var next: [String]
    }

    private struct Report {
        var status: Int32?
        var verdict: String?
        var checks: [Check]

        /// The worst finding of an examination.
        subscript(_ name: String) -> Check? {
            let found = checks.filter { $0.name == name }
            return ["failed", "warning", "unknown", "ok"].lazy.compactMap { verdict in
                found.first { $0.verdict == verdict }
            }.first
        }
    }

    /// Runs doctor with JSON and settings `key=value`.
    private func doctor(
        _ settings: String..., chip: String? = nil, options: [String] = [], environment: [String: String] = [:]
    ) async throws -> Report {
        let words = ["doctor", "--json", "--set", "device.id=dut"] + options
        let sensor = chip == nil ? ["sensor.driver=virtual"] : ["sensor.bus=\(bus.path)"]
        let program = try rig.run(
            words + (sensor + settings).flatMap { ["--set", $0] }, environment: environment,
            fake: chip.map { (bus.path, $0) })
        let status = await program.exitStatus()
        let object = try #require(try JSON.object(program.output), "\(program.output)\(program.errors)")
        let checks = try #require(object["checks"] as? [[String: Any]]).map { check in
            Check(
                name: check["check"] as? String ?? "", verdict: check["verdict"] as? String ?? "",
                text: check["text"] as? String ?? "", next: check["next"] as? [String] ?? [])
        }
        // Whatever fails, the next step is named.
        for check in checks where check.verdict == "failed" && !["configuration", "secrets"].contains(check.name) {
            #expect(!check.next.isEmpty, "\(check)")
        }
        return Report(status: status, verdict: object["verdict"] as? String, checks: checks)
    }

    private static let noBroker = "mqtt.broker=mqtt://127.0.0.1:9"

    // MARK: A sound board

    @Test func findsNothingWrong() async throws {
        let (broker, homeAssistant) = try await rig.observedBroker()
        let before = homeAssistant.all.count
        let report = try await doctor("mqtt.broker=mqtt://127.0.0.1:\(broker.port)", chip: "selftest=2")
        #expect(report.status == 0 && report.checks.allSatisfy { $0.verdict != "failed" }, "\(report)")
        for name in [
            "configuration", "i2c_bus", "device_access", "chip", "bus_speed", "self_test", "sample_rate", "noise",
            "broker", "login", "topics", "state_directory",
        ] {
            #expect(report[name]?.verdict == "ok", "\(name): \(report.checks)")
        }
        // Only empty messages, and only on topics that nobody uses.
        try await homeAssistant.catchUp()
        let messages = homeAssistant.all.dropFirst(before)
        #expect(messages.allSatisfy { $0.payload.isEmpty })
        #expect(Set(messages.map(\.topic)) == ["jostle/dut/event/doctor", "jostle/dut/event/nobody"])
    }

    @Test func textHasEveryFindingAndTheSteps() async throws {
        let outcome = try await jostle(
            "doctor", "--set", "sensor.bus=\(bus.path)", "--set", Self.noBroker, fake: (bus.path, "address=0x40"))
        #expect(outcome.status == 69)
        let lines = outcome.lines
        #expect(lines.contains { $0.hasPrefix("failed   chip ") && $0.contains("no chip answers") }, "\(lines)")
        #expect(lines.contains { $0.contains("-> Check the four wires") })
        #expect(lines.contains { $0.hasPrefix("Begin with the first failure (chip)") })
        #expect(outcome.errors.contains("2 failed"), "\(outcome.errors)")
    }

    // MARK: Configuration and files

    @Test func namesMistakesInTheConfiguration() async throws {
        let report = try await doctor("sensor.rat=5", chip: "")
        #expect(report.status == 78 && report["configuration"]?.verdict == "failed")
        #expect(report["configuration"]?.text.contains("sensor.rat") == true)
        #expect(report["broker"]?.verdict == "unknown")
        // The board is examined nevertheless.
        #expect(report["disk"]?.verdict == "ok")
    }

    @Test func namesSecretsThatOthersCanRead() async throws {
        let file = try directory.write("secret\n", to: "password", permissions: 0o644)
        let report = try await doctor(Self.noBroker, "mqtt.username=me", "mqtt.password_file=\(file)")
        #expect(report.status == 78 && report["secrets"]?.verdict == "failed", "\(report.checks)")
        #expect(report["secrets"]?.text.contains("chmod o=") == true)
        let missing = try await doctor(Self.noBroker, "mqtt.username=me", "mqtt.password_file=/no/such/file")
        #expect(missing["secrets"]?.text.contains("/no/such/file") == true)
    }

    // MARK: The chip

    @Test(arguments: [
        ("address=0x40", "no chip answers", "Check the four wires"),
        ("who=0x20", "ICM-20690, for which there is no driver", "jostle scan"),
        ("who=0x75", "which is not known", "jostle scan"),
        ("fail=1x100:ETIMEDOUT", "is stuck or too slow", "Take the sensor off the bus"),
        ("busy", "the kernel driver", "jostle scan"),
    ])
    func namesWhyThereIsNoChip(chip: String, text: String, step: String) async throws {
        let report = try await doctor(Self.noBroker, chip: chip)
        let check = try #require(report["chip"])
        #expect(report.status == 69 && check.verdict == "failed" && check.text.contains(text), "\(check)")
        #expect(check.next.contains { $0.hasPrefix(step) }, "\(check)")
    }

    @Test func namesMissingPermission() async throws {
        let report = try await doctor(Self.noBroker, chip: "open=EACCES")
        let check = try #require(report["device_access"])
        #expect(report.status == 77 && check.verdict == "failed" && check.text.contains("Permission denied"))
        #expect(report["chip"] == nil)
    }

    @Test func namesRateThatTheChipDoesNotHave() async throws {
        let report = try await doctor(Self.noBroker, "sensor.rate=2000Hz", chip: "")
        #expect(report.status == 78 && report["bus_speed"]?.verdict == "failed", "\(report.checks)")
        #expect(report["sample_rate"] == nil)
    }

    @Test func namesAChipThatFailsItsSelfTest() async throws {
        let report = try await doctor(Self.noBroker, chip: "selftest=-20")
        #expect(report.status == 69 && report["self_test"]?.verdict == "failed", "\(report.checks)")
        let copy = try await doctor(Self.noBroker, chip: "")
        #expect(copy["self_test"]?.verdict == "ok" && copy["self_test"]?.text.contains("no factory values") == true)
    }

    @Test func saysThatSensingIsOff() async throws {
        let report = try await doctor(Self.noBroker, "sensor.enabled=false")
        #expect(report["chip"]?.text.contains("sensor.enabled is false") == true, "\(report.checks)")
    }

    @Test func asksForABoardAtRest() async throws {
        let report = try await doctor(Self.noBroker, chip: "selftest=0,shake=0-100:5:4")
        #expect(report["self_test"]?.verdict == "unknown" && report["noise"]?.verdict == "unknown", "\(report.checks)")
    }

    @Test func namesASensorThatGoesAway() async throws {
        let report = try await doctor(Self.noBroker, chip: "selftest=0,down=1.6-100:EREMOTEIO")
        #expect(report.status == 69 && report["sample_rate"]?.verdict == "failed", "\(report.checks)")
        #expect(report["sample_rate"]?.next.first?.contains("wires") == true)
    }

    @Test func leavesTheChipToTheAgentThatReadsIt() async throws {
        let broker = try await rig.broker()
        let url = "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"
        let state = directory.path("agent")
        let agent = try rig.run(
            ["run"] + ["device.id=dut", url, "sensor.bus=\(bus.path)"].flatMap { ["--set", $0] },
            environment: ["STATE_DIRECTORY": state], fake: (bus.path, ""))
        #expect(await agent.logs("the sensor is measuring"), "\(agent.errors)")
        let observer = try await Observer(broker.port)
        #expect(await observer.sees { !$0.messages("health").isEmpty }, "\(agent.errors)")
        let report = try await doctor(url, chip: "", environment: ["STATE_DIRECTORY": state])
        #expect(report.status == 0, "\(report.checks)")
        let holder = "jostle (process \(agent.processIdentifier))"
        #expect(report["chip"]?.text.hasPrefix("\(holder) reads the chip") == true, "\(report.checks)")
        #expect(report["state_directory"]?.text.hasSuffix("\(holder) uses it") == true)
        #expect(report["agent"]?.text.hasPrefix("online, version") == true)
        #expect(report["sample_rate"] == nil)
        // Neither lost its connection.
        #expect(!agent.errors.contains("connection"), "\(agent.errors)")
    }

    @Test(.enabled(if: !FakeBus.machineHasOne, "this machine has an I2C bus"))
    func saysHowToSwitchI2COn() async throws {
        let outcome = try await jostle("doctor", "--json", "--set", Self.noBroker)
        #expect(
            outcome.status == 69 && outcome.output.contains("sudo raspi-config nonint do_i2c 0"), "\(outcome.output)")
    }

    // MARK: The broker

    @Test func namesBrokersThatCannotBeReached() async throws {
        let name = try await doctor("mqtt.broker=mqtt://broker.invalid")
        #expect(name["broker"]?.text.contains("not found") == true, "\(name.checks)")
        #expect(name["broker"]?.next.last == "getent hosts broker.invalid")
        let port = try await doctor(Self.noBroker)
        #expect(port.status == 69 && port["broker"]?.text.contains("Connection refused") == true)
        #expect(port["broker"]?.next.first?.hasPrefix("Check that the broker runs") == true)
        // One of several is enough.
        let broker = try await rig.broker()
        let several = try await doctor("mqtt.broker=[mqtt://127.0.0.1:9, mqtt://127.0.0.1:\(broker.port)]")
        #expect(several.status == 0 && several["broker"]?.verdict == "warning", "\(several.checks)")
        #expect(several["topics"]?.verdict == "ok")
    }

    /// The client may need three attempts until it asks for MQTT 3.1.1.
    @Test(arguments: [(TCPProxy.Quirk.closesOnVersion5, 20), (.ignoresVersion5, 1)])
    func findsBrokersWithoutMQTT5(_ quirk: TCPProxy.Quirk, runs: Int) async throws {
        let broker = try await rig.broker()
        let proxy = try rig.proxy(to: broker.port, quirk)
        for _ in 0..<runs {
            let report = try await doctor("mqtt.broker=mqtt://127.0.0.1:\(proxy.port)", "sensor.enabled=false")
            #expect(report.status == 0, "\(report.checks)")
            #expect(report["broker"]?.text == "mqtt://127.0.0.1:\(proxy.port) answers, with MQTT 3.1.1")
            #expect(report["topics"]?.verdict == "ok", "\(report.checks)")
        }
    }

    @Test func saysWhatABrokerDoesNotDo() async throws {
        let broker = try await rig.broker(
            listener: "max_qos 0", settings: "allow_anonymous true\nretain_available false")
        let report = try await doctor("mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "sensor.enabled=false")
        let costs = report.checks.filter { $0.name == "broker" && $0.verdict == "warning" }
        #expect(costs.map { $0.text.contains("retains no messages, so ") } == [true, false], "\(report.checks)")
        #expect(costs.map { $0.text.contains("takes messages with QoS 0 only, so ") } == [false, true])
        #expect(costs.allSatisfy { $0.next.contains { $0.contains("retain_available false, or max_qos 0") } })
        #expect(report.status == 0 && report["agent"]?.verdict == "unknown", "\(report.checks)")
    }

    @Test func namesPortsThatSpeakSomethingElse() async throws {
        let broker = try await rig.broker()
        let tls = try await doctor("mqtt.broker=mqtts://127.0.0.1:\(broker.port)")
        #expect(tls["tls"]?.verdict == "failed", "\(tls.checks)")
        #expect(tls["tls"]?.next.first?.contains("mqtt://") == true)
    }

    @Test(.enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
    func namesCertificatesThatAreNotTrusted() async throws {
        let certificates = try TestCertificates(directory: try TemporaryDirectory())
        try certificates.makeServerCertificate(name: "localhost")
        let broker = try await rig.broker(
            directory: certificates.directory, listener: certificates.listenerLines)
        let url = "mqtt.broker=mqtts://localhost:\(broker.port)"
        let untrusted = try await doctor(url)
        #expect(untrusted["tls"]?.text.contains("not from a trusted authority") == true, "\(untrusted.checks)")
        #expect(untrusted["tls"]?.next.first?.contains("CA file") == true)
        let trusted = try await doctor(url, "mqtt.ca_file=\(certificates.caFile)")
        #expect(trusted["tls"]?.verdict == "ok" && trusted["broker"]?.verdict == "ok", "\(trusted.checks)")
        let name = try await doctor(
            "mqtt.broker=mqtts://127.0.0.1:\(broker.port)", "mqtt.ca_file=\(certificates.caFile)")
        #expect(name["tls"]?.text.contains("another host name") == true, "\(name.checks)")
        let careless = try await doctor(
            "mqtt.broker=mqtts://127.0.0.1:\(broker.port)", "mqtt.ca_file=\(certificates.caFile)",
            "mqtt.server_name_check=false")
        #expect(careless["tls"]?.text.hasSuffix("mqtt.server_name_check is false") == true, "\(careless.checks)")
        let plain = try await doctor("mqtt.broker=mqtt://localhost:\(broker.port)")
        #expect(plain["broker"]?.verdict == "failed" && plain["broker"]?.next.isEmpty == false, "\(plain.checks)")
    }

    @Test func namesWrongPassword() async throws {
        let broker = try await rig.broker(users: ["me": "right"])
        let file = try directory.write("opensesame\n", to: "password", permissions: 0o600)
        let url = "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"
        let wrong = try await doctor(url, "mqtt.username=me", "mqtt.password_file=\(file)")
        #expect(wrong["login"]?.verdict == "failed" && wrong["login"]?.next.first?.contains("password") == true)
        #expect(wrong["topics"] == nil && wrong.checks.allSatisfy { !$0.text.contains("opensesame") })
        try directory.write("right\n", to: "password")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: file)
        let right = try await doctor(url, "mqtt.username=me", "mqtt.password_file=\(file)")
        #expect(right["login"]?.text == "as user me", "\(right.checks)")
    }

    @Test(arguments: ["auto", "v3.1.1"])
    func namesTopicsThatTheAccessRulesForbid(version: String) async throws {
        let rules = try directory.write("topic read #\ntopic write jostle/dut/state\n", to: "acl", permissions: 0o644)
        let broker = try await rig.broker(settings: "allow_anonymous true\nacl_file \(rules)")
        let report = try await doctor("mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "mqtt.version=\(version)")
        let check = try #require(report["topics"])
        #expect(report.status == 77 && check.verdict == "failed", "\(report.checks)")
        #expect(check.next.contains { $0.contains("docs/broker.md") })
        // MQTT 3.1.1 has no answer that says so.
        #expect(check.text.contains(version == "auto" ? "jostle/dut/event/doctor" : "does not come back"), "\(check)")
    }

    @Test func worksWithTheAccessRulesThatComeWithIt() async throws {
        let fleet = try await FleetBroker(rig)
        let settings = try fleet.settings(of: "washer-1", .devices)
        let program = try await JostleProgram(["doctor", "--json", "--set", "sensor.driver=virtual"] + settings)
            .outcome().expect(status: 0)
        #expect(program.output.contains(#"{"check":"topics","verdict":"ok""#), "\(program.output)")
        #expect(program.output.contains("nobody reads the discovery messages"), "\(program.output)")
    }

    /// This broker uses the user name as the client id, so that a second client would end the agent's connection.
    @Test func doesNotTakeTheConnectionOfTheAgent() async throws {
        let fleet = try await FleetBroker(rig)
        let state = directory.path("agent")
        let agent = try fleet.agent("washer-1", state: state)
        let observer = try await fleet.client("observer").connected()
        #expect(await observer.receives("jostle/washer-1/health"), "\(agent.errors)")
        let settings = try fleet.settings(of: "washer-1", .devices)
        let commands = "mqtt.command_broker=mqtts://localhost:\(fleet.port(.commands))"
        let program = try await JostleProgram(
            ["doctor", "--json", "--set", "sensor.driver=virtual", "--set", commands] + settings,
            environment: ["STATE_DIRECTORY": state]
        ).outcome().expect(status: 0)
        #expect(program.output.contains("mqtt.command_broker"), "\(program.output)")
        #expect(program.output.contains("online, version"), "\(program.output)")
        #expect(agent.errors.components(separatedBy: "connected to").count == 2, "\(agent.errors)")
    }

    @Test func saysWhetherSomebodyReadsDiscovery() async throws {
        let broker = try await rig.broker()
        let url = "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"
        let alone = try await doctor(url)
        #expect(alone["home_assistant"]?.verdict == "warning", "\(alone.checks)")
        #expect(alone["home_assistant"]?.next.first?.contains("Add integration") == true)
        let off = try await doctor(url, "home_assistant.discovery=false")
        #expect(off["home_assistant"]?.verdict == "ok")

        // As Home Assistant subscribes.
        var options = MQTTOptions(brokers: [BrokerAddress(host: "127.0.0.1", port: broker.port)], clientID: "ha")
        options.backoff.base = .milliseconds(20)
        let client = try MQTTClient(options: options) { _ in }
        try client.subscribe(to: "homeassistant/+/+/+/config", qos: .atMostOnce)
        try client.start()
        defer { _ = client.stop(within: .milliseconds(100)) }
        #expect(await eventually { client.statistics.connection != nil })
        try await Task.sleep(for: .milliseconds(300))
        let listening = try await doctor(url)
        #expect(listening["home_assistant"]?.verdict == "ok", "\(listening.checks)")
        #expect(listening["home_assistant"]?.text.hasPrefix("somebody reads") == true)

        // With somebody who reads everything, the broker cannot tell; nor with MQTT 3.1.1.
        let everything = try await Observer(broker.port)
        #expect(try await doctor(url)["home_assistant"]?.verdict == "unknown")
        #expect(everything.all.count >= 0)
        #expect(try await doctor(url, "mqtt.version=v3.1.1")["home_assistant"]?.verdict == "unknown")
    }

    @Test func saysWhatItsOwnBrokerCannotDo() async throws {
        let found = try await doctor("mqtt.broker=embedded")
        #expect(found["broker"]?.verdict == "ok" && found["home_assistant"]?.verdict == "warning", "\(found.checks)")
    }

    // MARK: The service

    /// Directories of `PATH` in which systemctl and journalctl say this.
    private func systemd(_ properties: String, journal: String = "") throws -> [String: String] {
        try directory.write("\(properties)\n", to: "properties")
        try directory.write("\(journal)\n", to: "journal")
        for (program, file) in [("systemctl", "properties"), ("journalctl", "journal")] {
            try directory.write(
                "#!/bin/sh\nexec cat \(directory.path(file))\n", to: program, permissions: 0o755)
        }
        return ["PATH": "\(directory.path):/usr/sbin:/usr/bin:/bin"]
    }

    @Test func examinesTheService() async throws {
        let running = "LoadState=loaded\nActiveState=active\nUnitFileState=enabled\nMainPID=1\nStateDirectory=jostle"
        let unit = ["--unit", "jostle.service"]
        let sound = try await doctor(Self.noBroker, options: unit, environment: try systemd(running))
        #expect(sound["service"]?.verdict == "ok", "\(sound.checks)")
        let failed = try await doctor(
            Self.noBroker, options: unit,
            environment: try systemd(
                "LoadState=loaded\nActiveState=failed\nResult=exit-code\nExecMainStatus=77", journal: "no permission"))
        #expect(failed["service"]?.text.hasSuffix("permission denied; its last error: no permission") == true)
        let nobody = try await doctor(
            Self.noBroker, options: unit, environment: try systemd(running + "\nUser=no-such-user"))
        #expect(nobody["groups"]?.verdict == nil && nobody["account"]?.verdict == "failed", "\(nobody.checks)")
        let absent = try await doctor(Self.noBroker, options: unit, environment: try systemd("LoadState=not-found"))
        #expect(absent["service"]?.verdict == "warning" && absent["service"]?.text.contains("not installed") == true)
    }

    /// The chip belongs to root, as without the udev rule, and the service runs as another user.
    @Test func examinesDevicesAsTheUserOfTheService() async throws {
        let environment = try systemd("LoadState=loaded\nActiveState=failed\nExecMainStatus=77\nUser=nobody")
        let report = try await doctor(
            Self.noBroker, chip: "", options: ["--unit", "jostle.service"], environment: environment)
        let check = try #require(report["device_access"])
        #expect(check.verdict == "failed" && check.text.contains("the user nobody may not open it"), "\(check)")
        #expect(check.next.first?.contains("udev rule") == true)
    }
}
