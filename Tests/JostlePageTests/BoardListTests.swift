import Documents
import JostleMessages
import JostleOperator
import MosquittoClient
import MotionCore
import Testing

@testable import JostlePage

/// Requirement: the list shows all boards, forgets those whose retained messages were removed, and stays bounded whatever
/// arrives.
@Suite struct BoardListTests {
    static func take(_ list: inout BoardList, _ topic: String, _ text: String, retain: Bool = true) {
        guard let parsed = BoardTopic("jostle/\(topic)", prefix: "jostle") else { return }
        let message = MQTTMessage(topic: "jostle/\(topic)", text: text, retain: retain)
        _ = list.update(parsed, message, at: Timestamp(seconds: 1), milliseconds: 1_795_132_800_000)
    }

    private static func ids(_ rows: [JSONObject]) -> [String] {
        rows.map { String($0.description.split(separator: "\"")[3]) }
    }

    @Test func forgottenBoardLeavesListAndMemory() throws {
        var list = BoardList(prefix: "jostle")
        Self.take(&list, "a/availability", "online")
        Self.take(&list, "a/attitude", #"{"roll":1,"pitch":2,"yaw":3}"#, retain: false)
        Self.take(&list, "b/availability", "online")
        let first = list.rows(after: 0, limit: 10)
        #expect(Self.ids(first.rows) == ["a", "b"] && first.isLast)
        let before = list.changes
        let forgotten = ["a", "a", "unknown"].map { list.forget($0) }
        #expect(forgotten == [true, false, false])
        #expect(list.model.boards.keys.sorted() == ["b"] && list.attitude(of: "a") == nil)
        let removed = try #require(list.removed(after: before))
        #expect(removed.ids == ["a"])
        #expect(list.removed(after: removed.change)?.ids == [])
        #expect(list.rows(after: first.change, limit: 10).rows.isEmpty)
        // The other topics are cleared after the availability.
        Self.take(&list, "a/state", "", retain: false)
        #expect(list.model.boards["a"] == nil)
        Self.take(&list, "a/availability", "online")
        #expect(Self.ids(list.rows(after: first.change, limit: 10).rows) == ["a"], "it is there again")
    }

    @Test func pageThatMissedTooManyRemovalsBeginsAnew() {
        var list = BoardList(prefix: "jostle")
        let start = list.changes
        for number in 0..<1100 {
            Self.take(&list, "board-\(number)/availability", "online")
            let isForgotten = list.forget("board-\(number)")
            #expect(isForgotten)
        }
        #expect(list.removed(after: start) == nil)
        #expect(list.removed(after: list.changes)?.ids == [])
        #expect(list.removed(after: list.changes - 4)?.ids == ["board-1098", "board-1099"])
    }

    @Test func boardsComeAndGoWithoutEnd() {
        var list = BoardList(prefix: "jostle")
        for number in 0..<FleetModel.maximumWatched + 20 {
            Self.take(&list, "board-\(number)/availability", "offline")
            Self.take(&list, "board-\(number)/state", #"{"moving":false}"#)
        }
        #expect(list.model.boards.count == FleetModel.maximumWatched)
        #expect(list.ignoredBoards == 20, "boards, not messages")
        let isForgotten = list.forget("board-1")
        #expect(isForgotten)
        Self.take(&list, "board-5010/availability", "offline")
        #expect(list.model.boards["board-5010"] != nil)
        #expect(list.ignoredBoards == 19)
    }

    /// Boards of which the page, or a document at the broker, says more than a flood does stay in the list, or come into it.
    @Test func knownBoardsStayInAFlood() throws {
        var list = BoardList(prefix: "jostle", seen: ["ran-today"])
        for number in 0..<FleetModel.maximumWatched {
            Self.take(&list, "invented-\(number)/availability", "online")
        }
        let before = list.changes
        Self.take(&list, "ran-today/availability", "online")
        Self.take(&list, "washer-1/availability", "online")
        #expect(list.model.boards["ran-today"] != nil && list.model.boards["washer-1"] == nil)
        let removed = try #require(list.removed(after: before)?.ids.first)
        #expect(list.details[removed] == nil && list.ignoredBoards == 2)
        // The document comes after what the board publishes, which must be read again.
        list.noteDocument(.registry("washer-1"), at: Timestamp(seconds: 1))
        let isDue = [2.0, 4, 5].map { list.mustReadAgain(at: Timestamp(seconds: $0)) }
        #expect(isDue == [false, true, false])
        Self.take(&list, "washer-1/availability", "online")
        #expect(list.model.boards["washer-1"]?.isOnline == true && list.ignoredBoards == 2)
        list.noteDocument(.device("away"), at: Timestamp(seconds: 6))
        let isDueAgain = [10.0, 64].map { list.mustReadAgain(at: Timestamp(seconds: $0)) }
        #expect(isDueAgain == [false, true], "at most once a minute")
    }

    @Test func boardOfWhichNewConnectionSaysNothingIsForgotten() {
        var list = BoardList(prefix: "jostle")
        list.connected(at: Timestamp(seconds: 0))
        Self.take(&list, "here/availability", "online")
        Self.take(&list, "moving/availability", "online")
        Self.take(&list, "gone/availability", "online")
        let first = list.silent(at: Timestamp(seconds: 1000))
        #expect(first.isEmpty, "the first connection proves nothing")
        list.connected(at: Timestamp(seconds: 2000))
        Self.take(&list, "here/availability", "online")
        Self.take(&list, "moving/attitude", #"{"roll":1}"#, retain: false)
        let silent = [2200.0, 2301, 2400].map { list.silent(at: Timestamp(seconds: $0)) }
        #expect(silent == [[], ["gone"], []])
    }

    @Test func rowsComeInPartsThatFitIntoAnEvent() {
        var list = BoardList(prefix: "jostle")
        let long = String(repeating: "\u{1F600}", count: 190)
        for number in 0..<500 {
            let problems = (0..<8).map { "\"\($0)\(number < 250 ? long : "")\"" }.joined(separator: ",")
            Self.take(&list, "board-\(1000 + number)/availability", "online")
            Self.take(&list, "board-\(1000 + number)/health", "{\"problems\":[\(problems)]}")
        }
        var ids: [String] = []
        var change: UInt64 = 0
        var isLast = false
        while !isLast {
            let part = list.rows(after: change, limit: 200)
            #expect(!part.rows.isEmpty && part.rows.count <= 200)
            #expect(part.rows.map(\.description.utf8.count).reduce(0, +) < 120_000)
            ids += Self.ids(part.rows)
            (change, isLast) = (part.change, part.isLast)
        }
        #expect(ids == (0..<500).map { "board-\(1000 + $0)" })
    }
}
