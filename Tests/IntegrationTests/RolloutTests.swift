import BrokerTestSupport
import Foundation
import JostleMessages
import MosquittoClient
import Testing

/// Requirement: a change reaches a part of the boards first; a bad one stops there and is taken back; and whoever is
/// killed meanwhile, the rollout can go on.
@Suite(.needsBroker) struct RolloutTests {
    private let rig = Rig()
    let commands = FleetCommandTests()
    private static let change = ["set", "--all", "gestures.shake.sensitivity=9"]

    static func boards(_ count: Int, _ behaviour: SimulatedBoards.Behaviour = .takesAll) -> [SimulatedBoards.Board] {
        (0..<count).map { .init(id: "board-\($0)", behaviour: behaviour) }
    }

    /// Starts `jostle fleet` at a broker.
    func start(_ port: UInt16, _ words: [String], state: String = "state") throws -> JostleProgram {
        try rig.run(
            ["fleet"] + words + ["--broker", "mqtt://127.0.0.1:\(port)"],
            environment: ["STATE_DIRECTORY": commands.directory.path(state), "TZ": "UTC"])
    }

    func run(_ port: UInt16, _ words: [String], state: String = "state") async throws -> Outcome {
        try await start(port, words, state: state).outcome()
    }

    /// The shares of the published candidates, 100 for a document without one.
    private func shares(_ observer: Observer) async throws -> [Double] {
        try await observer.catchUp()
        return try observer.all.filter { $0.topic == "jostle/_all/config" }.map { message in
            try LayerDocument(reading: message.payload, layer: "all").candidate?.percent ?? 100
        }
    }

    private func sensitivity(_ observer: Observer) async throws -> Int? {
        let config = try await commands.document(observer, "_all/config")["config"] as? [String: Any]
        return ((config?["gestures"] as? [String: Any])?["shake"] as? [String: Any])?["sensitivity"] as? Int
    }

    // MARK: To the end

    @Test func goodChangeReachesAllStepByStep() async throws {
        let broker = try await rig.broker()
        var all = Self.boards(20)
        all.append(.init(id: "away", isOnline: false))
        let boards = try await SimulatedBoards(broker.port, all)
        let observer = try await Observer(broker.port)
        try await run(broker.port, ["set", "--all", "gestures.shake.sensitivity=4"]).expect(status: 0)
        let set = try await run(broker.port, Self.change + ["--canary", "10%", "--steps", "50%", "--note", "try"])
        #expect(set.status == 0, "\(set.errors)\(set.output)")
        #expect(set.output.contains("rollout 20"), "\(set.output)")
        #expect(set.output.contains("offline, not counted, will follow: away"), "\(set.output)")
        #expect(set.output.contains("complete: published all 5\n  20 of 20 devices have it"), "\(set.output)")
        let shares = try await shares(observer)
        #expect(shares.count == 5 && shares.first == 100 && shares.suffix(3) == [50, 100, 100], "\(shares)")
        #expect(try await sensitivity(observer) == 9)
        let last = try await commands.document(observer, "_all/config")
        #expect(last["candidate"] == nil && last["note"] as? String == "try")
        #expect(boards.boards.prefix(20).allSatisfy { $0.layers["all"]?.contains("\"revision\":5") == true })
    }

