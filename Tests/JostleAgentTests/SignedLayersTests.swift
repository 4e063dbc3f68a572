import Documents
import Foundation
import JostleConfiguration
import JostleMessages
import Testing

@testable import JostleAgent

/// Requirement: a board with trusted keys takes only documents that one of them signed for their topic, and a broker that
/// somebody broke into can neither change it nor take it back to an earlier document that it has accepted.
@Suite struct SignedLayersTests {
    private static let all = "jostle/_all/config"
    private let signer: DocumentSigner
    private let other: DocumentSigner
    private let yaml: String

    init() throws {
        signer = try #require(DocumentSigner(generating: "ops-1"))
        other = try #require(DocumentSigner(generating: "ops-2"))
        yaml = "fleet: { trusted_keys: [\"\(try #require(signer.trustedKey).text)\"] }"
    }

    /// A document with a signature for a topic.
    private func signed(
        _ document: String, for topic: String = all, by signer: DocumentSigner? = nil, as name: String? = nil
    ) throws -> String {
        let envelope = try LayerDocument(reading: Array(document.utf8), layer: "all").envelope
        let signature = try #require(try (signer ?? self.signer).sign(envelope, topic: topic))
        return document.dropLast()
            + #","signature":{"key":"\#(name ?? signature.key)","value":"\#(signature.value)"}}"#
    }

    private static func reason(_ layer: [String: Any]) -> String? {
        (layer["errors"] as? [[String: Any]])?.first?["reason"] as? String
    }

