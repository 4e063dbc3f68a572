import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: an operator can undo a change, see who made it, change groups, send commands, and remove a dead board.
@Suite(.needsBroker) struct FleetOperationTests {
    private let rig = Rig()
    private let commands = FleetCommandTests()

    @Test func rollbackPublishesEarlierDocumentUnderNewRevision() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(FleetCommandTests.three)
        for value in [6, 7] {
            try await commands.fleet(broker, "set", "--all", "gestures.shake.sensitivity=\(value)").expect(status: 0)
        }
        try await commands.fleet(broker, "rollback", "all").expect(status: 0)
        let document = try await commands.document(observer, "_all/config")
        #expect(document["revision"] as? Int == 3)
        #expect(document["config"] as? NSDictionary == ["gestures": ["shake": ["sensitivity": 6]]])
        #expect(document["note"] as? String == "back to revision 1")
        #expect(boards.boards.allSatisfy { $0.layers["all"]?.contains("\"revision\":3") == true })
        try await commands.fleet(broker, "rollback", "jostle/_all/config", "--to", "2").expect(status: 0)
        #expect(
            try await commands.document(observer, "_all/config")["config"] as? NSDictionary
                == ["gestures": ["shake": ["sensitivity": 7]]])
        let log = try await commands.fleet(broker, "log", "--document", "all")
        #expect(log.lines.count == 5 && log.output.contains("back to revision 1"), "\(log.output)")

        let stranger = try await commands.fleet(broker, "rollback", "all", "--to", "2", state: "elsewhere")
        #expect(stranger.status == 66)
        #expect(stranger.errors.contains("this machine has not seen revision 2; it has seen 4"), "\(stranger.errors)")
        #expect(stranger.errors.contains("check out the earlier version and run jostle fleet apply DIRECTORY"))
    }

    @Test func logSaysWhoWhenAndWhy() async throws {
        let (broker, boards) = try await rig.fleet(FleetCommandTests.three)
        boards.publish(
            "jostle/_group/laundry/config",
            #"{"schema":1,"revision":9,"config":{"sensor":{"rate":"50 Hz"}},"by":"ada@desk","at":1795182603123,"note":"hum"}"#
        )
        #expect(await eventually { boards.boards[0].layers["group:laundry"] != nil })
        let log = try await commands.fleet(broker, "log")
        let row = try #require(log.lines.last)
        #expect(row.hasPrefix("  2026-11-20 ") && row.contains("  group:laundry  9  "), "\(log.output)")
        #expect(row.contains("  2 of 2 ") && row.hasSuffix("  ada@desk  hum"), "\(log.output)")
        let json = try await commands.fleet(broker, "log", "--json")
        let object = try #require(try JSON.object(json.output))
        #expect(object["document"] as? String == "group:laundry" && object["applied"] as? Int == 2)
    }

    @Test func groupsAreChangedInTheRegistry() async throws {
        let (broker, boards) = try await rig.fleet(FleetCommandTests.three)
        let add = try await commands.fleet(broker, "group", "add", "floor-2", "washer-1", "door").expect(status: 0)
        #expect(add.output.hasSuffix("2 of 2 devices applied it\n"), "\(add.output)")
        #expect(add.errors == "jostle: washer-1: the groups that it reports go into the registry: laundry\n")
        #expect(boards.boards.map(\.groups) == [["laundry", "floor-2"], ["laundry"], ["floor-2"]])
        try await commands.fleet(broker, "group", "remove", "laundry", "washer-1").expect(status: 0)
        #expect(boards.boards[0].groups == ["floor-2"])
        let again = try await commands.fleet(broker, "group", "remove", "laundry", "washer-1")
        #expect(again.status == 0 && again.output.hasPrefix("washer-1: nothing to change"), "\(again.output)")
    }

    @Test(arguments: ["v5", "v3.1.1"]) func commandCollectsAnswers(version: String) async throws {
        let broker = try await rig.broker()
        var all = FleetCommandTests.three
        all.append(.init(id: "quiet", behaviour: .isSilent))
        all.append(.init(id: "away", isOnline: false))
        let boards = try await SimulatedBoards(broker.port, all)
        let arguments = ["--timeout", "2", "--set", "mqtt.version=\(version)"]
        func command(_ words: String...) async throws -> Outcome {
            try await JostleProgram(
                ["fleet", "command"] + words + arguments + ["--broker", "mqtt://127.0.0.1:\(broker.port)"]
            ).outcome()
        }
        let group = try await command("ping", "--group", "laundry").expect(status: 0)
        #expect(group.lines.count == 2, "\(group.output)")
        #expect(group.lines.allSatisfy { $0.contains("done") && $0.contains("\"uptime\":12") })
        let silent = try await command("ping", "--all", "--json").expect(status: 75)
        #expect(silent.errors.contains("no answer from quiet"), "\(silent.errors)")
        #expect(silent.lines.contains(#"{"id": "door", "asked": true, "answer": {"ok":true,"uptime":12}}"#))
        #expect(silent.lines.contains(#"{"id": "away", "asked": false, "answer": null}"#), "\(silent.output)")
        let refused = try await command("explode", "--device", "door").expect(status: 69)
        #expect(refused.output.contains("refused  no such command"), "\(refused.output)")
        #expect(boards.boards.count == 5)
    }

    @Test func forgetRemovesEverythingOfBoardThatIsGone() async throws {
        let broker = try await rig.broker()
        let boards = try await SimulatedBoards(
            broker.port, [.init(id: "old", isOnline: false), .init(id: "old-2", isOnline: false), .init(id: "door")])
        boards.publish("homeassistant/sensor/old/tilt/config", "{}")
        boards.publish("homeassistant/sensor/old-2/tilt/config", "{}")
        boards.publish("jostle/_registry/old", #"{"schema":1,"revision":1,"groups":[]}"#)
        boards.publish("jostle/old/config/desired", #"{"schema":1,"revision":1,"config":{}}"#)
        let observer = try await Observer(broker.port)
        #expect(await observer.sees { $0.topics.contains("jostle/old/config/desired") })
        let online = try await commands.fleet(broker, "forget", "door").expect(status: 75)
        #expect(online.errors.contains("door is online"))
        let forget = try await commands.fleet(broker, "forget", "old").expect(status: 0)
        #expect(forget.output.hasSuffix("old: 6 messages removed\n"), "\(forget.output)")
        let late = try await Observer(broker.port)
        #expect(await late.sees { $0.topics.contains("homeassistant/sensor/old-2/tilt/config") })
        #expect(await late.sees { $0.topics.contains("jostle/door/availability") })
        #expect(late.topics.filter { $0.contains("/old/") || $0.hasSuffix("/old") }.isEmpty, "\(late.topics)")
        try await commands.fleet(broker, "forget", "old").expect(status: 69)
    }

    // MARK: list, show, complete

    @Test func listFilters() async throws {
        let broker = try await rig.broker()
        var sick = SimulatedBoards.Board(id: "sick", groups: ["laundry"])
        sick.health = #"{"version":"0.0.9","sensor":"LSM6DS3","problems":["sensor lost"]}"#
        var behind = SimulatedBoards.Board(id: "behind", behaviour: .isSilent)
        behind.layers["all"] = #"{"status":"applied","revision":1,"hash":"00"}"#
        let boards = try await SimulatedBoards(
            broker.port,
            [
                .init(id: "good", groups: ["laundry"]), sick, behind, .init(id: "away", isOnline: false),
                .init(id: "narrow", behaviour: .rejectsSensitivity),
            ])
        boards.publish(
            "jostle/_all/config", #"{"schema":1,"revision":2,"config":{"gestures":{"shake":{"sensitivity":7}}}}"#)
        #expect(await eventually { boards.boards[4].layers["all"] != nil })
        let cases: [(words: [String], ids: [String])] = [
            ([], ["away", "behind", "good", "narrow", "sick"]), (["--group", "laundry"], ["good", "sick"]),
            (["--version", "0.0.9"], ["sick"]), (["--chip", "lsm6"], ["sick"]), (["--problem"], ["narrow", "sick"]),
            (["--status", "rejected"], ["narrow"]), (["--status", "waiting"], ["behind"]),
            (["--status", "current", "--group", "laundry"], ["good", "sick"]), (["--offline"], ["away"]),
            (["--online"], ["behind", "good", "narrow", "sick"]),
        ]
        for (words, ids) in cases {
            let program = try rig.run(
                ["fleet", "list"] + words + ["--json", "--broker", "mqtt://127.0.0.1:\(broker.port)"])
            #expect(await program.exitStatus() == 0, "\(program.errors)")
            let shown = try program.output.split(separator: "\n").map { line in
                try #require(try JSON.object(line))["id"] as? String
            }
            #expect(shown == ids, "\(words)")
        }
        let wrong = try await commands.fleet(broker, "list", "--status", "happy")
        #expect(wrong.status == 64 && wrong.errors.contains("rolled_back"))
        let show = try await commands.fleet(broker, "show", "narrow")
        let refusal = "gestures.shake.sensitivity: \"7\" out of bounds; allowed: 1 … 6"
        #expect(show.output.contains(refusal), "\(show.output)")
        #expect(show.output.contains("all 2 rejected (0 in force)") && show.output.contains("file"))
        try await commands.fleet(broker, "show", "nobody").expect(status: 69)
    }

    @Test func foreignTextDoesNotControlTheTerminal() async throws {
        let broker = try await rig.broker()
        let escape = "\u{1B}]0;owned\u{7}\u{9B}2J"
        let escaped = #"\u001b]0;owned\u0007\u009b2J"#
        var board = SimulatedBoards.Board(id: "door", groups: ["a"])
        board.health = #"{"version":"\#(escaped)","sensor":"\#(escaped)","problems":["\#(escaped)"]}"#
        let fields = ["path", "value", "reason", "allowed"].map { "\"\($0)\":\"\(escaped)\"" }
        board.layers["all"] =
            #"{"status":"rejected","revision":1,"errors":[{\#(fields.joined(separator: ","))}],"reason":"\#(escaped)"}"#
        board.settings = #"{"\#(escaped)":"\#(escaped)"}"#
        board.origins = #"{"\#(escaped)":"\#(escaped)"}"#
        board.behaviour = .isSilent
        let boards = try await SimulatedBoards(broker.port, [board])
        boards.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":1,"config":{"\#(escaped)":"\#(escaped)"},"by":"x"}"#)
        boards.publish("jostle/\u{202E}evil/health", escape)
        boards.publish("jostle/door/state", escape)
        let observer = try await Observer(broker.port)
        #expect(await observer.sees { $0.topics.contains("jostle/door/state") })
        let commands = [
            ["list"], ["list", "--json"], ["show", "door"], ["show", "door", "--json"], ["log"], ["get", "--all"],
            ["wait", "--wait", "1"], ["diff", "--all", "sensor.rate=50Hz"],
        ]
        for words in commands {
            let program = try rig.run(
                ["fleet"] + words + ["--broker", "mqtt://127.0.0.1:\(broker.port)"])
            #expect(await program.exitStatus() != nil)
            let text = program.output + program.errors
            #expect(text.contains("door") || text.contains("all"), "\(words)")
            let controls = text.unicodeScalars.filter { scalar in
                scalar != "\n"
                    && (scalar.value < 0x20 || (0x7F..<0xA0).contains(scalar.value) || scalar.value == 0x202E)
            }
            #expect(controls.isEmpty, "\(words)")
        }
        #expect(boards.boards.count == 1)
    }

    @Test func completionKnowsTheNamesOfTheLastCommand() async throws {
        let broker = try await TestBroker.started()
        let boards = try await SimulatedBoards(broker.port, FleetCommandTests.three)
        #expect(try await commands.fleet(broker, "list").status == 0)
        #expect(boards.boards.count == 3)
        broker.kill()
        func complete(_ words: String...) async throws -> [String] {
            let program = try rig.run(
                ["complete", "--", "fleet"] + words, environment: ["STATE_DIRECTORY": commands.directory.path("state")])
            #expect(await program.exitStatus() == 0)
            return program.output.split(separator: "\n").map(String.init)
        }
        #expect(try await complete("show", "") == ["door", "washer-1", "washer-2"])
        #expect(try await complete("show", "wash") == ["washer-1", "washer-2"])
        #expect(try await complete("list", "--group", "") == ["laundry"])
    }
}
