import Documents
import JostleConfiguration
import Testing

@testable import JostleAgent

/// Requirement: no value of any key that comes over MQTT can break a board: it is rejected with its path, and nothing
/// changes.
@Suite struct RemoteValueTests {
    /// Values that no key accepts: a wrong type, out of range, huge in size or in number.
    private static let invalid = [
        "{\"x\":1}", "[[1]]", "1e300", "-1e300", "\"\\u0000\"", "\"\(String(repeating: "x", count: 20_000))\"",
        "123456789012345678901234567890", "\"1e999 Hz\"", "\"-5 °\"", "\"\"",
    ]

    private static let keys = ConfigurationSchema.keys.map(\.path)

    @Test func fleetRejectsEveryInvalidValue() throws {
        var board = try FleetBench(retained: ["jostle/_all/config": layer(1, "{}")])
        let before = board.settings
        var revision = 1
        var checked = 0
        for key in Self.keys {
            for value in Self.invalid {
                revision += 1
                try board.publish(.all, layer(revision, tree(key, value)))
                // Each is judged at once; a flood of documents would be put off.
                try board.pass(0.5)
                #expect(board.settings == before, "\(key) = \(value.prefix(40))")
                let found = try reportedLayer(&board)
                #expect(found.status == "rejected" && found.revision == revision, "\(key) = \(value.prefix(40))")
                #expect(found.path == key, "\(key) = \(value.prefix(40)): \(found.path)")
                checked += 1
            }
        }
        #expect(checked == Self.keys.count * Self.invalid.count && checked > 1000)
    }

    /// `null` is a valid patch where the key may be changed at all, and restores its default.
    @Test func nullRestoresDefaultOrIsRejected() throws {
        var board = try FleetBench()
        let before = board.settings
        for (index, key) in Self.keys.enumerated() {
            try board.publish(.all, layer(index + 1, tree(key, "null")))
            try board.pass(0.5)
            #expect(board.settings == before, "\(key)")
            let found = try reportedLayer(&board)
            #expect(found.status == "applied" || found.status == "rejected" && found.path == key, "\(key)")
        }
    }

    @Test func homeRefusesEveryInvalidValue() throws {
        var board = try FleetBench()
        let before = board.settings
        for key in Self.keys {
            for value in Self.invalid + ["null"] {
                try board.receive("jostle/a/set/\(key)", value)
                try board.pass(0.5)
                // A key without a value of its own may be set to null, which is its default.
                #expect(board.settings == before, "\(key) = \(value.prefix(40))")
                guard value != "null" else { continue }
                let refused = try board.refusals()
                // An object is refused for the keys in it.
                let isRefused = refused.last == key || refused.last?.hasPrefix("\(key).") == true
                #expect(isRefused, "\(key) = \(value.prefix(40)): \(refused.last ?? "none")")
            }
        }
    }

    private func tree(_ key: String, _ value: String) -> String {
        key.split(separator: ".").reversed().reduce(value) { "{\"\($1)\":\($0)}" }
    }

    private func reportedLayer(_ board: inout FleetBench) throws -> (status: String, revision: Int, path: String) {
        let found = try #require(board.latestReport()["layers"]?["all"])
        return (
            found["status"]?.text ?? "", found["revision"]?.text.flatMap { Int($0) } ?? 0,
            found["errors"]?.elements?.first?["path"]?.text ?? ""
        )
    }
}

extension FleetBench {
    /// The last report as a tree, without waiting for one.
    mutating func latestReport() throws -> JSONValue {
        let reports = bench.takePublished().filter { $0.message.topic.hasSuffix("/config/reported") }
        if let payload = reports.last?.message.payload { lastReport = payload }
        return try JSONReader.read(lastReport, source: .message("reported"))
    }

    /// The keys of the refused values in the last report, the oldest first.
    mutating func refusals() throws -> [String] {
        try latestReport()["refused"]?.elements?.compactMap { $0["key"]?.text } ?? []
    }
}
