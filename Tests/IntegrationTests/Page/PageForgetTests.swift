import BrokerTestSupport
import Foundation
import HTTPTestSupport
import MosquittoClient
import Testing

/// Requirement: the page forgets a board that is gone, and nothing else; and what it could not remove, it says.
@Suite(.needsPage) struct PageForgetTests {
    private let rig = Rig()

    /// What the broker holds of the board `old` and of others.
    private static let retained: KeyValuePairs = [
        "homeassistant/sensor/old/tilt/config": "{}", "homeassistant/sensor/old-2/tilt/config": "{}",
        "jostle/_registry/old": #"{"schema":1,"revision":1,"groups":[]}"#,
        "jostle/old/config/desired": #"{"schema":1,"revision":1,"config":{}}"#,
    ]

    private static let boards: [SimulatedBoards.Board] = [
        .init(id: "old", isOnline: false), .init(id: "old-2", isOnline: false), .init(id: "door"),
    ]

    /// A page with control that knows the boards.
    private func page(
        _ broker: TestBroker, _ settings: [String] = []
    ) async throws -> (PageRig, PageEvents, RawHTTP.Header) {
        let page = try await rig.page(broker: broker.port, ["page.control=true"] + settings)
        let cookie = try page.signIn()
        let events = try rig.events(page, "view=boards", cookie)
        let areThere = await eventually { events.last("listed")?.object["boards"] as? Int == 3 }
        try #require(areThere, "\(page.program.errors)")
        return (page, events, cookie)
    }

    /// Asks to forget the board `old`; returns the answer, which comes in chunks when it is known.
    private func forget(_ page: PageRig, _ cookie: RawHTTP.Header) throws -> [String: Any] {
        let reply = try page.post("/api/forget", #"{"board":"old"}"#, cookie)
        #expect(reply.status == 200)
        let start = try #require(reply.body.firstIndex(of: "{"))
        let end = try #require(reply.body.lastIndex(of: "}"))
        return try #require(try JSON.object(reply.body[start...end]))
    }

    private func history(_ page: PageRig, _ cookie: RawHTTP.Header) throws -> String {
        try RawHTTP.get(page.port, "/api/history?board=old", [cookie]).body
    }

    @Test func forgottenBoardIsGoneFromBrokerHistoryAndList() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards)
        for (topic, text) in Self.retained { boards.publish(topic, text) }
        let (page, events, cookie) = try await page(broker)
        boards.publish(
            "jostle/old/event/shake", #"{"id":"r-1","t":1,"gesture":"shake","phase":"ended"}"#, retain: false)
        #expect(await eventually { (try? history(page, cookie).contains("r-1")) == true })
        try await observer.catchUp()
        let count = observer.all.count

        let answer = try forget(page, cookie)
        #expect(answer["ok"] as? Bool == true && answer["removed"] as? Int == 5, "\(answer)")
        #expect(answer["groups"] as? Bool == true && answer["message"] == nil, "\(answer)")
        try await observer.catchUp()
        // Home Assistant first, and nothing but what is the board's own.
        #expect(
            observer.topics[count...].map { $0 } == [
                "homeassistant/sensor/old/tilt/config", "jostle/old/availability", "jostle/old/config/desired",
                "jostle/old/config/reported", "jostle/old/health",
            ])
        #expect(observer.all[count...].allSatisfy { $0.payload.isEmpty })
        #expect(await eventually { events.last("removed")?.json as? [String] == ["old"] })
        let rows = try history(page, cookie)
        #expect(rows.contains("\"recording\"") && !rows.contains("r-1") && !rows.contains("\"online\""), "\(rows)")
        let late = try await Observer(broker.port)
        for topic in ["jostle/_registry/old", "homeassistant/sensor/old-2/tilt/config", "jostle/old-2/health"] {
            #expect(await late.sees { $0.topics.contains(topic) }, "\(topic)")
        }
        #expect(late.topics.filter { $0.contains("/old/") }.isEmpty, "\(late.topics)")
        #expect(try page.post("/api/forget", #"{"board":"old"}"#, cookie).status == 404)

        // It comes back.
        boards.publish("jostle/old/availability", "online")
        #expect(await eventually { events.last("listed")?.object["boards"] as? Int == 3 })
        #expect(await eventually { (try? history(page, cookie).contains(#""online":true"#)) == true })
    }

    @Test func aBoardThatIsOnlineIsRefused() async throws {
        let (broker, _, observer) = try await rig.observedFleet(Self.boards)
        let (page, _, cookie) = try await page(broker)
        try await observer.catchUp()
        let count = observer.all.count
        let reply = try page.post("/api/forget", #"{"board":"door"}"#, cookie)
        #expect(reply.status == 409)
        let answer = try #require(try JSON.object(reply.body))
        #expect(answer["error"] as? String == "online", "\(answer)")
        #expect((answer["message"] as? String)?.hasPrefix("door is online: it would publish") == true, "\(answer)")
        for (body, status) in [(#"{"board":"nobody"}"#, 404), (#"{"board":"_all"}"#, 400), ("{}", 400)] {
            #expect(try page.post("/api/forget", body, cookie).status == status, "\(body)")
        }
        try await observer.catchUp()
        #expect(observer.all.count == count, "\(observer.topics[count...])")
    }

    @Test func withoutTheBrokerNothingIsForgotten() async throws {
        let (broker, boards) = try await rig.fleet(Self.boards)
        defer { withExtendedLifetime(boards) {} }
        let (page, events, cookie) = try await page(broker)
        broker.kill()
        #expect(await eventually { events.last("broker")?.object["connected"] as? Bool == false })
        let reply = try page.post("/api/forget", #"{"board":"old"}"#, cookie)
        #expect(reply.status == 503 && reply.body.contains(#""error":"not_connected""#), "\(reply.body)")
        #expect(events.last("removed") == nil)
        #expect(try history(page, cookie).contains("\"online\""))
    }

    /// With the access rules that Jostle ships: what the operator may do, the user of a page that only shows may not.
    @Test(arguments: [MQTTVersion.v5, .v311], ["operator", "page"])
    func theAccessRulesDecide(version: MQTTVersion, user: String) async throws {
        let rules = try String(
            contentsOf: FleetBroker.shipped.appendingPathComponent("acl"), encoding: .utf8)
        let broker = try await rig.broker(rules: "topic readwrite #\n" + rules)
        let boards = try await SimulatedBoards(broker.port, Self.boards)
        for (topic, text) in Self.retained { boards.publish(topic, text) }
        let observer = try await Observer(broker.port)
        let (page, events, cookie) = try await page(
            broker, ["mqtt.username=\(user)", "mqtt.version=\(version == .v5 ? "v5" : "v3.1.1")"])
        let answer = try forget(page, cookie)
        guard user == "page" else {
            #expect(answer["ok"] as? Bool == true && answer["removed"] as? Int == 5, "\(answer)")
            return
        }
        #expect(answer["ok"] as? Bool == false && answer["removed"] as? Int == 0, "\(answer)")
        let message = answer["message"] as? String ?? ""
        let reason = version == .v5 ? "Not authorized" : "the broker has not removed it"
        #expect(message.hasPrefix("old is not forgotten: jostle/old/availability: "), "\(message)")
        #expect(message.contains(reason), "\(message)")
        #expect(events.last("removed") == nil)
        #expect(await observer.sees { $0.topics.contains("jostle/old/availability") })
        #expect(observer.all.allSatisfy { !$0.payload.isEmpty })
        #expect(try history(page, cookie).contains("\"online\""))
    }
}
