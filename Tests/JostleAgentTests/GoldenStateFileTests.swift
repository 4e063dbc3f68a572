import BrokerTestSupport
import Documents
import Foundation
import JostleMessages
import MotionCore
import SQLiteDatabase
import StateStorage
import Testing

@testable import JostleAgent

/// Requirement: the agent's files keep their form: the next version reads them, and the one before after a downgrade.
@Suite final class GoldenStateFileTests {
    private var golden = GoldenText()

    // MARK: Layers of the fleet

    private func content(_ text: String, layer: String = "all") throws -> LayerContent {
        LayerContent(document: try LayerDocument(reading: Array(text.utf8), layer: layer))
    }

    private static let candidate =
        #""candidate":{"config":{"gestures":{"shake":{"sensitivity":9}}},"percent":12.5,"seed":"s"}"#

    /// The clocks when a layer is accepted.
    private func clocks(_ wall: Int64, isSet: Bool = false) -> ClockReading {
        ClockReading(boot: "boot-1", monotonic: Timestamp(seconds: 0), wall: wall, isSet: isSet)
    }

    /// A state with everything that there can be.
    private func fullState() throws -> StoredFleet {
        var all = StoredLayer(.all)
        all.accept(try content(layer(1, sensitivity: 3)), at: clocks(1_795_182_603_000))
        all.proven = nil
        let more = #"\#(Self.candidate),"by":"ada@desk","note":"\"less\" eager\\, é","at":1795182603123"#
        all.accept(try content(layer(2, sensitivity: 4, more)), at: clocks(1_795_182_603_123, isSet: true))
        all.inForce?.skipsCandidate = true
        all.inForce?.candidateErrors = FleetLayers.json([
            DocumentProblem(
                at: DocumentPosition(.layer("all")), path: "gestures.shake.sensitivity", found: "90",
                "is out of bounds", allowed: "1 … 10")
        ])
        all.undone = StoredLayer.Undone(revision: 2, reason: "the sensor delivers no samples any more")
        var laundry = StoredLayer(.group("laundry"))
        laundry.accept(try content(layer(8, "{}"), layer: "group:laundry"), at: clocks(1_795_182_604_000))
        var device = StoredLayer(.device)
        device.highest = AcceptedRevision(DocumentRevision(number: 7, hash: String(repeating: "0f", count: 32)))
        device.undone = StoredLayer.Undone(revision: 7, reason: "the agent ended unexpectedly 3 times")
        let groups = #"{"schema":1,"revision":3,"groups":["laundry"],"by":"ada@desk"}"#
        var fleet = StoredFleet(layers: [
            "jostle/_all/config": all, "jostle/_group/laundry/config": laundry, "jostle/a/config/desired": device,
        ])
        let registry = try RegistryDocument(reading: Array(groups.utf8))
        fleet.registry = StoredRegistry(
            topic: "jostle/_registry/a", document: registry, accepted: AcceptedRevision(registry.revision))
        fleet.isSigned = true
        for (topic, revision, epochs) in [
            ("_group/attic/config", DocumentRevision(number: 5, hash: "ab"), []),
            ("b/config/desired", DocumentRevision(number: 1 << 40, hash: "cd"), []),
            (
                "_group/cellar/config",
                DocumentRevision(number: 2, hash: "ef", epoch: "5d59f73717e546dc", at: 1_795_182_603_123),
                ["0123abcd", "ffff0000"]
            ),
        ] {
            fleet.former.remember(AcceptedRevision(revision, formerEpochs: epochs), of: "jostle/\(topic)")
        }
        fleet.probation = StoredProbation(
            boot: "boot-1", deaths: 2, hasEndedProperly: true, hadSamples: true, touchesNetwork: false)
        return fleet
    }

    @Test("The layers of the fleet are stored in the recorded form, and read again")
    func fleetLayers() throws {
        var applied = StoredLayer(.all)
        applied.accept(try content(layer(1, sensitivity: 3)), at: clocks(0))
        applied.proven = nil
        let states: [(String, StoredFleet)] = [
            ("nothing", StoredFleet()), ("a layer", StoredFleet(layers: ["jostle/_all/config": applied])),
            ("everything", try fullState()),
        ]
        for (name, state) in states {
            golden.add(name, state.bytes)
            let again = try StoredFleet(reading: state.bytes)
            #expect(again == state && again.bytes == state.bytes, "\(name)")
        }
        expectGolden(golden, "fleet-layers.json.txt")
    }

