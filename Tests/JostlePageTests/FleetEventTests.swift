import Foundation
import JostleConfiguration
import JostleMessages
import JostleOperator
import MosquittoClient
import Testing

@testable import JostlePage

/// Requirement: the page of all boards shows how far boards follow each layer of the fleet, whatever the messages contain.
@Suite struct FleetEventTests {
    private struct Failing: Decodable, Equatable {
        var id: String
        var status: String
        var error: String?
    }

    private struct Layer: Decodable {
        var layer: String
        var revision: Int?
        var t: Int64?
        var by: String?
        var reason: String?
        var signed: String?
        var problem: String?
        var percent: Double?
        var boards: Int
        var counts: [String: Int]
        var failing: [Failing]
        var failingMore: Int?

        enum CodingKeys: String, CodingKey {
            case layer, revision, t, by, reason, signed, problem, percent, boards, counts, failing
            case failingMore = "failing_more"
        }
    }

    private struct Event: Decodable {
        var layers: [Layer]
        var more: Int?
    }

    /// The event after these messages.
    private func event(
        _ messages: [(String, String)], trustedKeys: [JostleSettings.TrustedKey] = []
    ) throws -> Event {
        let (documents, list) = state(messages, trustedKeys: trustedKeys)
        let bytes = FleetEvent(documents, list.model.boards.values).event.bytes
        let text = String(decoding: bytes, as: UTF8.self)
        #expect(text.hasPrefix("event: fleet\ndata: ") && text.hasSuffix("\n\n"))
        #expect(bytes.count < 262_144 / 2, "it fits into the queue of a page")
        return try JSONDecoder().decode(Event.self, from: Data(text.dropFirst("event: fleet\ndata: ".count).utf8))
    }

    func state(
        _ messages: [(String, String)], trustedKeys: [JostleSettings.TrustedKey] = []
    ) -> (FleetDocuments, BoardList) {
        var documents = FleetDocuments(prefix: "jostle", trustedKeys: trustedKeys)
        var list = BoardList(prefix: "jostle")
        for (topic, text) in messages {
            _ = documents.update(with: MQTTMessage(topic: "jostle/\(topic)", text: text, retain: true))
            BoardListTests.take(&list, topic, text)
        }
        return (documents, list)
    }

    func document(_ revision: Int, _ more: String = "", config: String = #"{"gestures":{}}"#) -> String {
        #"{"schema":1,"revision":\#(revision),"config":\#(config)\#(more)}"#
    }

