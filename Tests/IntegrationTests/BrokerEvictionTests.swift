import BrokerTestSupport
import Foundation
import Testing

/// Requirement: with the broker of `config/mosquitto`, nobody can disconnect a board's agent by taking its client id:
/// no other board, and not the board's own command line on the port for command lines.
@Suite(.needsBroker, .enabled(if: TestCertificates.isAvailable, "openssl is not installed"))
struct BrokerEvictionTests {
    private let rig = Rig()

    /// Expects that the agent was never offline, and still answers.
    private func expectConnected(
        _ agent: JostleProgram, _ observer: FleetClient, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        try observer.publish("jostle/washer-1/command/ping")
        #expect(
            await observer.receives("jostle/washer-1/command/ping/result"), "\(agent.errors)",
            sourceLocation: sourceLocation)
        let availability = observer.messages.filter { $0.topic == "jostle/washer-1/availability" }
            .map { String(decoding: $0.payload, as: UTF8.self) }
        #expect(Set(availability) == ["online"], "\(agent.errors)", sourceLocation: sourceLocation)
        let connections = agent.errors.split(separator: "\n").filter { $0.contains("connected to mqtts://") }
        #expect(connections.count == 1, "\(agent.errors)", sourceLocation: sourceLocation)
    }

    /// The client ids that a board's agent has: the one it sends, and its user name, which the broker uses instead.
    @Test(
        arguments: [FleetBroker.Listener.devices, .commands],
        [("_jostle-washer-1", isAdmitted: true), ("washer-1", isAdmitted: false)])
    func clientIDsOfOthersDisconnectNobody(
        _ listener: FleetBroker.Listener, _ attempt: (clientID: String, isAdmitted: Bool)
    ) async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        let agent = try fleet.agent("washer-1")
        #expect(await observer.receives("jostle/washer-1/availability"), "\(agent.errors)")
        for user in ["lamp-1", "operator"] {
            let other = try fleet.client(user, listener, clientID: attempt.clientID)
            defer { other.end() }
            #expect(await eventually { attempt.isAdmitted ? other.connections > 0 : other.isRefused }, "\(user)")
            #expect((other.connections > 0) == attempt.isAdmitted, "\(user)")
            try await expectConnected(agent, observer)
        }
        observer.end()
        #expect(await agent.terminate() == 0)
    }

    /// On the port for boards, a second connection of the board's user ends the first one.
    @Test func namesASecondClientOfTheBoardAndGivesWay() async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        let agent = try fleet.agent("washer-1")
        #expect(await observer.receives("jostle/washer-1/availability"), "\(agent.errors)")
        let watch = try rig.run(
            ["watch", "--plain", "--device", "washer-1"] + fleet.settings(of: "washer-1", .devices))
        #expect(
            await eventually { watch.output.contains("(use_username_as_clientid)") || !watch.isRunning },
            "\(watch.output)")
        #expect(watch.output.contains("set mqtt.command_broker"), "\(watch.output)")
        // The delays of the command grow beyond those of the agent, which keeps the connection.
        let connections = { agent.errors.components(separatedBy: "connected to mqtts://").count }
        var before = 0
        let isCalm = await eventually {
            let now = connections()
            defer { before = now }
            guard now == before else { return false }
            Thread.sleep(forTimeInterval: 5)
            return connections() == now
        }
        #expect(isCalm, "\(agent.errors)")
        #expect(await watch.terminate() == 0)
        #expect(await agent.terminate() == 0)
    }

    /// Home Assistant has a fixed client id. On the port for agents, no board can take it.
    @Test(arguments: [FleetBroker.Listener.devices, .commands], ["homeassistant", "_homeassistant"])
    func boardsCannotDisconnectHomeAssistant(_ listener: FleetBroker.Listener, _ clientID: String) async throws {
        let fleet = try await FleetBroker(rig)
        let home = try await fleet.client("homeassistant", .devices, clientID: "_homeassistant").connected()
        let board = try fleet.client("lamp-1", listener, clientID: clientID)
        #expect(await eventually { board.connections > 0 || board.isRefused })
        try home.publish("homeassistant/status", "online")
        #expect(await home.receives("homeassistant/status"))
        #expect(home.connections == 1 && home.losses == 0)
    }

    @Test func commandLineOfBoardLeavesItsAgentConnected() async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        let agent = try fleet.agent("washer-1")
        #expect(await observer.receives("jostle/washer-1/state"), "\(agent.errors)")

        let board = try fleet.settings(of: "washer-1", .commands)
        let watch = try rig.run(["watch", "--device", "washer-1", "--json", "--for", "120"] + board)
        #expect(await eventually { watch.output.contains("jostle/washer-1/health") }, "\(watch.errors)")
        for (command, answer) in [("stop", "washer-1: stopped\n"), ("start", "washer-1: sensing\n")] {
            #expect(try await JostleProgram([command] + board).outcome().expect(status: 0).output == answer)
        }
        let answers = { observer.topics.filter { $0.hasPrefix("jostle/_reply/washer-1/") }.count }
        #expect(await eventually { answers() == 2 }, "\(observer.topics)")
        #expect(watch.isRunning)
        try await expectConnected(agent, observer)
        #expect(await agent.terminate() == 0)
    }

    /// Another board's command line is admitted, but its command does not arrive.
    @Test func boardsCannotCommandOthers() async throws {
        let fleet = try await FleetBroker(rig)
        let observer = try await fleet.client("observer").connected()
        let agent = try fleet.agent("washer-1")
        #expect(await observer.receives("jostle/washer-1/state"), "\(agent.errors)")
        try await rig.run(["stop", "--on", "washer-1"] + fleet.settings(of: "lamp-1", .commands)).outcome()
            .expect(status: 69, errors: "no answer")
        try await expectConnected(agent, observer)
        #expect(!observer.topics.contains("jostle/washer-1/command/stop"))
    }
}
