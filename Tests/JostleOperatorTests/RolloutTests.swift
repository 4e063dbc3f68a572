import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleOperator

private let sensitive = "{\"gestures\":{\"shake\":{\"sensitivity\":9}}}"
private let usual = "{\"gestures\":{\"shake\":{\"sensitivity\":5}}}"

/// A member `candidate` of a layer.
private func candidate(_ config: String, _ percent: String, seed: String = "s") -> String {
    #","candidate":{"config":\#(config),"percent":\#(percent),"seed":"\#(seed)"}"#
}

private func target(_ id: FleetDocumentID, _ config: String) throws -> (FleetDocumentID, DocumentDraft) {
    (id, DocumentDraft(config: try value(config)))
}

/// Requirement: a change that is rolled out keeps everything needed to go on with it, or to take it back, in its documents.
@Suite struct RolloutPlanTests {
    @Test func newRolloutHasBaseAndCandidate() throws {
        let model = fleet(["_all/config": layer(3, usual)])
        let plan = try RolloutPlan(
            [target(.all, sensitive), target(.group("laundry"), "{\"sensor\":{\"rate\":\"50 Hz\"}}")], in: model,
            newSeed: "s1")
        #expect(plan.reached == 0 && plan.seed == "s1")
        let drafts = plan.drafts(.candidate(percent: 5))
        let all = try LayerDocument(reading: try #require(drafts[.all]).bytes(revision: 4), layer: "all")
        #expect(try all.config == value(usual))
        #expect(all.candidate?.percent == 5 && all.candidate?.seed == "s1")
        #expect(try all.candidate?.config == value(sensitive))
        let group = try LayerDocument(
            reading: try #require(drafts[.group("laundry")]).bytes(revision: 1), layer: "group:laundry")
        // The layer did not exist.
        #expect(group.config == .object([]) && group.candidate?.seed == "s1")
    }

    @Test func endsWithCandidateOrWithBase() throws {
        let plan = try RolloutPlan([target(.all, sensitive)], in: fleet(["_all/config": layer(3, usual)]), newSeed: "s")
        for (stage, config) in [(RolloutPlan.Stage.complete, sensitive), (.withdrawn, usual)] {
            let draft = try #require(plan.drafts(stage)[.all])
            let document = try LayerDocument(reading: draft.bytes(revision: 9), layer: "all")
            #expect(try document.config == value(config) && document.candidate == nil)
        }
    }

    /// Nothing in the documents would say what the rule was before.
    @Test func ruleForUnknownKeysCannotChange() throws {
        let model = fleet(["_all/config": layer(3, usual, more: #","unknown":"ignore""#)])
        #expect(throws: RolloutError.unknownKeysChange(.all)) {
            try RolloutPlan([target(.all, sensitive)], in: model, newSeed: "s")
        }
        let same = DocumentDraft(config: try value(sensitive), ignoresUnknownKeys: true)
        let plan = try RolloutPlan([(.all, same)], in: model, newSeed: "s")
        for stage in [RolloutPlan.Stage.candidate(percent: 5), .complete, .withdrawn] {
            let bytes = try #require(plan.drafts(stage)[.all]).bytes(revision: 4)
            #expect(try LayerDocument(reading: bytes, layer: "all").ignoresUnknownKeys)
        }
    }

    /// The candidate contains the whole configuration: what somebody changed below it would be lost.
    @Test func noticesThatTheConfigurationChangedBelowIt() throws {
        let name = "2026-11-22T10:00-a1b2c3"
        let targets = [try target(.all, sensitive), try target(.group("g"), usual)]
        let plan = try RolloutPlan(targets, in: fleet(["_all/config": layer(3, usual)]), newSeed: name, marksBase: true)
        #expect(plan.seed.hasPrefix(name + "-") && !plan.isBaseChanged)
        func model(_ base: String, hasGroup: Bool = true) -> FleetModel {
            let all = layer(4, base, more: candidate(sensitive, "5", seed: plan.seed))
            guard hasGroup else { return fleet(["_all/config": all]) }
            let group = layer(1, "{}", more: candidate(usual, "5", seed: plan.seed))
            return fleet(["_all/config": all, "_group/g/config": group])
        }
        #expect(try #require(RolloutPlan(runningIn: model(usual), seed: plan.seed)).isBaseChanged == false)
        for other in [model("{}"), model(usual, hasGroup: false)] {
            #expect(try #require(RolloutPlan(runningIn: other, seed: plan.seed)).isBaseChanged)
        }
        // The same command goes on with an interrupted first publication, and with no other layers.
        let again = try RolloutPlan(targets, in: model(usual, hasGroup: false), newSeed: "other")
        #expect(again.seed == plan.seed && again.reached == 5)
        #expect(throws: RolloutError.otherLayers(plan.seed, .device("a"))) {
            try RolloutPlan(targets + [target(.device("a"), usual)], in: model(usual), newSeed: "other")
        }
        #expect(throws: RolloutError.otherLayers(plan.seed, .group("g"))) {
            try RolloutPlan([targets[0]], in: model(usual), newSeed: "other")
        }
        #expect(throws: RolloutError.seedInUse(plan.seed)) {
            try RolloutPlan([target(.device("a"), usual)], in: model(usual), newSeed: plan.seed)
        }
    }

    @Test func sameChangeGoesOnWithItsSeedFromTheLargestShare() throws {
        let model = fleet([
            "_all/config": layer(4, usual, more: candidate("{\"gestures\":{\"shake\":{\"sensitivity\":9.0}}}", "25")),
            "_group/g/config": layer(2, "{}", more: candidate(usual, "5")),
        ])
        let plan = try RolloutPlan([target(.all, sensitive), target(.group("g"), usual)], in: model, newSeed: "new")
        #expect(plan.seed == "s" && plan.reached == 25)
        #expect(try plan.layers.map(\.base) == [value(usual), .object([])])
        let same = try #require(RolloutPlan(runningIn: model, seed: "s"))
        #expect(same.reached == 25 && same.layers.map(\.document) == [.all, .group("g")])
        #expect(RolloutPlan.seeds(in: model) == ["s"])
        #expect(RolloutPlan(runningIn: model, seed: "other") == nil)
    }

    @Test func refusesWhatCannotBeRolledOut() throws {
        let other = fleet([
            "_all/config": layer(4, usual, more: candidate("{}", "25") + #","by":"bob@lab""#)
        ])
        #expect(throws: RolloutError.otherRollout(.all, percent: 25, by: "bob@lab")) {
            try RolloutPlan([target(.all, sensitive)], in: other, newSeed: "s")
        }
        let two = fleet([
            "_all/config": layer(4, "{}", more: candidate(sensitive, "25", seed: "a")),
            "_group/g/config": layer(2, "{}", more: candidate(sensitive, "5", seed: "b")),
        ])
        #expect(throws: RolloutError.differentSeeds(.all, .group("g"))) {
            try RolloutPlan([target(.all, sensitive), target(.group("g"), sensitive)], in: two, newSeed: "s")
        }
        #expect(throws: RolloutError.unreadable(.all)) {
            try RolloutPlan([target(.all, sensitive)], in: fleet(["_all/config": "{"]), newSeed: "s")
        }
        #expect(throws: RolloutError.groupsChange(.registry("a"))) {
            try RolloutPlan([target(.registry("a"), "{}")], in: fleet([:]), newSeed: "s")
        }
    }

    @Test func candidateOfNoDeviceIsReplaced() throws {
        let model = fleet(["_all/config": layer(4, usual, more: candidate("{}", "0"))])
        let plan = try RolloutPlan([target(.all, sensitive)], in: model, newSeed: "new")
        #expect(plan.seed == "new" && plan.reached == 0)
        #expect(RolloutPlan.seeds(in: model).isEmpty)
    }

    @Test func concernsDevicesThatReadOneOfTheLayers() throws {
        let model = fleet([
            "a/availability": "online", "b/availability": "offline", "c/availability": "online",
            "_registry/a": #"{"schema":1,"revision":1,"groups":["g"]}"#,
            "_registry/b": #"{"schema":1,"revision":1,"groups":["g"]}"#,
        ])
        let plan = try RolloutPlan([target(.group("g"), sensitive)], in: model, newSeed: "s")
        let readers = plan.readers(in: model)
        #expect(Set(readers.map(\.id)) == ["a", "b"])
        #expect(readers.map(\.place) == readers.map(\.place).sorted())
        #expect(readers.first { $0.id == "a" }?.isOnline == true && readers.first { $0.id == "b" }?.isOnline == false)
        // What a board selects by itself.
        for reader in readers {
            let percent = RolloutStep.share(above: reader.place)
            let text = layer(1, "{}", more: candidate("{}", "\(percent)"))
            let own = try #require(try LayerDocument(reading: Array(text.utf8), layer: "all").candidate)
            #expect(own.selects(reader.id))
        }
    }
}

