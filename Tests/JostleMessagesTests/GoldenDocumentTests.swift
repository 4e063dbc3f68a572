import BrokerTestSupport
import Documents
import JostleConfiguration
import JostleMessages
import Testing

/// Requirement: the documents of a fleet, their canonical form, their hash and their signature do not change: devices,
/// operators and brokers of several versions compare them.
@Suite struct GoldenDocumentTests {
    private static let topics = FleetTopics(prefix: "jostle")

    private func value(_ json: String) throws -> JSONValue {
        try JSONValue(message: Array(json.utf8), topic: "test")
    }

    private func signer() throws -> DocumentSigner {
        try #require(DocumentSigner(reading: goldenSigningKey, otherName: "none"))
    }

    private func envelope(_ bytes: [UInt8], _ topic: String) throws -> DocumentEnvelope {
        if topic.contains("_registry") { return try RegistryDocument(reading: bytes).envelope }
        return try LayerDocument(reading: bytes, layer: "all").envelope
    }

    /// Adds a document, and the same one signed for its topic.
    private func add(
        _ name: String, _ draft: DocumentDraft, _ author: DocumentAuthor = DocumentAuthor(), revision: Int64,
        epoch: String = "", topic: String, to golden: inout GoldenText
    ) throws {
        golden.heading(name)
        let bytes = draft.bytes(revision: revision, epoch: epoch, author: author)
        let plain = try envelope(bytes, topic)
        let signature = try #require(try signer().sign(plain, topic: topic))
        let signedBytes = draft.bytes(revision: revision, epoch: epoch, author: author, signature: signature)
        let signed = try envelope(signedBytes, topic)
        golden.add("document", bytes)
        golden.add("signed document", signedBytes)
        golden.add("signed text", try signed.signedText(topic: topic))
        golden.add("hash", signed.revision.hash)
        golden.add("short hash", signed.revision.shortHash)
        #expect(plain.revision == signed.revision && signed.revision.number == revision)
        let keys = TrustedKeys([try #require(try signer().trustedKey)])
        #expect(keys.problem(of: signed, topic: topic) == nil)
    }

    @Test("Layers and registries have the recorded form, canonical text, hash and signature")
    func documents() throws {
        let config = try value(
            #"""
            {"gestures":{"shake":{"sensitivity":7,"cooldown":"0.5 s","when":{"side":["+z","-x"],"still":true}},
            "tap":null,"flick":{"directions":[]}},
            "sensor":{"rate":"100 Hz","mount_matrix":[[0,1,0],[-1.0,0,0],[0,0,1e0]]},
            "device":{"name":"Wäsche \"1\" \\ \/ \u0041\u00e9\ud83d\ude00"},"publish":{}}
            """#)
        let candidate = try value(
            #"{"config":{"gestures":{"shake":{"sensitivity":9}}},"percent":12.5,"seed":"spring"}"#)
        let all = Self.topics.all
        var golden = GoldenText()
        try add(
            "an empty layer", DocumentDraft(config: try value("{}")), revision: 1, topic: all,
            to: &golden)
        try add(
            "a layer with author, time and note",
            DocumentDraft(config: config),
            DocumentAuthor(by: "ada@desk", at: 1_795_182_603_123, note: "less eager, \"Ünïcode\" \\ 😀"),
            revision: 12, topic: Self.topics.group("laundry"), to: &golden)
        try add(
            "a layer with a candidate",
            DocumentDraft(config: config, candidate: candidate), DocumentAuthor(by: "ada@desk", at: 0), revision: 13,
            topic: Self.topics.desired("washer-1"), to: &golden)
        try add(
            "a layer that ignores unknown keys",
            DocumentDraft(
                config: try value(#"{"future":{"a":1}}"#), candidate: candidate, ignoresUnknownKeys: true),
            DocumentAuthor(note: "future"),
            revision: DocumentRevision.maximum, topic: all, to: &golden)
        try add(
            "a registry", DocumentDraft(groups: ["laundry", "floor-2"]),
            DocumentAuthor(by: "ada@desk", at: 1_795_182_603_123),
            revision: 3, topic: Self.topics.registry("washer-1"), to: &golden)
        try add(
            "an empty registry", DocumentDraft(groups: []), DocumentAuthor(note: "none"), revision: 4,
            topic: Self.topics.registry("door"), to: &golden)
        try add(
            "a layer of an epoch", DocumentDraft(config: config), DocumentAuthor(by: "ada@desk", at: 1_795_182_603_123),
            revision: 1, epoch: "5d59f73717e546dc", topic: all, to: &golden)
        golden.heading("keys")
        golden.add("key file", try signer().fileText)
        golden.add("trusted key", try #require(try signer().trustedKey).text)
        expectGolden(golden, "fleet-documents.txt")
    }

    /// The numbers and the order of RFC 8785, and spellings of the same document.
    @Test("Whoever wrote a document, its canonical text is the recorded one")
    func canonicalTexts() throws {
        let configs = [
            #"{"n":[1.0,1e21,1e20,123456789012345680000,1e-7,0.000001,0.1e-6,5e-324,-0.0,0,1E2,0.1,100,-1.50,1e+3]}"#,
            #"{"n":[9007199254740993,9007199254740991,0.3333333333333333,4.35]}"#,
            #"{"n":[1.7976931348623157e308,333333333.33333329]}"#,
            #"{"€":1,"\r":2,"דּ":3,"1":4,"😀":5,"\u0080":6,"ö":7,"":8,"A":9,"a":10}"#,
            #"{"s":["\u0000\u001f\b\f\n\r\t","\"\\\/","\u20ac$\u000f\u000aA'\u0042\u0022\u005c\\\"\/","\u007f\u2028é"]}"#,
            #"{"b":[true,false,null,[],{},[[]],{"x":{}}],"a":{"c":1,"b":2}}"#,
        ]
        var golden = GoldenText()
        for config in configs {
            let text = #"{ "config" : \#(config), "revision":7.0,"schema":1, "signature":{"value":"eA==","key":"k"} }"#
            let envelope = try LayerDocument(reading: Array(text.utf8), layer: "all").envelope
            golden.heading(config)
            golden.add("signed text", try envelope.signedText(topic: Self.topics.all))
            golden.add("hash", envelope.revision.hash)
        }
        expectGolden(golden, "canonical-json.txt")
    }

    private func problem(ofLayer text: String) -> String {
        do {
            _ = try LayerDocument(reading: Array(text.utf8), layer: "all")
            return "accepted"
        } catch {
            return "\(error)"
        }
    }

    private func problem(ofRegistry text: String) -> String {
        do {
            _ = try RegistryDocument(reading: Array(text.utf8))
            return "accepted"
        } catch {
            return "\(error)"
        }
    }

    /// Devices report the problems to their fleet.
    @Test("What is wrong with a document is said in the recorded words")
    func problems() throws {
        let layers = [
            "", "{", "7", "[]", "null", "{}", #"{"schema":2,"revision":1,"config":{}}"#,
            #"{"schema":"1","revision":1,"config":{}}"#, #"{"schema":1.0,"revision":1,"config":{}}"#,
            #"{"schema":1,"config":{}}"#, #"{"schema":1,"revision":0,"config":{}}"#,
            #"{"schema":1,"revision":1.5,"config":{}}"#, #"{"schema":1,"revision":1e3,"config":{}}"#,
            #"{"schema":1,"revision":"1","config":{}}"#, #"{"schema":1,"revision":null,"config":{}}"#,
            #"{"schema":1,"revision":9007199254740993,"config":{}}"#, #"{"schema":1,"revision":1}"#,
            #"{"schema":1,"revision":1,"config":[]}"#, #"{"schema":1,"revision":1,"config":null}"#,
            #"{"schema":1,"revision":1,"config":"x"}"#, #"{"schema":1,"revision":1,"confg":{}}"#,
            #"{"schema":1,"revision":1,"config":{},"config":{}}"#,
            #"{"schema":1,"revision":1,"config":{},"unknown":"maybe"}"#,
            #"{"schema":1,"revision":1,"config":{},"unknown":true}"#,
            #"{"schema":1,"revision":1,"config":{},"unknown":"reject"}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":7}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{}}}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":101,"seed":"x"}}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":"5","seed":"x"}}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":[],"percent":5,"seed":"x"}}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":5,"seed":""}}"#,
            #"{"schema":1,"revision":1,"config":{},"candidate":{"config":{},"percent":5,"seed":"x","x":1}}"#,
            #"{"schema":1,"revision":1,"config":{},"by":7}"#, #"{"schema":1,"revision":1,"config":{},"by":""}"#,
            #"{"schema":1,"revision":2147483648,"config":{}}"#, #"{"schema":1,"revision":2147483647,"config":{}}"#,
            #"{"schema":1,"revision":1,"epoch":"0123abcd","config":{}}"#,
            #"{"schema":1,"revision":1,"epoch":"0123abc","config":{},"at":1}"#,
            #"{"schema":1,"revision":1,"epoch":"0123abcg","config":{},"at":1}"#,
            #"{"schema":1,"revision":1,"epoch":7,"config":{},"at":1}"#,
            #"{"schema":1,"revision":1,"epoch":"0123ABCD","config":{},"at":1}"#,
            #"{"schema":1,"revision":1,"config":{},"at":-1}"#, #"{"schema":1,"revision":1,"config":{},"at":"1"}"#,
            #"{"schema":1,"revision":1,"config":{},"note":"a\u0007b"}"#,
            #"{"schema":1,"revision":1,"config":{},"signature":"x"}"#,
            #"{"schema":1,"revision":1,"config":{},"signature":{"key":"k"}}"#,
            #"{"schema":1,"revision":1,"config":{},"signature":{"key":"k","value":"v","x":1}}"#,
            #"{"schema":1,"revision":1,"config":{"n":1e999}}"#,
        ]
        let registries = [
            #"{"schema":1,"revision":1}"#, #"{"schema":1,"revision":1,"groups":{}}"#,
            #"{"schema":1,"revision":1,"groups":["a","a"]}"#, #"{"schema":1,"revision":1,"groups":["_all"]}"#,
            #"{"schema":1,"revision":1,"groups":[1]}"#, #"{"schema":1,"revision":1,"groups":["a"],"config":{}}"#,
            #"{"schema":1,"revision":1,"groups":["a"]}"#,
        ]
        var golden = GoldenText()
        golden.heading("layers")
        for text in layers { golden.add(text.isEmpty ? "(nothing)" : text, problem(ofLayer: text)) }
        golden.heading("registries")
        for text in registries { golden.add(text, problem(ofRegistry: text)) }
        golden.heading("signatures")
        let keys = TrustedKeys([try #require(try signer().trustedKey)])
        for text in [
            #"{"schema":1,"revision":1,"config":{}}"#,
            #"{"schema":1,"revision":1,"config":{},"signature":{"key":"ops-2","value":"eA=="}}"#,
            #"{"schema":1,"revision":1,"config":{},"signature":{"key":"ops-1","value":"eA=="}}"#,
        ] {
            let envelope = try LayerDocument(reading: Array(text.utf8), layer: "all").envelope
            golden.add(text, keys.problem(of: envelope, topic: Self.topics.all).map { "\($0)" } ?? "trusted")
        }
        expectGolden(golden, "fleet-document-problems.txt")
    }
}
