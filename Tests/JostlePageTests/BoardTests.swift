import JostleMessages
import JostleOperator
import MosquittoClient
import MotionCore
import Testing

@testable import JostlePage

/// Topics of boards.
@Suite struct BoardTopicTests {
    @Test(arguments: [
        ("availability", ServerSentEvent.Name.availability, ""), ("attitude", .attitude, ""), ("motion", .motion, ""),
        ("state", .state, ""), ("machine", .machine, ""), ("health", .health, ""), ("stream", .stream, ""),
        ("near-miss", .nearMiss, ""),
        ("config/reported", .reported, ""), ("event/shake", .gesture, "shake"),
        ("command/calibrate/result", .result, "calibrate"),
    ])
    func isOneThatThePageShows(_ end: String, _ name: ServerSentEvent.Name, _ detail: String) throws {
        let topic = try #require(BoardTopic("jostle/washer-1/\(end)", prefix: "jostle"))
        #expect(topic.board == "washer-1")
        #expect(topic.name == name)
        #expect(topic.detail == detail)
        let deep = try #require(BoardTopic("home/cellar/washer-1/\(end)", prefix: "home/cellar"))
        #expect(deep == topic)
    }

    @Test(arguments: [
        "", "/", "jostle", "jostle/", "jostle/a", "jostle/a/", "jostle//state", "jostle/a/state/", "jostle/a//state",
        "jostle/_all/config", "jostle/_all/state", "jostle/-a/state", "jostle/a b/state", "jostle/../state",
        "jostle/a/event", "jostle/a/event/shake/x", "jostle/a/command/x", "jostle/a/command/x/result/y",
        "jostle/a/config/desired", "jostle/a/set/x", "jostles/a/state", "other/a/state", "jostle/é/state",
    ])
    func isNot(_ topic: String) {
        #expect(BoardTopic(topic, prefix: "jostle") == nil)
    }
}

/// The list of all boards.
@Suite struct BoardRowsTests {
    private var list = BoardList(prefix: "jostle")

    @discardableResult private mutating func take(
        _ id: String, _ end: String, _ payload: String, retain: Bool = false, at milliseconds: Int64 = 5000
    ) throws -> BoardList.Update {
        let message = MQTTMessage(topic: "jostle/\(id)/\(end)", payload: Array(payload.utf8), retain: retain)
        let topic = try #require(BoardTopic(message.topic, prefix: "jostle"))
        return list.update(topic, message, at: Timestamp(nanoseconds: 0), milliseconds: milliseconds)
    }

    private func rows(after change: UInt64 = 0, limit: Int = 200, bytes: Int = 65_536) -> [String] {
        list.rows(after: change, limit: limit, bytes: bytes).rows.map(\.description)
    }

    @Test mutating func aBoardAppearsWithItsFirstMessage() throws {
        #expect(rows() == [])
        let update = try take("a", "availability", "online", retain: true)
        #expect(update.isOnline == true)
        let row = try #require(rows().first)
        #expect(row.hasPrefix(#"{"id":"a","#))
        #expect(row.contains(#""online":true"#))
        #expect(!row.contains(#""seen""#), "a retained message says nothing about now")
        try take("a", "availability", "offline")
        let later = try #require(rows().first)
        #expect(later.contains(#""online":false"#) && later.contains(#""seen":5000"#))
    }

    @Test mutating func onlyChangedRowsComeAgain() throws {
        for id in ["a", "b", "c"] { try take(id, "availability", "online", retain: true) }
        let all = list.rows(after: 0, limit: 200, bytes: 65_536)
        #expect(all.isLast && all.rows.count == 3)
        #expect(rows(after: all.change) == [])
        try take("b", "availability", "offline")
        #expect(rows(after: all.change).map { $0.hasPrefix(#"{"id":"b""#) } == [true])
        try take("b", "availability", "offline")
        #expect(rows(after: all.change).count == 1, "the same again is no change")
    }