    /// Without what this version stores beside the documents.
    @Test(arguments: [false, true]) func layersOfAnEarlierVersionAreRead(isSigned: Bool) throws {
        let signature = isSigned ? #","signature":{"key":"k","value":"v"}"# : ""
        let groups = #"{"schema":1,"revision":3,"groups":["b"],"at":5\#(signature)}"#
        let stored = #""topic":"jostle/_registry/a","document":\#(JSONText.quoted(groups))"#
        let former = #"{"topic":"jostle/_group/attic/config","revision":5,"hash":"ab"}"#
        let fleet = try StoredFleet(
            reading: Array(#"{"format":"1","registry":{\#(stored)},"former":[\#(former)],"layers":[]}"#.utf8))
        #expect(fleet.registry?.accepted.revision.at == 5 && fleet.registry?.accepted.confirmedAt == nil)
        #expect(fleet.former["jostle/_group/attic/config"]?.revision.number == 5 && fleet.isSigned == isSigned)
    }

    // MARK: Values set at home, and small files

    @Test("Values that are set at home are stored in the recorded form")
    func localSettings() throws {
        var board = try FleetBench("actions: [{ on: shake, name: lamp, publish: { topic: a } }]")
        for (topic, text) in [
            ("set/gestures.shake.sensitivity", "7"), ("set/gestures.shake.enabled", "false"),
            ("set/gestures/flick/directions", #"[ "left" , "up" ]"#), ("set/attitude.low_pass", "2.50"),
            ("set/publish.attitude.rate", "5 Hz"), ("set/publish.motion.rate", "\"1e0\""),
            ("set/gestures.tap.cooldown", "1e0"), ("set/actions.lamp.enabled", "false"),
            ("set", #"{"gestures":{"shake":{"cooldown":"2 s","when":{"side":["+z","-x"],"still":null}}}}"#),
        ] {
            try board.receive("jostle/a/\(topic)", text)
            golden.add("\(topic) \(text)", board.bench.text(.localSettings) ?? "none")
        }
        try board.restart()
        try board.receive("jostle/a/set/gestures.shake.enabled", "")
        golden.add("read again, and one less", board.bench.text(.localSettings) ?? "none")
        let directory = StateDirectory(path: board.directory.path)
        try LocalLayer.clear(["attitude.low_pass", "actions.lamp.enabled"], in: directory)
        golden.add(
            "cleared by a command",
            try String(contentsOfFile: board.directory.path("local-settings.json"), encoding: .utf8))
        expectGolden(golden, "local-settings.json.txt")
    }

    @Test("The small files have the recorded form")
    func smallFiles() throws {
        let nowhere = StateDirectory(path: "/nonexistent")
        var board = try FleetBench("fleet: { remote: [device.version] }")
        try board.publish(.all, layer(1, #"{"device":{"version":"0.5.0~rc1-1"}}"#))
        golden.add("wanted-version", board.bench.text(.wantedVersion) ?? "none")
        try board.publish(.all, layer(2, "{}"))
        golden.add("wanted-version without one", board.bench.text(.wantedVersion) ?? "none")
        var clocks = MachineClocks(nowhere)
        let now = clocks.judge(goldenClocks, isSynchronised: true)
        golden.add("last-time", clocks.contentsToStore(now, isLast: true) ?? [])
        var machine = MachineRun(in: nowhere)
        for isSet in [true, false] {
            var event = GestureEvent(.vibration, .began, at: Timestamp(seconds: 90))
            event.duration = 4.25
            var now = goldenClocks
            now.isSet = isSet
            golden.add("machine-run, clock set: \(isSet)", machine.take(event, at: now) ?? [])
        }
        let end = GestureEvent(.vibration, .ended, at: Timestamp(seconds: 95))
        golden.add("machine-run at its end", machine.take(end, at: goldenClocks) ?? [])
        expectGolden(golden, "state-small-files.txt")
    }

    // MARK: Outbox

    /// The results of a query, a line for each row.
    private func rows(_ query: String, _ path: String) throws -> String {
        let database = try Database.open(path: path)
        var statement = try database.prepare(query)
        var lines: [String] = []
        while try statement.step() { lines.append(statement.text(0)) }
        return lines.joined(separator: "\n")
    }

    @Test("The outbox stores messages in the recorded form")
    func outbox() throws {
        let directory = try TemporaryDirectory()
        let rig = OutboxRig(directory: directory.path)
        var composer = EventComposer(
            topics: Topics(prefix: "jostle", id: "a"), prefix: "jostle", run: "f00d", isSimulated: false)
        var shake = GestureEvent(.shake, .began, at: rig.now)
        shake.strength = 14.204
        shake.axis = .x
        for update in composer.updates(for: shake, at: rig.clocks) {
            switch update {
            case .add(var message):
                message.time.wall = 1_795_000_000_000
                rig.process([.add(message)])
            case .setGesture(let gesture, let isOpen): rig.process([.setGesture(gesture, isOpen: isOpen)])
            }
        }
        var action = rig.message("TOGGLE \"é\"\n")
        action.lifetime = 12.5
        action.isRetained = true
        action.qos = .atMostOnce
        let machine = OpenGesture(gesture: .vibration, isSimulated: true)
        rig.process([.add(action), .setGesture(machine, isOpen: true)])
        rig.close()
        let path = directory.path("outbox.sqlite3")
        golden.add("tables", try rows("SELECT sql FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name", path))
        for (table, columns) in [
            (
                "message",
                "token, topic, id, CAST(content AS TEXT), qos, retain, boot, monotonic, wall, clock_set, lifetime, "
                    + "checksum"
            ), ("open_gesture", "gesture, simulated, checksum"), ("counter", "name, value, checksum"),
        ] {
            let quoted = columns.components(separatedBy: ", ").map { "quote(\($0))" }.joined(separator: " || ' ' || ")
            golden.add(table, try rows("SELECT \(quoted) FROM \(table) ORDER BY 1", path))
        }
        golden.add("version", try rows("PRAGMA user_version", path))
        expectGolden(golden, "outbox-rows.txt")
    }
}
