import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: what `jostle fleet` prints for programs does not change.
@Suite(.needsBroker) struct GoldenFleetTests {
    private let rig = Rig()
    private let rollouts = RolloutTests()

    // MARK: What a broker holds

    private static let documents: [(topic: String, text: String)] = [
        (
            "_all/config",
            #"{"schema":1,"revision":3,"config":{"gestures":{"shake":{"sensitivity":7}},"sensor":{"rate":"100 Hz"}},"#
                + #""by":"ada@desk","at":1795182603123,"note":"less \"eager\", é"}"#
        ),
        (
            "_group/laundry/config",
            #"{"schema":1,"revision":8,"config":{"attitude":{"low_pass":2.50},"sensor":{"batch":null}},"candidate":"#
                + #"{"config":{"gestures":{"tap":{"enabled":true}}},"percent":62.50,"seed":"spring"},"#
                + #""unknown":"ignore","by":"ada@desk","at":1795182603123}"#
        ),
        ("_group/attic/config", #"{"schema":1,"revision":2,"config":{"a":}"#),
        ("door/config/desired", #"{"schema":1,"revision":5,"config":{},"signature":{"key":"ops-1","value":"eA=="}}"#),
        ("_registry/door", #"{"schema":1,"revision":2,"groups":["laundry","attic"],"note":"moved"}"#),
    ]

    private static let health = """
        {"version":"0.1.0","uptime":90,"problems":["clock","sensor \\"lost\\""],"sensor":"MPU-6050","temperature":23.50,
        "rate":199.5,"gaps":2,"overflows":1,"recoveries":4,"outbox":10,"connects":14,"cpu_percent":12.5,"memory_mb":2}
        """

    private static let boards: [(id: String, availability: String, layers: String)] = [
        (
            "washer-1", "online",
            #""all":{"status":"applied","revision":3},"#
                + #""group:laundry":{"status":"applied","revision":8,"candidate":true,"probation":true}"#
        ),
        (
            "washer-2", "online",
            #""all":{"status":"rejected","revision":3,"in_force":2,"errors":[{"path":"gestures.shake.sensitivity","#
                + #""value":7,"reason":"out of bounds","allowed":"1 … 6"},{"path":"sensor.rate"}]},"#
                + #""group:laundry":{"status":"applied","revision":8,"unknown_keys":["future.a","b \"c\""],"#
                + #""candidate_errors":[{"path":"gestures.tap.enabled","value":"no","reason":"not \"allowed\""}]}"#
        ),
        (
            "washer-3", "online",
            #""all":{"status":"rolled_back","revision":3,"in_force":2,"reason":"no samples"},"#
                + #""group:laundry":{"status":"missing","revision":8,"hash":"0123456789abcdef"}"#
        ),
        ("door", "offline", #""all":{"status":"stale","revision":2,"in_force":3},"device":{"status":"none"}"#),
    ]

    private static func report(_ layers: String) -> String {
        #"{"run":"f00d","groups":["laundry"],"layers":{\#(layers)},"registry":{"status":"applied","revision":2},"#
            + #""settings":{"device":{"name":"A \"lamp\" é\\"},"gestures":{"shake":{"sensitivity":7,"when":null}},"#
            + #""sensor":{"rate":"100 Hz","mount":[1.50,[]]},"actions":[{"name":"a","on":"shake"}],"#
            + #""fleet":{"remote":["gestures"]}},"origins":{"sensor.rate":"all","gestures.shake.sensitivity":"all"},"#
            + #""refused":[{"key":"gestures.shack","value":"3","reason":"unknown key"},{"key":""}]}"#
    }

    /// Publishes it all, and waits until the broker has it.
    private func publishAll(_ observer: Observer) async throws {
        var messages = Self.documents
        for board in Self.boards {
            messages.append(("\(board.id)/availability", board.availability))
            messages.append(("\(board.id)/config/reported", Self.report(board.layers)))
        }
        messages += [("washer-1/health", Self.health), ("plain/availability", "online"), ("sick/health", "{")]
        for (topic, text) in messages {
            try observer.publish("jostle/\(topic)", text, retain: true)
        }
        let isThere = await observer.sees { $0.all.count == messages.count }
        try #require(isThere)
    }

    @Test("What the fleet commands print of a fleet has the recorded form")
    func fleet() async throws {
        let (broker, observer) = try await rig.observedBroker()
        try await publishAll(observer)
        let files = rollouts.commands.directory
        try files.write("gestures: { shake: { sensitivity: 6 } }\n", to: "fleet/all.yaml")
        try files.write("new: [laundry]\n", to: "fleet/registry.yaml")
        let commands = [
            "list --json", "show washer-1 --json", "show washer-2 --json", "show washer-3 --json", "show door --json",
            "show plain --json", "get --all --json", "get --all sensor --json", "get --group laundry --json",
            "get --device door --json", "get --device washer-1 --json", "log --json", "log --document all --json",
            "rollout list --json", "diff --all gestures.shake.sensitivity=9 sensor.rate=25Hz --json",
            "wait --wait 1 --json", "set --device new gestures.shake.sensitivity=9 --note x --dry-run",
            "unset --all sensor --dry-run", "group add floor-2 plain --dry-run", "apply DIRECTORY --dry-run --json",
        ]
        var golden = GoldenText()
        for command in commands {
            let words = command.split(separator: " ").map { $0 == "DIRECTORY" ? files.path("fleet") : String($0) }
            golden.add(command, try await rollouts.run(broker.port, words)) { $0.withoutRun(hasFixedHashes: true) }
        }
        golden.add("list --listen 3 --json", try await listing(broker, observer))
        expectGolden(golden, "fleet-json.txt")
    }

    /// The list after an event, which is sent until the program has ended.
    private func listing(_ broker: TestBroker, _ observer: Observer) async throws -> Outcome {
        let program = try rollouts.start(broker.port, ["list", "--listen", "3", "--json"])
        let event = #"{"id":"f00d-1","t":1795182603123,"gesture":"shake","phase":"began","axis":"x"}"#
        while program.isRunning {
            try observer.publish("jostle/washer-1/event/shake", event)
            try await Task.sleep(for: .milliseconds(100))
        }
        return await program.outcome()
    }

    // MARK: What changes

    @Test("What the fleet commands print of a change has the recorded form")
    func changes() async throws {
        let broker = try await rig.broker()
        let boards = try await SimulatedBoards(
            broker.port, FleetCommandTests.three + [.init(id: "away", isOnline: false)])
        let files = rollouts.commands.directory
        try files.write("gestures: { shake: { sensitivity: 6 } }\n", to: "fleet/all.yaml")
        let commands = [
            "set --all gestures.shake.sensitivity=7 --json", "set --all gestures.shake.sensitivity=7 --json",
            "set --group laundry gestures.tap.enabled=false --no-wait --json", "apply DIRECTORY --json",
            "group add floor-2 door --json", "rollback all --json", "unset --group laundry gestures --json",
            "log --document all --json", "log --document registry:door --json", "get --all --json",
            "command ping --all --json", "command explode --device door --json",
        ]
        var golden = GoldenText()
        for command in commands {
            let words = command.split(separator: " ").map { $0 == "DIRECTORY" ? files.path("fleet") : String($0) }
            golden.add(command, try await rollouts.run(broker.port, words)) { $0.withoutRun() }
        }
        expectGolden(golden, "fleet-changes-json.txt")
        #expect(boards.boards.count == 4)
    }

    @Test("What a rollout prints for programs has the recorded form")
    func rollout() async throws {
        let change = ["set", "--all", "gestures.shake.sensitivity=9", "--json"]
        let good = RolloutTests.boards(10) + [.init(id: "away", isOnline: false)]
        let quiet = RolloutTests.boards(9) + [.init(id: "quiet", behaviour: .isSilent)]
        let runs: [(name: String, boards: [SimulatedBoards.Board], words: [String])] = [
            ("plan", good, ["--canary", "10%", "--steps", "50%", "--seed", "spring", "--dry-run"]),
            ("good", good, ["--canary", "10%", "--steps", "50%", "--seed", "spring", "--note", "try"]),
            ("bad", RolloutTests.boards(10, .undoesCandidates), ["--canary", "5%", "--seed", "spring"]),
            (
                "silent", quiet,
                ["--canary", "100%", "--wait", "2s", "--abort-above", "20%", "--seed", "spring"]
            ),
        ]
        var golden = GoldenText()
        for run in runs {
            let (broker, boards) = try await rig.fleet(run.boards)
            golden.add(run.name, try await rollouts.run(broker.port, change + run.words, state: run.name)) {
                $0.withoutRun()
            }
            #expect(boards.boards.count == run.boards.count)
        }
        expectGolden(golden, "fleet-rollout-json.txt")
    }
}
