import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: an operator sees and changes the configuration of many boards from one machine, learns which boards took
/// it, and overwrites nothing unseen.
@Suite(.needsBroker) struct FleetCommandTests {
    private let rig = Rig()
    let directory = TemporaryDirectory.new()

    /// Runs `jostle fleet` at a broker with a state directory that lasts for the test.
    func fleet(_ broker: TestBroker, _ words: String..., state: String = "state") async throws -> Outcome {
        return try await JostleProgram(
            ["fleet"] + words + ["--broker", "mqtt://127.0.0.1:\(broker.port)"],
            environment: ["STATE_DIRECTORY": directory.path(state), "TZ": "UTC"]
        ).outcome()
    }

    func document(_ observer: Observer, _ topic: String) async throws -> [String: Any] {
        try await observer.catchUp()
        let message = try #require(observer.all.last { $0.topic == "jostle/\(topic)" }, "nothing on \(topic)")
        return try #require(try JSONSerialization.jsonObject(with: Data(message.payload)) as? [String: Any])
    }

    static let three: [SimulatedBoards.Board] = [
        .init(id: "washer-1", groups: ["laundry"]), .init(id: "washer-2", groups: ["laundry"]), .init(id: "door"),
    ]

    // MARK: set, get, unset

    @Test func setReachesBoardsAndSaysSo() async throws {
        let (broker, boards, observer) = try await rig.observedFleet(FleetCommandTests.three)

        let set = try await fleet(
            broker, "set", "--all", "gestures.shake.sensitivity=7", "sensor.rate=100Hz", "--note", "less eager")
        #expect(set.status == 0, "\(set.errors)")
        #expect(set.output == "all: published as revision 1\n3 of 3 devices applied it\n")
        let first = try await document(observer, "_all/config")
        #expect(first["revision"] as? Int == 1 && first["note"] as? String == "less eager")
        #expect((first["by"] as? String)?.contains("@") == true && first["at"] is Int)
        let config = try #require(first["config"] as? NSDictionary)
        #expect(config == ["gestures": ["shake": ["sensitivity": 7]], "sensor": ["rate": "100Hz"]])

        let get = try await fleet(broker, "get", "--all")
        #expect(get.lines.dropFirst() == ["gestures.shake.sensitivity=7", "sensor.rate=100Hz"])
        let one = try await fleet(broker, "get", "--all", "gestures")
        #expect(one.lines.dropFirst() == ["gestures.shake.sensitivity=7"])

        try await fleet(broker, "unset", "--all", "gestures.shake").expect(status: 0)
        let second = try await document(observer, "_all/config")
        #expect(second["revision"] as? Int == 2)
        #expect(second["config"] as? NSDictionary == ["sensor": ["rate": "100Hz"]])

        let same = try await fleet(broker, "set", "--all", "sensor.rate=100Hz").expect(status: 0)
        #expect(same.output == "all: nothing to change in revision 2\n3 of 3 devices applied it\n")
        let null = try await fleet(broker, "set", "--device", "door", "gestures.shake.sensitivity=null")
        #expect(null.output.hasSuffix("1 of 1 device applied it\n"), "\(null.errors)")
        let own = try await document(observer, "door/config/desired")
        #expect(own["config"] as? NSDictionary == ["gestures": ["shake": ["sensitivity": NSNull()]]])
        #expect(boards.boards[2].layers.keys.sorted() == ["all", "device"])
    }

