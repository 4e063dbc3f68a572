import BrokerTestSupport
import Testing

/// Requirement: with the broker of `config/mosquitto`, an agent and its command line can do all they need.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct BrokerConfigurationTests {
    private let rig = Rig()

    @Test func agentWorksWithAccessRules() async throws {
        let fleet = try await FleetBroker(rig)
        let home = try await fleet.client("operator").connected()
        // A discovery message of an earlier version, which the agent reads back and removes.
        let obsolete = "homeassistant/sensor/washer-1/old/config"
        try home.publish(obsolete, "{\"origin\":{\"name\":\"Jostle\"}}", retain: true)
        let recording = try fleet.directory.write(Recording.shake(), to: "shakes.csv")
        let agent = try fleet.agent("washer-1", trajectory: recording)
        #expect(await home.receives("jostle/washer-1/event/shake"), "\(agent.errors)")
        try home.publish("jostle/washer-1/command/tare")
        #expect(await home.receives("jostle/washer-1/command/tare/result"), "\(agent.errors)")
        #expect(await eventually { home.topics(of: "").contains(obsolete) }, "\(agent.errors)")
        for topic in ["availability", "attitude", "state", "health", "config/reported"] {
            #expect(await home.receives("jostle/washer-1/\(topic)"))
        }
        #expect(await home.receives("homeassistant/button/washer-1/tare/config"))

        // The board's command line, as the device itself.
        try await JostleProgram(
            ["simulate", "shake", "--on", "washer-1"] + fleet.settings(of: "washer-1", .commands)
        ).outcome().expect(status: 0, output: "shake began")
        #expect(
            !agent.errors.contains("reject") && !agent.errors.contains("refused the subscription"), "\(agent.errors)")
        #expect(await agent.terminate() == 0)
    }

    @Test func rejectsClientsWithoutPassword() async throws {
        let fleet = try await FleetBroker(rig)
        let settings = [
            "mqtt.broker=mqtts://localhost:\(fleet.port(.devices))", "sensor.driver=virtual",
            "mqtt.ca_file=\(fleet.certificates.caFile)",
        ]
        let agent = try rig.run(["run", "--for", "60"] + settings.flatMap { ["--set", $0] })
        #expect(await agent.logs("check user name and password"), "\(agent.errors)")
    }

    /// A board with another id is another user, who may not remove what the first left. The operator may.
    @Test func renamedBoardSaysWhatItMayNotRemove() async throws {
        let fleet = try await FleetBroker(rig)
        let home = try await fleet.client("operator").connected()
        let state = fleet.directory.path("state")
        let first = try fleet.agent("washer-1", state: state)
        #expect(await home.receives("jostle/washer-1/config/reported"), "\(first.errors)")
        #expect(await home.receives("homeassistant/button/washer-1/tare/config"), "\(first.errors)")
        #expect(await first.terminate() == 0)
        let second = try fleet.agent("lamp-1", state: state)
        #expect(
            await second.logs("cannot remove the retained messages of the former name jostle/washer-1"),
            "\(second.errors)")
        #expect(await second.logs("the broker rejects Home Assistant discovery messages"), "\(second.errors)")
        #expect(await home.receives("homeassistant/button/lamp-1/tare/config"), "\(second.errors)")
        #expect(!home.topics(of: "").contains { $0.hasPrefix("jostle/washer-1/") })

        // The command of docs/broker.md. Status 27 means that the time is over.
        let remove = """
            mosquitto_sub -h localhost -p \(fleet.port(.commands)) --cafile \(fleet.certificates.caFile) -I _ \
                -u operator -P of-operator -W 2 --remove-retained \
                -t 'jostle/washer-1/#' -t 'homeassistant/+/washer-1/#'
            [ $? = 27 ]
            """
        try runCommand(["sh", "-c", remove], in: fleet.directory)
        let kept = try await fleet.client("observer").connected()
        try kept.publish("last")
        #expect(await kept.receives("last"))
        #expect(!kept.topics.contains { $0.contains("/washer-1/") }, "\(kept.topics)")
        #expect(kept.topics.contains("jostle/lamp-1/availability"))
        #expect(await second.terminate() == 0)
    }

    /// With certificates, the common name is the user, and no password is needed.
    @Test func certificatesNameTheUser() async throws {
        let fleet = try await FleetBroker(
            rig, uncommented: ["require_certificate true", "use_identity_as_username true"])
        let directory = fleet.directory
        for user in ["washer-1", "observer"] { try fleet.certificates.makeClientCertificate(user: user) }
        func settings(_ user: String, _ listener: FleetBroker.Listener) -> [String] {
            [
                "mqtt.broker=mqtts://localhost:\(fleet.port(listener))", "mqtt.ca_file=\(fleet.certificates.caFile)",
                "mqtt.certificate_file=\(directory.path("\(user).pem"))",
                "mqtt.key_file=\(directory.path("\(user).key"))",
            ].flatMap { ["--set", $0] }
        }
        let board = ["--set", "device.id=washer-1"]
        let watch = try rig.run(["watch", "--json", "--for", "120"] + settings("observer", .commands))
        let agent = try rig.run(
            ["run", "--for", "120", "--set", "sensor.driver=virtual"] + board + settings("washer-1", .devices))
        #expect(await eventually { watch.output.contains("jostle/washer-1/health") }, "\(watch.errors) \(agent.errors)")
        let stop = try await JostleProgram(["stop"] + board + settings("washer-1", .commands)).outcome().expect(
            status: 0)
        #expect(stop.output == "washer-1: stopped\n")
        #expect(!watch.output.contains("offline"))
        #expect(await agent.terminate() == 0)
    }
}