    @Test func planNamesTheDevicesOfEachStepAndIsKept() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards(10))
        let words = Self.change + ["--canary", "5%", "--seed", "spring"]
        let plan = try await run(broker.port, words + ["--dry-run", "--json"]).expect(status: 0)
        try await observer.catchUp()
        #expect(!observer.topics.contains("jostle/_all/config"))
        struct Plan: Decodable {
            struct Step: Decodable {
                var percent: Double
                var added: [String]
            }
            var rollout: String
            var steps: [Step]
        }
        let steps = try JSONDecoder().decode(Plan.self, from: Data(plan.output.utf8))
        #expect(steps.rollout == "spring")
        // At least one of the ten, and all in the end.
        #expect(steps.steps.first?.added.isEmpty == false)
        #expect(Set(steps.steps.flatMap(\.added)).count == 10)
        try await run(broker.port, words).expect(status: 0)
        let percents = steps.steps.map(\.percent)
        #expect(try await shares(observer).dropLast() == percents[...])
        #expect(boards.boards.count == 10)
    }

    @Test func directoryIsRolledOutAsOne() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(FleetCommandTests.three)
        let files = [
            "all.yaml": "gestures: {shake: {sensitivity: 9}}\n", "groups/laundry.yaml": "sensor: {rate: 100 Hz}\n",
            "devices/door.yaml": "sensor: {rate: 50 Hz}\n", "registry.yaml": "door: [front]\n",
        ]
        for (name, text) in files { try commands.directory.write(text, to: "fleet/\(name)") }
        let path = commands.directory.path("fleet")
        let refused = try await run(broker.port, ["apply", path, "--canary", "5%"]).expect(status: 65)
        #expect(refused.errors.contains("registry:door: groups cannot be changed step by step"), "\(refused.errors)")
        try await run(broker.port, ["apply", path, "--document", "registry"]).expect(status: 0)
        try await observer.catchUp()
        #expect(!observer.topics.contains("jostle/_all/config") && boards.boards[2].groups == ["front"])
        try await run(broker.port, ["apply", path, "--canary", "5%"]).expect(status: 0)
        let topics = ["_all/config", "_group/laundry/config", "door/config/desired"]
        var seeds: Set<String> = []
        try await observer.catchUp()
        for topic in topics {
            for message in observer.all where message.topic == "jostle/\(topic)" {
                let document = try LayerDocument(reading: message.payload, layer: "all")
                if let candidate = document.candidate { seeds.insert(candidate.seed) }
            }
            #expect(try await commands.document(observer, topic)["candidate"] == nil)
        }
        #expect(seeds.count == 1)
        let again = try await run(broker.port, ["apply", path, "--canary", "5%"])
        #expect(again.status == 0 && again.output.contains("unchanged"), "\(again.output)\(again.errors)")
    }

    // MARK: Failures

    @Test func badChangeStopsAtTheCanaryAndIsTakenBack() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards(10, .undoesCandidates))
        #expect(try await run(broker.port, ["set", "--all", "gestures.shake.sensitivity=4"]).status == 0)
        let set = try await run(broker.port, Self.change + ["--canary", "5%"]).expect(status: 65)
        #expect(
            set.errors.contains("jostle: the change was withdrawn: the only device with the change failed")
                || set.errors.contains("devices with the change failed"), "\(set.errors)")
        #expect(set.errors.contains("all 2 rolled_back: no samples"), "\(set.errors)")
        #expect(set.output.contains("10 of 10 devices are back on what they had"), "\(set.output)")
        #expect(try await sensitivity(observer) == 4)
        #expect(try await commands.document(observer, "_all/config")["candidate"] == nil)
        #expect(boards.boards.allSatisfy { $0.layers["all"]?.contains("applied") == true })
    }

    @Test func silentBoardFailsAtTheEndOfTheStep() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(
            Self.boards(9) + [.init(id: "quiet", behaviour: .isSilent)])
        let words = Self.change + ["--canary", "100%", "--wait", "2s", "--json"]
        let set = try await run(broker.port, words).expect(status: 65)
        #expect(set.errors.contains("quiet: it does not report all"), "\(set.errors)")
        #expect(set.output.contains(#""event": "withdrawn""#), "\(set.output)")
        #expect(try await sensitivity(observer) == nil)
        let tolerant = try await run(broker.port, words + ["--abort-above", "10%"]).expect(status: 0)
        #expect(tolerant.output.contains(#""failed": [{"id": "quiet""#), "\(tolerant.output)")
        #expect(try await sensitivity(observer) == 9)
        #expect(boards.boards.count == 10)
    }

    @Test func withoutAnyDeviceThatIsOnlineNothingIsPublished() async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "away", isOnline: false)])
        let set = try await run(broker.port, Self.change + ["--canary", "5%"]).expect(status: 75)
        #expect(set.errors.contains("no device that reads this is online"), "\(set.errors)")
        try await observer.catchUp()
        #expect(!observer.topics.contains("jostle/_all/config"))
        #expect(boards.boards.count == 1)
    }

    // MARK: Interrupted and resumed

    @Test(arguments: [SIGKILL, SIGINT]) func anybodyGoesOnAfterTheToolHasEnded(signal: Int32) async throws {
        let broker = try await rig.broker()
        // A silent board keeps the first step waiting.
        let boards = try await SimulatedBoards(broker.port, Self.boards(9) + [.init(id: "quiet", behaviour: .isSilent)])
        let observer = try await Observer(broker.port)
        let words = Self.change + ["--canary", "40%", "--steps", "70%", "--seed", "autumn", "--abort-above", "50%"]
        let first = try start(broker.port, words + ["--wait", "100s"])
        #expect(await observer.sees { $0.topics.contains("jostle/_all/config") })
        #expect(await eventually { first.output.contains("published all 1") }, "\(first.output)")
        first.signal(signal)
        let status = await first.exitStatus()
        if signal == SIGINT {
            #expect(status == 75)
            #expect(
                first.errors.contains("The candidate stays with 40 % of the devices (rollout autumn)"),
                "\(first.errors)")
        }
        let list = try await run(broker.port, ["rollout", "list"], state: "other")
        #expect(list.output.hasPrefix("autumn: all\n  40 %: "), "\(list.output)\(list.errors)")
        // Another operator, with another state directory.
        try await run(
            broker.port, ["rollout", "resume", "--steps", "70%", "--abort-above", "50%", "--wait", "2s"], state: "other"
        ).expect(status: 0)
        #expect(try await shares(observer) == [40, 70, 100, 100])
        #expect(try await sensitivity(observer) == 9)
        let none = try await run(broker.port, ["rollout", "resume"])
        #expect(none.status == 69 && none.errors.contains("no rollout is under way"))
        #expect(boards.boards.count == 10)
    }

    @Test func sameCommandGoesOnAndWithdrawTakesBack() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards(10))
        boards.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":4,"config":{"sensor":{"rate":"50 Hz"}},"candidate":{"config":{"sensor":{"rate":"50 Hz"},"gestures":{"shake":{"sensitivity":9}}},"percent":30,"seed":"s"}}"#
        )
        #expect(await observer.sees { $0.topics.contains("jostle/_all/config") })
        let other = try await run(broker.port, ["set", "--all", "gestures.shake.sensitivity=8", "--canary", "5%"])
        #expect(other.status == 65)
        #expect(other.errors.contains("all: another change is being rolled out, at 30 %"), "\(other.errors)")
        let same = try await run(broker.port, Self.change + ["--canary", "5%", "--dry-run"])
        #expect(same.output.contains("rollout s of all to 10 devices, which has reached 30 %"), "\(same.output)")
        try await run(broker.port, ["rollout", "withdraw"]).expect(status: 0)
        let document = try await commands.document(observer, "_all/config")
        #expect(document["candidate"] == nil && document["revision"] as? Int == 5)
        #expect(document["config"] as? NSDictionary == ["sensor": ["rate": "50 Hz"]])
    }

    /// The tool ends, and then the devices that got the change: that is no step that has passed.
    @Test func devicesThatWentDarkWithTheChangeStopTheResumedRollout() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards(8))
        boards.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":4,"config":{},"candidate":{"config":{"gestures":{"shake":{"sensitivity":9}}},"percent":80,"seed":"s"}}"#
        )
        #expect(await eventually { boards.boards.allSatisfy { $0.layers["all"]?.contains("\"revision\":4") == true } })
        let dark = boards.boards.map(\.id).filter { LayerDocument.Candidate.place(of: $0, seed: "s") < 0.8 }
        try #require(!dark.isEmpty)
        for id in dark {
            boards.publish(
                "jostle/\(id)/config/reported",
                #"{"run":"1","layers":{"all":{"status":"applied","revision":4,"candidate":true}}}"#)
            boards.publish("jostle/\(id)/availability", "offline")
            #expect(await observer.sees { $0.texts("availability", of: id).last == "offline" })
        }
        let resume = try await run(broker.port, ["rollout", "resume", "--wait", "2s"]).expect(status: 65)
        #expect(resume.errors.contains("it is offline"), "\(resume.errors)")
        #expect(try await shares(observer) == [80, 100])
        #expect(try await sensitivity(observer) == nil)
        // Without such a report, nobody knows: nothing goes on.
        boards.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":9,"config":{},"candidate":{"config":{"gestures":{"shake":{"sensitivity":9}}},"percent":0.0001,"seed":"s"}}"#
        )
        let nobody = try await run(broker.port, ["rollout", "resume", "--wait", "2s"])
        #expect(nobody.status == 75 && nobody.errors.contains("none of the devices with the change is online"))
    }

    /// The candidate contains the whole layer: at the end it would undo what was set since.
    @Test func changeBelowARolloutIsNotUndone() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(
            Self.boards(9) + [.init(id: "quiet", behaviour: .isSilent)])
        let first = try start(
            broker.port, Self.change + ["--canary", "40%", "--abort-above", "50%", "--wait", "100s"])
        #expect(await eventually { first.output.contains("published all 1") }, "\(first.output)")
        first.kill()
        let set = try await run(broker.port, ["set", "--all", "gestures.tap.enabled=false", "--no-wait"], state: "bob")
        #expect(
            set.status == 0 && set.errors.contains("all is being rolled out to 40 % of the devices"), "\(set.errors)")
        let resume = try await run(broker.port, ["rollout", "resume", "--wait", "2s"], state: "bob")
        #expect(resume.status == 65 && resume.errors.contains("has changed since the rollout"), "\(resume.errors)")
        let back = try start(broker.port, ["rollout", "withdraw"], state: "bob")
        #expect(await eventually { back.output.contains("withdrawn: published all 3") }, "\(back.errors)")
        let document = try await commands.document(observer, "_all/config")
        #expect(document["config"] as? NSDictionary == ["gestures": ["tap": ["enabled": false]]])
        #expect(document["candidate"] == nil && boards.boards.count == 10)
    }

    /// The broker lost the candidate while no tool was running, or got an older one back.
    @Test func rolloutThatTheBrokerHasLostIsNamed() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "door", behaviour: .isSilent)])
        boards.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":3,"config":{},"candidate":{"config":{"sensor":{"rate":"50 Hz"}},"percent":20,"seed":"s"}}"#
        )
        boards.publish(
            "jostle/door/config/reported",
            #"{"run":"1","layers":{"all":{"status":"stale","revision":3,"in_force":6,"candidate":true}}}"#)
        try await Task.sleep(for: .milliseconds(500))
        for words in [Self.change, Self.change + ["--canary", "5%"], ["rollout", "resume"], ["rollout", "withdraw"]] {
            let refused = try await run(broker.port, words).expect(status: 65)
            #expect(refused.errors.contains("boards have revision 6, but the broker holds only revision 3"))
            #expect(refused.errors.contains("It was being rolled out. To go on, on the machine that published it: "))
        }
        let list = try await run(broker.port, ["rollout", "list"])
        #expect(
            list.errors.contains("all: the broker has lost revision 6, which was being rolled out"), "\(list.errors)")
    }

    @Test func stopsForAnotherOperator() async throws {
        let (broker, boards) = try await rig.fleet(Self.boards(9) + [.init(id: "quiet", behaviour: .isSilent)])
        let rollout = try start(
            broker.port, Self.change + ["--canary", "50%", "--wait", "100s", "--abort-above", "90%"])
        #expect(await eventually { rollout.output.contains("published all 1") }, "\(rollout.errors)")
        boards.publish("jostle/_all/config", #"{"schema":1,"revision":9,"config":{},"by":"bob@lab"}"#)
        #expect(await rollout.exitStatus() == 75)
        #expect(
            rollout.errors.contains("all: another operator has published it: revision 9 by bob@lab"),
            "\(rollout.errors)")
    }

    @Test func publishesAgainWhatTheBrokerHasLost() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(
            Self.boards(9) + [.init(id: "quiet", behaviour: .isSilent)])
        let rollout = try start(
            broker.port, Self.change + ["--canary", "100%", "--wait", "8s", "--abort-above", "50%"])
        #expect(await eventually { rollout.output.contains("published all 1") }, "\(rollout.errors)")
        boards.publish("jostle/_all/config", "")
        #expect(await eventually { rollout.output.contains("published all 2") }, "\(rollout.output)\(rollout.errors)")
        #expect(await rollout.exitStatus() == 0, "\(rollout.errors)")
        #expect(try await sensitivity(observer) == 9)
    }

    @Test func waitsForTheMaintenanceWindow() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(Self.boards(3))
        // A window of an hour that is at least an hour away, whenever this runs.
        let hour = (Calendar(identifier: .gregorian).dateComponents(in: .gmt, from: Date()).hour ?? 0) + 2
        let window = String(format: "%02d:00-%02d:00", hour % 24, (hour + 1) % 24)
        let rollout = try start(broker.port, Self.change + ["--canary", "50%", "--only", window])
        #expect(await eventually { rollout.output.contains("step 1") }, "\(rollout.errors)")
        try await Task.sleep(for: .seconds(2))
        try await observer.catchUp()
        #expect(!observer.topics.contains("jostle/_all/config"))
        rollout.signal(SIGINT)
        #expect(await rollout.exitStatus() == 75)
        #expect(!rollout.errors.contains("The candidate stays"), "\(rollout.errors)")
        #expect(boards.boards.count == 3)
    }

    @Test(arguments: [
        (["--steps", "50%"], "--steps is for a rollout: add --canary, such as --canary 5%"),
        (["--abort-above", "5%"], "--abort-above is for a rollout"),
        (["--canary", "0%"], "\"0%\" is no share such as 5%; allowed: above 0 %, up to 100 %"),
        (["--canary", "30%", "--steps", "20%"], "the shares must grow: 30 %, 20 %"),
        (["--canary", "5%", "--no-wait"], "a rollout waits for the devices: leave out --no-wait"),
        (["--canary", "5%", "--only", "2-5"], "--only is \"2-5\", not times of day such as 02:00-05:00"),
        (["--canary", "5%", "--only", "02:00-02:05"], "--only 02:00-02:05 is shorter than --wait"),
        (["--canary", "5%", "--max-event-rate", "many"], "--max-event-rate is \"many\", not a factor above 1x"),
        (["--canary", "5%", "--abort-above", "-1"], "--abort-above is \"-1\", not a share from 0% to 100%"),
        (
            ["--canary", "5%", "--wait", "10d"],
            "--wait is \"10d\", not a number of seconds such as 30, 2.5s, 10m or 2h"
        ),
    ])
    func wrongOptionsAreNamed(options: [String], message: String) async throws {
        let outcome = try await run(1, Self.change + options).expect(status: 64)
        #expect(outcome.errors.contains(message), "\(outcome.errors)")
    }

    // MARK: With the agent's own participants

    @Test func boardsThatBreakAreBackOnWhatTheyHad() async throws {
        let rig = try await SwarmRig(
            devices: 20, "--set", "fleet.probation=10s", "--set", "publish.health.interval=2s", "--defect",
            "sensor:50%:gestures.shake.sensitivity=9")
        try await run(rig.broker.port, ["set", "--all", "gestures.shake.sensitivity=4"]).expect(status: 0)
        let set = try await run(rig.broker.port, Self.change + ["--canary", "30%", "--wait", "60s"]).expect(status: 65)
        // A healthy canary, which is possible by chance, only delays it by a step.
        let failure = try #require(
            set.errors.firstMatch(of: /all (\d+) rolled_back: the sensor delivers no samples/), "\(set.errors)")
        let withdrawn = try #require(Int(failure.1)) + 1
        #expect(set.output.contains("20 of 20 devices are back on what they had"), "\(set.output)")
        try await rig.observer.catchUp()
        for id in SwarmRig.ids(20) {
            let report = try #require(try rig.observer.objects("config/reported", of: id).last)
            let layer = try #require((report["layers"] as? [String: [String: Any]])?["all"])
            #expect(
                layer["status"] as? String == "applied" && layer["revision"] as? Int == withdrawn, "\(id): \(layer)")
            let gestures = (report["settings"] as? [String: Any])?["gestures"] as? [String: Any]
            #expect((gestures?["shake"] as? [String: Any])?["sensitivity"] as? Int == 4)
        }
    }

    @Test func boardsThatShakeAllTheTimeStopARollout() async throws {
        let rig = try await SwarmRig(
            devices: 10, "--set", "fleet.probation=10s", "--set", "publish.health.interval=2s", "--defect",
            "shake:100%:gestures.shake.sensitivity=9")
        let set = try await run(rig.broker.port, Self.change + ["--canary", "20%", "--wait", "60s"]).expect(status: 65)
        #expect(set.errors.contains("gestures in "), "\(set.errors)")
        let quiet = try await run(
            rig.broker.port, Self.change + ["--canary", "20%", "--wait", "5s", "--max-event-rate", "off"])
        #expect(quiet.status == 0, "\(quiet.errors)")
    }
}
