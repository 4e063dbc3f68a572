import Foundation
import HTTPServer
import JostleMessages
import Testing

@testable import JostlePage

/// The form of an event.
@Suite struct ServerSentEventTests {
    @Test func hasANameAndOneLineOfData() {
        let event = ServerSentEvent(.nearMiss, Array("{\"a\":1}".utf8))
        #expect(String(decoding: event.bytes, as: UTF8.self) == "event: near-miss\ndata: {\"a\":1}\n\n")
    }

    @Test func nothingInAPayloadEndsTheEvent() {
        let event = ServerSentEvent(.state, Array("a\nevent: hello\n\ndata: b\r\rid: 7\r\n\u{0}".utf8))
        let text = String(decoding: event.bytes, as: UTF8.self)
        #expect(text == "event: state\ndata: a event: hello  data: b  id: 7   \n\n")
    }

    @Test func anyBytesStayOneEvent() {
        let all = (0...255).map { UInt8($0) }
        let bytes = ServerSentEvent(.state, all).bytes
        #expect(bytes.filter { $0 == 0x0A }.count == 3)
        #expect(!bytes.contains(0x0D) && !bytes.contains(0))
        #expect(bytes.count == "event: state\ndata: \n\n".utf8.count + 256)
    }
}

/// Refusals as the page gets them.
@Suite struct PageRefusalTests {
    @Test(arguments: [
        (PageRefusal.badRequest("x"), 400, "bad_request"), (.signedOut, 401, "signed_out"),
        (.wrongPassword, 401, "wrong_password"), (.readOnly, 403, "read_only"), (.forbidden, 403, "forbidden"),
        (.notFound("x"), 404, "not_found"), (.tooLarge, 413, "too_large"), (.mediaType, 415, "media_type"),
        (.tooManyAttempts(seconds: 10), 429, "too_many"), (.tooManyViewers, 503, "too_many"),
        (.notConnected("x"), 503, "not_connected"), (.host("x"), 421, "unknown_host"),
    ])
    func hasItsStatusAndWord(_ refusal: PageRefusal, _ status: Int, _ word: String) {
        #expect(refusal.status == status)
        #expect(refusal.word == word)
        #expect(refusal.message.hasSuffix("."))
    }

    @Test func aForeignNameIsCut() {
        #expect(PageRefusal.host(String(repeating: "x", count: 30_000)).message.utf8.count < 300)
    }
}

/// The events that wait for a page.
@Suite struct ViewerTests {
    /// Random numbers that are the same in each run (SplitMix64).
    private struct Dice {
        var state: UInt64

        mutating func roll(_ range: ClosedRange<Int>) -> Int {
            state &+= 0x9E37_79B9_7F4A_7C15
            var value = (state ^ (state >> 30)) &* 0xBF58_476D_1CE4_E5B9
            value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
            return range.lowerBound + Int((value ^ (value >> 31)) % UInt64(range.count))
        }
    }

    private func viewer() -> Viewer { Viewer(board: "a", wantsStream: true) { _ in } }

    /// Reads at most `size` bytes, as the server does when a socket takes so many.
    private func read(_ viewer: Viewer, _ size: Int) -> [UInt8] {
        var buffer = [UInt8](repeating: 0, count: size)
        let piece = buffer.withUnsafeMutableBytes { viewer.read(into: $0) }
        guard case .bytes(let count) = piece else { return [] }
        return Array(buffer[..<count])
    }

    private func readAll(_ viewer: Viewer) -> [UInt8] {
        var bytes: [UInt8] = []
        while true {
            let part = read(viewer, 8192)
            if part.isEmpty { return bytes }
            bytes += part
        }
    }

    private struct Arrived: Equatable {
        var name: String
        var data: String

        var number: Int { Int(data.prefix { $0 != " " }) ?? -1 }
        /// The number of messages in an event `dropped`.
        var dropped: Int { Int(data.filter(\.isNumber)) ?? -1 }
    }

    /// The events in a stream. Anything that is not a whole event fails the test.
    private func parse(_ bytes: [UInt8]) throws -> [Arrived] {
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n", omittingEmptySubsequences: false)
        try #require(lines.count % 3 == 1 && lines.last == "")
        return try stride(from: 0, to: lines.count - 1, by: 3).map { index in
            let (name, data) = (lines[index], lines[index + 1])
            try #require(name.hasPrefix("event: ") && data.hasPrefix("data: ") && lines[index + 2] == "")
            return Arrived(name: String(name.dropFirst(7)), data: String(data.dropFirst(6)))
        }
    }

    private func event(_ name: ServerSentEvent.Name, _ number: Int, padding: Int = 0) -> ServerSentEvent {
        ServerSentEvent(name, Array("\(number) ".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: padding))
    }

