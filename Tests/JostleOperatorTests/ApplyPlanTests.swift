import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleOperator

/// Requirement: applying a directory publishes exactly what differs, under revisions that devices accept.
@Suite struct ApplyPlanTests {
    private func directory(_ files: KeyValuePairs<String, String>) -> FleetDirectory {
        FleetDirectory(
            files.map { FleetDirectory.File(name: $0.key, path: "fleet/\($0.key)", bytes: Array($0.value.utf8)) })
    }

    private func plan(_ directory: FleetDirectory, _ model: FleetModel, prunes: Bool = false) -> ApplyPlan {
        ApplyPlan(directory, model, prunes: prunes)
    }

    private func summary(_ plan: ApplyPlan) -> [String] {
        plan.items.map { item in
            let epoch = item.revision.beginsEpoch ? " of a new epoch" : ""
            return "\(item.document.text) \(item.revision.next)\(epoch) \(item.reason)"
        }
    }

    @Test func publishesOnlyWhatDiffers() {
        let files = directory([
            "all.yaml": "sensor: { rate: 50 }", "groups/laundry.yaml": "sensor: { rate: 60 }",
            "devices/door.yaml": "", "registry.yaml": "a: [laundry]\nb: []",
        ])
        #expect(files.problems.isEmpty)
        let model = fleet([
            "_all/config": layer(3, #"{"sensor":{"rate":50.0}}"#),
            "_group/laundry/config": layer(8, #"{"sensor":{"rate":50}}"#),
            "_group/old/config": layer(1, #"{"log":{}}"#),
            "_group/empty/config": layer(1, "{}"), "_registry/a": #"{"schema":1,"revision":2,"groups":["laundry"]}"#,
            "_registry/gone": #"{"schema":1,"revision":2,"groups":["x"]}"#,
        ])
        let plan = plan(files, model)
        #expect(summary(plan) == ["group:laundry 9 changed", "registry:b 1 new"])
        #expect(plan.unchanged.map(\.text) == ["all", "registry:a"])
        #expect(plan.extra.map(\.text) == ["group:old", "registry:gone"])
        let pruned = self.plan(files, model, prunes: true)
        #expect(
            summary(pruned).suffix(2) == [
                "group:old 2 not in the directory", "registry:gone 3 not in the directory",
            ])
        #expect(pruned.items.last?.draft.content == [.init("groups", .array([]))])
    }

    @Test func restoresWhatTheBrokerLost() {
        let files = directory(["all.yaml": "sensor: { rate: 50 }"])
        let model = fleet([
            "_all/config": layer(3, #"{"sensor":{"rate":50}}"#),
            "a/config/reported": report(
                groups: ["g"],
                #""all":{"status":"stale","revision":3,"in_force":9},"group:g":{"status":"missing","revision":4}"#),
            "a/availability": "online",
        ])
        let plan = plan(files, model)
        #expect(summary(plan) == ["all 1 of a new epoch lost by the broker"])
        #expect(plan.extra == [.group("g")])
        #expect(
            summary(self.plan(files, model, prunes: true)).last == "group:g 1 of a new epoch not in the directory")
    }

    /// Everything is published again, also what the broker holds.
    @Test func newEpochOnDemand() {
        let files = directory(["all.yaml": "sensor: { rate: 50 }", "registry.yaml": "a: [g]", "devices/b.yaml": ""])
        let model = fleet([
            "_all/config": layer(3, #"{"sensor":{"rate":50}}"#),
            "_registry/a": #"{"schema":1,"revision":2,"groups":[]}"#,
        ])
        let plan = ApplyPlan(files, model, newEpoch: true)
        #expect(
            summary(plan) == [
                "all 1 of a new epoch in a new epoch", "device:b 1 of a new epoch new",
                "registry:a 1 of a new epoch changed",
            ])
        #expect(plan.unchanged.isEmpty)
    }

    @Test func publishesAgainWhatDevicesRefuse() {
        let files = directory(["all.yaml": "sensor: { rate: 50 }"])
        let config = #"{"sensor":{"rate":50}}"#
        let conflict = fleet([
            "_all/config": layer(3, config),
            "a/config/reported": report(#""all":{"status":"conflict","revision":3,"hash":"00"}"#),
            "a/availability": "online",
        ])
        #expect(summary(plan(files, conflict)) == ["all 4 held in two versions"])
        let huge = fleet([
            "_all/config": layer(9_000_000_000_000, config),
            "a/config/reported": report(#""all":{"status":"rejected","revision":9000000000000,"in_force":3}"#),
        ])
        #expect(summary(plan(files, huge)) == ["all 1 of a new epoch unreadable on the broker"])
    }

    /// What half of the boards claim makes no program that runs again and again publish each time.
    @Test(arguments: [#""status":"conflict","revision":3"#, #""status":"stale","revision":2,"in_force":3"#])
    func minorityPublishesNothingAgain(claim: String) {
        let files = directory(["all.yaml": "sensor: { rate: 50 }"])
        let model = fleet([
            "_all/config": layer(3, #"{"sensor":{"rate":50}}"#), "a/availability": "online", "b/availability": "online",
            "a/config/reported": report("\"all\":{\(claim)}"),
            "b/config/reported": report(#""all":{"status":"applied","revision":3}"#),
        ])
        #expect(plan(files, model).unchanged == [.all])
    }

    /// What devices do with keys that they do not know stays as it is, unless the command says otherwise.
    @Test func keepsTheRuleForUnknownKeys() {
        let files = directory(["all.yaml": "sensor: { rate: 50 }"])
        let model = fleet(["_all/config": layer(3, #"{"sensor":{"rate":50}}"#, more: #","unknown":"ignore""#)])
        #expect(plan(files, model).unchanged == [.all])
        for (ignores, count) in [(true, 0), (false, 1)] {
            #expect(ApplyPlan(files, model, ignoresUnknownKeys: ignores).items.count == count)
        }
        let changed = plan(directory(["all.yaml": "sensor: { rate: 60 }"]), model)
        #expect(changed.items.first?.draft.content.last == .init("unknown", "ignore"))
    }

    @Test func replacesGarbage() {
        let plan = plan(directory(["all.yaml": "{}"]), fleet(["_all/config": #"{"schema":1,"revision":7,"x":1}"#]))
        #expect(summary(plan) == ["all 8 unreadable on the broker"])
    }

    @Test func candidateStays() throws {
        let more = #","candidate":{"config":{},"percent":10,"seed":"s"}"#
        let plan = plan(
            directory(["all.yaml": "sensor: { rate: 50 }"]), fleet(["_all/config": layer(1, "{}", more: more)]))
        #expect(plan.candidates == [.all])
        #expect(try #require(plan.items.first).draft.content.contains { $0.name == "candidate" })
    }

    @Test func filesOfModelReadBack() throws {
        let gestures = #"{"shake":{"sensitivity":7,"cooldown":"0.5 s"},"tap":{"counts":["single"]}}"#
        let config = #"{"gestures":\#(gestures),"sensor":{"rate":"100","batch":null},"log":{}}"#
        let model = fleet([
            "_all/config": layer(1, config), "a/config/desired": layer(1, "{}"),
            "_registry/a": #"{"schema":1,"revision":1,"groups":["x","y"]}"#,
            "_registry/b": #"{"schema":1,"revision":1,"groups":[]}"#,
        ])
        let files = FleetDirectory.files(of: model)
        #expect(files.map(\.name) == ["all.yaml", "registry.yaml"])
        let read = FleetDirectory(files.map { .init(name: $0.name, path: $0.name, bytes: Array($0.text.utf8)) })
        #expect(LayerEdit.isEqual(try #require(read.layers[.all]), try value(config)), "\(files[0].text)")
        #expect(read.registry == ["a": ["x", "y"], "b": []])
        #expect(files[1].text == "a: [x, y]\nb: []\n")
    }
}

/// Requirement: an operator sees what a change does to each device before it is published.
@Suite struct FleetPreviewTests {
    private func preview(
        _ layers: [FleetDocumentID: String], groups: [String: [String]] = [:], _ model: FleetModel
    ) throws -> [String] {
        var proposal = FleetPreview.Proposal()
        proposal.layers = try layers.mapValues(value)
        proposal.groups = groups
        return FleetPreview(proposal, model).boards.flatMap { board in
            board.changes.map {
                "\(board.id) \($0.key) \($0.old ?? "?") -> \($0.new ?? "?") \($0.layer ?? "-")"
            } + board.refusedKeys.map { "\(board.id) refuses \($0)" }
        }
    }

    private let settings = #","settings":{"sensor":{"rate":"200 Hz"},"fleet":{"remote":["sensor"]}},"origins":{"#

    /// A board that refused the candidate has the layer's own configuration, and so after the change.
    @Test func refusedCandidateIsNotInForce() throws {
        let candidate = #","candidate":{"config":{"sensor":{"rate":"2000 Hz"}},"percent":100,"seed":"s"}"#
        let refused = #""all":{"status":"applied","revision":1,"candidate":false,"candidate_errors":[{"path":"x"}]}"#
        let model = fleet([
            "_all/config": layer(1, #"{"sensor":{"rate":"200 Hz"}}"#, more: candidate),
            "a/config/reported": report(refused, more: settings + #""sensor.rate":"all"}"#),
        ])
        #expect(try preview([.all: "{sensor: {rate: 100}}"], model) == [#"a sensor.rate "200 Hz" -> "100 Hz" all"#])
        #expect(model.boards["a"]?.problems == ["all candidate refused"])
    }

    @Test func highestLayerDecides() throws {
        let model = fleet([
            "_all/config": layer(1, #"{"sensor":{"rate":"200 Hz"}}"#),
            "_group/g/config": layer(1, #"{"sensor":{"rate":"50 Hz"}}"#),
            "a/config/reported": report("", more: settings + #""sensor.rate":"all"}"#),
            "b/config/reported": report(
                groups: ["g"], "", more: #","settings":{"sensor":{"rate":"50 Hz"}},"origins":{"sensor.rate":"group:g"}"#
            ),
        ])
        #expect(try preview([.all: "{sensor: {rate: 100}}"], model) == [#"a sensor.rate "200 Hz" -> "100 Hz" all"#])
        // Null takes the lower layer's value away: the default is back.
        #expect(
            try preview([.group("g"): "{sensor: {rate: null}}"], model) == [
                #"b sensor.rate "50 Hz" -> "200 Hz" group:g"#
            ])
        #expect(try preview([.group("g"): "{}"], model) == [#"b sensor.rate "50 Hz" -> "200 Hz" all"#])
        #expect(try preview([.all: "{}"], model) == [#"a sensor.rate "200 Hz" -> ? -"#])
        #expect(try preview([:], groups: ["a": ["g"]], model) == [#"a sensor.rate "200 Hz" -> "50 Hz" group:g"#])
        #expect(try preview([.all: "{log: {level: debug}}"], model).contains("a refuses log.level"))
        #expect(try preview([.device("b"): "{sensor: {rate: 50 Hz}}"], model).isEmpty)
    }
}