    @Test(arguments: [(7, 1_000_000), (200, 1000), (1, 1), (200, 1)])
    mutating func slicesHaveEachRowOnce(_ limit: Int, _ bytes: Int) throws {
        for index in 0..<100 { try take("board-\(index)", "availability", "online", retain: true) }
        var change: UInt64 = 0
        var seen: [String] = []
        var isLast = false
        while !isLast {
            let part = list.rows(after: change, limit: limit, bytes: bytes)
            #expect(part.rows.count <= limit)
            #expect(part.rows.dropLast().reduce(0) { $0 + $1.bytes.count } < bytes)
            try #require(part.change > change || part.isLast)
            seen += part.rows.map(\.description)
            (change, isLast) = (part.change, part.isLast)
        }
        #expect(seen.count == 100)
        #expect(Set(seen).count == 100)
    }

    @Test mutating func aRepeatedGestureIsTold() throws {
        try take("a", "availability", "online", retain: true)
        let shake = #"{"id":"r-1","t":1795182603123,"gesture":"shake","phase":"began"}"#
        let first = try take("a", "event/shake", shake)
        let second = try take("a", "event/shake", shake)
        #expect(!first.isRepeated)
        #expect(second.isRepeated)
        #expect(list.gestures(of: "a").map(\.bytes) == [ServerSentEvent(.gesture, Array(shake.utf8)).bytes])
        #expect(list.gestures(of: "nobody").isEmpty)
    }

    @Test mutating func theLastEightGesturesAreKept() throws {
        for number in 1...20 {
            try take(
                "a", "event/shake",
                #"{"id":"r-\#(number)","t":\#(1_795_182_603_123 + number),"gesture":"shake","phase":"began"}"#)
        }
        let kept = list.gestures(of: "a").map { String(decoding: $0.bytes, as: UTF8.self) }
        #expect(kept.count == 8)
        #expect(kept.first?.contains("r-13") == true && kept.last?.contains("r-20") == true)
    }

    @Test(arguments: [
        "", "{", "[]", "null", "\"", "{\"a\":1e999}", "\u{0}", "{\"gesture\":{}}",
        "{\"t\":\"x\",\"problems\":7,\"rate\":\"fast\"}",
    ])
    mutating func foreignPayloadsLeaveAReadableList(_ payload: String) throws {
        try take("a", "availability", "online", retain: true)
        for end in [
            "availability", "state", "machine", "health", "event/shake", "event/machine", "config/reported", "attitude",
            "motion", "stream",
        ] {
            try take("a", end, payload)
        }
        #expect(rows().count == 1)
    }
}

/// Asking boards for every sample.
@Suite struct StreamLeasesTests {
    private var leases = StreamLeases()

    private mutating func due(_ now: Double, online: Bool = true) -> [String] {
        leases.due(at: now) { _ in online }.map { "\($0.id) \($0.arguments.description)" }
    }

    private let all =
        #"a {"duration":30,"fields":["acceleration","rotation","attitude","field"],"interval":0.02,"near_misses":true}"#
    private let withoutField =
        #"a {"duration":30,"fields":["acceleration","rotation","attitude"],"interval":0.02,"near_misses":true}"#
    private let basic = #"a {"duration":30,"fields":["acceleration","rotation","attitude"]}"#

    @Test mutating func isRenewedWhileSomebodyLooks() {
        leases.open("a", at: 100)
        #expect(due(100) == [all])
        #expect(due(119.9) == [])
        #expect(due(120) == [all])
        leases.close("a")
        #expect(due(1000) == [])
    }

    @Test mutating func severalViewersShareALease() {
        leases.open("a", at: 100)
        leases.open("a", at: 100)
        #expect(due(100) == [all])
        leases.close("a")
        #expect(due(120) == [all])
        leases.close("a")
        leases.close("a")
        #expect(due(140) == [])
        leases.open("a", at: 150)
        #expect(due(150) == [all], "a new one, as if there had been none")
    }

