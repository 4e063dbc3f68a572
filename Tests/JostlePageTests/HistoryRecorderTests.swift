import JostleMessages
import JostleOperator
import MosquittoClient
import MotionCore
import Testing

@testable import JostlePage

/// Requirement: the history has what happened, once, when it happened: gestures, what changed of a board, and its levels.
@Suite struct HistoryRecorderTests {
    private static let start: Int64 = 1_795_182_600_000

    /// The messages of a board on their way through the list of the page.
    private struct Rig {
        var list = BoardList(prefix: "jostle")
        var recorder = HistoryRecorder()

        /// Takes a message so many seconds after the start.
        mutating func take(_ topic: String, _ text: String, retain: Bool = false, after seconds: Double = 0)
            -> [HistoryRow]
        {
            guard let parsed = BoardTopic("jostle/\(topic)", prefix: "jostle") else { return [] }
            let message = MQTTMessage(topic: "jostle/\(topic)", text: text, retain: retain)
            let now = Timestamp(seconds: 100 + seconds)
            let milliseconds = start + Int64(1000 * seconds)
            let update = list.update(parsed, message, at: now, milliseconds: milliseconds)
            guard let change = update.change, let board = list.model.boards[parsed.board] else { return [] }
            return recorder.take(
                change, of: board, message.payload, isRetained: retain, at: now, milliseconds: milliseconds)
        }

        mutating func minute(_ number: Int64) -> [HistoryRow] {
            recorder.minute(list.model.boards, milliseconds: start + 60_000 * number)
        }
    }

    private static func shake(_ id: String, _ phase: String = "ended", _ more: String = "") -> String {
        #"{"id":"\#(id)","t":\#(start - 500),"gesture":"shake","phase":"\#(phase)"\#(more)}"#
    }

    private static func text(_ row: HistoryRow?) -> String {
        row.map { String(decoding: $0.content, as: UTF8.self) } ?? ""
    }

    /// Requirement: a machine that is not as it was is a row like a gesture.
    @Test func deviationOfAMachineIsKept() throws {
        var rig = Rig()
        let message =
            #"{"id":"r-1","t":\#(Self.start - 500),"gesture":"machine","phase":"began","octave":22.4,"decibels":4.2}"#
        let row = try #require(rig.take("a/event/machine", message).first)
        #expect(row.kind == .gesture && row.time == Self.start - 500 && Self.text(row) == message)
        #expect(rig.take("a/machine", #"{"t":\#(Self.start),"phase":"running","changed":true}"#).isEmpty)
    }

