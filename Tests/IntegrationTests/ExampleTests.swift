import BrokerTestSupport
import Foundation
import Testing

/// Requirement: each file in `config/examples` is right, and does what its first comment says.
///
/// The agents run with the whole file. Only the chip, the broker, and files with secrets are replaced. The movement is
/// simulated in the running agent.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "there is no openssl")) struct ExampleTests {
    private let rig = Rig()

    /// An example and what is tried with it.
    struct Example: Sendable, CustomTestStringConvertible {
        var file: String
        /// The beginning of its topics.
        var device: String
        /// The command to the agent, and its arguments; none if the file needs none.
        var command = "simulate"
        var arguments = ""
        /// What the movement needs, and what makes the test shorter or independent of the time of day.
        var settings: [String] = []
        /// The message that must arrive: its topic and a pattern in its payload.
        var topic: String
        var payload: String

        var testDescription: String { file }
    }

    static let examples = [
        Example(
            file: "shake-a-lamp", device: "jostle/lamp-shaker", arguments: #"{"movement":"shake"}"#,
            topic: "jostle/lamp-shaker/event/shake", payload: #""phase":"began""#),
        Example(
            file: "shake-a-tasmota-lamp", device: "jostle/lamp-shaker", arguments: #"{"movement":"shake"}"#,
            settings: ["gestures.shake.when.quiet_hours=null"], topic: "cmnd/desk-lamp/POWER", payload: "^TOGGLE$"),
        Example(
            file: "washing-machine", device: "jostle/washing-machine", arguments: #"{"movement":"fan","seconds":15}"#,
            settings: ["gestures.vibration.done_after=5 s"], topic: "home/washing-machine",
            payload: #"^\{"done": true, "seconds": 1[0-9](\.[0-9]+)?\}$"#),
        Example(
            file: "letterbox", device: "jostle/letterbox", arguments: #"{"movement":"tilt"}"#,
            topic: "home/letterbox", payload: "^opened$"),
        Example(
            file: "door-knock", device: "jostle/door", arguments: #"{"movement":"double-tap"}"#,
            settings: ["gestures.tap.when.quiet_hours=null"], topic: "home/door", payload: "^knock$"),
        Example(
            file: "robot", device: "jostle/robot", command: "stream", arguments: #"{"duration":5}"#,
            topic: "jostle/robot/stream", payload: #""n":"#),
        Example(
            file: "fleet-with-groups", device: "jostle/motor-4", arguments: #"{"movement":"bump"}"#,
            topic: "jostle/motor-4/event/impact", payload: #""phase":"recognized""#),
        Example(
            file: "fleet-with-tls", device: "plant/jostle/press-17", arguments: #"{"movement":"shake"}"#,
            topic: "plant/jostle/press-17/event/shake", payload: #""phase":"began""#),
        Example(
            file: "without-hardware", device: "jostle/simulated", command: "",
            topic: "jostle/simulated/event/shake", payload: #""phase":"began""#),
    ]

    private static var folder: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent().appendingPathComponent("config/examples")
    }

    private let directory = TemporaryDirectory.new()

    @Test func everyExampleIsTried() throws {
        let names = try FileManager.default.contentsOfDirectory(atPath: Self.folder.path)
        #expect(names.sorted() == Self.examples.map { $0.file + ".yaml" }.sorted())
    }

    /// A broker with TLS for boards with a certificate, and without TLS for the observer.
    private func broker() async throws -> (broker: TestBroker, plainPort: UInt16) {
        let certificates = try TestCertificates(directory: directory)
        try certificates.makeServerCertificate(name: "localhost")
        try certificates.makeClientCertificate(user: "press-17")
        let plainPort = try Loopback.freePort()
        let listener = """
            \(certificates.listenerLines)
            require_certificate true
            listener \(plainPort) 127.0.0.1
            """
        return (try await TestBroker.started(listener: listener), plainPort)
    }

    /// The arguments that name a copy of the example, beside which its files are, with what is replaced.
    private func arguments(_ example: Example, port: UInt16, plainPort: UInt16) throws -> [String] {
        let text = try String(contentsOf: Self.folder.appendingPathComponent(example.file + ".yaml"), encoding: .utf8)
        let file = try directory.write(text, to: "example.yaml")
        var settings = example.settings
        if text.contains("ca_file:") {
            try FileManager.default.createDirectory(atPath: directory.path("tls"), withIntermediateDirectories: false)
            let files = ["ca.pem": "plant-ca.pem", "press-17.pem": "press-17.pem", "press-17.key": "press-17.key"]
            for (source, name) in files {
                try FileManager.default.copyItem(atPath: directory.path(source), toPath: directory.path("tls/" + name))
            }
            settings.append("mqtt.broker=mqtts://localhost:\(port)")
        } else {
            settings.append("mqtt.broker=mqtt://127.0.0.1:\(plainPort)")
        }
        if text.contains("password_file:") {
            let password = try directory.write("secret\n", to: "password", permissions: 0o600)
            settings.append("mqtt.password_file=\(password)")
        }
        if !text.contains("driver: virtual") { settings += ["sensor.driver=virtual", "sensor.trajectory=rest"] }
        return [file] + settings.flatMap { ["--set", $0] }
    }

    @Test(arguments: examples) func exampleDoesWhatItSays(_ example: Example) async throws {
        let (broker, plainPort) = try await broker()
        let arguments = try arguments(example, port: broker.port, plainPort: plainPort)
        try await rig.run(["check-config"] + arguments).outcome().expect(status: 0)

        let observer = try await Observer(plainPort)
        let agent = try rig.run(["run", "--config"] + arguments)
        if !example.command.isEmpty {
            // The attitude is settled, and the commands are subscribed.
            try #require(await observer.sees { $0.topics.contains(example.device + "/health") }, "\(agent.errors)")
            #expect(!observer.topics.contains(example.topic), "before anything has moved")
            let topic = "\(example.device)/command/\(example.command)"
            try observer.publish(topic, example.arguments)
        }
        let pattern = try Regex(example.payload)
        let isSeen = await observer.sees {
            $0.all.contains {
                $0.topic == example.topic && String(decoding: $0.payload, as: UTF8.self).contains(pattern)
            }
        }
        #expect(isSeen, "\(Set(observer.topics)) \(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    /// Its comment has a command that changes a value for the group.
    @Test func groupOfTheFleetExampleIsConfigured() async throws {
        let (broker, plainPort) = try await broker()
        let example = try #require(Self.examples.first { $0.file == "fleet-with-groups" })
        let arguments = try arguments(example, port: broker.port, plainPort: plainPort)
        let observer = try await Observer(plainPort)
        let agent = try rig.run(["run", "--config"] + arguments)
        try #require(await observer.sees { $0.topics.contains("jostle/motor-4/config/reported") }, "\(agent.errors)")
        let text = try String(contentsOfFile: arguments[0], encoding: .utf8)
        let command = try #require(text.firstMatch(of: /(?m)^#   jostle (fleet .*)$/)).1
            .replacing("mqtt://broker.plant.example", with: "mqtt://127.0.0.1:\(plainPort)")
        try await rig.run(command.split(separator: " ").map(String.init)).outcome().expect(status: 0)
        let isInForce = await observer.sees {
            let origins = try $0.objects("config/reported", of: "motor-4").last?["origins"] as? [String: String]
            return origins?["gestures.impact.sensitivity"] == "group:motors"
        }
        #expect(isInForce, "\(observer.texts("config/reported", of: "motor-4").last ?? "")")
        #expect(await agent.terminate() == 0)
    }
}
