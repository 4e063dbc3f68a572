import BrokerTestSupport
import Foundation
import MosquittoClient
import Synchronization
import Testing

/// Requirement: with the broker configuration in `config/mosquitto`, every device can do what it needs, and no device
/// can read or write another device's topics.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct BrokerConfigurationTests {
    private let directory: TemporaryDirectory
    private let broker: TestBroker
    private let certificates: TestCertificates

    /// The directory of the shipped files.
    private static let shipped = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("config/mosquitto")

    /// The two devices of the shipped list. The second is in the groups `living` and `test`, and has the topic of an
    /// action.
    private static let users = ["operator", "homeassistant", "washer-1", "lamp-switch"]

    init() async throws {
        directory = try TemporaryDirectory()
        certificates = try TestCertificates(directory: directory)
        try certificates.makeServerCertificate(name: "localhost")
        for name in ["pem", "key"] {
            try FileManager.default.copyItem(
                atPath: directory.path("server.\(name)"), toPath: directory.path("broker.\(name)"))
        }
        try directory.write(try Self.accessList(Self.shipped.appendingPathComponent("devices").path), to: "acl")
        try directory.write("", to: "passwords")
        for user in Self.users {
            try runCommand(["mosquitto_passwd", "-b", directory.path("passwords"), user, "of-\(user)"], in: directory)
        }
        let text = try String(contentsOf: Self.shipped.appendingPathComponent("jostle.conf"), encoding: .utf8)
            .replacingOccurrences(of: "/etc/mosquitto/jostle", with: directory.path)
            .replacingOccurrences(of: "listener 8883", with: "listener {port} 127.0.0.1")
        broker = try TestBroker(
            directory: directory,
            configuration: text + "\nuser root\npersistence true\npersistence_location \(directory.path)/\n")
        try await broker.start()
    }

    private static func accessList(_ devices: String, _ arguments: String...) throws -> String {
        let process = Process()
        process.executableURL = shipped.appendingPathComponent("make-acl")
        process.arguments = [devices] + arguments
        let output = Pipe()
        let errors = Pipe()
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        let problem = String(decoding: errors.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Refusal(status: process.terminationStatus, text: problem)
        }
        return text
    }

    private struct Refusal: Error {
        let status: Int32
        let text: String
    }

    /// A client that subscribes to every topic that it may read.
    private final class User: Sendable {
        let client: MQTTClient<Never>
        private let received: Received

        final class Received: Sendable {
            let topics = Mutex<Set<String>>([])
            let subscribed = Atomic<Bool>(false)
        }

        init(_ name: String, at port: UInt16, caFile: String) async throws {
            var options = MQTTOptions(
                brokers: [BrokerAddress(host: "localhost", port: port, usesTLS: true)], clientID: "test-\(name)")
            options.tls.caFile = caFile
            options.credentials = MQTTCredentials(userName: name, password: MQTTCredentials.Secret("of-\(name)"))
            options.backoff.base = .milliseconds(20)
            let received = Received()
            self.received = received
            client = try MQTTClient<Never>(options: options) { event in
                switch event {
                case .message(let message): received.topics.withLock { _ = $0.insert(message.topic) }
                case .subscribed: received.subscribed.store(true, ordering: .relaxed)
                default: break
                }
            }
            try client.subscribe(to: "#", qos: .atLeastOnce)
            try client.start()
            try #require(await eventually { received.subscribed.load(ordering: .relaxed) }, "\(name) cannot subscribe")
        }

        func publish(_ topic: String) throws {
            try client.publish(MQTTMessage(topic: topic, text: "x", qos: .atLeastOnce))
        }

        func receives(_ topic: String) -> Bool { received.topics.withLock { $0.contains(topic) } }

        func end() { _ = client.stop(within: .milliseconds(300)) }
    }

    private func user(_ name: String) async throws -> User {
        try await User(name, at: broker.port, caFile: certificates.caFile)
    }

    @Test func devicesWriteOnlyTheirOwnTopics() async throws {
        defer { broker.kill() }
        let home = try await user("operator")
        let device = try await user("lamp-switch")
        defer {
            home.end()
            device.end()
        }
        let allowed = [
            "jostle/lamp-switch/availability", "jostle/lamp-switch/event/shake", "jostle/lamp-switch/stream",
            "jostle/lamp-switch/config/reported", "jostle/lamp-switch/command/tare/result", "jostle/_reply/abc/1",
            "homeassistant/sensor/lamp-switch/roll/config", "cmnd/lamp/POWER",
        ]
        let refused = [
            "jostle/lamp-switch/config/desired", "jostle/lamp-switch/set/gestures.shake.enabled", "jostle/_all/config",
            "jostle/_group/living/config", "jostle/washer-1/event/shake", "jostle/washer-1/availability",
            "jostle/washer-1/command/restart", "jostle/washer-1/config/desired", "jostle/washer-1/set/x",
            "homeassistant/sensor/washer-1/roll/config", "homeassistant/status", "cmnd/other/POWER", "anything",
        ]
        for topic in refused + allowed { try device.publish(topic) }
        for topic in allowed where topic != "cmnd/lamp/POWER" {
            #expect(await eventually(within: .seconds(20)) { home.receives(topic) }, "\(topic)")
        }
        for topic in refused { #expect(!home.receives(topic), "\(topic)") }
    }

    @Test func devicesReadOwnGroupAndFleetTopics() async throws {
        defer { broker.kill() }
        let home = try await user("operator")
        let lamp = try await user("lamp-switch")
        let washer = try await user("washer-1")
        defer { for user in [home, lamp, washer] { user.end() } }
        let everybodys = ["jostle/_all/config", "homeassistant/status"]
        let lamps = [
            "jostle/lamp-switch/config/desired", "jostle/lamp-switch/set/a.b", "jostle/lamp-switch/command/tare",
            "jostle/lamp-switch/event/shake", "jostle/_group/living/config", "jostle/_group/test/config",
        ]
        let washers = [
            "jostle/washer-1/config/desired", "jostle/washer-1/event/shake", "jostle/_group/laundry/config",
        ]
        let nobodys = ["jostle/_group/other/config", "jostle/washer-12/event/shake"]
        // The fleet topic comes last, so everything else has arrived by then.
        for topic in nobodys + lamps + washers + everybodys { try home.publish(topic) }
        for topic in lamps + everybodys { #expect(await eventually { lamp.receives(topic) }, "\(topic)") }
        for topic in washers + everybodys { #expect(await eventually { washer.receives(topic) }, "\(topic)") }
        for topic in washers + nobodys { #expect(!lamp.receives(topic), "\(topic)") }
        for topic in lamps + nobodys { #expect(!washer.receives(topic), "\(topic)") }
    }

    @Test func homeReadsAndCommandsButCannotImpersonate() async throws {
        defer { broker.kill() }
        let operators = try await user("operator")
        let home = try await user("homeassistant")
        let washer = try await user("washer-1")
        defer { for user in [operators, home, washer] { user.end() } }
        try home.publish("jostle/washer-1/event/shake")
        try home.publish("jostle/_all/config")
        try home.publish("jostle/washer-1/command/tare")
        try home.publish("jostle/washer-1/set/gestures.shake.sensitivity")
        #expect(await eventually { washer.receives("jostle/washer-1/set/gestures.shake.sensitivity") })
        #expect(washer.receives("jostle/washer-1/command/tare"))
        #expect(!operators.receives("jostle/washer-1/event/shake") && !operators.receives("jostle/_all/config"))
        try washer.publish("jostle/washer-1/event/shake")
        #expect(await eventually { home.receives("jostle/washer-1/event/shake") })
    }

    @Test func agentWorksWithAccessList() async throws {
        defer { broker.kill() }
        let home = try await user("operator")
        defer { home.end() }
        try directory.write("of-washer-1\n", to: "secret")
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: directory.path("secret"))
        let recording = try directory.write(Recording.shake(), to: "shakes.csv")
        let ways = [
            "device.id=washer-1", "mqtt.broker=mqtts://localhost:\(broker.port)", "mqtt.username=washer-1",
            "mqtt.password_file=\(directory.path("secret"))", "mqtt.ca_file=\(certificates.caFile)",
        ].flatMap { ["--set", $0] }
        let sensor = ["sensor.driver=virtual", "sensor.trajectory=\(recording)", "sensor.rate=50Hz"]
        let agent = try JostleProgram(["run", "--for", "60"] + ways + sensor.flatMap { ["--set", $0] })
        defer { agent.kill() }
        #expect(await eventually { home.receives("jostle/washer-1/event/shake") }, "\(agent.errors)")
        try home.publish("jostle/washer-1/command/tare")
        #expect(await eventually { home.receives("jostle/washer-1/command/tare/result") }, "\(agent.errors)")
        // The board's command line, as the device itself.
        let trial = try JostleProgram(["simulate", "shake", "--on", "washer-1"] + ways)
        defer { trial.kill() }
        #expect(await trial.exitStatus() == 0)
        #expect(trial.output.contains("shake began"), "\(trial.output) \(trial.errors)")
        #expect(
            !agent.errors.contains("rejects") && !agent.errors.contains("refused the subscription"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func rejectsClientsWithoutPassword() async throws {
        defer { broker.kill() }
        let agent = try JostleProgram(
            [
                "run", "--for", "60", "--set", "mqtt.broker=mqtts://localhost:\(broker.port)", "--set",
                "sensor.driver=virtual",
            ]
                + ["--set", "mqtt.ca_file=\(certificates.caFile)"])
        defer { agent.kill() }
        #expect(await agent.logs("check user name and password"), "\(agent.errors)")
    }

    @Test(
        arguments: [
            ("washer-1 - - x", "more than"), ("_all", "not a device's id"), ("operator", "another user"),
            ("a\na", "twice"), ("a b,+", "name of a group"), ("a - x/#", "not a topic"),
            ("a - jostle/b/state", "not a topic"),
        ])
    func refusesInvalidDeviceLists(list: String, reason: String) async throws {
        defer { broker.kill() }
        let path = try directory.write("# devices\n\(list)\n", to: "devices")
        do {
            _ = try Self.accessList(path)
            Issue.record("accepted")
        } catch let refusal as Refusal {
            #expect(refusal.status == 65 && refusal.text.contains("devices:") && refusal.text.contains(reason))
        }
    }

    @Test func supportsOtherPrefixes() async throws {
        defer { broker.kill() }
        let list = try Self.accessList(Self.shipped.appendingPathComponent("devices").path, "plant/jostle", "ha")
        #expect(list.contains("topic read plant/jostle/_group/laundry/config\n"))
        #expect(list.contains("topic readwrite ha/+/washer-1/#\n") && !list.contains(" jostle/"))
    }
}