    @Test func takesSignedDocuments() throws {
        var board = try FleetBench(yaml, retained: [Self.all: try signed(layer(1, sensitivity: 3))])
        #expect(board.sensitivity == 3)
        #expect(try board.status("all") == "applied 1")
        // Spaces and the order of members are not signed: the canonical form is.
        let text = try signed(#"{"config":{}, "revision":2.0 ,"schema":1}"#)
        try board.publish(.all, text)
        #expect(try board.status("all") == "applied 2" && board.sensitivity == 5)
        try board.publish(
            .device, try signed(layer(1, sensitivity: 8), for: "jostle/a/config/desired"))
        #expect(board.sensitivity == 8)
    }

    enum Forgery: CaseIterable {
        case unsigned, byStranger, strangerUnderOurName, otherTopic, otherContent, otherRevision, addedMember, truncated
        case emptyValue, noBase64, shortSignature, unpaddedSignature
    }

    @Test(arguments: Forgery.allCases) func rejectsEveryForgery(forgery: Forgery) throws {
        let document = layer(2, sensitivity: 9)
        let genuine = try signed(document)
        func replaced(_ text: String, by new: String) -> String {
            genuine.replacingOccurrences(of: text, with: new)
        }
        let value = try #require(try LayerDocument(reading: Array(genuine.utf8), layer: "all").envelope.signature).value
        let (text, reason): (String, String) =
            switch forgery {
            case .unsigned: (document, "is missing")
            case .byStranger: (try signed(document, by: other), "is by a key that is not trusted")
            case .strangerUnderOurName: (try signed(document, by: other, as: "ops-1"), "does not fit the document")
            case .otherTopic: (try signed(document, for: "jostle/_group/g/config"), "does not fit the document")
            case .otherContent: (replaced("9", by: "8"), "does not fit the document")
            case .otherRevision: (replaced("\"revision\":2", by: "\"revision\":3"), "does not fit the document")
            case .addedMember:
                (replaced("\"schema\":1", by: "\"schema\":1,\"unknown\":\"ignore\""), "does not fit the document")
            case .truncated: (String(genuine.dropLast(20)), "not JSON")
            case .emptyValue: (replaced(value, by: ""), "is not a line of text")
            case .noBase64: (replaced(value, by: "*\(value.dropFirst())"), "does not fit the document")
            case .shortSignature: (replaced(value, by: "QUJD"), "does not fit the document")
            case .unpaddedSignature: (replaced(value, by: String(value.dropLast(2))), "does not fit the document")
            }
        var board = try FleetBench(yaml)
        try board.publish(.all, try signed(layer(1, sensitivity: 3)))
        try board.publish(.all, text)
        #expect(board.sensitivity == 3)
        let report = try board.layer("all")
        #expect(report["status"] as? String == "rejected" && report["in_force"] as? Int == 1, "\(report)")
        #expect(Self.reason(report)?.contains(reason) == true, "\(report)")
        // It does not stand in the way of a genuine one.
        try board.publish(.all, try signed(layer(2, sensitivity: 4)))
        #expect(board.sensitivity == 4)
    }

    @Test func replayedDocumentIsStale() throws {
        let first = try signed(layer(1, sensitivity: 3))
        let candidate = try signed(
            layer(2, "{}", #""candidate":{"config":{"gestures":{"shake":{"sensitivity":9}}},"percent":100,"seed":"s"}"#)
        )
        let withdrawn = try signed(layer(3, sensitivity: 3))
        var board = try FleetBench(yaml)
        for text in [first, candidate, withdrawn] { try board.publish(.all, text) }
        #expect(board.sensitivity == 3)
        for old in [first, candidate] {
            try board.publish(.all, old)
            #expect(try board.layer("all")["status"] as? String == "stale" && board.sensitivity == 3)
            try board.restart()
            #expect(board.sensitivity == 3)
        }
    }

    @Test func badlySignedRevisionDoesNotAdvanceTheNumber() throws {
        var board = try FleetBench(yaml)
        try board.publish(.all, try signed(layer(1, sensitivity: 3)))
        try board.publish(.all, layer(2_000_000_000, sensitivity: 9))
        #expect(board.sensitivity == 3)
        try board.publish(.all, try signed(layer(2, sensitivity: 4)))
        #expect(board.sensitivity == 4)
        #expect(try board.status("all") == "applied 2")
    }

    @Test func groupsNeedASignatureToo() throws {
        var board = try FleetBench(yaml + "\ndevice: { groups: [mine] }")
        let topic = "jostle/_registry/a"
        let document = #"{"schema":1,"revision":1,"groups":["theirs"]}"#
        try board.publish(topic, document)
        #expect(try board.report()["groups"] as? [String] == ["mine"])
        let envelope = try RegistryDocument(reading: Array(document.utf8)).envelope
        let signature = try #require(try signer.sign(envelope, topic: topic))
        try board.publish(
            topic, document.dropLast() + #","signature":{"key":"ops-1","value":"\#(signature.value)"}}"#)
        #expect(try board.report()["groups"] as? [String] == ["theirs"])
    }

    private func signedRegistry(
        _ revision: Int, _ groups: String, by signer: DocumentSigner? = nil, _ more: String = ""
    ) throws -> String {
        let document = #"{"schema":1,"revision":\#(revision),"groups":[\#(groups)]\#(more)}"#
        let envelope = try RegistryDocument(reading: Array(document.utf8)).envelope
        let signature = try #require(try (signer ?? self.signer).sign(envelope, topic: "jostle/_registry/a"))
        return document.dropLast() + #","signature":{"key":"\#(signature.key)","value":"\#(signature.value)"}}"#
    }

    /// Who leaves a group drops its layer, but not the memory of its revision.
    @Test func replayAfterRejoiningAGroupIsStale() throws {
        let topic = "jostle/_group/laundry/config"
        let old = try signed(layer(1, sensitivity: 9), for: topic)
        let new = try signed(layer(2, sensitivity: 3), for: topic)
        var board = try FleetBench(yaml)
        try board.publish("jostle/_registry/a", try signedRegistry(1, "\"laundry\""))
        try board.answerSubscriptions()
        try board.publish(topic, new)
        try board.pass(5)
        #expect(board.sensitivity == 3)
        try board.publish("jostle/_registry/a", try signedRegistry(2, ""))
        try board.pass(5)
        #expect(board.sensitivity == 5)
        try board.restart()
        board.retained[topic] = old
        try board.publish("jostle/_registry/a", try signedRegistry(3, "\"laundry\""))
        try board.answerSubscriptions()
        try board.pass(5)
        #expect(board.sensitivity == 5)
        let report = try board.layer("group:laundry")
        #expect(report["status"] as? String == "stale" && report["highest"] as? Int == 2, "\(report)")
        // The one that it had is taken again.
        try board.publish(topic, new)
        #expect(board.sensitivity == 3)
    }

    /// After a key was withdrawn, the older groups that another key signed are not accepted again.
    @Test func replayedGroupsAfterAWithdrawnKeyAreStale() throws {
        let both =
            "fleet: { trusted_keys: [\"\(try #require(signer.trustedKey).text)\", \"\(try #require(other.trustedKey).text)\"] }"
        var board = try FleetBench(both)
        try board.publish("jostle/_registry/a", try signedRegistry(1, "\"old\""))
        try board.publish("jostle/_registry/a", try signedRegistry(2, "\"new\"", by: other))
        #expect(try board.report()["groups"] as? [String] == ["new"])
        let stored = try StoredFleet(
            reading: Array(
                try String(contentsOfFile: board.directory.path("fleet-layers.json"), encoding: .utf8).utf8))
        var builder = ConfigurationBuilder()
        builder.apply(try YAMLReader.read(Array(yaml.utf8), source: .file("jostle.yaml")))
        let settings = try builder.finish().settings
        let layers = FleetLayers(stored, id: "a", settings: settings)
        #expect(layers.groups.isEmpty && layers.acceptedRegistry?.revision.number == 2)
        // The file keeps that, too.
        let again = FleetLayers(try StoredFleet(reading: layers.stored.bytes), id: "a", settings: settings)
        #expect(again.acceptedRegistry?.revision.number == 2)
    }

    /// What was accepted before there were keys, or was signed with a key that is withdrawn, may be an intruder's.
    @Test func dropsWhatIsNoLongerTrusted() throws {
        var board = try FleetBench(retained: [Self.all: layer(1, sensitivity: 9)])
        try board.pass(70)
        #expect(board.sensitivity == 9)
        let stored = try StoredFleet(
            reading: Array(
                try String(contentsOfFile: board.directory.path("fleet-layers.json"), encoding: .utf8).utf8))
        var builder = ConfigurationBuilder()
        builder.apply(try YAMLReader.read(Array(yaml.utf8), source: .file("jostle.yaml")))
        var layers = FleetLayers(stored, id: "a", settings: try builder.finish().settings)
        #expect(layers.patches.allSatisfy { $0.patches.isEmpty })
        guard case .rejected(let revision, let problems) = layers.records[0].finding, revision?.number == 1 else {
            Issue.record("\(String(describing: layers.records[0].finding))")
            return
        }
        #expect(problems[0].reason == "is missing" && layers.records[0].stored.highest == nil)
        let steps = layers.storeIfNeeded()
        #expect(!steps.isEmpty)
        // The same revision with a signature is taken again.
        let text = try signed(layer(1, sensitivity: 9))
        let keys = TrustedKeys(try builder.finish().settings.fleet.trustedKeys)
        let isTaken = layers.records[0].receive(Array(text.utf8), trusting: keys, at: board.bench.clocks)
        #expect(isTaken)
        #expect(layers.records[0].offered != nil)
    }

    /// Before there were keys, anybody could publish any revision. None of them keeps out what is signed.
    @Test func unsignedRevisionsHoldNothingBack() throws {
        let (own, registry) = ("jostle/a/config/desired", "jostle/_registry/a")
        let group = "jostle/_group/laundry/config"
        let last = 2_000_000_000
        var before = try FleetBench(retained: [
            Self.all: layer(last, sensitivity: 9),
            own: layer(last, "{}", #""epoch":"0123abcd","at":1795036000000"#), group: layer(last, "{}"),
        ])
        try before.publish(registry, #"{"schema":1,"revision":\#(last),"groups":["laundry"]}"#)
        try before.answerSubscriptions()
        try before.pass(5)
        #expect(try before.status("group:laundry") == "applied \(last)")
        try before.publish(registry, #"{"schema":1,"revision":\#(last + 1),"groups":[]}"#)
        // This one was signed in advance.
        let genuine = try signed(layer(last + 1, sensitivity: 7))
        for isGenuine in [false, true] {
            if isGenuine { try before.publish(.all, genuine) }
            try before.pass(70)
            var board = try FleetBench(
                yaml,
                retained: [
                    Self.all: try signed(layer(1, sensitivity: 3)),
                    own: try signed(layer(1, "{}", #""epoch":"ffff0000","at":1795000000000"#), for: own),
                    registry: try signedRegistry(1, "\"laundry\""), group: try signed(layer(1, "{}"), for: group),
                ], connects: false)
            let text = try String(contentsOfFile: before.directory.path("fleet-layers.json"), encoding: .utf8)
            try board.directory.write(text, to: "fleet-layers.json")
            try board.restart()
            try board.answerSubscriptions()
            try board.pass(5)
            #expect(try board.status("all") == (isGenuine ? "stale 1" : "applied 1"))
            #expect(board.sensitivity == (isGenuine ? 7 : 3))
            for name in ["device", "group:laundry"] { #expect(try board.status(name) == "applied 1") }
        }
    }

    /// Whoever sets the clock back, or keeps it from being set, brings no earlier epoch back.
    @Test(arguments: [true, false]) func earlierEpochIsOlderWhateverTheClock(isSet: Bool) throws {
        let (now, day) = (1_795_000_000_000, 86_400_000)
        func more(_ epoch: String, _ at: Int) -> String { #""epoch":"\#(epoch)","at":\#(at)"# }
        let registry = "jostle/_registry/a"
        let old = try signed(layer(9, sensitivity: 9, more("0123abcd", now - 3 * day)))
        let oldGroups = try signedRegistry(9, "\"old\"", ",\(more("0123abcd", now - 3 * day))")
        var board = try FleetBench(yaml)
        // It may be set only after the documents arrived.
        board.bench.clocks.isSet = isSet
        try board.publish(.all, try signed(layer(1, sensitivity: 3, more("ffff0000", now))))
        try board.publish(registry, try signedRegistry(1, "\"new\"", ",\(more("ffff0000", now))"))
        try board.publish(.all, old)
        #expect(try board.status("all") == "stale 9")
        board.bench.clocks.isSet = true
        try board.pass(70)
        try board.restart(connects: false)
        board.bench.clocks.wall -= Int64(2 * day)
        try board.connect()
        // The next one of the epoch takes nothing back either.
        try board.publish(.all, try signed(layer(2, sensitivity: 4, more("ffff0000", now - 2 * day))))
        #expect(try board.status("all") == "applied 2")
        try board.publish(.all, old)
        try board.publish(registry, oldGroups)
        #expect(try board.status("all") == "stale 9" && board.sensitivity == 4)
        #expect(try board.report()["groups"] as? [String] == ["new"])
        board.bench.clocks.isSet = false
        try board.answerSubscriptions()
        #expect(try board.status("all") == "stale 9" && board.sensitivity == 4)
        #expect(try board.report()["groups"] as? [String] == ["new"])
    }

    /// An epoch needs a signature like every document, and one that was signed before is older.
    @Test func epochsAreSigned() throws {
        let now = 1_795_000_000_000
        func document(_ epoch: String, _ sensitivity: Int, at time: Int) -> String {
            layer(1, sensitivity: sensitivity, #""epoch":"\#(epoch)","at":\#(time)"#)
        }
        let first = try signed(document("0123abcd", 3, at: now))
        var board = try FleetBench(yaml, retained: [Self.all: first])
        #expect(try board.status("all") == "applied 1")
        try board.publish(.all, document("ffff0000", 9, at: now + 1))
        #expect(try board.status("all") == "rejected 1" && board.sensitivity == 3)
        let genuine = try signed(document("89abcdef", 4, at: now + 2))
        try board.publish(.all, genuine.replacingOccurrences(of: "89abcdef", with: "ffff0000"))
        #expect(try board.status("all") == "rejected 1" && board.sensitivity == 3)
        try board.publish(.all, genuine)
        #expect(try board.status("all") == "applied 1" && board.sensitivity == 4)
        try board.publish(.all, first)
        #expect(try board.status("all") == "stale 1" && board.sensitivity == 4)
    }

    @Test func defaultsAreNarrowerWithKeys() throws {
        func settings(_ yaml: String) throws -> JostleSettings {
            var builder = ConfigurationBuilder()
            builder.apply(try YAMLReader.read(Array(yaml.utf8), source: .file("jostle.yaml")))
            return try builder.finish().settings
        }
        #expect(try settings("{}").settings.allow == ["gestures", "attitude", "publish", "actions.*.enabled"])
        let narrow = try settings(yaml)
        #expect(narrow.settings.allow.isEmpty && narrow.commands.allow == [.ping, .getState])
        let wide = try settings(yaml + "\nsettings: { allow: [publish] }\ncommands: { allow: [stop] }")
        #expect(wide.settings.allow == ["publish"] && wide.commands.allow == [.stop])
    }

    @Test(arguments: [
        "[ops-1]", "[\"ops-1:abc=\"]", "[\":MCowBQYDK2VwAyEAMCowBQYDK2VwAyEAMCowBQYDK20=\"]", "ops-1",
        "[\"ops-1:MCowBQYDK2VwAyEAMCowBQYDK2VwAyEAMCowBQYDK20=\", \"ops-1:NCowBQYDK2VwAyEAMCowBQYDK2VwAyEAMCowBQYDK20=\"]",
    ])
    func refusesWrongKeys(text: String) throws {
        var builder = ConfigurationBuilder()
        builder.apply(
            try YAMLReader.read(Array("fleet: { trusted_keys: \(text) }".utf8), source: .file("jostle.yaml")))
        #expect(throws: ConfigurationErrors.self) { try builder.finish() }
    }
}
