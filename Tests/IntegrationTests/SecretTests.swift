import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: a password appears in nothing that the agent logs, publishes, stores or shows to other users, at any
/// log level.
@Suite(.needsBroker) struct SecretTests {
    private let rig = Rig()

    private static let marker = "hush-4711-hush"

    @Test(arguments: [true, false]) func passwordLeaksNowhere(isRight: Bool) async throws {
        let broker = try await rig.broker(
            users: ["watcher": "other"].merging(isRight ? ["me": Self.marker] : [:]) { $1 })
        let observer = try await Observer(
            broker.port,
            credentials: MQTTCredentials(userName: "watcher", password: MQTTCredentials.Secret("other")))

        // As systemd passes credentials.
        let credentials = try TemporaryDirectory()
        try credentials.write("me\n", to: "user")
        try credentials.write(Self.marker + "\n", to: "password")
        for name in ["user", "password"] {
            try FileManager.default.setAttributes([.posixPermissions: 0o400], ofItemAtPath: credentials.path(name))
        }
        let state = try TemporaryDirectory()
        let directory = try TemporaryDirectory()
        let shakes = try directory.write(Recording.shake(), to: "shakes.csv")
        let agent = try rig.virtualAgent(
            broker: broker.port, shakes,
            [
                "mqtt.username_file=credential:user", "mqtt.password_file=credential:password",
                "publish.health.interval=1 s",
            ], state: state.path, environment: ["CREDENTIALS_DIRECTORY": credentials.path])
        if isRight {
            #expect(await observer.sees { try $0.shakes().count >= 2 }, "\(agent.errors)")
            // Nor does a request for the password or for its file reveal it.
            for (topic, text) in [
                ("command/get-state", ""), ("set/mqtt.password_file", "\"/etc/hostname\""), ("set/mqtt.password", "1"),
                ("command/ping", "{\"password\":1}"),
            ] {
                try observer.publish("jostle/dut/\(topic)", text)
            }
            #expect(await observer.sees { $0.messages("command/ping/result").count == 1 }, "\(agent.errors)")
            #expect(await observer.sees { !$0.messages("health").isEmpty && !$0.messages("config/reported").isEmpty })
        } else {
            #expect(await agent.logs("check user name and password"), "\(agent.errors)")
        }
        for name in ["cmdline", "environ", "comm"] {
            let text = try Data(contentsOf: URL(fileURLWithPath: "/proc/\(agent.processIdentifier)/\(name)"))
            #expect(name == "comm" || text.count > 100)
            #expect(!Self.isIn(text), "\(name)")
        }
        #expect(await agent.terminate() == 0)
        #expect(!agent.errors.isEmpty && !Self.isIn(Data((agent.errors + agent.output).utf8)))
        for message in observer.all {
            #expect(!message.topic.contains(Self.marker) && !Self.isIn(Data(message.payload)), "\(message.topic)")
        }
        let files = try #require(FileManager.default.subpaths(atPath: state.path))
        #expect(files.contains("outbox.sqlite3"))
        for file in files {
            guard let content = FileManager.default.contents(atPath: state.path(file)) else { continue }
            #expect(!Self.isIn(content), "\(file)")
        }
    }

    private static func isIn(_ data: Data) -> Bool { data.range(of: Data(marker.utf8)) != nil }
}
