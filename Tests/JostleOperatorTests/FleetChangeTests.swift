import Documents
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleOperator

/// Requirement: `set` and `unset` change what they name, and keep everything else of a layer.
@Suite struct LayerEditTests {
    private func edited(_ config: String, set: [String] = [], unset: [String] = []) throws -> String {
        let changes = try set.map(LayerEdit.set) + unset.map(LayerEdit.unset)
        return try LayerEdit(changes).applied(to: try value(config)).compactText
    }

    @Test func setsKeys() throws {
        #expect(try edited("{}", set: ["a.b=7"]) == #"{"a": {"b": 7}}"#)
        #expect(try edited("{a: {c: x}}", set: ["a.b=100Hz", "a.c=true"]) == #"{"a": {"c": true, "b": "100Hz"}}"#)
        #expect(try edited("{a: {b: 1}}", set: ["a.b=null"]) == #"{"a": {"b": null}}"#)
        #expect(try edited("{}", set: ["a=[x, 'y', 1]"]) == #"{"a": ["x", "y", 1]}"#)
        #expect(try edited("{}", set: ["a='7'"]) == #"{"a": "7"}"#)
        #expect(try edited("{}", set: ["a={b: {c: 1e3}}", "a.b.d=.5"]) == #"{"a": {"b": {"c": 1e3, "d": ".5"}}}"#)
        #expect(try edited("{}", set: ["a="]) == #"{"a": null}"#)
    }

    @Test func unsetsKeysAndEmptySections() throws {
        #expect(try edited("{a: {b: {c: 1}, d: 2}}", unset: ["a.b.c"]) == #"{"a": {"d": 2}}"#)
        #expect(try edited("{a: {b: {c: 1}}}", unset: ["a.b"]) == "{}")
        #expect(try edited("{a: {b: {}}}", unset: ["a.x", "y", "a.b.c"]) == #"{"a": {"b": {}}}"#)
    }

    @Test func keyBelowValueIsRefused() {
        #expect(throws: DocumentProblem.self) { try edited("{a: null}", set: ["a.b=1"]) }
        #expect(throws: DocumentProblem.self) { try LayerEdit.set("a") }
        #expect(throws: DocumentProblem.self) { try LayerEdit.set("=1") }
        #expect(throws: DocumentProblem.self) { try LayerEdit.unset("a.") }
    }