/// Requirement: each step adds a device that is online, and its devices are known before it begins.
@Suite struct RolloutStepTests {
    /// Devices at these places.
    private func readers(_ places: [(Double, Bool)]) -> [RolloutReader] {
        places.enumerated().map { RolloutReader(id: "d\($0.offset)", place: $0.element.0, isOnline: $0.element.1) }
    }

    private func steps(_ percents: [Double], _ places: [(Double, Bool)], reached: String = "0") throws -> [RolloutStep]
    {
        let model = fleet(["_all/config": layer(3, usual, more: candidate(sensitive, reached))])
        let plan = try RolloutPlan([target(.all, sensitive)], in: model, newSeed: "s")
        return RolloutStep.plan(percents: percents, for: plan, readers(places))
    }

    @Test func sharesGrow() throws {
        let places = (0..<100).map { (index: Int) -> (Double, Bool) in (Double(index) / 100, index % 10 != 0) }
        let steps = try steps([5, 25, 100], places)
        #expect(steps.map(\.percent) == [5, 25, 100])
        #expect(steps.map(\.added.count) == [4, 18, 68])
        #expect(steps.map(\.online.count) == [4, 22, 90])
        #expect(steps.map(\.offline.count) == [1, 3, 10])
    }

    @Test func shareIsRaisedToTheFirstDeviceThatIsOnline() throws {
        let steps = try steps([5, 25, 100], [(0.02, false), (0.31, true), (0.5, true)])
        #expect(steps.map(\.percent) == [31.0001, 100])
        #expect(steps.map(\.added) == [["d1"], ["d2"]])
        #expect(steps[0].offline == ["d0"])
    }