    @Test func namesBoardsThatRefuseOrDoNotAnswer() async throws {
        let broker = try await rig.broker()
        let boards = try await SimulatedBoards(
            broker.port,
            [
                .init(id: "good"), .init(id: "narrow", behaviour: .rejectsSensitivity),
                .init(id: "quiet", behaviour: .isSilent), .init(id: "away", isOnline: false),
            ])
        let set = try await fleet(broker, "set", "--all", "gestures.shake.sensitivity=7", "--wait", "2s")
        #expect(set.status == 75)
        #expect(set.output.contains("1 of 3 devices applied it, 1 refused it; 1 offline\n"), "\(set.output)")
        #expect(set.output.contains("offline, will follow: away"))
        #expect(set.errors.contains("not yet: quiet (it does not report all)"), "\(set.errors)")
        #expect(
            set.errors.contains(
                "narrow: all 1 rejected: gestures.shake.sensitivity: \"7\" out of bounds; allowed: 1 … 6"),
            "\(set.errors)")
        let json = try await fleet(broker, "wait", "--wait", "1", "--json").expect(status: 75)
        let result = try #require(try JSON.object(json.output), "\(json.output)")
        #expect(result["applied"] as? [String] == ["good"] && result["offline"] as? [String] == ["away"])
        #expect((result["refused"] as? [[String: Any]])?.first?["id"] as? String == "narrow")
        #expect(boards.boards.count == 4)
    }

    @Test(arguments: [
        (["--all", "gestures.shak.sensitivity=7"], 65, "gestures.shak: unknown key; did you mean \"shake\"?"),
        (
            ["--all", "gestures.shake.sensitivity=70"], 65,
            "gestures.shake.sensitivity: \"70\" is out of bounds; allowed: 1 … 10"
        ),
        (["--all", "mqtt.prefix=x"], 65, "mqtt.prefix: cannot be set over MQTT"),
        (["--all", "fleet.remote=[mqtt]"], 65, "fleet.remote: cannot be set over MQTT"),
        (["--all", "--unknown", "ignore", "mqtt.prefix=x"], 65, "mqtt.prefix: cannot be set over MQTT"),
        (["--all", "gestures.shake.sensitivity"], 64, "gestures.shake.sensitivity: has no value; write KEY=VALUE"),
        (["--all", "a..b=1"], 64, "a..b: is not a key"),
        (["gestures.shake.sensitivity=7"], 64, "name the devices: --all, --group GROUP or --device ID"),
        (["--all", "--group", "g", "sensor.rate=50Hz"], 64, "--device, --group and --all exclude each other"),
        (["--group", "a/b", "sensor.rate=50Hz"], 64, "\"a/b\" is not a group"),
        (["--all", "--wait", "3", "--no-wait", "sensor.rate=50Hz"], 64, "--wait and --no-wait exclude each other"),
        (["--all"], 64, "there is nothing to set: KEY=VALUE or --gesture FILE"),
    ])
    func wrongArgumentsPublishNothing(words: [String], status: Int32, message: String) async throws {
        let broker = try await rig.broker()
        let program = try await JostleProgram(
            ["fleet", "set"] + words + ["--broker", "mqtt://127.0.0.1:\(broker.port)"]
        ).outcome()
        #expect(program.status == status)
        #expect(program.errors.hasPrefix("jostle: \(message)"), "\(program.errors)")
        try await expectNothingPublished(broker)
    }

    /// Expects that the broker holds nothing. It sends what it retains before what is published later.
    private func expectNothingPublished(
        _ broker: TestBroker, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let observer = try await Observer(broker.port)
        try await observer.catchUp()
        #expect(observer.all.isEmpty, "\(observer.topics)", sourceLocation: sourceLocation)
    }

    @Test func unknownKeysMayBeIgnored() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let set = try await fleet(broker, "set", "--all", "--unknown", "ignore", "gestures.wave.enabled=true")
        #expect(set.status == 0, "\(set.errors)")
        #expect(set.output.contains("no device reads this yet"))
        let document = try await document(observer, "_all/config")
        #expect(document["unknown"] as? String == "ignore")
        // What follows keeps the document's rule.
        try await fleet(broker, "set", "--all", "sensor.rate=50Hz").expect(status: 0)
        #expect(try await self.document(observer, "_all/config")["unknown"] as? String == "ignore")
    }

    @Test func dryRunPublishesNothing() async throws {
        let broker = try await rig.broker()
        let run = try await fleet(broker, "set", "--group", "laundry", "sensor.rate=50Hz", "--dry-run")
        #expect(run.status == 0)
        let line = try #require(try JSON.object(run.output), "\(run.output)")
        #expect(line["topic"] as? String == "jostle/_group/laundry/config")
        #expect((line["document"] as? [String: Any])?["revision"] as? Int == 1)
        try await expectNothingPublished(broker)
    }

    /// The layer had a wrong value before: boards would refuse the result as a whole.
    @Test func mergedLayerIsChecked() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let wrong = #"{"schema":1,"revision":1,"config":{"gestures":{"shake":{"sensitivity":70}}}}"#
        try observer.publish("jostle/_all/config", wrong, retain: true)
        #expect(await observer.sees { !$0.all.isEmpty })
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz")
        #expect(set.status == 65 && set.errors.contains("all: boards would refuse the layer"), "\(set.errors)")
        #expect(set.errors.contains("gestures.shake.sensitivity"))
        try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "gestures.shake.sensitivity=7").expect(status: 0)
    }

    /// A number that boards refuse, published by hand: the files, and the revisions seen earlier, replace it.
    @Test func hugeRevisionIsReplaced() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let directory = try TemporaryDirectory()
        try directory.write("sensor: { rate: 50Hz }\n", to: "all.yaml")
        try await fleet(broker, "apply", directory.path).expect(status: 0)
        let report =
            #"{"run":"1","groups":[],"layers":{"all":{"status":"rejected","revision":9000000000000,"in_force":1}}}"#
        for (topic, text) in [
            ("jostle/_all/config", #"{"schema":1,"revision":9000000000000,"config":{}}"#),
            ("jostle/door/config/reported", report), ("jostle/door/availability", "offline"),
        ] {
            try observer.publish(topic, text, retain: true)
        }
        #expect(await observer.sees { $0.all.contains { $0.topic == "jostle/door/availability" } })
        let set = try await fleet(broker, "set", "--all", "log.level=debug")
        #expect(set.status == 65 && set.errors.contains("allowed: 1 … 2147483647"), "\(set.errors)")
        let back = try await fleet(broker, "rollback", "all")
        #expect(
            back.status == 0 && back.output.contains("all: published as revision 1 of a new epoch"), "\(back.errors)")
        #expect(try await document(observer, "_all/config")["config"] as? NSDictionary == ["sensor": ["rate": "50Hz"]])
    }

    /// Nothing counts as applied that the broker lost or that nobody can read.
    @Test(arguments: [
        (["wait", "--wait", "1"], "", Int32(75), "no device of these has reported"),
        (["wait", "--wait", "1"], #"{"all":{"status":"missing","revision":3}}"#, 75, "door: all 3: missing"),
        (["list", "--settle", "601"], "", 64, "at most 600"),
        (["list", "--settle", "1e9"], "", 64, "at most 600"),
    ])
    func exitStatusSaysWhatIsMissing(words: [String], layers: String, status: Int32, message: String) async throws {
        let (broker, observer) = try await rig.observedBroker()
        if !layers.isEmpty {
            for (topic, text) in [
                ("config/reported", #"{"run":"1","groups":[],"layers":\#(layers)}"#), ("availability", "online"),
            ] {
                try observer.publish("jostle/door/\(topic)", text, retain: true)
            }
            #expect(await observer.sees { $0.all.count == 2 })
        }
        let program = try await JostleProgram(["fleet"] + words + ["--broker", "mqtt://127.0.0.1:\(broker.port)"])
            .outcome()
        #expect(program.status == status)
        #expect(program.errors.contains(message), "\(program.errors)")
    }

    @Test func fourHundredBoardsAreOneCommand() async throws {
        let broker = try await rig.broker()
        let boards = try await SimulatedBoards(
            broker.port, (1...400).map { .init(id: "board-\($0)", groups: $0 % 2 == 0 ? ["even"] : []) })
        let all = try await fleet(broker, "set", "--all", "gestures.shake.sensitivity=7", "--wait", "40")
        #expect(all.status == 0, "\(all.errors)")
        #expect(all.output.hasSuffix("400 of 400 devices applied it\n"), "\(all.output)")
        let even = try await fleet(broker, "set", "--group", "even", "gestures.shake.sensitivity=8", "--wait", "40")
        #expect(even.output.hasSuffix("200 of 200 devices applied it\n"), "\(even.output)\(even.errors)")
        #expect(boards.boards.filter { $0.layers.count == 2 }.count == 200)
    }

    @Test func warnsIfBrokerHoldsMessagesBack() async throws {
        let broker = try await rig.broker()
        // mosquitto sends 1,020 of them to a subscriber, and not a word about the others.
        let text = #"{"schema":1,"revision":3,"config":{"sensor":{"rate":"50 Hz"}}}"#
        try await publish((1...1200).map { ("board-\($0)/config/desired", text) }, broker)
        let list = try await fleet(broker, "list", "--json")
        #expect(list.errors.contains("max_queued_messages"), "\(list.errors)")
        let shown = Set(list.lines.compactMap { $0.split(separator: "\"").dropFirst(2).first.map(String.init) })
        let missing = try #require((1...1200).map { "board-\($0)" }.first { !shown.contains($0) })
        // A document that was held back is merged all the same.
        let set = try await fleet(broker, "set", "--device", missing, "gestures.shake.sensitivity=7", "--no-wait")
        #expect(set.status == 0, "\(set.errors)")
        let get = try await fleet(broker, "get", "--device", missing)
        #expect(get.lines.dropFirst() == ["sensor.rate=50 Hz", "gestures.shake.sensitivity=7"], "\(get.output)")
        #expect(get.lines.first?.contains("revision 4,") == true)
    }

    /// Publishes many retained messages, and waits until the broker has them.
    func publish(_ messages: [(topic: String, text: String)], _ broker: TestBroker) async throws {
        var options = MQTTOptions(
            brokers: [BrokerAddress(host: "127.0.0.1", port: broker.port)], clientID: "many")
        options.queueCapacity = 20_000
        let client = try MQTTClient(options: options) { _ in }
        defer { _ = client.stop(within: .milliseconds(100)) }
        try client.start()
        #expect(await eventually { client.statistics.connection != nil })
        for (topic, text) in messages {
            try client.publish(
                MQTTMessage(topic: "jostle/\(topic)", payload: Array(text.utf8), qos: .atLeastOnce, retain: true))
        }
        #expect(await eventually { client.statistics.acknowledged == messages.count })
    }

    /// Anybody who may publish can invent ids. Boards that are enrolled, grouped or in the history stay in the list.
    @Test(arguments: ["max_queued_messages 0", "max_queued_messages 1000"])
    func floodOfInventedBoardsHidesNone(limit: String) async throws {
        let broker = try await rig.broker(settings: "allow_anonymous true\n\(limit)")
        let enrolment = directory.path("enrolment")
        try await JostleProgram(
            ["fleet", "enroll", "enrolled", "--to", enrolment, "--board-broker", "mqtt://b"],
            environment: ["STATE_DIRECTORY": directory.path("state")]
        ).outcome().expect(status: 0)
        try await publish([("layered/config/desired", Self.old), ("layered/availability", "offline")], broker)
        try await fleet(broker, "list").expect(status: 0)
        try await publish([("layered/config/desired", "")], broker)
        let groups = #"{"schema":1,"revision":1,"groups":["laundry"]}"#
        // After so many that the broker, or the model, has room for none of these.
        try await publish((0...10_100).map { ("a-\($0)/availability", "online") }, broker)
        try await publish(["enrolled", "layered", "grouped"].map { ("z-\($0)/availability", "online") }, broker)
        try await publish(
            ["enrolled", "layered", "grouped"].map { ("\($0)/availability", "online") }
                + [("_registry/grouped", groups)], broker)
        let list = try await fleet(broker, "list", "--json", "--settle", "1").expect(status: 75)
        let boards = try list.lines.map { try #require(try JSON.object($0)) }
        let online = Set(boards.filter { $0["online"] as? Bool == true }.compactMap { $0["id"] as? String })
        #expect(online.isSuperset(of: ["enrolled", "layered", "grouped"]), "\(list.errors)")
        let isHeldBack = limit.hasSuffix("1000")
        let reason = isHeldBack ? "this may not be all" : "this is not all: 107 devices do not fit beside 10000 others"
        #expect(list.errors.contains(reason), "\(list.errors)")
        guard !isHeldBack else { return }
        #expect(!list.errors.contains("did not send everything"), "\(list.errors)")
        // A board that is named has a place, and nothing is missing of the answer.
        let show = try await fleet(broker, "show", "a-10100").expect(status: 0)
        #expect(show.output.contains("a-10100"))
        let watch = try rig.run(
            ["watch", "--plain", "--broker", "mqtt://127.0.0.1:\(broker.port)"],
            environment: ["STATE_DIRECTORY": directory.path("state")])
        let fewer = "do not fit beside 5000 others: those that are known here come first"
        for text in [fewer, "  enrolled  online", "  layered  online"] {
            #expect(await eventually { watch.output.contains(text) }, "\(text) is not in \(watch.output.prefix(2000))")
        }
        #expect(await watch.terminate() == 0)
    }

    private static let old = #"{"schema":1,"revision":3,"config":{"sensor":{"rate":"50 Hz"}}}"#

    // MARK: Faults

    @Test func unreachableBrokerIsStatus69() async throws {
        let broker = try TestBroker()
        let outcome = try await fleet(broker, "list").expect(status: 69)
        #expect(outcome.errors.contains("the broker was not reached"), "\(outcome.errors)")
    }

    @Test func refusedPublicationIsStatus77() async throws {
        let directory = try BrokerTestSupport.TemporaryDirectory()
        try directory.write("topic read #\n", to: "acl")
        let broker = try await rig.broker(
            directory: directory, settings: "allow_anonymous true\nacl_file \(directory.path("acl"))")
        for version in ["v5", "v3.1.1"] {
            let outcome = try await fleet(
                broker, "set", "--all", "sensor.rate=50Hz", "--set", "mqtt.version=\(version)"
            ).expect(status: 77)
            #expect(outcome.errors.hasPrefix("jostle: all: the broker "), "\(outcome.errors)")
            #expect(!outcome.output.contains("published"))
        }
    }

    @Test func otherOperatorIsNamed() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let program = try rig.run(
            [
                "fleet", "set", "--all", "gestures.shake.sensitivity=7", "--broker",
                "mqtt://127.0.0.1:\(broker.port)",
            ], environment: ["STATE_DIRECTORY": directory.path("state")])
        #expect(await observer.sees { $0.topics.contains("jostle/_all/config") }, "\(program.errors)")
        // Bob did not see the first document: he publishes the same revision.
        try observer.publish(
            "jostle/_all/config",
            #"{"schema":1,"revision":1,"config":{"sensor":{"rate":"50 Hz"}},"by":"bob@van","note":"calm"}"#,
            retain: true)
        #expect(await program.exitStatus() == 75)
        #expect(
            program.errors.contains(
                "all: another operator published at the same time: revision 1 by bob@van, \"calm\""),
            "\(program.errors)")
        // Nothing of Bob's was overwritten.
        let last = try await document(observer, "_all/config")
        #expect(last["by"] as? String == "bob@van")
        try await fleet(broker, "set", "--all", "gestures.shake.sensitivity=7").expect(status: 0)
        let merged = try await document(observer, "_all/config")["config"] as? NSDictionary
        #expect(merged == ["sensor": ["rate": "50 Hz"], "gestures": ["shake": ["sensitivity": 7]]])
    }

    /// The broker was killed before it stored the latest document, which the boards have, and this machine as well: it
    /// saw it at the broker, or was cut off right after it had sent it.
    @Test(arguments: ["json", "sent"]) func lostDocumentIsPublishedAgainFromHistory(kept: String) async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "washer-1", behaviour: .isSilent)])
        for value in [6, 7] {
            let set = try await fleet(broker, "set", "--all", "gestures.shake.sensitivity=\(value)", "--no-wait")
            #expect(set.status == 0, "\(set.errors)")
        }
        let files = FileManager.default.enumerator(atPath: directory.path("state"))?.compactMap { $0 as? String }
        let latest = try #require(files?.first { $0.contains("/all.2.") && $0.hasSuffix(".json") })
        #expect(files?.contains { $0.hasSuffix(".sent") } == false)
        let file = directory.path("state/\(latest)")
        #expect(rename(file, file.dropLast(4) + kept) == 0)
        let hash = try #require(latest.split(separator: ".").dropLast().last).prefix(16)
        boards.publish(
            "jostle/washer-1/config/reported",
            "{\"run\":\"1\",\"layers\":{\"all\":{\"status\":\"applied\",\"revision\":2,\"hash\":\"\(hash)\"}}}")
        try await observer.catchUp()
        let first = try #require(observer.all.first { $0.topic == "jostle/_all/config" })
        boards.publish(first.topic, String(decoding: first.payload, as: UTF8.self))
        #expect(await observer.sees { $0.all.count { $0.topic == first.topic } == 3 })
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 65)
        #expect(
            set.errors.contains("boards have revision 2, but the broker holds only revision 1"), "\(set.errors)")
        #expect(
            set.errors.contains("To publish revision 2 again: jostle fleet rollback all --to \(hash)\n"),
            "\(set.errors)")
        let stranger = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait", state: "elsewhere")
        #expect(stranger.status == 65 && !stranger.errors.contains("rollback"), "\(stranger.errors)")

        try await fleet(broker, "rollback", "all", "--to", "2", "--no-wait").expect(status: 0)
        let document = try await document(observer, "_all/config")
        #expect(document["revision"] as? Int == 3)
        #expect(document["config"] as? NSDictionary == ["gestures": ["shake": ["sensitivity": 7]]])
        try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 0)
    }

    /// Nobody who is online has the document, but this machine has seen it.
    @Test func whatThisMachineHasSeenIsNotReplacedByAChange() async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "washer-1", behaviour: .isSilent)])
        try await fleet(broker, "set", "--all", "gestures.shake.sensitivity=6", "--no-wait").expect(status: 0)
        boards.publish("jostle/_all/config", "")
        try await observer.catchUp()
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait")
        set.expect(status: 65, errors: "all: this machine has seen revision 1, but the broker holds none")
        try await fleet(broker, "rollback", "all", "--to", "1", "--no-wait").expect(status: 0)
        try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 0)
        let config = try await document(observer, "_all/config")["config"] as? [String: NSDictionary]
        #expect(config?["gestures"] == ["shake": ["sensitivity": 6]])
    }

    /// Numbers begin again in each epoch, so that a number can name several documents.
    @Test func numberOfSeveralDocumentsNamesNone() async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "washer-1", behaviour: .isSilent)])
        try await fleet(
            broker, "set", "--all", "gestures.shake.sensitivity=6", "--note", "calm", "--no-wait"
        ).expect(status: 0)
        try FileManager.default.createDirectory(atPath: directory.path("files"), withIntermediateDirectories: true)
        try directory.write("gestures: { shake: { sensitivity: 8 } }\n", to: "files/all.yaml")
        try await fleet(broker, "apply", directory.path("files"), "--new-epoch", "--no-wait").expect(status: 0)
        let bare = try await fleet(broker, "rollback", "all", "--to", "1", "--no-wait").expect(status: 64)
        #expect(bare.errors.contains("all: this machine keeps several documents of revision 1; name one:"))
        let lines = bare.errors.split(separator: "\n").filter { $0.contains("--to ") }
        #expect(lines.count == 2 && lines[0].contains(": epoch ") && lines[1].contains(": no epoch, by "), "\(lines)")
        #expect(lines[1].hasSuffix(", \"calm\""), "\(lines)")
        // The broker loses its store. The boards have another document of this number, which this machine does not keep.
        boards.publish("jostle/_all/config", "")
        func report(_ hash: some StringProtocol) {
            let all = "{\"status\":\"missing\",\"revision\":1,\"hash\":\"\(hash)\"}"
            boards.publish("jostle/washer-1/config/reported", "{\"run\":\"1\",\"layers\":{\"all\":\(all)}}")
        }
        report("0123456789abcdef")
        try await observer.catchUp()
        let other = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 65)
        #expect(other.errors.contains("boards have revision 1, but the broker holds none"), "\(other.errors)")
        #expect(!other.errors.contains("rollback"), "\(other.errors)")
        // One that it keeps is named exactly.
        let hash = try #require(lines[1].split(separator: " ").dropFirst().first).dropLast()
        report(hash)
        try await observer.catchUp()
        let kept = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 65)
        #expect(kept.errors.contains("jostle fleet rollback all --to \(hash)\n"), "\(kept.errors)")
        try await fleet(broker, "rollback", "all", "--to", "\(hash)", "--no-wait").expect(status: 0)
        let document = try await document(observer, "_all/config")
        #expect(document["config"] as? NSDictionary == ["gestures": ["shake": ["sensitivity": 6]]])
        let none = try await fleet(broker, "rollback", "all", "--to", "0123456789abcdef").expect(status: 66)
        #expect(none.errors.contains("this machine has not seen revision 0123456789abcdef"), "\(none.errors)")
    }

    @Test func lostStoreIsNoticedAndRestoredFromFiles() async throws {
        let broker = try await rig.broker()
        var board = SimulatedBoards.Board(id: "washer-1")
        board.layers["all"] = #"{"status":"missing","revision":41,"hash":"0123456789abcdef"}"#
        let boards = try await SimulatedBoards(broker.port, [board])
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz").expect(status: 65)
        #expect(set.errors.contains("boards have revision 41, but the broker holds none"), "\(set.errors)")
        #expect(set.errors.contains("jostle fleet apply DIRECTORY"))
        try directory.write("sensor: { rate: 50 Hz }\n", to: "all.yaml")
        let apply = try await fleet(broker, "apply", directory.path).expect(status: 0)
        #expect(
            apply.output.contains(
                "all: lost by the broker\nall: published as revision 1 of a new epoch\n1 of 1 device applied it"))
        // The new epoch reaches the boards that claim a later document.
        #expect(!apply.errors.contains("some boards claim"), "\(apply.errors)")
        #expect(boards.boards[0].layers["all"]?.contains("\"revision\":1,") == true)
        let next = try await fleet(broker, "set", "--all", "sensor.rate=25Hz").expect(status: 0)
        #expect(next.output.contains("all: published as revision 2\n"), "\(next.output)")
    }

    /// One board claims the last number there is, and another has a program from before epochs.
    @Test func liarsAndOldProgramsAreNamed() async throws {
        let broker = try await rig.broker()
        var liar = SimulatedBoards.Board(id: "liar", behaviour: .isSilent)
        liar.layers["all"] = #"{"status":"applied","revision":9007199254740990}"#
        let boards = try await SimulatedBoards(
            broker.port, FleetCommandTests.three + [liar, .init(id: "old", takesEpochs: false)])
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz", "--no-wait").expect(status: 0)
        #expect(set.output.contains("all: published as revision 1\n"), "\(set.output)")
        #expect(
            set.errors.contains(
                "all: some boards claim a document that revision 1 does not replace, up to revision 9007199254740990: liar;"
            ),
            "\(set.errors)")
        #expect(await eventually { boards.boards.last?.layers["all"]?.contains("applied") == true })
        try directory.write("sensor: { rate: 50Hz }\n", to: "all.yaml")
        let apply = try await fleet(broker, "apply", directory.path, "--new-epoch").expect(status: 75)
        #expect(apply.output.contains("all: in a new epoch\nall: published as revision 1 of a new epoch"))
        #expect(apply.errors.contains("the program is too old for documents with an epoch"), "\(apply.errors)")
        #expect(apply.errors.contains("and rejects them, on old: install"), "\(apply.errors)")
        #expect(apply.errors.contains("old: all 1: its program is too old for an epoch"), "\(apply.errors)")
        #expect(boards.boards[0].layers["all"]?.contains("\"epoch\":") == true)
    }

    /// A new epoch is later than what any board says that it accepted, but for what none can have accepted.
    @Test func newEpochIsLaterThanWhatBoardsAccepted() async throws {
        let (broker, boards, observer) = try await rig.observedFleet([.init(id: "door"), .init(id: "liar")])
        let now = Int64(Date().timeIntervalSince1970 * 1000)
        let ahead = now + 36_000_000
        for (id, time) in [("door", ahead), ("liar", now + 90_000_000)] {
            boards.publish(
                "jostle/\(id)/config/reported",
                #"{"run":"1","epochs":true,"layers":{"all":{"status":"none","accepted_at":\#(time)}}}"#)
            #expect(
                await observer.sees { $0.texts("config/reported", of: id).last?.contains("accepted_at") == true })
        }
        try directory.write("sensor: { rate: 50Hz }\n", to: "all.yaml")
        try await fleet(broker, "apply", directory.path, "--new-epoch", "--no-wait").expect(status: 0)
        #expect(try await document(observer, "_all/config")["at"] as? Int64 == ahead + 1)
        // What this machine has seen counts, too.
        boards.publish("jostle/_all/config", "")
        #expect(await observer.sees { $0.all.last { $0.topic == "jostle/_all/config" }?.payload.isEmpty == true })
        try await fleet(broker, "apply", directory.path, "--new-epoch", "--no-wait").expect(status: 0)
        #expect(try await document(observer, "_all/config")["at"] as? Int64 == ahead + 2)
    }

    @Test func garbageOnLayerIsNotBuiltUpon() async throws {
        let (broker, boards) = try await rig.fleet([.init(id: "door")])
        boards.publish("jostle/_all/config", "{\"schema\":1,\"revision\":7,\u{1B}[2J")
        let observer = try await Observer(broker.port)
        #expect(await observer.sees { $0.topics.contains("jostle/_all/config") })
        let set = try await fleet(broker, "set", "--all", "sensor.rate=50Hz").expect(status: 65)
        #expect(set.errors.contains("the broker holds a document that cannot be used"), "\(set.errors)")
        #expect(!set.errors.contains("\u{1B}"))
    }
}
