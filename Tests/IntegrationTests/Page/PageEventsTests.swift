import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// What arrives in the open pages.
@Suite(.needsPage) struct PageEventsTests {
    private let rig = Rig()

    @Test func theProgramEndsInOrderWhilePagesAreOpen() async throws {
        let broker = try await rig.broker()
        let page = try await rig.page(broker: broker.port)
        let cookie = try page.signIn()
        let readers = try ["view=boards", "board=dut&stream=1", "board=dut&stream=0"].map {
            try PageStreamReader(page, $0, cookie)
        }
        for reader in readers { #expect(reader.next()?.name == "hello") }
        page.program.signal(SIGTERM)
        #expect(await page.program.exitStatus() == 0, "\(page.program.errors)")
        for reader in readers { #expect(reader.next("none") == nil) }
    }

    /// What a page needs that sets a value for several boards: the reports of these, and of no others.
    @Test func aPageOfAllBoardsFollowsTheReportsOfSome() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "a"), .init(id: "b"), .init(id: "c")])
        let page = try await rig.page(broker: broker.port, ["page.control=true"])
        let cookie = try page.signIn()
        let list = try rig.events(page, "view=boards", cookie)
        let other = try rig.events(page, "view=boards", cookie)
        let areThere = await eventually {
            list.last("listed")?.object["boards"] as? Int == 3 && other.last("listed") != nil
        }
        try #require(areThere)
        let viewer = try #require(list.last("hello")?.object["viewer"] as? Int)
        #expect(viewer != other.last("hello")?.object["viewer"] as? Int)
        func follow(_ ids: [String], _ number: Int) throws -> Int {
            let list = ids.map { "\"\($0)\"" }.joined(separator: ",")
            return try page.post("/api/follow", "{\"viewer\":\(number),\"boards\":[\(list)]}", cookie).status
        }
        func reported(_ events: PageEvents) -> [String] {
            events.all("report").compactMap { $0.object["board"] as? String }
        }
        #expect(try follow(["a", "b"], viewer) == 202)
        #expect(await eventually { Set(reported(list)) == ["a", "b"] })
        let report = try #require(list.last("report")?.object["report"] as? [String: Any])
        #expect(report["settings"] is [String: Any] && report["origins"] is [String: Any], "\(report)")
        // What comes later, of the others not.
        let count = reported(list).count
        for id in ["c", "a"] { boards.publish("jostle/\(id)/config/reported", #"{"settings":{}}"#) }
        #expect(await eventually { reported(list).count > count })
        #expect(reported(list)[count...].allSatisfy { $0 == "a" } && reported(other).isEmpty)
        // No longer.
        #expect(try follow([], viewer) == 202)
        let end = reported(list).count
        boards.publish("jostle/a/config/reported", "{}")
        boards.publish("jostle/c/health", #"{"problems":["clock"]}"#)
        #expect(await eventually { list.last("boards")?.data.contains("clock") == true })
        #expect(reported(list).count == end)

        #expect(try follow(["a"], viewer + 100) == 404, "no such page")
        #expect(try follow(["a/b"], viewer) == 400)
        #expect(try follow((0...100).map { "x-\($0)" }, viewer) == 400, "too many in a request")
        for part in 0..<5 { #expect(try follow((0..<100).map { "x-\(part)-\($0)" }, viewer) == 202) }
        #expect(try follow(["a"], viewer) == 400, "too many of a page")
        #expect(try page.post("/api/follow", #"{"boards":["a"]}"#, cookie).status == 400)
        #expect(try page.post("/api/follow", #"{"viewer":\#(viewer)}"#, cookie).status == 400)
    }

    @Test func aLargeFleetArrivesWhole() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let count = 1000
        // About 900 bytes a row.
        let problems = (0..<4).map { "\"\($0) \(String(repeating: "p", count: 190))\"" }.joined(separator: ",")
        for number in 0..<count {
            for (end, payload) in [("availability", "online"), ("health", "{\"problems\":[\(problems)]}")] {
                try observer.publish(
                    MQTTMessage(
                        topic: "jostle/board-\(number)/\(end)", payload: Array(payload.utf8), qos: .atLeastOnce,
                        retain: true))
            }
            // The client's queue is bounded.
            guard number % 100 == 99 else { continue }
            try #require(await observer.sees { $0.all.count >= 2 * (number + 1) })
        }
        try #require(await observer.sees { $0.all.count >= 2 * count })
        let page = try await rig.page(broker: broker.port)
        let cookie = try page.signIn()
        let reader = try PageStreamReader(page, "view=boards", cookie)
        var rows: Set<String> = []
        var listed = 0
        while listed < count, let event = reader.next(where: { $0.name != "ping" && $0.name != "hello" }) {
            #expect(event.name != "dropped")
            guard event.name == "boards" || event.name == "listed" else { continue }
            let json = try JSONSerialization.jsonObject(with: Data(event.data.utf8))
            if let list = json as? [[String: Any]] {
                #expect(list.count <= 200)
                for row in list { if let id = row["id"] as? String, row["problems"] != nil { rows.insert(id) } }
            } else if let object = json as? [String: Any] {
                listed = object["boards"] as? Int ?? 0
            }
        }
        #expect(listed == count)
        #expect(rows.count == count)
    }

    @Test func aPageThatReadsLateIsToldHowMuchItMissed() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let page = try await rig.page(broker: broker.port)
        let cookie = try page.signIn()
        let slow = try PageStreamReader(page, "board=dut&stream=1", cookie, receiveBuffer: 65_536)
        let quick = try PageStreamReader(page, "board=dut&stream=1", cookie)
        let padding = String(repeating: "x", count: 20_000)
        var number = 0
        func publish() throws {
            number += 1
            let payload = Array("{\"seq\":\(number),\"x\":\"\(padding)\"}".utf8)
            try observer.publish(MQTTMessage(topic: "jostle/dut/stream", payload: payload, qos: .atLeastOnce))
        }
        var isSubscribed = false
        while !isSubscribed, number < 100 {
            try publish()
            isSubscribed = quick.next()?.name == "stream"
        }
        try #require(isSubscribed)
        // More than the kernel and the queue hold for the slow one, at the pace of the quick one.
        for _ in 0..<50 {
            for _ in 0..<10 { try publish() }
            let last = "{\"seq\":\(number),"
            try #require(quick.next { $0.data.hasPrefix(last) } != nil)
        }
        let dropped = try #require(slow.next("dropped"))
        #expect(dropped.data.hasPrefix("{\"messages\":"))
        let next = try #require(slow.next("stream"), "and it goes on")
        #expect(next.data.hasPrefix("{\"seq\":"))
    }
}