    @Test func lastStepIsTheLastThatAddsADevice() throws {
        #expect(try steps([5, 25, 100], [(0.01, true)]).map(\.percent) == [5])
        #expect(try steps([5, 25, 100], [(0.01, false)]).isEmpty)
    }

    @Test func rolloutThatHasBegunFirstWatchesWhatItHasReached() throws {
        let places = (0..<10).map { (Double($0) / 10, true) }
        let steps = try steps([5, 25, 100], places, reached: "25")
        #expect(steps.map(\.percent) == [25, 100])
        #expect(steps.map(\.added.count) == [3, 7])
    }

    @Test(arguments: [0.0, 0.1, 0.25, 1.0 / 3, 0.49999995, 0.9999999, 1 - 0x1p-53]) func smallestShareSelects(
        place: Double
    ) {
        let percent = RolloutStep.share(above: place)
        #expect(place < percent / 100 && percent <= 100)
        #expect(percent - place * 100 < 0.0003)
    }

    @Test func percentagesAreRead() throws {
        #expect(try RolloutPercents.read("5%") == 5 && RolloutPercents.read("2.5 %") == 2.5)
        #expect(try RolloutPercents.all(canary: 5, steps: nil) == [5, 25, 100])
        #expect(try RolloutPercents.all(canary: 30, steps: nil) == [30, 100])
        #expect(try RolloutPercents.all(canary: 5, steps: [50]) == [5, 50, 100])
        #expect(try RolloutPercents.all(canary: 100, steps: nil) == [100])
        #expect(throws: RolloutError.self) { try RolloutPercents.all(canary: 30, steps: [20]) }
        for text in ["", "0", "0%", "101%", "x", "-5%", "nan"] {
            #expect(throws: RolloutError.self, "\(text)") { try RolloutPercents.read(text) }
        }
    }
}

/// Requirement: a step fails if its devices are silent, refuse or undo the change, or have got worse; and not otherwise.
@Suite struct RolloutWatchTests {
    private static let ids = (0..<10).map { "d\($0)" }
    private let base: FleetModel
    private let plan: RolloutPlan
    private let step: RolloutStep

