import Foundation
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleOperator

/// Requirement: earlier documents can be found again, and do not fill the disk.
@Suite struct DocumentHistoryTests {
    private let directory = NSTemporaryDirectory() + "jostle-history-\(UUID().uuidString)"

    private func history(_ broker: String = "mqtt://127.0.0.1:1883") -> DocumentHistory {
        DocumentHistory(stateDirectory: directory, broker: broker, prefix: "jostle")
    }

    private func stored(_ revision: Int64, _ config: String = "{}") -> StoredDocument {
        StoredDocument(.all, Array(layer(revision, config).utf8))
    }

    @Test func keepsTheNewestRevisionsOfEachDocument() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let history = history()
        for revision in 1...30 { try history.keep([.all: stored(Int64(revision))]) }
        let group = #"{"sensor":{"rate":"50 Hz"}}"#
        try history.keep([.group("laundry"): StoredDocument(.group("laundry"), Array(layer(4, group).utf8))])
        let newest: [Int64] = (11...30).reversed()
        #expect(history.revisions(of: .all).compactMap(\.number) == newest)
        #expect(history.revisions(of: .group("laundry")).first?.bytes == Array(layer(4, group).utf8))
        #expect(history.revisions(of: .group("a")).isEmpty && history.revisions(of: .device("laundry")).isEmpty)
        // Two documents of the same revision, from two operators, are both kept.
        try history.keep([.all: stored(30, #"{"log":{}}"#)])
        #expect(history.revisions(of: .all).prefix(2).compactMap(\.number) == [30, 30])
        #expect(history.latest.mapValues(\.number) == [.all: 30, .group("laundry"): 4])
    }

    /// A broker that lost everything begins with revision 1 again: what was seen last counts.
    @Test func ordersByTheTimeSeen() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let history = history()
        for revision in 102...121 { try history.keep([.all: stored(Int64(revision))]) }
        for revision in 1...2 { try history.keep([.all: stored(Int64(revision))]) }
        #expect(history.revisions(of: .all).prefix(3).compactMap(\.number) == [2, 1, 121])
        // Seeing one again changes nothing.
        try history.keep([.all: stored(110)])
        #expect(history.revisions(of: .all).first?.number == 2)
    }

    /// Epochs follow each other by their times, whatever was seen first.
    @Test func latestEpoch() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let history = history()
        let id = FleetDocumentID.device("abcdef12-3")
        for (number, epoch, at) in [(7, "0123abcd", 100), (2, "ffff0000", 300), (9, "89abcdef", 200)] {
            let text = layer(Int64(number), "{}", more: #","epoch":"\#(epoch)","at":\#(at)"#)
            try history.keep([id: StoredDocument(id, Array(text.utf8))])
        }
        try history.keep([id: StoredDocument(id, Array(layer(1000, "{}").utf8))])
        let latest = try #require(history.latest[id])
        #expect(latest.number == 2 && latest.epoch == "ffff0000" && latest.at == 300)
        #expect(Set(history.revisions(of: id).compactMap(\.number)) == [7, 2, 9, 1000])
        // Without an epoch, the time counts as well.
        let last = StoredDocument(id, Array(layer(1001, "{}", more: #","at":301"#).utf8))
        try history.keep([id: last])
        #expect(history.latest[id]?.number == 1001 && history.latest[id]?.at == 301)
        // An earlier program did not put it into the name.
        let files = FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String }
        let file = try #require(files?.first { $0.contains(".1001.") })
        let earlier = file.replacingOccurrences(of: "-301.json", with: ".json")
        #expect(earlier != file && rename("\(directory)/\(file)", "\(directory)/\(earlier)") == 0)
        let reopened = self.history()
        try reopened.keep([id: last])
        #expect(reopened.revisions(of: id).count == 5 && reopened.latest[id]?.number == 2)
    }

    private func publication(_ revision: Int64, _ config: String = "{}") throws -> FleetPublication {
        let document = stored(revision, config)
        return try FleetPublication(
            #require(document.draft), of: .all, revision: revision, topics: FleetTopics(prefix: "jostle"))
    }

    /// A broker that is killed right after it has passed a document on may have lost it.
    @Test func keepsWhatWasSentUntilItIsSeen() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let history = history()
        try history.keep([.all: stored(6)])
        try history.keep(sending: [publication(7), publication(7, #"{"log":{}}"#)])
        try history.keep(sending: [publication(7)])
        #expect(history.latest.mapValues(\.number) == [.all: 6])
        #expect(history.kept()[.all]?.map(\.number).sorted() == [6, 7, 7])
        #expect(history.kept(beside: [.all: stored(7)])[.all]?.map(\.number) == [7, 7])
        #expect(history.revisions(of: .all).compactMap(\.number) == [6])
        #expect(history.sentRevisions(of: .all).count == 2 && history.last(of: .all)?.number == 7)
        // An older one proves nothing; a newer one replaces both.
        try history.keep([.all: stored(5)])
        #expect(history.sentRevisions(of: .all).count == 2)
        try history.keep([.all: stored(8)])
        #expect(history.sentRevisions(of: .all).isEmpty && history.latest.mapValues(\.number) == [.all: 8])
        func sent(_ history: DocumentHistory) -> [Int64] {
            history.sentRevisions(of: .all).compactMap(\.number).sorted()
        }
        for revision in 9...40 { try history.keep(sending: [publication(Int64(revision))]) }
        #expect(sent(history) == Array(21...40))
        try history.keep([.all: stored(21)])
        #expect(sent(history) == Array(22...40))
        // The next command reads the same.
        #expect(sent(self.history()) == Array(22...40) && self.history().latest == history.latest)
        #expect(self.history().kept() == history.kept())
    }

    /// With trusted keys, an unsigned document that was kept before counts for nothing, whatever its file's name says.
    @Test func believesNoNameOfAnUnsignedDocument() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let topics = FleetTopics(prefix: "jostle")
        let signer = try #require(DocumentSigner(generating: "ops-1"))
        let trust = try DocumentTrust([#require(signer.trustedKey)], topics: topics)
        let groups = DocumentDraft(groups: ["g"])
        let signed = try FleetPublication(
            #require(stored(3).draft), of: .all, revision: 3, topics: topics, signer: signer)
        try history().keep([
            .all: StoredDocument(.all, signed.bytes),
            .registry("a"): StoredDocument(.registry("a"), groups.bytes(revision: 1)),
        ])
        try history().keep([.all: stored(1000)])
        try history().keep(sending: [publication(2000)])
        #expect(history().latest[.all]?.number == 1000 && history().groups(of: ["a"]) == ["a": ["g"]])
        let trusting = DocumentHistory(
            stateDirectory: directory, broker: "mqtt://127.0.0.1:1883", prefix: "jostle", trust: trust)
        #expect(trusting.latest.mapValues(\.number) == [.all: 3])
        #expect(trusting.kept().mapValues { $0.map(\.number) } == [.all: [3]])
        #expect(trusting.last(of: .all)?.signer == "ops-1" && trusting.groups(of: ["a"]).isEmpty)
    }

    /// The name of the key counts even where the document does not.
    @Test(arguments: [#"{"schema":1,"revision":7,"x":1,SIGNED}"#, #"{"schema":1,"revision":7,"config":{},SIGNED}"#])
    func signerOfWhatCannotBeUsed(text: String) {
        func signer(_ text: String) -> String? { StoredDocument(.all, Array(text.utf8)).signer }
        #expect(signer(text.replacing("SIGNED", with: #""signature":{"key":"ops-1","value":"AA=="}"#)) == "ops-1")
        #expect(signer(text.replacing(",SIGNED", with: "")) == nil)
    }

    @Test func leavesOutGarbageAndOtherBrokers() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        try history().keep([.all: StoredDocument(.all, Array("{".utf8))])
        #expect(history().revisions(of: .all).isEmpty)
        try history().keep([.all: stored(1)])
        #expect(history("mqtt://10.0.0.1:1883").revisions(of: .all).isEmpty)
        let path = try #require(
            FileManager.default.enumerator(atPath: directory)?.compactMap { $0 as? String }
                .first { $0.hasSuffix(".json") })
        try "{\"schema\":1".write(toFile: "\(directory)/\(path)", atomically: true, encoding: .utf8)
        #expect(history().revisions(of: .all).isEmpty)
    }

    @Test func namesForCompletionReadBack() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        #expect(FleetNames(stateDirectory: directory).ids.isEmpty)
        let model = fleet([
            "a/availability": "online", "_group/g/config": layer(1, "{}"),
            "_registry/b": #"{"schema":1,"revision":1,"groups":["h"]}"#,
        ])
        FleetNames.keep(model, stateDirectory: directory)
        let names = FleetNames(stateDirectory: directory)
        #expect(names.ids == ["a", "b"] && names.groups == ["g", "h"] && names.enrolled.isEmpty)
    }

    /// What is kept first if there are too many boards.
    @Test func machineKnowsItsBoards() throws {
        defer { try? FileManager.default.removeItem(atPath: directory) }
        FleetNames.keep(fleet(["a/availability": "online"]), stateDirectory: directory)
        for (id, isEnrolled) in [("b", true), ("c", true), ("c", false)] {
            FleetNames.keep(id, isEnrolled: isEnrolled, stateDirectory: directory)
        }
        let groups = #"{"schema":1,"revision":1,"groups":[]}"#
        let history = DocumentHistory(stateDirectory: directory, JostleSettings())
        try history.keep([.registry("d"): StoredDocument(.registry("d"), Array(groups.utf8)), .all: stored(1)])
        let known = KnownDevices(
            stateDirectory: directory, DocumentHistory(stateDirectory: directory, JostleSettings()))
        #expect(known == KnownDevices(known: ["b", "d"], seen: ["a"]))
    }
}