    /// What a board publishes: its availability and its layers.
    func board(_ id: String, _ layers: String, isOnline: Bool = true) -> [(String, String)] {
        [
            ("\(id)/availability", isOnline ? "online" : "offline"),
            ("\(id)/config/reported", #"{"layers":{\#(layers)}}"#),
        ]
    }

    // MARK: Rollouts

    @Test func showsWhatBecameOfALayer() throws {
        let by = #","by":"ada@desk","at":1795182603123,"note":"less eager""#
        let rejected =
            #""all":{"status":"rejected","revision":7,"in_force":6,"errors":[{"path":"gestures.tap.sensitivity","reason":"is out of bounds"}]}"#
        let undone =
            #""all":{"status":"rolled_back","revision":7,"in_force":6,"reason":"the sensor delivers no samples"}"#
        var messages = [("_all/config", document(7, by))]
        messages += board("a", #""all":{"status":"applied","revision":7}"#)
        messages += board("b", #""all":{"status":"applied","revision":6}"#)
        messages += board("c", #""all":{"status":"applied","revision":6}"#, isOnline: false)
        messages += board("d", rejected)
        messages += board("e", undone)
        messages += board("f", #""all":{"status":"none"}"#)
        messages += board("g", #""all":{"status":"rejected","revision":6}"#)
        messages += board("h", #""all":{"status":"stale","revision":5,"in_force":7}"#)
        messages += board("i", #""all":{"status":"applied","revision":9}"#)
        let event = try event(messages)
        let all = try #require(event.layers.first)
        #expect(event.layers.count == 1 && event.more == nil)
        #expect(all.layer == "all" && all.revision == 7 && all.boards == 9)
        #expect(all.by == "ada@desk" && all.t == 1_795_182_603_123 && all.reason == "less eager")
        #expect(
            all.counts == ["applied": 2, "pending": 3, "offline": 1, "rejected": 1, "rolled_back": 1, "stale": 1])
        #expect(
            all.failing == [
                Failing(id: "d", status: "rejected", error: "gestures.tap.sensitivity is out of bounds"),
                Failing(id: "e", status: "rolled_back", error: "the sensor delivers no samples"),
                Failing(id: "i", status: "stale", error: nil),
            ])
    }

    @Test func showsGroupsBoardsAndTheShareOfACandidate() throws {
        let candidate =
            #","candidate":{"config":{},"percent":12.5,"seed":"s"},"signature":{"key":"ops-1","value":"eA=="}"#
        let refused =
            #""group:laundry":{"status":"applied","revision":3,"candidate_errors":[{"path":"a.b","reason":"is unknown"}]}"#
        let event = try event(
            [("_group/laundry/config", document(3, candidate)), ("door/config/desired", document(1))]
                + board("door", #""group:laundry":{"status":"applied","revision":3},"device":{"status":"none"}"#)
                + board("washer", refused + #","device":{"status":"none"}"#))
        #expect(event.layers.map(\.layer) == ["group:laundry", "device:door"])
        let group = event.layers[0]
        #expect(group.percent == 12.5 && group.signed == "ops-1" && group.counts == ["applied": 1, "rejected": 1])
        #expect(group.failing == [Failing(id: "washer", status: "rejected", error: "a.b is unknown")])
        #expect(event.layers[1].boards == 1 && event.layers[1].counts == ["pending": 1])
    }

    @Test func removedAndUnknownLayers() throws {
        let applied = board("a", #""all":{"status":"applied","revision":4}"#)
        let empty = ("_all/config", document(4, config: "{}"))
        #expect(try event(applied + [empty]).layers.isEmpty, "all boards know that it was removed")
        #expect(try event(board("a", #""all":{"status":"applied","revision":3}"#) + [empty]).layers.count == 1)
        let lost = try event(board("a", #""all":{"status":"missing","revision":4}"#))
        #expect(lost.layers.first?.counts == ["missing": 1] && lost.layers.first?.revision == 4)
        #expect(lost.layers.first?.problem == nil)
        let seen = try event(applied)
        #expect(seen.layers.first?.counts == ["applied": 1], "the broker may not permit to read the layer")
        #expect(try event([empty, ("_all/config", "")]).layers.isEmpty)
        #expect(try event([("_registry/a", #"{"schema":1,"revision":1,"groups":["x"]}"#)]).layers.isEmpty)
    }

    @Test func saysThatALayerCannotBeRead() throws {
        let broken = try event([("_all/config", #"{"schema":1,"revision":"x"}"#)])
        #expect(broken.layers.first?.problem?.contains("revision") == true)
        let keys = [JostleSettings.TrustedKey(name: "ops", publicKey: "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=")]
        let unsigned = try event([("_all/config", document(2))], trustedKeys: keys)
        #expect(unsigned.layers.first?.problem?.contains("signature") == true)
        #expect(unsigned.layers.first?.revision == 2)
    }

    // MARK: Changes

    @Test func knowsWhatChangesTheEvent() {
        var documents = FleetDocuments(prefix: "jostle")
        func update(_ topic: String, _ text: String) -> Bool {
            documents.update(with: MQTTMessage(topic: topic, text: text, retain: true))
        }
        #expect(update("jostle/_all/config", document(1)))
        #expect(!update("jostle/_all/config", document(1)))
        #expect(update("jostle/_all/config", document(2)))
        #expect(!update("jostle/_registry/a", #"{"schema":1,"revision":1,"groups":[]}"#))
        #expect(!update("other/_all/config", document(3)))
        #expect(update("jostle/_all/config", ""))
        #expect(!update("jostle/_all/config", ""))
    }

    // MARK: Foreign messages

    @Test func hostileMessagesStayTextAndSmall() throws {
        let html = "<img src=x onerror=alert(1)>"
        let long = String(repeating: html, count: 1000)
        let messages = [
            ("_all/config", document(1, ",\"by\":\"\(html)\",\"note\":\"\(html)\"")),
            ("_group/\(html)/config", document(1)),
            ("_all/config/more", document(1)),
            (
                "a/config/reported",
                "{\"layers\":{\"all\":{\"status\":\"\(long)\",\"revision\":-5},\"\(html)\":{\"status\":\"applied\"}}}"
            ),
            ("b/config/reported", "{\"layers\":[1,2,3]}"), ("c/config/reported", "{\"layers\":{\"all\":7}}"),
            (
                "d/config/reported",
                "{\"layers\":{\"all\":{\"status\":\"rejected\",\"revision\":1,\"errors\":[{\"path\":\"\(long)\",\"reason\":7}]}}}"
            ),
            ("e/config/reported", "{\"layers\":{\"all\":{\"status\":\"applied\",\"revision\":1e15}}}"),
        ]
        let event = try event(messages)
        #expect(event.layers.map(\.layer) == ["all"])
        let all = try #require(event.layers.first)
        #expect(all.by == html && all.reason == html)
        #expect(all.counts == ["unknown": 1, "rejected": 1, "stale": 1])
        #expect((all.failing.first?.error?.count ?? 1000) <= 201)
    }

    @Test func eventAndMemoryAreBounded() throws {
        let error = String(repeating: "x", count: 190)
        var messages: [(String, String)] = []
        for number in 0..<200 {
            messages.append(("_group/g\(1000 + number)/config", document(2)))
            for each in 0..<30 where number < 20 {
                let report =
                    #""group:g\#(1000 + number)":{"status":"rejected","revision":2,"errors":[{"path":"\#(error)","reason":"\#(error)"}]}"#
                messages += board("b\(1000 + 30 * number + each)", report)
            }
        }
        let event = try event(messages)
        #expect(event.layers.count == FleetEvent.maximum.layers && event.more == 150)
        #expect(event.layers[0].failing.count == 20 && event.layers[0].failingMore == 10)
        #expect(event.layers.map(\.failing.count).reduce(0, +) == FleetEvent.maximum.allFailures)
        #expect(event.layers[19].failing.isEmpty && event.layers[19].failingMore == 30)

        var documents = FleetDocuments(prefix: "jostle")
        for number in 0..<FleetDocuments.maximum + 5 {
            _ = documents.update(with: MQTTMessage(topic: "jostle/b\(number)/config/desired", text: document(1)))
        }
        #expect(documents.documents.count == FleetDocuments.maximum)
    }
}
