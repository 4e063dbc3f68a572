import BrokerTestSupport
import Foundation
import MosquittoClient

/// A mosquitto with the files of `config/mosquitto`, and with an additional user, `observer`, who may do everything.
struct FleetBroker {
    /// The ports of the shipped configuration.
    enum Listener: Sendable {
        /// 8883: one connection for each user.
        case devices
        /// 8884: command lines and the web page.
        case commands
    }

    /// The users with passwords: two devices, the other users of the access rules, and a name that mosquitto's patterns
    /// must not accept.
    static let users = ["washer-1", "lamp-1", "operator", "homeassistant", "page", "watch", "+"]

    /// The directory of the shipped files.
    static let shipped = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent().appendingPathComponent("config/mosquitto")

    let directory: TemporaryDirectory
    let certificates: TestCertificates
    private let broker: TestBroker
    private let commandPort: UInt16
    private let rig: Rig

    /// Starts the broker. It ends with the rig, and so do its clients and agents.
    ///
    /// - Parameters:
    ///   - rig: that of the test.
    ///   - uncommented: lines of the access rules and of the configuration from which `#` is removed.
    ///   - change: a change of the access rules.
    /// - Throws: if the broker does not start.
    init(
        _ rig: Rig, uncommented: [String] = [], changing change: (String) throws -> String = { $0 }
    ) async throws {
        self.rig = rig
        directory = try TemporaryDirectory()
        certificates = try TestCertificates(directory: directory)
        try certificates.makeServerCertificate(name: "localhost")
        for name in ["pem", "key"] {
            try FileManager.default.copyItem(
                atPath: directory.path("server.\(name)"), toPath: directory.path("broker.\(name)"))
        }
        func text(_ name: String) throws -> String {
            let text = try String(contentsOf: Self.shipped.appendingPathComponent(name), encoding: .utf8)
            return uncommented.reduce(text) { $0.replacingOccurrences(of: "\n#\($1)\n", with: "\n\($1)\n") }
        }
        let observer = "user observer\ntopic readwrite #\ntopic readwrite $SYS/#\n"
        try directory.write(try change(text("acl")) + observer, to: "acl")
        try directory.write("", to: "passwords")
        for user in Self.users + ["observer"] {
            try runCommand(["mosquitto_passwd", "-b", directory.path("passwords"), user, "of-\(user)"], in: directory)
        }
        commandPort = try Loopback.freePort()
        let configuration = try text("jostle.conf")
            .replacingOccurrences(of: "/etc/mosquitto/jostle", with: directory.path)
            .replacingOccurrences(of: "listener 8883", with: "listener {port} 127.0.0.1")
            .replacingOccurrences(of: "listener 8884", with: "listener \(commandPort) 127.0.0.1")
        broker = try TestBroker(
            directory: directory,
            configuration: configuration + "\nuser root\npersistence true\npersistence_location \(directory.path)/\n")
        try await broker.start()
        rig.atEnd { [broker] in broker.kill() }
    }

    func port(_ listener: Listener) -> UInt16 {
        switch listener {
        case .devices: broker.port
        case .commands: commandPort
        }
    }

    /// A client that subscribes to everything, as an MQTT library would, with a client id of its own.
    func client(
        _ user: String, _ listener: Listener = .commands, clientID: String? = nil,
        versions: MQTTOptions.Versions = .automatic, will: MQTTMessage? = nil
    ) throws -> FleetClient {
        var options = MQTTOptions(
            brokers: [BrokerAddress(host: "localhost", port: port(listener), usesTLS: true)],
            clientID: clientID ?? "_test-\(UUID().uuidString)")
        options.tls.caFile = certificates.caFile
        options.credentials = MQTTCredentials(userName: user, password: MQTTCredentials.Secret("of-\(user)"))
        options.versions = versions
        options.will = will
        options.backoff.base = .milliseconds(20)
        let client = try FleetClient(options)
        rig.atEnd { client.end() }
        return client
    }

    /// The settings of a board: its id is its user name.
    func settings(of device: String, _ listener: Listener) throws -> [String] {
        let secret = try directory.write("of-\(device)\n", to: "secret-\(device)", permissions: 0o600)
        return [
            "device.id=\(device)", "mqtt.broker=mqtts://localhost:\(port(listener))", "mqtt.username=\(device)",
            "mqtt.password_file=\(secret)", "mqtt.ca_file=\(certificates.caFile)",
        ].flatMap { ["--set", $0] }
    }

    /// Runs a device's agent on a virtual chip.
    func agent(_ device: String, trajectory: String = "rest", state: String? = nil) throws -> JostleProgram {
        let sensor = ["sensor.driver=virtual", "sensor.trajectory=\(trajectory)", "sensor.rate=50Hz"]
        return try rig.run(
            ["run", "--for", "120"] + settings(of: device, .devices) + sensor.flatMap { ["--set", $0] },
            environment: state.map { ["STATE_DIRECTORY": $0] } ?? [:])
    }
}
