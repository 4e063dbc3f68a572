import Foundation
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
        #expect(history.revisions(of: .all).compactMap(\.number) == (11...30).reversed().map { Int64($0) })
        #expect(history.revisions(of: .group("laundry")).first?.bytes == Array(layer(4, group).utf8))
        #expect(history.revisions(of: .group("a")).isEmpty && history.revisions(of: .device("laundry")).isEmpty)
        // Two documents of the same revision, from two operators, are both kept.
        try history.keep([.all: stored(30, #"{"log":{}}"#)])
        #expect(history.revisions(of: .all).prefix(2).compactMap(\.number) == [30, 30])
        #expect(history.numbers == [.all: 30, .group("laundry"): 4])
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
        let names = FleetNames(
            fleet([
                "a/availability": "online", "_group/g/config": layer(1, "{}"),
                "_registry/b": #"{"schema":1,"revision":1,"groups":["h"]}"#,
            ]))
        names.keep(stateDirectory: directory)
        #expect(FleetNames(stateDirectory: directory) == names)
        #expect(names.ids == ["a", "b"] && names.groups == ["g", "h"])
    }
}
