import BrokerTestSupport
import Foundation
import MosquittoClient
import Testing

/// Requirement: text from the network or from files cannot control the terminal, break a line or change the writing
/// direction.
@Suite(.needsBroker) struct ForeignTextTests {
    private let rig = Rig()

    /// Clear the screen, set a colour, write right to left, start a new line, set a title; then a letter to find it
    /// again.
    private static let hostile = "\u{1B}[2J\u{9B}31m\u{202E}\u{2028}\u{2067}\u{1B}]0;owned\u{7}\u{7F}é"

    /// The same text as the program prints it.
    private static let shown =
        #"\u{1b}[2J\u{9b}31m\u{202e}\u{2028}\u{2067}\u{1b}]0;owned\u{7}\u{7f}é"#

    /// The characters in the output that are neither printable nor line ends, as numbers.
    private func harm(_ outcome: Outcome) -> [String] {
        (outcome.output + outcome.errors).unicodeScalars.filter { scalar in
            switch scalar.value {
            case 0x0A, 0x20..<0x7F, 0xA0..<0x2028, 0x2070...: false
            default: true
            }
        }.map { String($0.value, radix: 16) }
    }

    private func expectHarmless(_ outcome: Outcome, sourceLocation: SourceLocation = #_sourceLocation) {
        let harm = harm(outcome)
        #expect(harm.isEmpty, "\(outcome)", sourceLocation: sourceLocation)
    }

    private func json(_ object: [String: Any]) throws -> String {
        String(decoding: try JSONSerialization.data(withJSONObject: object), as: UTF8.self)
    }

    /// Runs a command for the device `dut`. The test replies in place of the device, and then publishes more.
    private func ask(
        _ words: [String], command: String, answer: [String: Any], then events: [[String: Any]] = []
    ) async throws -> Outcome {
        let (broker, device) = try await rig.observedBroker()
        let program = try rig.run(
            words + ["--on", "dut", "--set", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"])
        #expect(await device.sees { !$0.messages("command/\(command)").isEmpty }, "\(program.errors)")
        let question = try #require(device.messages("command/\(command)").first)
        var reply = MQTTMessage(
            topic: try #require(question.properties.responseTopic), text: try json(answer), qos: .atLeastOnce)
        reply.properties.correlationData = question.properties.correlationData
        try device.publish(reply)
        for event in events {
            try device.publish("jostle/dut/event/shake", try json(event))
        }
        return await program.outcome()
    }

    @Test func escapesRepliesAndEventsInSimulate() async throws {
        let hostile = Self.hostile
        let outcome = try await ask(
            ["simulate", "shake"], command: "simulate",
            answer: ["ok": true, "movement": "m\(hostile)", "seconds": 0.5],
            then: [
                ["gesture": "g\(hostile)", "phase": "p\(hostile)", "simulated": true, "more": hostile],
                ["gesture": "h\(hostile)", "phase": "began", "simulated": true],
                ["gesture": "h\(hostile)", "phase": "ended", "simulated": true],
            ]
        ).expect(status: 0)
        expectHarmless(outcome)
        #expect(outcome.lines.count == 4, "\(outcome)")
        #expect(outcome.lines.first == "dut: m\(Self.shown), takes 0.5 s", "\(outcome)")
        // JSON stays JSON with the same value.
        let start = "s  g\(Self.shown) p\(Self.shown)  "
        let line = try #require(outcome.lines.first { $0.contains(start) }, "\(outcome)")
        let published = try #require(line.range(of: start)).upperBound
        let object = try #require(try JSON.object(String(line[published...])))
        #expect(object["more"] as? String == hostile && object["gesture"] as? String == "g\(hostile)", "\(line)")
    }

    @Test func escapesRefusals() async throws {
        let outcome = try await ask(
            ["stop"], command: "stop", answer: ["ok": false, "error": "busy", "message": "no\n\(Self.hostile)"]
        ).expect(status: 75)
        #expect(outcome.errors == "jostle: no\\u{a}\(Self.shown)\n", "\(outcome)")
        expectHarmless(outcome)
    }

    @Test func reportsMalformedReply() async throws {
        let outcome = try await ask(["stop"], command: "stop", answer: ["ok": Self.hostile]).expect(
            status: 65, errors: "the answer cannot be parsed")
        expectHarmless(outcome)
    }

    @Test func escapesMalformedRecordings() async throws {
        let directory = try TemporaryDirectory()
        let name = "r\u{1B}[2J\u{9B}1m\u{202E}.csv"
        let header = "t_s,ax,ay,az,gx,gy,gz\n"
        for text in [
            header + "0,1,\(Self.hostile),3,4,5,6\n", header + "\(Self.hostile),1,2,3,4,5,6\n", "t_s,\(Self.hostile)\n",
        ] {
            let outcome = try await jostle("replay", try directory.write(text, to: name)).expect(status: 65)
            #expect(outcome.errors.contains(#"r\u{1b}[2J\u{9b}1m\u{202e}.csv:"#), "\(outcome)")
            expectHarmless(outcome)
        }
    }

    @Test func watchedJSONKeepsValues() async throws {
        let hostile = Self.hostile
        let (broker, device) = try await rig.observedBroker()
        let program = try rig.run(
            ["watch", "--json", "--device", "dut", "--broker", "mqtt://127.0.0.1:\(broker.port)"])
        try device.publish("jostle/dut/availability", "online", retain: true)
        #expect(await eventually { program.output.contains("online") }, "\(program.errors)")
        // Unescaped, as far as JSON permits.
        let raw = "\u{9B}31m\u{202E}\u{2028}\u{2067}\u{7F}é"
        for text in [
            "{\"gesture\":\n\t\"\(raw)\",\r\"\(raw)\":[1.50, \"\(raw)\"]}", "no JSON: \(hostile)", "\"\(raw)\"",
        ] {
            try device.publish("jostle/dut/event/\u{202E}x", text)
        }
        #expect(await eventually { program.output.split(separator: "\n").count >= 4 }, "\(program.output)")
        #expect(await program.terminate() == 0)
        let outcome = Outcome(status: 0, output: program.output, errors: program.errors)
        expectHarmless(outcome)
        let objects = try outcome.lines.dropFirst().map { try #require(try JSON.object($0)) }
        try #require(objects.count == 3, "\(outcome)")
        #expect(objects.allSatisfy { $0["topic"] as? String == "jostle/dut/event/\u{202E}x" }, "\(objects)")
        let first = try #require(objects[0]["payload"] as? [String: Any])
        #expect(first["gesture"] as? String == raw && (first[raw] as? [Any])?.last as? String == raw, "\(first)")
        #expect(objects[1]["payload"] as? String == "no JSON: \(hostile)", "\(objects[1])")
        #expect(objects[2]["payload"] as? String == raw, "\(objects[2])")
        #expect(outcome.output.contains("[1.50, "))
    }
}
