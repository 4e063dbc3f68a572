import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: the configuration of a fleet can be kept as files, checked without a broker, and restored from them.
@Suite(.needsBroker) struct FleetFilesTests {
    private let rig = Rig()
    private let commands = FleetCommandTests()
    private var directory: TemporaryDirectory { commands.directory }

    @Test(arguments: [
        ("all.yaml", "gestures:\n  shak: {}\n", "/all.yaml:2:3: gestures.shak: unknown key; did you mean \"shake\"?"),
        (
            "groups/laundry.yaml", "gestures: { shake: { sensitivity: 70 } }\n",
            "/groups/laundry.yaml:1:35: gestures.shake.sensitivity: \"70\" is out of bounds; allowed: 1 … 10"
        ),
        (
            "devices/door.yaml", "sensor:\n  rate: fast\n",
            "/devices/door.yaml:2:9: sensor.rate: \"fast\" is not a frequency"
        ),
        ("all.yaml", "mqtt: { prefix: x }\n", "/all.yaml:1:17: mqtt.prefix: cannot be set over MQTT"),
        ("all.yaml", "- a\n", "/all.yaml:1:1: is not a mapping of keys to values"),
        ("all.yaml", "sensor: { rate: 50 Hz\n", "/all.yaml:2:1: "),
        ("all.yaml", "sensor: {}\nsensor: {}\n", "/all.yaml:2:1: the key \"sensor\" occurs twice"),
        ("group/laundry.yaml", "{}\n", "/group/laundry.yaml:1:1: is no file of a fleet"),
        ("groups/a b.yaml", "{}\n", "/groups/a b.yaml:1:1: \"a b\" is not an id"),
        ("devices/door.yml", "{}\n", "/devices/door.yml:1:1: is no file of a fleet"),
        ("registry.yaml", "door: [a/b]\n", "/registry.yaml:1:8: door: \"a/b\" is not a group"),
        ("registry.yaml", "door: [a, a]\n", "/registry.yaml:1:11: door: \"a\" is listed twice"),
        ("registry.yaml", "a/b: [a]\n", "/registry.yaml:1:1: \"a/b\" is not a device id"),
        ("registry.yaml", "door: a\n", "/registry.yaml:1:7: door: \"a\" is not a list of groups"),
    ])
    func checkNamesFileLineAndColumn(name: String, text: String, problem: String) async throws {
        try directory.write("gestures: { shake: { sensitivity: 7 } }\n", to: "fleet/all.yaml")
        try directory.write(text, to: "fleet/\(name)")
        let outcome = try await jostle("fleet", "apply", directory.path("fleet"), "--check").expect(status: 65)
        #expect(outcome.errors.contains(problem), "\(outcome.errors)")
        #expect(outcome.output.isEmpty)
    }

    /// A file that no fleet has is refused by its name, whatever it is.
    @Test func misplacedFilesAreNotRead() async throws {
        try directory.write("{}\n", to: "fleet/all.yaml")
        try #require(mkfifo(directory.path("fleet/pipe.yaml"), 0o600) == 0)
        let outcome = try await jostle("fleet", "apply", directory.path("fleet"), "--check").expect(status: 65)
        #expect(outcome.errors.contains("/pipe.yaml:1:1: is no file of a fleet"), "\(outcome.errors)")
    }

    @Test func reportsTheFirstProblemsAndCountsTheOthers() async throws {
        for number in 1...130 { try directory.write("{}\n", to: "fleet/wrong/\(number).yaml") }
        let outcome = try await jostle("fleet", "apply", directory.path("fleet"), "--check").expect(status: 65)
        let lines = outcome.errors.split(separator: "\n")
        #expect(lines.count == 101 && lines.last?.hasSuffix("and 30 more problems") == true, "\(outcome.errors)")
        try FileManager.default.removeItem(atPath: directory.path("fleet/wrong"))
        let keys = (1...60).map { "unknown-\($0): 1\n" }.joined()
        for name in ["all", "groups/a"] { try directory.write(keys, to: "fleet/\(name).yaml") }
        let ignored = try await jostle("fleet", "apply", directory.path("fleet"), "--check", "--unknown", "ignore")
        #expect(ignored.status == 0)
        let remarks = ignored.errors.split(separator: "\n")
        #expect(remarks.count == 101 && remarks.last == "jostle: and 20 more unknown keys", "\(ignored.errors)")
    }