    @Test func candidateAndRuleStay() throws {
        let text = layer(
            4, #"{"a":1}"#, more: #","candidate":{"config":{"a":2},"percent":12.5,"seed":"s"},"unknown":"ignore""#)
        let document = try LayerDocument(reading: Array(text.utf8), layer: "all")
        let edit = LayerEdit([try LayerEdit.set("b=3")])
        let draft = try #require(try edit.draft(changing: document))
        let published = try FleetPublication(
            draft, of: .all, revision: 5, author: DocumentAuthor(by: "ada", at: 5),
            topics: FleetTopics(prefix: "jostle"))
        let next = try LayerDocument(reading: published.bytes, layer: "all")
        #expect(next.revision == published.revision && next.revision.number == 5)
        #expect(next.candidate?.percent == 12.5 && next.candidate?.seed == "s" && next.ignoresUnknownKeys)
        #expect(next.config.compactText == #"{"a": 1, "b": 3}"#)
        #expect(next.envelope.by == "ada" && next.envelope.at == 5)
    }

    @Test func equalContentIsNoChange() throws {
        let document = try LayerDocument(reading: Array(layer(4, #"{"a":{"b":1.0}}"#).utf8), layer: "all")
        #expect(try LayerEdit([LayerEdit.set("a.b=1")]).draft(changing: document) == nil)
        #expect(try LayerEdit([LayerEdit.unset("x")]).draft(changing: document) == nil)
        #expect(try LayerEdit([LayerEdit.unset("x")]).draft(changing: nil) == nil)
        // Unless devices have another document of this revision.
        let same = try LayerEdit.set("a.b=1")
        #expect(
            try LayerEdit([same]).draft(changing: document, repeats: true) != nil)
        let rule = LayerEdit([], ignoresUnknownKeys: true)
        #expect(try rule.draft(changing: document) != nil)
    }

    @Test func documentBeyondLimitsIsRefused() throws {
        let keys = (0..<1001).map { #"{"k\#($0)":1}"# }
        var config = JSONValue.object([])
        for key in keys.indices { config = try LayerEdit([.set(path: ["k\(key)"], 1)]).applied(to: config) }
        #expect(throws: DocumentProblem.self) {
            try FleetPublication(
                DocumentDraft(config: config), of: .all, revision: 1,
                topics: FleetTopics(prefix: "jostle"))
        }
    }
}

/// Requirement: a command ends successfully only if every device that is online took the documents over.
@Suite struct WaitConditionTests {
    private func state(_ report: String?, availability: String = "online") throws -> WaitCondition.State {
        var model = fleet(["_all/config": layer(5, "{}"), "dut/availability": availability])
        if let report {
            model = fleet([
                "_all/config": layer(5, "{}"), "dut/availability": availability, "dut/config/reported": report,
            ])
        }
        let condition = WaitCondition([.all: try revision(.all, model)])
        return try #require(condition.boards(in: model).first).state
    }

    @Test func statusOfLayerDecides() throws {
        let model = fleet(["_all/config": layer(5, "{}")])
        let hash = try revision(.all, model).shortHash
        let applied = report("\"all\":{\"status\":\"applied\",\"revision\":5,\"hash\":\"\(hash)\"}")
        #expect(try state(applied) == .applied)
        // A board that has it and went offline has it still.
        #expect(try state(applied, availability: "offline") == .applied)
        #expect(try state(report("\"all\":{\"status\":\"missing\",\"revision\":5,\"hash\":\"\(hash)\"}")) == .applied)
        #expect(
            try state(report(#""all":{"status":"applied","revision":4,"hash":"00"}"#))
                == .waiting("it reports all applied 4, not revision 5"))
        #expect(
            try state(report(#""all":{"status":"pending","revision":5}"#)) == .waiting("it reports all pending 5"))
        #expect(
            try state(report(#""all":{"status":"pending","revision":5,"reason":"cannot be saved: No space"}"#))
                == .waiting("it reports all pending 5: cannot be saved: No space"))
        #expect(try state(report(#""all":{"status":"none"}"#)) == .waiting("it reports all none, not revision 5"))
        #expect(try state(report("")) == .waiting("it does not report all"))
        #expect(try state(report("\"all\":{\"status\":\"none\"}"), availability: "offline") == .offline)
        #expect(try state(nil) == .waiting("it has reported no configuration"))
        #expect(
            try state(#"{"settings":{}}"#) == .waiting("it does not report layers: its program is too old"))
    }

    @Test func refusalsAreNamed() throws {
        let error = #"{"path":"a.b","value":"9","reason":"is wrong","allowed":"1"}"#
        let rejected = report(#""all":{"status":"rejected","revision":5,"in_force":4,"errors":[\#(error)]}"#)
        #expect(try state(rejected) == .refused(["all 5 rejected: a.b: \"9\" is wrong; allowed: 1"]))
        // What it refused before does not count.
        let before = report(#""all":{"status":"rejected","revision":4,"in_force":3}"#)
        #expect(try state(before) == .waiting("it reports all rejected 4, not revision 5"))
        let back = report(#""all":{"status":"rolled_back","revision":5,"in_force":4,"reason":"no samples"}"#)
        #expect(try state(back) == .refused(["all 5 rolled_back: no samples"]))
        let other = report(#""all":{"status":"applied","revision":5,"hash":"0000000000000000"}"#)
        #expect(try state(other) == .refused(["all 5: conflict: it holds another document of this revision"]))
        let newer = report(#""all":{"status":"applied","revision":9,"hash":"00"}"#)
        #expect(try state(newer) == .refused(["all 5: it holds the newer revision 9"]))
        // Nobody waits for a board that is not there.
        for report in [rejected, back, other, newer] { #expect(try state(report, availability: "offline") == .offline) }
    }

    /// For `wait` and `list`, what the broker lost, or holds in a form that nobody can read, is not in force.
    @Test func everythingIncludesWhatIsLost() throws {
        func state(_ messages: KeyValuePairs<String, String>) -> WaitCondition.State? {
            let model = fleet(messages)
            return WaitCondition(everythingIn: model).boards(in: model).first?.state
        }
        let missing = report(#""all":{"status":"missing","revision":5,"hash":"00"}"#)
        #expect(
            state(["a/availability": "online", "a/config/reported": missing])
                == .refused(["all 5: missing: the broker does not hold it any more"]))
        #expect(state(["a/availability": "offline", "a/config/reported": missing]) == .offline)
        let rejected = report(groups: ["g"], #""group:g":{"status":"rejected"}"#)
        let garbage = state(["_group/g/config": "x", "a/availability": "online", "a/config/reported": rejected])
        guard case .refused(let lines) = garbage else {
            Issue.record("\(String(describing: garbage))")
            return
        }
        #expect(lines.count == 1 && lines[0].hasPrefix("group:g: the broker holds something that is none: "))
        // A board without any layers has everything; one that has reported nothing does not count.
        #expect(state(["a/availability": "online", "a/config/reported": report("")]) == .applied)
        #expect(state(["a/availability": "online"]) == nil)
    }

    @Test func onlyReadersCount() throws {
        let model = fleet([
            "_group/laundry/config": layer(1, "{}"), "_registry/a": #"{"schema":1,"revision":1,"groups":["laundry"]}"#,
            "a/availability": "online", "b/availability": "online",
            "b/config/reported": report(groups: ["laundry"], ""),
            "c/availability": "online",
        ])
        let condition = WaitCondition([.group("laundry"): try revision(.group("laundry"), model)])
        #expect(condition.boards(in: model).map(\.id) == ["a", "b"])
        let summary = WaitSummary(condition.boards(in: model))
        #expect(!summary.isSettled && !summary.isComplete && summary.waiting.map(\.id) == ["a", "b"])
        #expect(WaitSummary([]).isComplete)
    }
}