    @Test mutating func waitsUntilTheBoardIsOnline() {
        leases.open("a", at: 100)
        #expect(due(100, online: false) == [])
        #expect(due(101) == [all])
        leases.restart("a", at: 105)
        #expect(due(105) == [all], "a restarted agent knows of no stream")
    }

    @Test mutating func anOldAgentIsAskedForWhatItKnows() {
        leases.open("a", at: 100)
        _ = due(100)
        leases.refused("a", error: "bad_arguments", at: 101)
        #expect(due(101) == [withoutField])
        leases.refused("a", error: "bad_arguments", at: 102)
        #expect(due(102) == [basic], "one that is older still")
        leases.refused("a", error: "bad_arguments", at: 103)
        #expect(due(131) == [], "it refuses that too")
        #expect(due(163) == [basic])
    }

    @Test(arguments: [("busy", 10.0), ("too_many", 10), ("sensor_unavailable", 10), ("not_allowed", 60), ("", 60)])
    mutating func aRefusalIsRespectedForAWhile(_ error: String, _ pause: Double) {
        leases.open("a", at: 100)
        _ = due(100)
        leases.refused("a", error: error, at: 101)
        #expect(due(101 + pause - 0.1) == [])
        #expect(due(101 + pause) == [all])
    }

    @Test mutating func refusalsOfOthersAreIgnored() {
        leases.refused("a", error: "busy", at: 101)
        leases.restart("a", at: 101)
        leases.close("a")
        #expect(due(200) == [])
    }
}

/// The boards that somebody looks at.
@Suite struct WatchedBoardsTests {
    private var boards = WatchedBoards(prefix: "jostle")

    private func gesture(_ number: Int) -> ServerSentEvent { ServerSentEvent(.gesture, Array("\(number)".utf8)) }

    @Test mutating func theFirstPageSubscribesAndTheLastUnsubscribesLater() {
        let filters = boards.open("a")
        #expect(filters.contains(.init("jostle/a/stream")))
        #expect(filters.contains(.init("jostle/a/command/+/result", isReliable: true)))
        #expect(boards.open("a") == [])
        boards.close("a", at: 100)
        #expect(boards.forget(at: 1000) == [], "somebody still looks")
        boards.close("a", at: 1000)
        #expect(boards.forget(at: 1019.9) == [])
        #expect(boards.contains("a"))
        #expect(boards.forget(at: 1020) == filters)
        #expect(!boards.contains("a"))
    }

    @Test mutating func aPageThatReturnsInTimeFindsEverything() {
        _ = boards.open("a")
        boards.keep(ServerSentEvent(.state, Array("1".utf8)), of: "a")
        boards.close("a", at: 100)
        #expect(boards.open("a") == [])
        #expect(boards.forget(at: 1000) == [])
        #expect(boards.events(of: "a").count == 1)
    }

    @Test mutating func theNewestOfEachStateAndTheLastGesturesAreKept() {
        _ = boards.open("a")
        for number in 0..<150 { boards.keep(gesture(number), of: "a") }
        for text in ["1", "2"] {
            for name in [ServerSentEvent.Name.motion, .availability, .stream, .result, .nearMiss] {
                boards.keep(ServerSentEvent(name, Array(text.utf8)), of: "a")
            }
        }
        let events = boards.events(of: "a")
        #expect(events.prefix(2).map(\.name) == [.availability, .motion])
        #expect(events[1] == ServerSentEvent(.motion, Array("2".utf8)))
        #expect(Array(events.dropFirst(2)) == (50..<150).map(gesture))
    }

    @Test mutating func nothingIsKeptOfOtherBoards() {
        boards.keep(gesture(1), of: "b")
        #expect(!boards.contains("b"))
        #expect(boards.events(of: "b").isEmpty)
    }
}
