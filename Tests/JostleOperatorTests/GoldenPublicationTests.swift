import BrokerTestSupport
import Cryptography
import Documents
import Foundation
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleOperator

/// Requirement: what the fleet commands publish and keep does not change: boards, brokers and other operators compare
/// it.
@Suite struct GoldenPublicationTests {
    private let topics = FleetTopics(prefix: "jostle")
    private let ada = DocumentAuthor(by: "ada@desk", at: 1_795_182_603_123, note: "less \"eager\", é")

    private func signer() throws -> DocumentSigner {
        try #require(DocumentSigner(reading: goldenSigningKey, otherName: "none"))
    }

    /// Adds a document as it is published.
    private func add(_ publication: FleetPublication, _ remark: String = "", to golden: inout GoldenText) {
        let document = publication.document
        golden.add("\(document.topic(topics)) \(publication.revision.shortHash)\(remark)", publication.bytes)
    }

    private static let candidate =
        #","candidate":{"config":{"sensor":{"rate":"75 Hz"}},"percent":12.50,"seed":"spring"},"unknown":"ignore""#

    /// A broker with documents of all kinds.
    private var model: FleetModel {
        fleet([
            "_all/config": layer(3, #"{"sensor":{"rate":50.0},"gestures":{"shake":{"sensitivity":5}}}"#),
            "_group/laundry/config": layer(8, #"{"sensor":{"rate":"50 Hz","batch":null}}"#, more: Self.candidate),
            "_group/old/config": layer(1, #"{"log":{}}"#),
            "_group/empty/config": layer(1, "{}"), "door/config/desired": layer(5, #"{"a b":{"c\"d":[1,[],{}]}}"#),
            "_registry/a": #"{"schema":1,"revision":2,"groups":["laundry","x-1"]}"#,
            "_registry/b": #"{"schema":1,"revision":2,"groups":[]}"#,
            "_registry/gone": #"{"schema":1,"revision":2,"groups":["x"]}"#,
            "a/availability": "online",
            "a/config/reported": report(
                groups: ["lost"],
                #""all":{"status":"applied","revision":3},"group:lost":{"status":"missing","revision":4}"#),
        ])
    }

    // MARK: apply

    @Test("What apply publishes has the recorded form, with and without a signature")
    func apply() throws {
        let files: KeyValuePairs<String, String> = [
            "all.yaml": "sensor: { rate: 50 }\ngestures: { shake: { sensitivity: 6, cooldown: 0.5 s } } # a remark\n",
            "groups/laundry.yaml": "sensor:\n  rate: '60'\n  accelerometer_range: 4 g\n",
            "groups/new.yaml":
                "gestures:\n  shake: { when: { side: [+z, '-x'], still: true, tilt_above: null }, enabled: false }\n",
            "devices/door.yaml": "{}", "registry.yaml": "a: [laundry]\nb: []\nc: [new, laundry]",
        ]
        let directory = FleetDirectory(
            files.map { FleetDirectory.File(name: $0.key, path: "fleet/\($0.key)", bytes: Array($0.value.utf8)) })
        #expect(directory.problems.isEmpty, "\(directory.problems)")
        var golden = GoldenText()
        for (title, signer) in [("unsigned", nil), ("signed", try signer())] as [(String, DocumentSigner?)] {
            golden.heading(title)
            for item in ApplyPlan(directory, model, prunes: true).items {
                let publication = try FleetPublication(
                    item.draft, of: item.document, revision: item.revision.next, author: ada, topics: topics,
                    signer: signer)
                add(publication, " \(item.reason)", to: &golden)
            }
        }
        expectGolden(golden, "fleet-apply.txt")
    }

    @Test("The files of a fleet have the recorded form")
    func export() throws {
        let more = #"["a, b","true","7","","-","{","a\nb","é😀"]"#
        let names = #"{"name":"No: \"7\" #é\\","area":" x","id":"null","more":\#(more)}"#
        let model = fleet([
            "_all/config": layer(
                1, #"{"device":\#(names),"gestures":{"shake":{"sensitivity":7,"x":1.50,"y":1e3}},"log":{}}"#),
            "_group/laundry/config": layer(2, #"{"sensor":{"rate":"100","batch":null,"on":true,"list":[],"map":{}}}"#),
            "a/config/desired": layer(1, #"{"actions":{"lamp":{"enabled":false}},"m":[[0,1],[{"k":"v","l":[1]}]]}"#),
            "b/config/desired": layer(1, "{}"), "_registry/a": #"{"schema":1,"revision":1,"groups":["x","y-1"]}"#,
            "_registry/b": #"{"schema":1,"revision":1,"groups":[]}"#,
        ])
        var golden = GoldenText()
        for file in FleetDirectory.files(of: model) { golden.add(file.name, file.text) }
        expectGolden(golden, "fleet-files.txt")
    }

    // MARK: set and unset

    @Test("What set and unset publish has the recorded form")
    func edits() throws {
        let edits: [(String, [String], [String])] = [
            (
                "set", ["gestures.shake.sensitivity=7", "sensor.rate=100Hz", "gestures.flick.directions=[left, 'up']"],
                []
            ),
            (
                "set values",
                ["a=7", "b=true", "c=null", "d=", "e='7'", "f=\"x\\ty\"", "g={h: {i: 1e3}}", "j=.5", "k=a: b"], []
            ),
            ("unset", [], ["gestures.shake", "sensor.rate"]), ("unset nothing", [], ["no.such.key"]),
        ]
        var golden = GoldenText()
        for id in [FleetDocumentID.all, .group("laundry"), .device("new")] {
            golden.heading(id.text)
            let held = model.documents[id]?.layer
            for (name, set, unset) in edits {
                let edit = LayerEdit(try set.map(LayerEdit.set) + unset.map(LayerEdit.unset))
                let draft = try edit.draft(changing: held)
                guard let draft else {
                    golden.add(name, "nothing changes")
                    continue
                }
                add(
                    try FleetPublication(
                        draft, of: id, revision: RevisionPlan(for: id, in: model).next, author: ada, topics: topics),
                    " \(name)", to: &golden)
            }
        }
        golden.heading("problems")
        for (config, set) in [
            ("{a: null}", "a.b=1"), ("{a: [1]}", "a.b.c=1"), ("{}", "a"), ("{}", "=1"), ("{}", "a..b=1"),
        ] {
            do {
                let edit = LayerEdit([try LayerEdit.set(set)])
                golden.add("\(config) \(set)", try edit.applied(to: try (tree(config))).compactText)
            } catch {
                golden.add("\(config) \(set)", "\(error)")
            }
        }
        expectGolden(golden, "fleet-set.txt")
    }

    private func tree(_ yaml: String) throws(DocumentProblem) -> JSONValue {
        try YAMLReader.read(Array(yaml.utf8), source: .file("test.yaml"))
    }

    // MARK: Rollouts

    @Test("The documents of a rollout have the recorded form")
    func rollout() throws {
        let change = try value("{sensor: {rate: 25 Hz}, gestures: {shake: {sensitivity: 9}}}")
        let targets: [(FleetDocumentID, DocumentDraft)] = [
            (.all, DocumentDraft(config: change)),
            (.group("fresh"), DocumentDraft(config: try value("{log: {level: debug}}"))),
        ]
        let plan = try RolloutPlan(targets, in: model, newSeed: "2026-11-22T10:00-a1b2c3", marksBase: true)
        var golden = GoldenText()
        golden.add("seed", plan.seed)
        let stages: [(String, RolloutPlan.Stage)] = [
            ("5 %", .candidate(percent: 5)), ("12.3457 %", .candidate(percent: 12.3457)),
            ("100 %", .candidate(percent: 100)), ("complete", .complete), ("withdrawn", .withdrawn),
        ]
        for (name, stage) in stages {
            golden.heading(name)
            for (id, draft) in plan.drafts(stage).sorted(by: { $0.key < $1.key }) {
                let number = RevisionPlan(for: id, in: model).next
                add(try FleetPublication(draft, of: id, revision: number, author: ada, topics: topics), to: &golden)
            }
        }
        golden.heading("a running one")
        let running = try #require(RolloutPlan(runningIn: model, seed: "spring"))
        for (id, draft) in running.drafts(.candidate(percent: 50)) {
            add(try FleetPublication(draft, of: id, revision: 9, author: ada, topics: topics), to: &golden)
        }
        golden.heading("shares")
        for percent in [5, 12.5, 0.0001, 33.3333, 100] as [Double] {
            golden.add("\(percent)", RolloutPercents.text(percent))
        }
        expectGolden(golden, "fleet-rollout.txt")
    }

    // MARK: Files

    @Test("The history of documents and the list of names have the recorded names and contents")
    func history() throws {
        let directory = try TemporaryDirectory()
        let history = DocumentHistory(
            stateDirectory: directory.path, broker: "mqtts://b.example:8883", prefix: "home/jostle")
        try history.keep(model.documents)
        let draft = DocumentDraft(groups: ["attic"])
        try history.keep(sending: [
            try FleetPublication(draft, of: .registry("a"), revision: 3, author: ada, topics: topics, signer: signer())
        ])
        FleetNames.keep(model, stateDirectory: directory.path)
        var golden = GoldenText()
        let names = try #require(FileManager.default.enumerator(atPath: directory.path)).compactMap { $0 as? String }
        for name in names.sorted() where name.hasSuffix(".json") || name.hasSuffix(".sent") || name == "fleet-names" {
            golden.add(name, Array(try #require(FileManager.default.contents(atPath: directory.path(name)))))
        }
        expectGolden(golden, "fleet-history.txt")
    }

    // MARK: Enrolment

    @Test("The files of a new board have the recorded form")
    func enrolment() throws {
        let template = try value(
            #"""
            mqtt: { broker: "mqtts://b.example:8883", keep_alive: 90 s }
            device: { name: "Lamp: \"1\" é", groups: [old] }
            publish: { health: { interval: 30 s } }
            gestures: { shake: { when: { side: [+z, -x] } } }
            fleet: { remote: [gestures], trusted_keys: ["ops-1:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="] }
            sensor: { mount_matrix: [[0, 1, 0], [-1, 0, 0], [0, 0, 1]], batch: }
            """#)
        let authority = Array("-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n".utf8)
        let boards = [
            BoardEnrolment(
                id: "washer-1", groups: ["laundry", "floor-2"], template: template, authority: authority,
                password: "secret-1"),
            BoardEnrolment(
                id: "null", groups: [], brokers: ["mqtt://a", "mqtt://[::1]:1"], password: "aA0_-aA0_-aA0_-aA0_-aA0_"),
        ]
        var golden = GoldenText()
        for board in boards {
            golden.heading(board.id)
            golden.add("jostle.yaml", board.configText)
            golden.add("user-data", board.userData)
            golden.add("meta-data", board.metaData)
            let archive = board.archive(at: 1_795_182_603)
            golden.add("archive", "\(archive.count) bytes, SHA-256 \(SHA256Digest(of: archive).hexadecimal)")
        }
        golden.heading("passwords")
        var passwords = MosquittoPasswords("# mine\r\noperator:$7$101$a$b\nwasher-1:x\n")
        let isSet = passwords.set("washer-1", password: "p")
        let isAdded = passwords.set("door", password: "p")
        #expect(isSet && isAdded)
        let secret = /\$[A-Za-z0-9+\/]{16}\$[A-Za-z0-9+\/=]{88}/
        golden.add("passwords", passwords.text.replacing(secret, with: "$SALT$HASH"))
        expectGolden(golden, "enrolment.txt")
    }
}