    @Test func eventsArriveInOrder() throws {
        let viewer = viewer()
        for number in 1...100 { viewer.send(event(.gesture, number)) }
        #expect(try parse(readAll(viewer)).map(\.number) == Array(1...100))
        #expect(read(viewer, 100).isEmpty)
    }

    @Test func aNewerStateReplacesOneThatWaits() throws {
        let viewer = viewer()
        for number in 1...3 {
            viewer.send(event(.motion, number))
            viewer.send(event(.gesture, number))
        }
        let arrived = try parse(readAll(viewer))
        #expect(arrived.map(\.name) == ["motion", "gesture", "gesture", "gesture"])
        #expect(arrived.map(\.number) == [3, 1, 2, 3])
    }

    @Test func aStateThatIsBeingSentIsNotReplaced() throws {
        let viewer = viewer()
        viewer.send(event(.motion, 1, padding: 100))
        let beginning = read(viewer, 30)
        viewer.send(event(.motion, 2))
        #expect(try parse(beginning + readAll(viewer)).map(\.number) == [1, 2])
    }

    @Test func theOldestSamplesAreDroppedAndCounted() throws {
        let viewer = viewer()
        viewer.send(event(.state, 0))
        for number in 1...1000 { viewer.send(event(.stream, number)) }
        let arrived = try parse(readAll(viewer))
        #expect(arrived.first?.name == "dropped")
        #expect(arrived.first?.dropped == 401)
        #expect(arrived[1].name == "state", "a state is kept")
        #expect(arrived.dropFirst(2).map(\.number) == Array(402...1000))
    }

    @Test func aPageThatDoesNotReadCostsABoundedAmount() throws {
        let viewer = viewer()
        for number in 1...5000 { viewer.send(event(.stream, number, padding: 10_000)) }
        let bytes = readAll(viewer)
        #expect(bytes.count < 270_000)
        #expect(try parse(bytes).last?.number == 5000, "the newest ones are kept")
    }

    @Test func oneEventBeyondTheLimitIsDroppedAndCounted() throws {
        let viewer = viewer()
        viewer.send(event(.boards, 1, padding: 300_000))
        viewer.send(event(.gesture, 2))
        let arrived = try parse(readAll(viewer))
        #expect(arrived.map(\.name) == ["dropped", "gesture"])
    }

    @Test func isIdleOnceEverythingIsRead() {
        let viewer = viewer()
        #expect(viewer.isIdle)
        viewer.send(event(.boards, 1, padding: 70_000))
        #expect(!viewer.isIdle)
        _ = readAll(viewer)
        #expect(viewer.isIdle)
    }

    @Test(arguments: 1...200)
    func whatArrivesIsASequenceOfWholeEvents(_ seed: Int) throws {
        var dice = Dice(state: UInt64(seed))
        let names: [ServerSentEvent.Name] = [.stream, .gesture, .result, .motion, .attitude, .state, .ping, .boards]
        let viewer = viewer()
        var sent: [String: [ServerSentEvent]] = [:]
        var bytes: [UInt8] = []
        for number in 1...dice.roll(1...1500) {
            let name = names[dice.roll(0...(names.count - 1))]
            let new = event(name, number, padding: dice.roll(0...9) == 0 ? dice.roll(0...20_000) : dice.roll(0...200))
            sent[name.rawValue, default: []].append(new)
            viewer.send(new)
            while dice.roll(0...3) == 0 { bytes += read(viewer, dice.roll(1...dice.roll(1...9000))) }
        }
        bytes += readAll(viewer)
        let arrived = try parse(bytes)
        let dropped = arrived.filter { $0.name == "dropped" }.reduce(0) { $0 + $1.dropped }
        var missing = 0
        for (name, events) in sent {
            let known = Set(events.map { String(decoding: $0.bytes, as: UTF8.self) })
            let mine = arrived.filter { $0.name == name }
            #expect(mine.allSatisfy { known.contains("event: \($0.name)\ndata: \($0.data)\n\n") }, "no event is torn")
            #expect(zip(mine, mine.dropFirst()).allSatisfy { $0.number < $1.number }, "in order and once")
            if events[0].name.replacesOlder {
                let newest = try events.last.flatMap { try parse($0.bytes).first?.number }
                #expect(mine.last?.number == newest, "the newest state arrives")
            } else {
                missing += events.count - mine.count
            }
        }
        #expect(dropped == missing, "what is missing is told")
    }

    @Test func theEndOfTheStreamIsTold() {
        final class Box { var count = 0 }
        let box = Box()
        let viewer = Viewer(board: nil, wantsStream: false) { _ in box.count += 1 }
        viewer.streamDidClose()
        #expect(box.count == 1)
    }
}
