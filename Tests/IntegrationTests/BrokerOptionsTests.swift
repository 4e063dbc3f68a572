import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the agent follows the settings of broker and connection under `mqtt`.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct BrokerOptionsTests {
    private let rig = Rig()
    private let certificates: TestCertificates

    init() throws {
        certificates = try TestCertificates(directory: TemporaryDirectory())
    }

    private func agent(_ settings: String...) throws -> JostleProgram { try agent(settings) }

    private func agent(_ settings: [String]) throws -> JostleProgram {
        let all = ["device.id=dut", "sensor.driver=virtual", "sensor.trajectory=rest", "sensor.rate=50Hz"] + settings
        return try rig.run(
            ["run", "--for", "60"] + all.flatMap { ["--set", $0] },
            environment: ["CREDENTIALS_DIRECTORY": certificates.directory.path])
    }

    private func tlsBroker(for name: String, listener: String = "") async throws -> TestBroker {
        try certificates.makeServerCertificate(name: name)
        return try await TestBroker.started(
            directory: certificates.directory, listener: certificates.listenerLines + "\n" + listener)
    }

    @Test func supportsCADirectoryAndClientCertificate() async throws {
        let broker = try await tlsBroker(for: "localhost", listener: "require_certificate true")
        let authorities = try TemporaryDirectory()
        try certificates.rehash(into: authorities)
        let url = "mqtt.broker=mqtts://localhost:\(broker.port)"
        let itself = [
            url, "mqtt.ca_directory=\(authorities.path)",
            "mqtt.certificate_file=\(certificates.directory.path("server.pem"))",
            "mqtt.key_file=credential:server.key", "mqtt.alpn=mqtt",
        ]
        try await agent(itself).outcome().expect(
            status: 78, errors: "server.key: every user can read it; run chmod o= ")

        try FileManager.default.setAttributes(
            [.posixPermissions: 0o600], ofItemAtPath: certificates.directory.path("server.key"))
        let known = try agent(itself)
        #expect(await known.logs("connected to mqtts://localhost:\(broker.port)"), "\(known.errors)")
        #expect(await known.terminate() == 0)
        let unknown = try agent(url, "mqtt.ca_directory=\(authorities.path)")
        #expect(await unknown.logs("client certificate and key"), "\(unknown.errors)")
        #expect(!unknown.errors.contains("connected to"))
    }

    @Test func verifiesHostNameUnlessDisabled() async throws {
        let broker = try await tlsBroker(for: "other.example")
        let common = ["mqtt.broker=mqtts://localhost:\(broker.port)", "mqtt.ca_file=\(certificates.caFile)"]
        let careful = try agent(common[0], common[1])
        #expect(await careful.logs("certificate is for another host name"), "\(careful.errors)")
        #expect(!careful.errors.contains("connected to"))
        let careless = try agent(common[0], common[1], "mqtt.server_name_check=false")
        #expect(await careless.logs("connected to mqtts://localhost:\(broker.port)"), "\(careless.errors)")
    }

    @Test func requestsALPN() async throws {
        try certificates.makeServerCertificate(name: "localhost")
        let server = try TLSServer(certificates, protocols: "x-jostle")
        defer { server.end() }
        let agent = try agent(
            "mqtt.broker=mqtts://localhost:\(server.port)", "mqtt.ca_file=\(certificates.caFile)", "mqtt.alpn=x-jostle")
        #expect(
            await eventually { server.output.contains("ALPN protocols advertised by the client: x-jostle") },
            "\(server.output) \(agent.errors)")
    }

    @Test func blamesClockForCertificateNotYetValid() async throws {
        try certificates.makeServerCertificate(name: "localhost", .future)
        let broker = try await rig.broker(
            directory: certificates.directory, listener: certificates.listenerLines)
        let agent = try agent(
            "mqtt.broker=mqtts://localhost:\(broker.port)", "mqtt.ca_file=\(certificates.caFile)")
        #expect(await agent.logs("not valid yet; check this board's clock"), "\(agent.errors)")
        broker.stop()
        try certificates.makeServerCertificate(name: "localhost")
        try await broker.start()
        #expect(await agent.logs("connected to mqtts://localhost:\(broker.port)"), "\(agent.errors)")
    }

    @Test(arguments: [("auto", "5"), ("v5", "5"), ("v3.1.1", "3.1.1")])
    func usesConfiguredProtocolVersion(setting: String, version: String) async throws {
        let broker = try await rig.broker()
        let agent = try agent("mqtt.broker=mqtt://127.0.0.1:\(broker.port)", "mqtt.version=\(setting)")
        #expect(
            await agent.logs("connected to mqtt://127.0.0.1:\(broker.port) with MQTT \(version)\n"), "\(agent.errors)")
    }

    @Test func triesBrokersInTurn() async throws {
        let broker = try await rig.broker()
        let dead = try Loopback.freePort()
        let agent = try agent("mqtt.broker=[mqtt://127.0.0.1:\(dead), mqtt://127.0.0.1:\(broker.port)]")
        #expect(await agent.logs("connected to mqtt://127.0.0.1:\(broker.port)"), "\(agent.errors)")
        #expect(agent.errors.contains("mqtt://127.0.0.1:\(dead): "))
    }
}
