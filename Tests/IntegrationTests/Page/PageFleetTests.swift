import BrokerTestSupport
import Foundation
import Testing

/// Requirement: the page of all boards shows rollouts as they go, with the boards that do not follow and why.
@Suite(.needsPage) struct PageFleetTests {
    private let rig = Rig()
    private let commands = FleetCommandTests()

    private func agent(_ id: String, _ port: UInt16, remote: String = "gestures") throws -> JostleProgram {
        let settings = [
            "device.id=\(id)", "mqtt.broker=mqtt://127.0.0.1:\(port)", "sensor.driver=virtual", "sensor.rate=50Hz",
            "fleet.remote=[\(remote)]",
        ]
        return try rig.run(["run", "--for", "120"] + settings.flatMap { ["--set", $0] })
    }

    /// The layer `all` as it was last shown.
    private func layer(_ events: PageEvents) -> [String: Any] {
        let layers = events.last("fleet")?.object["layers"] as? [[String: Any]] ?? []
        return layers.first { $0["layer"] as? String == "all" } ?? [:]
    }

    private func counts(_ events: PageEvents) -> [String: Int] { layer(events)["counts"] as? [String: Int] ?? [:] }

    @Test func layerThatOneBoardRejectsIsShownAndTakenBack() async throws {
        let broker = try await rig.broker()
        let agents = [
            try agent("washer-1", broker.port), try agent("washer-2", broker.port),
            try agent("door", broker.port, remote: "attitude"),
        ]
        defer { for agent in agents { agent.kill() } }
        let page = try await rig.page(broker: broker.port)
        let events = try rig.events(page, "view=boards", try page.signIn())
        let areThere = await eventually { events.last("listed")?.object["boards"] as? Int == 3 }
        try #require(areThere, "\(events.all)")
        #expect((events.last("fleet")?.object["layers"] as? [Any])?.isEmpty == true)

        let set = try await commands.fleet(
            broker, "set", "--all", "gestures.shake.sensitivity=7", "--note", "less eager")
        #expect(set.status == 0 || set.status == 75 || set.status == 65, "\(set)")
        let isShown = await eventually { counts(events) == ["applied": 2, "rejected": 1] }
        #expect(isShown, "\(layer(events))")
        #expect(layer(events)["revision"] as? Int == 1 && layer(events)["boards"] as? Int == 3)
        #expect(layer(events)["reason"] as? String == "less eager")
        let failing = layer(events)["failing"] as? [[String: String]] ?? []
        #expect(failing.map { $0["id"] } == ["door"])
        #expect(failing.first?["error"]?.contains("gestures.shake.sensitivity") == true, "\(failing)")
        let isInRow = await eventually {
            events.all("boards").contains { $0.data.contains("\"id\":\"door\"") && $0.data.contains("all: rejected") }
        }
        #expect(isInRow, "\(events.all("boards"))")

        // Back to a layer that sets nothing: all boards take it, and it is not shown any more.
        try await commands.fleet(broker, "unset", "--all", "gestures.shake.sensitivity").expect(status: 0)
        let isBack = await eventually { layer(events).isEmpty && events.all("fleet").count > 1 }
        #expect(isBack, "\(layer(events))")
    }

    @Test func forgottenBoardLeavesTheList() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "gone", isOnline: false), .init(id: "here")])
        let page = try await rig.page(broker: broker.port)
        let events = try rig.events(page, "view=boards", try page.signIn())
        let areThere = await eventually { events.last("listed")?.object["boards"] as? Int == 2 }
        try #require(areThere, "\(events.all)")
        try await commands.fleet(broker, "forget", "gone").expect(status: 0)
        let isGone = await eventually {
            events.last("removed")?.json as? [String] == ["gone"]
                && events.last("listed")?.object["boards"] as? Int == 1
        }
        #expect(isGone, "\(events.all)")
        boards.publish("jostle/gone/availability", "online")
        #expect(await eventually { events.last("listed")?.object["boards"] as? Int == 2 })
    }

    /// The groups of a board arrive after what it publishes, when the list is full of invented boards.
    @Test func floodHidesNoBoardOfTheRegistry() async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 0")
        try await commands.publish((0...5000).map { ("a-\($0)/availability", "online") }, broker)
        let groups = #"{"schema":1,"revision":1,"groups":["laundry"]}"#
        try await commands.publish([("washer-1/availability", "online"), ("_registry/washer-1", groups)], broker)
        let page = try await rig.page(broker: broker.port)
        let events = try rig.events(page, "view=boards", try page.signIn())
        let isThere = await eventually {
            let rows = events.all("boards").flatMap { $0.json as? [[String: Any]] ?? [] }
            return rows.contains { $0["id"] as? String == "washer-1" && $0["online"] as? Bool == true }
        }
        #expect(isThere)
        #expect(await eventually { events.last("listed")?.object["ignored"] as? Int == 2 })
    }

    @Test func fullListArrivesWholeHoweverLongItIs() async throws {
        // A broker drops what a slow reader has not taken: by default beyond 1,000 messages.
        let broker = try await rig.broker(settings: "allow_anonymous true\nmax_queued_messages 10000")
        let problems = (0..<8).map { "\"\($0)\(String(repeating: "x", count: 190))\"" }.joined(separator: ",")
        let many = (0..<600).map {
            SimulatedBoards.Board(id: "board-\($0)", health: "{\"problems\":[\(problems)]}")
        }
        let boards = try await SimulatedBoards(broker.port, many)
        let page = try await rig.page(broker: broker.port)
        let cookie = try page.signIn()
        let first = try rig.events(page, "view=boards", cookie)
        // A page that opens when everything is known gets a megabyte at once.
        try #require(await eventually { first.last("listed")?.object["boards"] as? Int == 600 })
        let second = try rig.events(page, "view=boards", cookie)
        let isListed = await eventually { second.last("listed")?.object["boards"] as? Int == 600 }
        #expect(isListed)
        let rows = second.all("boards").flatMap { $0.json as? [[String: Any]] ?? [] }
        #expect(Set(rows.compactMap { $0["id"] as? String }).count == 600)
        #expect(second.all("dropped").isEmpty && boards.boards.count == 600)
    }
}