    /// Links can form a cycle. A link to a file is harmless.
    @Test func linksToDirectoriesAreRefused() async throws {
        try directory.write("{}\n", to: "shared.yaml")
        try directory.write("{}\n", to: "fleet/groups/laundry.yaml")
        let manager = FileManager.default
        try manager.createSymbolicLink(
            atPath: directory.path("fleet/all.yaml"), withDestinationPath: directory.path("shared.yaml"))
        try manager.createSymbolicLink(atPath: directory.path("fleet/.hidden"), withDestinationPath: ".")
        let linkedFile = try await jostle("fleet", "apply", directory.path("fleet"), "--check")
        #expect(linkedFile.status == 0 && linkedFile.output.contains("2 layers"), "\(linkedFile.errors)")
        try manager.createSymbolicLink(atPath: directory.path("fleet/groups/again"), withDestinationPath: "..")
        let cycle = try await jostle("fleet", "apply", directory.path("fleet"), "--check").expect(status: 65)
        #expect(cycle.errors.contains("/groups/again: is a symbolic link to a directory"), "\(cycle.errors)")
    }

    @Test func refusesDirectoriesThatAreNoFleet() async throws {
        try directory.write("{}\n", to: "many/devices/0.yaml")
        for number in 1...20_000 {
            try #require(
                FileManager.default.createFile(atPath: directory.path("many/devices/\(number).yaml"), contents: nil))
        }
        let many = try await jostle("fleet", "apply", directory.path("many"), "--check").expect(status: 65)
        #expect(many.errors.contains("/many: has more than 20000 YAML files and directories"), "\(many.errors)")
        try directory.write("{}\n", to: "long/devices/0.yaml")
        for number in 1...1100 {
            let path = directory.path("long/devices/\(number).yaml")
            try #require(FileManager.default.createFile(atPath: path, contents: nil))
            try #require(truncate(path, 65_536) == 0)
        }
        let long = try await jostle("fleet", "apply", directory.path("long"), "--check").expect(status: 65)
        #expect(long.errors.contains("/long: its YAML files have more than 67108864 bytes"), "\(long.errors)")
    }

    @Test func checkAcceptsGoodFilesWithoutBroker() async throws {
        try directory.write("gestures: { shake: { sensitivity: 7 } }\n", to: "fleet/all.yaml")
        try directory.write("# nothing yet\n", to: "fleet/groups/laundry.yaml")
        try directory.write("door: [laundry]\nwasher-1: []\n", to: "fleet/registry.yaml")
        try directory.write("our fleet\n", to: "fleet/README.md")
        let outcome = try await jostle("fleet", "apply", directory.path("fleet"), "--check").expect(status: 0)
        #expect(outcome.output.hasSuffix("valid, 2 layers, groups of 2 devices\n"))
        try await jostle("fleet", "apply", directory.path("none"), "--check").expect(status: 66)
    }

    @Test func applyOfExportPublishesNothing() async throws {
        let (broker, boards) = try await rig.fleet(FleetCommandTests.three)
        try directory.write(
            """
            gestures: { shake: { sensitivity: 7, cooldown: 0.5 s }, tap: { counts: [single, double] } }
            sensor: { rate: 100, accelerometer_range: null }
            """, to: "fleet/all.yaml")
        try directory.write("gestures: { shake: { enabled: true } }\n", to: "fleet/groups/laundry.yaml")
        try directory.write("attitude: { low_pass: 2 Hz }\n", to: "fleet/devices/door.yaml")
        try directory.write("washer-1: [laundry, floor-2]\ndoor: []\n", to: "fleet/registry.yaml")
        let observer = try await Observer(broker.port)
        try await commands.fleet(broker, "apply", directory.path("fleet"), "--note", "first").expect(status: 0)
        let registered = try await commands.document(observer, "_registry/washer-1")
        #expect(registered["groups"] as? [String] == ["laundry", "floor-2"])
        #expect(boards.boards[0].groups == ["laundry", "floor-2"])
        let same = try await commands.fleet(broker, "apply", directory.path("fleet"))
        #expect(same.output.hasPrefix("5 documents unchanged\n"), "\(same.output)")

        try await commands.fleet(broker, "export", directory.path("copy")).expect(status: 0)
        try await observer.catchUp()
        let count = observer.topics.filter { !$0.hasSuffix("config/reported") }.count
        let copied = try await commands.fleet(broker, "apply", directory.path("copy"))
        #expect(copied.output.hasPrefix("5 documents unchanged\n"), "\(copied.output)")
        try await observer.catchUp()
        #expect(observer.topics.filter { !$0.hasSuffix("config/reported") }.count == count)
        let again = try await commands.fleet(broker, "export", directory.path("copy")).expect(status: 73)
        #expect(again.errors.contains("is not empty; --force"))
        try await commands.fleet(broker, "export", directory.path("copy"), "--force").expect(status: 0)
    }

    @Test func documentsOutsideTheDirectoryStayUnlessPruned() async throws {
        let (broker, observer) = try await rig.observedBroker()
        for words in [["--group", "laundry", "sensor.rate=50Hz"], ["--all", "sensor.rate=25Hz"]] {
            let program = try rig.run(
                ["fleet", "set"] + words + ["--no-wait", "--broker", "mqtt://127.0.0.1:\(broker.port)"])
            #expect(await program.exitStatus() == 0)
        }
        try directory.write("sensor: { rate: 25Hz }\n", to: "fleet/all.yaml")
        let kept = try await commands.fleet(broker, "apply", directory.path("fleet")).expect(status: 0)
        #expect(kept.output.contains("group:laundry: not in the directory; it stays"), "\(kept.output)")
        #expect(try await commands.document(observer, "_group/laundry/config")["revision"] as? Int == 1)
        try await commands.fleet(broker, "apply", directory.path("fleet"), "--prune").expect(status: 0)
        let empty = try await commands.document(observer, "_group/laundry/config")
        #expect(empty["revision"] as? Int == 2 && empty["config"] as? NSDictionary == [:])
        // An emptied layer is as good as none.
        let after = try await commands.fleet(broker, "apply", directory.path("fleet"))
        #expect(!after.output.contains("laundry"), "\(after.output)")
    }

    @Test func diffShowsChangesByBoard() async throws {
        let broker = try await rig.broker()
        var deaf = SimulatedBoards.Board(id: "deaf", groups: ["laundry"])
        deaf.settings = #"{"gestures":{"shake":{"sensitivity":5}},"fleet":{"remote":[]}}"#
        let boards = try await SimulatedBoards(broker.port, FleetCommandTests.three + [deaf])
        let diff = try await commands.fleet(broker, "diff", "--group", "laundry", "gestures.shake.sensitivity=7")
        #expect(diff.status == 0, "\(diff.errors)")
        #expect(
            diff.output.contains(
                "2 devices: washer-1, washer-2\n  gestures.shake.sensitivity  5 -> 7  group:laundry"))
        #expect(diff.output.contains("would be refused: gestures.shake.sensitivity is not in the board's fleet.remote"))
        #expect(!diff.output.contains("door"))
        try directory.write("gestures: { shake: { sensitivity: 5 } }\n", to: "fleet/all.yaml")
        let same = try await commands.fleet(broker, "diff", directory.path("fleet"), "--json")
        let ids = same.lines.filter { $0.contains("\"changes\": [{") }
        #expect(ids.isEmpty, "\(same.output)")
        try directory.write("gestures: { shake: { sensitivity: 6 } }\n", to: "fleet/all.yaml")
        let other = try await commands.fleet(broker, "diff", directory.path("fleet"), "--json")
        #expect(other.lines.count == 4, "\(other.output)")
        let door = try #require(other.lines.first { $0.contains("\"door\"") })
        #expect(
            door.contains(
                #""changes": [{"key": "gestures.shake.sensitivity", "old": "5", "new": "6", "layer": "all"}]"#))
        #expect(boards.boards.allSatisfy { $0.layers.isEmpty })
    }
}
