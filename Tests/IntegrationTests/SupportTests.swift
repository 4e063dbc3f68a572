import BrokerTestSupport
import Foundation
import JostleCommandLine
import MosquittoClient
import Testing

/// Requirement: `jostle support` makes one bounded file with what a maintainer needs, in which there is no secret.
@Suite(.needsBroker) struct SupportTests {
    private let rig = Rig()

    private static let secret = "hush-4711-hush"
    private static let user = "lamp-owner-77"

    /// A directory of programs that say what those of the system might say.
    private static func programs(in directory: TemporaryDirectory, journal: String) throws -> String {
        for (name, script) in [
            ("journalctl", journal), ("systemctl", "echo ActiveState=active; echo \"$@\""),
            ("timedatectl", "echo NTPSynchronized=yes"), ("dpkg-query", "echo 'ii  jostle 0.1'"),
        ] {
            try directory.write("#!/bin/sh\n\(script)\n", to: name, permissions: 0o755)
        }
        return "\(directory.path):/usr/bin:/bin"
    }

    /// The secrets are in files, in the environment, in the directory of credentials, in comments, in an action, in the
    /// log, and in messages at the broker.
    @Test func secretsAreNowhereInTheReport() async throws {
        let broker = try await rig.broker(users: [Self.user: Self.secret])
        let observer = try await Observer(
            broker.port,
            credentials: MQTTCredentials(userName: Self.user, password: MQTTCredentials.Secret(Self.secret)))

        let config = try TemporaryDirectory()
        let password = try config.write("\(Self.secret)\n", to: "password", permissions: 0o600)
        let credentials = try TemporaryDirectory()
        try credentials.write("hush-credential\n", to: "other")
        try config.write(
            """
            # the old password: hush-comment
            device: {id: dut}
            log: {level: debug}
            mqtt:
              broker: mqtt://127.0.0.1:\(broker.port)
              username: \(Self.user)
              password_file: password
            actions:
              - on: shake
                publish: {topic: cmnd/lamp/POWER, payload: hush-payload}
            """, to: "jostle.yaml")
        let state = try TemporaryDirectory()
        try state.write("\(Self.secret)\n", to: "secret-file")
        let journal = """
            echo '2026-11-25T07:00:00 jostle: connected as \(Self.user) with \(Self.secret)'
            echo 'token=hush-token and hush-environment and hush-credential and hush-comment'
            echo 'mqtt://somebody:hush-url@broker answered on jostle/_reply/hush-requester/12'
            printf -- '-----BEGIN PRIVATE KEY-----\\nMIIEhush\\n-----END PRIVATE KEY-----\\n'
            echo "the last line"
            """
        for (topic, text) in [
            ("availability", "online"), ("health", "{\"version\":\"0.1.0\",\"sensor_fault\":\"password=hush-health\"}"),
            (
                "config/reported",
                """
                {"settings":{"log":{"level":"debug"},"actions":[{"publish":{"topic":"a","payload":"hush-report"}}]},
                "refused":[{"key":"mqtt.password","value":"hush-refused","reason":"unknown key"}]}
                """
            ),
        ] {
            var message = MQTTMessage(topic: "jostle/dut/\(topic)", text: text, qos: .atLeastOnce)
            message.retain = true
            try observer.publish(message)
        }
        #expect(await observer.sees { !$0.messages("config/reported").isEmpty })

        let (directory, programs) = (try TemporaryDirectory(), try TemporaryDirectory())
        let file = directory.path("report.txt")
        let outcome = try await jostle(
            "support", "--output", file, "--config", config.path("jostle.yaml"), "--set", "mqtt.keep_alive=20",
            environment: [
                "STATE_DIRECTORY": state.path, "CREDENTIALS_DIRECTORY": credentials.path,
                "MQTT_PASSWORD": "hush-environment", "PATH": try Self.programs(in: programs, journal: journal),
            ]
        ).expect(status: 0)
        let report = try String(contentsOfFile: file, encoding: .utf8)
        for secret in ["hush", Self.user, "MIIE"] {
            #expect(!report.contains(secret), "\(report)")
            #expect(!(outcome.output + outcome.errors).contains(secret))
        }
        for kept in [
            "jostle \(version)\n", "ActiveState=active", "NTPSynchronized=yes", "ii  jostle 0.1", "the last line",
            "    device.id:           \"dut\"", "jostle.yaml:3:14", "mqtt.password_file:  \"\(password)\"",
            "mqtt.username:       \"[removed]\"", "mqtt.keep_alive:     \"20 s\"", "secret-file", "device dut: online",
            "$ jostle doctor --json --config \(config.path("jostle.yaml")) --set mqtt.keep_alive=20",
            "\"reason\": \"unknown key\"", "distribution", "MemAvailable", "no answer", "set over MQTT: nothing",
        ] {
            #expect(report.contains(kept), "\(kept) is not in \(report)")
        }
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.posixPermissions] as? Int == 0o600)
        #expect(outcome.output.contains("It has: versions, packages, board, doctor, configuration, "))

        let again = try await jostle("support", "--output", file, environment: ["PATH": programs.path])
        #expect(again.status == 73 && again.errors.contains("a report does not replace a file"), "\(again.errors)")
    }

    /// A configuration with a mistake is just when a report is needed.
    @Test func wrongConfigurationIsReportedWithoutItsSecrets() async throws {
        let directory = try TemporaryDirectory()
        let programs = try TemporaryDirectory()
        try directory.write(
            "mqtt:\n  broker: mqtt://\(Self.user):hush-url@host\n  password: \(Self.secret)\n  username: [\(Self.user)]\n"
                + "sensor: {rate: fast}\n",
            to: "jostle.yaml")
        let outcome = try await jostle(
            "support", "--output", "-", "--config", directory.path("jostle.yaml"),
            environment: ["PATH": try Self.programs(in: programs, journal: "echo \(Self.secret) hush-url")])
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(!outcome.output.contains("hush") && !outcome.output.contains(Self.user), "\(outcome.output)")
        #expect(outcome.output.contains("jostle.yaml:3:3: unknown key"), "\(outcome.output)")
        #expect(outcome.output.contains("\"fast\" is not"))
        #expect(outcome.output.contains("Without a valid configuration, it is not known which broker to ask."))
        #expect(outcome.errors.contains("Read it before you send it."))
    }

    @Test func longLogIsCutAtItsBeginning() async throws {
        let programs = try TemporaryDirectory()
        let journal = "i=0; while [ $i -lt 30000 ]; do echo \"line $i of a long log of the service\"; i=$((i+1)); done"
        let outcome = try await jostle(
            "support", "--output", "-", "--set", "mqtt.broker=mqtt://127.0.0.1:1", "--lines", "7",
            environment: ["PATH": try Self.programs(in: programs, journal: journal)]
        ).expect(status: 0)
        #expect(outcome.output.utf8.count < 1 << 20 && outcome.output.utf8.count > 1 << 19)
        #expect(outcome.output.contains("line 29999 of") && !outcome.output.contains("line 100 of"))
        #expect(outcome.output.contains("no connection: "), "\(outcome.output)")
    }

    /// Where there is neither systemd nor Debian, the report says so and has the rest.
    @Test func missingProgramsAreSaid() async throws {
        let outcome = try await jostle(
            "support", "--output", "-", "--hide-broker", "--set", "mqtt.broker=mqtt://broker.invalid:1",
            environment: ["PATH": "/nonexistent"]
        ).expect(status: 0)
        for name in ["journalctl", "systemctl", "timedatectl", "dpkg-query"] {
            #expect(outcome.output.contains("There is no \(name) on this machine."))
        }
        #expect(!outcome.output.contains("broker.invalid") && outcome.output.contains("mqtt://[broker]:1"))
    }

    @Test(.enabled(if: geteuid() == 0, "only root can give a file away"))
    func reportBelongsToWhoCalledSudo() async throws {
        let directory = try TemporaryDirectory()
        let programs = try TemporaryDirectory()
        let file = directory.path("report.txt")
        try await jostle(
            "support", "--output", file, "--set", "mqtt.broker=mqtt://127.0.0.1:1",
            environment: [
                "SUDO_UID": "65534", "SUDO_GID": "65534", "PATH": try Self.programs(in: programs, journal: "echo x"),
            ]
        ).expect(status: 0)
        let attributes = try FileManager.default.attributesOfItem(atPath: file)
        #expect(attributes[.ownerAccountID] as? Int == 65534 && attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test func distantDeviceIsReportedOverMQTT() async throws {
        let rig = try await AgentRig("rest", "publish.health.interval=1 s", "device.name=the lamp")
        #expect(await rig.measures(), "\(rig.agent.errors)")
        let broker = "mqtt://127.0.0.1:\(rig.broker.port)"
        let outcome = try await jostle("support", "--device", "dut", "--broker", broker, "--output", "-")
        #expect(outcome.status == 0, "\(outcome.errors)")
        for kept in [
            "# Jostle support report of dut", "device dut: online", "\"sensor_state\": \"streaming\"",
            "\"version\": \"\(version)\"",
            "\"origins\"", "\"name\": \"the lamp\"", "## Answer to get-state", "A device does not publish its log.",
        ] {
            #expect(outcome.output.contains(kept), "\(kept) is not in \(outcome.output)")
        }
        #expect(await rig.agent.terminate() == 0)

        // What the broker keeps of a device that is off.
        let offline = try await jostle("support", "--device", "dut", "--broker", broker, "--output", "-")
        #expect(offline.status == 0 && offline.output.contains("no answer: dut is offline"), "\(offline.output)")
        let unknown = try await jostle("support", "--device", "nobody", "--broker", broker, "--output", "-")
        #expect(
            unknown.status == 69 && unknown.errors.contains("the broker knows no device nobody"), "\(unknown.errors)")
        // The connection takes three attempts there.
        let proxies = Rig()
        let old = try proxies.proxy(to: rig.broker.port, .closesOnVersion5)
        for _ in 0..<5 {
            let outcome = try await jostle(
                "support", "--device", "dut", "--broker", "mqtt://127.0.0.1:\(old.port)", "--output", "-")
            #expect(outcome.status == 0 && outcome.output.contains("MQTT 3.1.1"), "\(outcome)")
        }
        let nowhere = try await jostle("support", "--device", "dut", "--broker", "mqtt://127.0.0.1:1", "--output", "-")
        #expect(nowhere.status == 69 && nowhere.errors.contains("the broker was not reached"), "\(nowhere.errors)")
    }
}