    @Test func gestureIsKeptAsItWasSaid() throws {
        var rig = Rig()
        let message = Self.shake("r-1", "ended", #","strength":14.2,"simulated":true"#)
        let row = try #require(rig.take("a/event/shake", message).first)
        #expect(
            row
                == HistoryRow(
                    board: "a", time: Self.start - 500, kind: .gesture, id: "r-1", content: Array(message.utf8)))
        #expect(rig.take("a/event/shake", message).isEmpty, "delivered twice")
        #expect(rig.take("a/event/shake", Self.shake("r-2"), retain: true).isEmpty, "no agent retains one")
        #expect(rig.take("a/event/turn", Self.shake("r-3", "changed")).isEmpty)
        let long = Self.shake("r-4", "ended", #","note":"\#(String(repeating: "x", count: 3000))""#)
        #expect(rig.take("a/event/shake", long).isEmpty)
        #expect(rig.take("a/event/shake", #"{"id":"r-5","t":"#).isEmpty)
    }

    /// Late events belong where they happened; times that cannot be right do not count.
    @Test(arguments: [
        (#""t":1795100000000,"delayed":true"#, Int64(1_795_100_000_000)),
        (#""t":1795182600000,"clock":"unset""#, start),
        (#""t":5"#, start), (#""t":1999999999999"#, start), (#""x":1"#, start),
    ])
    func timeOfAGesture(_ field: String, _ time: Int64) {
        var rig = Rig()
        let message = #"{"id":"r-1","gesture":"tap","phase":"recognized",\#(field)}"#
        #expect(rig.take("a/event/tap", message).map(\.time) == [time])
    }

    @Test func conditionIsKeptWhenItChanges() {
        var rig = Rig()
        let found = rig.take("a/availability", "online", retain: true)
        #expect(found.map(\.kind) == [.board] && Self.text(found.first) == #"{"online":true,"found":true}"#)
        let still = #"{"t":1,"moving":false,"side":"+z","tilt":3.1,"vibrating":false,"vibration":0}"#
        #expect(rig.take("a/state", still, retain: true).count == 1)
        #expect(rig.take("a/state", still, retain: true).isEmpty, "read again at another connection")
        #expect(rig.take("a/state", still.replacing("3.1", with: "3.4")).isEmpty, "a tilt is a level")
        let moving = rig.take("a/state", still.replacing(#""moving":false"#, with: #""moving":true"#), after: 7)
        #expect(
            moving == [
                HistoryRow(
                    board: "a", time: Self.start + 7000, kind: .board,
                    content: Array(#"{"online":true,"moving":true,"vibrating":false,"side":"+z"}"#.utf8))
            ])
        let ill = rig.take("a/health", #"{"problems":["sensor"],"uptime":7}"#)
        #expect(Self.text(ill.first).hasSuffix(#""problems":["sensor"]}"#), "\(ill)")
        #expect(rig.take("a/health", #"{"problems":["sensor"],"uptime":67}"#).isEmpty)
        #expect(Self.text(rig.take("a/availability", "offline").first).hasPrefix(#"{"online":false,"#))
        let virtual = rig.take("b/state", #"{"moving":true,"simulated":true,"stopped":true}"#)
        #expect(Self.text(virtual.first) == #"{"moving":true,"stopped":true,"simulated":true}"#)
    }

    /// Attitudes are most of the messages.
    @Test(arguments: ["attitude", "motion", "stream", "near-miss", "config/reported", "command/ping/result"])
    func nothingElseIsLookedAt(_ topic: String) {
        var rig = Rig()
        #expect(rig.take("a/availability", "online").count == 1)
        #expect(rig.take("a/\(topic)", #"{"t":1,"roll":1,"pitch":2,"yaw":3,"text":"x"}"#).isEmpty)
    }

    @Test func levelsAreKeptOnceAMinuteIfTheyChange() {
        var rig = Rig()
        func state(_ vibration: Double, _ tilt: Double) -> String {
            #"{"moving":false,"vibrating":true,"vibration":\#(vibration),"tilt":\#(tilt)}"#
        }
        _ = rig.take("a/availability", "online")
        _ = rig.take("a/state", state(0.25, 3.4))
        #expect(rig.minute(0).isEmpty && rig.minute(1).isEmpty && rig.minute(2).isEmpty)
        // The strongest of a minute counts.
        _ = rig.take("a/state", state(1.5, 3.4))
        _ = rig.take("a/state", state(0.1, 10.6))
        #expect(rig.minute(3).isEmpty && rig.minute(4).isEmpty)
        #expect(Self.text(rig.recorder.openLevels(of: "a")) == "[250,3,3,1500,11,1,100,11]")
        // What was before says nothing of the time after it was offline.
        _ = rig.take("a/availability", "offline")
        #expect(rig.minute(5).isEmpty)
        _ = rig.take("a/availability", "online")
        let rows = (6...60).flatMap { rig.minute($0) }
        #expect(rows.map(\.time) == [Self.start] && rows.map(\.kind) == [.levels])
        #expect(Self.text(rows.first) == "[250,3,3,1500,11,1,100,11,2,100,11]")
        #expect(rig.recorder.openLevels(of: "a") == nil && rig.recorder.takeLevels().isEmpty)
        _ = rig.take("a/state", state(2, 0))
        #expect(rig.minute(61).isEmpty)
        #expect(rig.recorder.forget("a").map { Self.text($0) } == ["[2000,0]"])
        #expect(rig.recorder.takeLevels().isEmpty)
    }

    @Test func knownConditionIsRecordedAgainOnceADay() {
        var rig = Rig()
        _ = rig.take("a/availability", "online")
        #expect(rig.minute(24 * 60 - 1).isEmpty)
        #expect(rig.minute(24 * 60).map { Self.text($0) } == [#"{"online":true,"found":true}"#])
        #expect(rig.minute(24 * 60 + 1).isEmpty)
    }

    /// A board that says too much displaces the history of no other.
    @Test func noisyBoardIsBounded() {
        var rig = Rig()
        let kept = (0..<3000).filter { !rig.take("a/event/tap", Self.shake("r-\($0)", "recognized")).isEmpty }
        #expect(kept.count == 1000)
        #expect(rig.take("b/event/tap", Self.shake("s-1")).count == 1)
        let later = (0..<100).filter { !rig.take("a/event/tap", Self.shake("t-\($0)"), after: 10).isEmpty }
        #expect(later.count == 10)
    }
}