    init() throws {
        var model = fleet(["_all/config": layer(3, usual, more: candidate(sensitive, "50"))])
        for id in RolloutWatchTests.ids {
            RolloutWatchTests.tell(&model, id, "availability", "online")
            RolloutWatchTests.tell(&model, id, "health", RolloutWatchTests.health(uptime: 3600, gestures: 5))
            RolloutWatchTests.tell(&model, id, "config/reported", report(#""all":{"status":"applied","revision":2}"#))
        }
        base = model
        plan = try #require(RolloutPlan(runningIn: model, seed: "s"))
        let readers = RolloutWatchTests.ids.enumerated().map {
            RolloutReader(id: $0.element, place: Double($0.offset) / 10, isOnline: $0.offset != 4)
        }
        step = RolloutStep(percent: 50, reached: 20, readers)
    }

    private static func tell(
        _ model: inout FleetModel, _ id: String, _ topic: String, _ text: String, at second: Int = 0
    ) {
        model.update(
            with: MQTTMessage(topic: "jostle/\(id)/\(topic)", text: text, retain: second == 0),
            at: Timestamp(nanoseconds: Int64(second) * 1_000_000_000))
    }

    private static func health(
        uptime: Int, gestures: Int = 0, gaps: Int = 0, problems: String = "[]"
    ) -> String {
        #"{"uptime":\#(uptime),"gestures":\#(gestures),"gaps":\#(gaps),"problems":\#(problems),"sensor_fault":"gone"}"#
    }

    private static func upgrade(_ state: String, wanted: String = "1.2", uptime: Int = 60) -> String {
        #"{"uptime":\#(uptime),"problems":[],"upgrade":{"state":"\#(state)","wanted":"\#(wanted)","reason":"why"}}"#
    }

    private static func applied(_ status: String = "applied", more: String = "") -> String {
        report(#""all":{"status":"\#(status)","revision":3,"candidate":true\#(more)}"#)
    }

    /// What is judged of `d0` after messages, second by second.
    private func state(_ messages: [(topic: String, text: String)]) throws -> RolloutJudgement {
        var model = base
        var watch = RolloutWatch(step, model, eventRate: .times(10))
        watch.documents = [.all: try revision(.all, model)]
        for (second, message) in messages.enumerated() {
            RolloutWatchTests.tell(&model, "d0", message.topic, message.text, at: second + 1)
            _ = watch.judge(model, at: Timestamp(nanoseconds: Int64(second + 1) * 1_000_000_000))
        }
        return watch.judge(model, at: Timestamp(nanoseconds: 100_000_000_000))
    }

    @Test func stepHasDevicesThatAreOnline() {
        #expect(step.online == ["d0", "d1", "d2", "d3"] && step.added == ["d2", "d3"] && step.offline == ["d4"])
    }

    @Test func deviceIsHealthyAfterItsTrialAndAHealthReport() throws {
        var messages = [("config/reported", Self.applied(more: #","probation":true"#))]
        #expect(try state(messages).unproven == [.init(id: "d0", lines: ["on trial"])])
        messages.append(("config/reported", Self.applied()))
        #expect(try state(messages).failing.first == .init(id: "d0", lines: ["no health report since"]))
        messages.append(("health", Self.health(uptime: 3660, gestures: 5)))
        #expect(try state(messages).healthy == ["d0"])
        // A report from the time of the trial is none of the time after it.
        messages.swapAt(1, 2)
        #expect(try state(messages).failing.first == .init(id: "d0", lines: ["no health report since"]))
        // What the broker holds when it comes back is no new report.
        var model = base
        Self.tell(&model, "d0", "health", Self.health(uptime: 3660, gestures: 5), at: 1)
        let health = model.boards["d0"]?.health
        model.update(
            with: MQTTMessage(topic: "jostle/d0/health", text: Self.health(uptime: 3600), retain: true),
            at: Timestamp(nanoseconds: 9_000_000_000))
        #expect(model.boards["d0"]?.health == health)
    }

    @Test(arguments: [
        ([], "it reports all applied 2, not revision 3"),
        ([("availability", "offline")], "it is offline"),
        ([("config/reported", Self.applied()), ("availability", "offline")], "it is offline"),
        ([("config/reported", Self.applied("pending"))], "it reports all pending 3"),
        (
            [
                ("config/reported", Self.applied()),
                ("health", Self.health(uptime: 3660, problems: #"["sensor"]"#)),
            ], "new problem: sensor (gone)"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.upgrade("waiting"))],
            "upgrade to 1.2: waiting: why"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.upgrade("installing"))],
            "upgrade to 1.2: installing: why"
        ),
    ])
    func deviceFailsIfItStaysSo(messages: [(String, String)], reason: String) throws {
        let judgement = try state(messages)
        #expect(judgement.failing.first == .init(id: "d0", lines: [reason]))
        #expect(judgement.failed.isEmpty)
    }

    @Test(arguments: [
        (
            [
                (
                    "config/reported",
                    report(#""all":{"status":"rolled_back","revision":3,"in_force":2,"reason":"no samples"}"#)
                )
            ],
            "all 3 rolled_back: no samples"
        ),
        (
            [
                (
                    "config/reported",
                    report(#""all":{"status":"rejected","revision":3,"errors":[{"path":"a","reason":"is bad"}]}"#)
                )
            ], "all 3 rejected: a: is bad"
        ),
        (
            [
                (
                    "config/reported",
                    report(
                        #""all":{"status":"applied","revision":3,"candidate":false,"candidate_errors":[{"path":"a","reason":"is bad"}]}"#
                    )
                )
            ], "candidate refused: a: is bad"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.health(uptime: 3720, gestures: 20))],
            "15 gestures in 120 s, more than 60 an hour"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.health(uptime: 60, gestures: 20))],
            "20 gestures in 60 s, more than 60 an hour"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.health(uptime: 3720, gaps: 15))],
            "15 gaps between samples in 120 s"
        ),
        (
            [("config/reported", Self.applied()), ("health", Self.upgrade("failed"))],
            "upgrade to 1.2: failed: why"
        ),
    ])
    func deviceHasFailedWhateverComes(messages: [(String, String)], reason: String) throws {
        #expect(try state(messages).failed == [.init(id: "d0", lines: [reason])])
    }

    @Test func fewMoreGesturesAreChance() throws {
        let judgement = try state([
            ("config/reported", Self.applied()), ("health", Self.health(uptime: 3720, gestures: 14)),
        ])
        #expect(judgement.healthy == ["d0"])
    }

    @Test func installedUpgradeIsHealthyAndAnOldFailureDoesNotCount() throws {
        let installed = try state([("config/reported", Self.applied()), ("health", Self.upgrade("installed"))])
        #expect(installed.healthy == ["d0"])
        var model = base
        Self.tell(&model, "d0", "health", Self.upgrade("failed", uptime: 3600), at: 1)
        var watch = RolloutWatch(step, model, eventRate: nil)
        watch.documents = [.all: try revision(.all, model)]
        Self.tell(&model, "d0", "config/reported", Self.applied(), at: 1)
        _ = watch.judge(model, at: Timestamp(nanoseconds: 1_000_000_000))
        Self.tell(&model, "d0", "health", Self.upgrade("failed", uptime: 3660), at: 2)
        #expect(watch.judge(model, at: Timestamp(nanoseconds: 3_000_000_000)).healthy == ["d0"])
    }

    /// A device that has just started may have recognised many gestures already.
    @Test func gesturesOfAShortRunCount() throws {
        var model = base
        Self.tell(&model, "d0", "health", Self.health(uptime: 60, gestures: 20), at: 1)
        var watch = RolloutWatch(step, model, eventRate: .times(10))
        watch.documents = [.all: try revision(.all, model)]
        Self.tell(&model, "d0", "config/reported", Self.applied(), at: 1)
        _ = watch.judge(model, at: Timestamp(nanoseconds: 1_000_000_000))
        Self.tell(&model, "d0", "health", Self.health(uptime: 120, gestures: 60), at: 2)
        #expect(watch.judge(model, at: Timestamp(nanoseconds: 3_000_000_000)).healthy == ["d0"])
    }

    /// A device that never reported its health before has nothing to be compared with, and is not trusted for that.
    @Test func deviceWithoutEarlierHealthIsJudged() throws {
        var model = fleet(["_all/config": layer(3, usual, more: candidate(sensitive, "50"))])
        Self.tell(&model, "d0", "availability", "online")
        let settings = #","settings":{"publish":{"health":{"interval":"5 s"}}}}"#
        for (health, reason) in [
            (nil, "no health report since"),
            (Self.health(uptime: 60, problems: #"["sensor"]"#), "new problem: sensor (gone)"),
            (Self.health(uptime: 60, gaps: 5000), "5000 gaps between samples in 60 s"), (Self.health(uptime: 60), nil),
        ] as [(String?, String?)] {
            var model = model
            let step = RolloutStep(percent: 50, reached: 0, [RolloutReader(id: "d0", place: 0.1, isOnline: true)])
            var watch = RolloutWatch(step, model, eventRate: .times(10))
            watch.documents = [.all: try revision(.all, model)]
            Self.tell(&model, "d0", "config/reported", Self.applied().dropLast() + settings, at: 1)
            _ = watch.judge(model, at: Timestamp(nanoseconds: 1_000_000_000))
            if let health { Self.tell(&model, "d0", "health", health, at: 2) }
            let judgement = watch.judge(model, at: Timestamp(nanoseconds: 3_000_000_000))
            #expect((judgement.failing + judgement.failed).first?.lines == reason.map { [$0] })
            #expect(judgement.healthy.isEmpty == (reason != nil))
        }
    }

    /// A failure that was tolerated in one step still counts in the next one.
    @Test func healthBeforeTheChangeIsKeptFromStepToStep() throws {
        var model = base
        let first = RolloutWatch(step, model, eventRate: nil)
        Self.tell(&model, "d0", "config/reported", Self.applied(), at: 1)
        Self.tell(&model, "d0", "health", Self.health(uptime: 3660, problems: #"["sensor"]"#), at: 2)
        var next = RolloutWatch(step, model, eventRate: nil, earlier: first.before)
        next.documents = [.all: try revision(.all, model)]
        _ = next.judge(model, at: Timestamp(nanoseconds: 2_000_000_000))
        Self.tell(&model, "d0", "health", Self.health(uptime: 3720, problems: #"["sensor"]"#), at: 3)
        let failing = next.judge(model, at: Timestamp(nanoseconds: 3_000_000_000)).failing
        #expect(failing.first == .init(id: "d0", lines: ["new problem: sensor (gone)"]))
    }

    /// A device that has the change and went dark may have done so because of it.
    @Test func devicesWithTheCandidateCountAfterAnInterruption() throws {
        var model = base
        let revision = try #require(model.documents[.all]?.number)
        Self.tell(
            &model, "d0", "config/reported",
            report(#""all":{"status":"applied","revision":\#(revision),"candidate":true}"#))
        Self.tell(&model, "d0", "availability", "offline")
        Self.tell(&model, "d1", "availability", "offline")
        let online = plan.readers(in: model).filter(\.isOnline).map(\.id)
        let counted = plan.readers(in: model, countsChanged: true).filter(\.isOnline).map(\.id)
        #expect(Set(counted).subtracting(online) == ["d0"])
    }

    /// After an interruption, what a device with the change has already is not taken for what it had before.
    @Test func devicesThatHadTheChangeAreNotComparedWithThemselves() throws {
        for (old, health, reason) in [
            (
                Self.health(uptime: 3600, gestures: 5, problems: #"["sensor"]"#),
                Self.health(uptime: 3720, gestures: 5, problems: #"["sensor"]"#), "new problem: sensor (gone)"
            ),
            (
                Self.health(uptime: 3600, gestures: 1000), Self.health(uptime: 3720, gestures: 1020),
                "20 gestures in 120 s, more than 60 an hour"
            ),
            (
                Self.health(uptime: 3600, gaps: 1000), Self.health(uptime: 3720, gaps: 1020),
                "20 gaps between samples in 120 s"
            ),
        ] {
            // The broker has it under this revision.
            var model = base
            Self.tell(&model, "d0", "config/reported", Self.applied())
            model.update(
                with: MQTTMessage(topic: "jostle/d0/health", text: old), at: Timestamp(nanoseconds: 0))
            for isResumed in [true, false] {
                var watch = RolloutWatch(step, model, eventRate: .times(10), isResumed: isResumed)
                watch.documents = [.all: try revision(.all, model)]
                var later = model
                Self.tell(&later, "d0", "health", health, at: 2)
                let judgement = watch.judge(later, at: Timestamp(nanoseconds: 3_000_000_000))
                let found = (judgement.failing + judgement.failed).first { $0.id == "d0" }
                #expect(found?.lines == (isResumed ? [reason] : nil))
            }
        }
    }

    @Test func oldProblemIsNoFailure() throws {
        var model = base
        Self.tell(&model, "d0", "health", Self.health(uptime: 3600, problems: #"["clock"]"#), at: 1)
        var watch = RolloutWatch(step, model, eventRate: nil)
        watch.documents = [.all: try revision(.all, model)]
        Self.tell(&model, "d0", "config/reported", Self.applied(), at: 1)
        _ = watch.judge(model, at: Timestamp(nanoseconds: 1_000_000_000))
        Self.tell(&model, "d0", "health", Self.health(uptime: 3660, gestures: 900, problems: #"["clock"]"#), at: 2)
        #expect(watch.judge(model, at: Timestamp(nanoseconds: 2_000_000_000)).healthy == ["d0"])
    }

    // MARK: The verdict

    private func judgement(_ states: [RolloutWatch.State]) -> RolloutJudgement {
        var judgement = RolloutJudgement(step)
        for (id, state) in zip(step.online, states) { judgement.add(id, state) }
        return judgement
    }

    struct Case {
        var states: [RolloutWatch.State]
        var abortAbove = 2.0
        var isEnd = false
        var verdict: RolloutJudgement.Verdict
    }

    private static let good = RolloutWatch.State.healthy
    private static let onTrial = RolloutWatch.State.unproven("on trial")
    private static let silent = RolloutWatch.State.failing(["silent"])
    private static let bad = RolloutWatch.State.failed(["bad"])
    private static let tooMany = RolloutJudgement.Verdict.stop(
        "1 of 4 devices with the change failed: 25 %, more than 2 %")
    private static let cases: [Case] = [
        Case(states: [good, good, good, good], verdict: .goOn),
        Case(states: [good, good, good, onTrial], verdict: .wait),
        Case(states: [good, good, good, onTrial], isEnd: true, verdict: .goOn),
        Case(states: [good, good, good, silent], verdict: .wait),
        Case(states: [good, good, good, silent], isEnd: true, verdict: tooMany),
        Case(states: [good, onTrial, onTrial, bad], verdict: tooMany),
        Case(
            states: [good, good, good, bad], abortAbove: 30,
            verdict: .stop("1 of 2 devices of the step failed: 50 %, more than 30 %")),
        Case(states: [good, good, good, bad], abortAbove: 50, verdict: .goOn),
        Case(
            states: [good, good, bad, bad], abortAbove: 100, verdict: .stop("all 2 devices of the step failed")),
        Case(
            states: [bad, bad, silent, silent], abortAbove: 100, isEnd: true,
            verdict: .stop("all 4 devices with the change failed")),
    ]

    @Test(arguments: cases) func verdict(example: Case) {
        var limits = RolloutLimits()
        limits.abortAbove = example.abortAbove
        #expect(judgement(example.states).verdict(limits, isEnd: example.isEnd) == example.verdict)
    }

    @Test func eventRatesAreRead() {
        #expect(EventRateLimit.read("10x") == .some(.times(10)))
        #expect(EventRateLimit.read("120") == .some(.perHour(120)))
        #expect(EventRateLimit.read("off") == .some(nil))
        for text in ["", "x", "0", "1x", "-3", "nan", "10 x", "1e9"] {
            #expect(EventRateLimit.read(text) == nil, "\(text)")
        }
        #expect(EventRateLimit.perHour(120).perHour(before: 100) == 200)
        #expect(EventRateLimit.times(3).perHour(before: 100) == 300)
        #expect(EventRateLimit.times(3).perHour(before: 0) == 18)
    }
}

/// Requirement: steps begin only within the hours that the operator names.
@Suite struct MaintenanceWindowTests {
    @Test func stepMustFitIntoTheWindow() throws {
        let window = try #require(MaintenanceWindow("02:00-05:00"))
        #expect(window.length == 10_800 && window.text == "02:00-05:00")
        #expect(window.admits(secondsSinceMidnight: 7200, duration: 600))
        #expect(window.admits(secondsSinceMidnight: 17_400, duration: 600))
        #expect(!window.admits(secondsSinceMidnight: 17_401, duration: 600))
        #expect(!window.admits(secondsSinceMidnight: 7199, duration: 600))
        #expect(!window.admits(secondsSinceMidnight: 50_000, duration: 0))
    }

    @Test func windowCanSpanMidnight() throws {
        let window = try #require(MaintenanceWindow("22:30-01:00"))
        #expect(window.length == 9000)
        #expect(window.admits(secondsSinceMidnight: 81_000, duration: 600))
        #expect(window.admits(secondsSinceMidnight: 0, duration: 3600))
        #expect(!window.admits(secondsSinceMidnight: 1, duration: 3600))
        #expect(!window.admits(secondsSinceMidnight: 80_999, duration: 1))
    }

    @Test(arguments: [
        "", "2-5", "02:00", "02:00-02:00", "24:00-05:00", "02:60-05:00", "2:00-5:00", "02:00-05:00-06:00",
    ])
    func otherTextsAreNone(text: String) { #expect(MaintenanceWindow(text) == nil) }
}
