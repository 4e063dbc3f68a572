import BrokerTestSupport
import Foundation
import JostleConfiguration
import JostleMessages
import MosquittoClient
import MotionCore
import Testing

@testable import JostleAgent

/// Requirement: the report of the configuration in force does not change: fleets, homes and pages read it.
@Suite struct GoldenReportTests {
    private static let all = "jostle/_all/config"
    private static let registry = "jostle/_registry/a"

    /// The last report, without the settings unless they are of interest. The test's clock depends on random pauses.
    private func report(_ board: inout FleetBench, hasSettings: Bool = false) throws -> String {
        _ = try board.report()
        let text = board.lastReport.text.replacing(/"t": [0-9]+/, with: "\"t\": T")
        guard !hasSettings, let start = text.range(of: "\"settings\": {"), let end = text.range(of: "}, \"origins\"")
        else { return text }
        return String(text[..<start.upperBound]) + "…" + text[end.lowerBound...]
    }

    /// Sets values at home, and writes them to the disk.
    private func set(_ board: inout FleetBench, _ values: [(topic: String, text: String)]) throws {
        for (topic, text) in values { try board.receive("jostle/a/\(topic)", text) }
        board.deliver(.fileWritten(.localSettings, failure: nil))
    }

    // MARK: Settings

    /// Most keys, with other values than their defaults.
    private static let yaml = #"""
        device:
          { name: "Wäsche \"1\"\\", area: Laundry, groups: [laundry, floor-2], configuration_url: "http://a/?b=c" }
        sensor:
          driver: mpu6050
          bus: /dev/i2c-1
          address: 0x69
          identity: 0x68
          rate: 333.3 Hz
          accelerometer_range: 16 g
          gyroscope_range: 250 °/s
          batch: 40 ms
          magnetometer: true
          interrupt: { chip: gpiochip0, line: "17" }
          mount_matrix: [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
        attitude: { low_pass: 2.5 Hz, reference: stored }
        motion: { acceleration_low_pass: 10 Hz, rotation_low_pass: 0 }
        gestures:
          shake:
            enabled: false
            sensitivity: 9
            cooldown: 1.5 s
            when: { still: true, side: [+z, -x], tilt_above: 20 ° }
          tap: { counts: [single, triple], when: { quiet_hours: "22:00-06:30" } }
          flick: { directions: [left, up] }
        actions:
          - on: shake
            name: lamp
            publish: { topic: cmnd/lamp/POWER, payload: "TOGGLE \"${gesture}\"", qos: 0, retain: true }
          - { on: tap, count: [1, 2], consume: true }
        publish:
          attitude: { rate: 0.5 Hz, deadband: 2 °, heartbeat: 1 min }
          health: { interval: 30 s }
          near_misses: true
        settings: { allow: [gestures, "publish.*.rate"] }
        commands: { allow: [ping, restart] }
        fleet:
          remote: [gestures, sensor, log.level, device.version]
          probation: 2 min
          trusted_keys: ["ops-1:PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw="]
        mqtt:
          broker: [mqtts://b.example:8884, "mqtt://[::1]"]
          username: washer
          password_file: /etc/jostle/password
          keep_alive: 90 s
          prefix: home/jostle
        home_assistant: { discovery: false, prefix: ha }
        log: { level: debug }
        """#

    @Test("The report has the settings in force in the recorded form")
    func settings() throws {
        var golden = GoldenText()
        var first = try FleetBench(connects: false)
        first.deliver(.connected)
        golden.add("at the connection", try #require(first.bench.takePublished().last).message.goldenLine)
        var configured = try FleetBench(Self.yaml, connects: false)
        configured.deliver(.connected)
        golden.add("configured", try #require(configured.bench.takePublished().last).message.goldenLine)
        var home = try FleetBench("gestures: { tap: { sensitivity: 2 } }")
        try set(
            &home,
            [
                ("set/gestures.shake.sensitivity", "7"), ("set/gestures.shake.enabled", "false"),
                ("set/gestures/flick/directions", #"["left","up"]"#), ("set/attitude.low_pass", "2.50"),
                ("set/publish.attitude.rate", "5 Hz"), ("set/gestures.tap.sensitivity", ""),
                (
                    "set",
                    #"{"gestures":{"shake":{"cooldown":"2 s","when":{"side":"+z"}}},"publish.motion":{"rate":1e0}}"#
                ),
            ])
        golden.add("set at home", try report(&home, hasSettings: true))
        try set(&home, [("set/gestures.shake.sensitivity", ""), ("set/publish.attitude.rate", "null")])
        golden.add("no longer set", try report(&home))
        expectGolden(golden, "reported-settings.txt")
    }

    @Test("Values that are refused are reported in the recorded way")
    func refusals() throws {
        let rules = "actions: [{ on: shake, name: lamp, publish: { topic: a } }]"
        var golden = GoldenText()
        let values: [(topic: String, text: String)] = [
            ("set/gestures.shake.sensitivity", "11"), ("set/gestures.shake.sensitivity", "seven"),
            ("set/gestures.shake.sensitivity", #"{"a":1}"#), ("set/gestures.shake.sensitivity", "[7]"),
            ("set/gestures.shake.sensitivity", "null"), ("set/gestures.shake.sensitivity", "true"),
            ("set/gestures.shake.sensitivity", #""7""#), ("set/gestures.shake.sensitivity", "{"),
            ("set/gestures.shake.sensitivity", "\u{1B}[31m\u{202E}"), ("set/gestures.shake.enabled", "yes"),
            ("set/gestures.shake.cooldown", "5 parsecs"), ("set/gestures.shake.cooldown", "1e9"),
            ("set/gestures.flick.directions", #"["left","north"]"#), ("set/gestures.flick.directions", "[]"),
            ("set/gestures.shack.sensitivity", "7"), ("set/sensitivity", "7"), ("set/mqtt.broker", "mqtt://elsewhere"),
            ("set/sensor.rate", "100 Hz"), ("set/actions", "[]"), ("set/actions.lamp.enabled", "maybe"),
            ("set/actions.stove.enabled", "false"), ("set/attitude.reference", "north"),
            ("set/gestures.tap.sensitivity", String(repeating: "1", count: 1025)), ("set", "7"), ("set", "[1]"),
            ("set", #"{"gestures":"#), ("set", ""), ("set/gestures", "7"),
            ("set", #"{"gestures":{"shake":{"sensitivity":70,"cooldown":"never"},"shack":{}},"mqtt":{"broker":1}}"#),
            ("set/publish.attitude.rate", "\"200 Hz \\u00e9\\n\""),
        ]
        for (topic, text) in values {
            var board = try FleetBench(rules)
            try set(&board, [(topic, text)])
            let name = "\(topic) \(text.prefix(80))".replacing("\u{1B}", with: "ESC").replacing("\u{202E}", with: "RLO")
            golden.add(name, try refused(in: &board))
        }
        var retained = try FleetBench()
        retained.bench.receive("jostle/a/set/gestures.shake.cooldown", "1 s", retain: true)
        golden.add("retained", try refused(in: &retained))
        var fleet = try FleetBench(retained: [Self.all: layer(1, sensitivity: 3)])
        try set(&fleet, [("set/gestures.shake.sensitivity", "7")])
        golden.add("set by the fleet", try refused(in: &fleet))
        var conflict = try FleetBench()
        try conflict.publish(.device, layer(1, #"{"gestures":{"tap":{"when":{"tilt_above":30}}}}"#))
        try set(&conflict, [("set/gestures.tap.when.tilt_below", "10")])
        golden.add("in conflict with the fleet", try refused(in: &conflict))
        var several = try FleetBench()
        try set(&several, Array(values.prefix(2)) + [("set/mqtt.broker", "x"), ("set/gestures.tap.sensitivity", "0")])
        golden.add("several", try refused(in: &several))
        expectGolden(golden, "reported-refusals.txt")
    }

    /// The member `refused` of the last report.
    private func refused(in board: inout FleetBench) throws -> String {
        let text = try report(&board)
        let start = try #require(text.range(of: "\"refused\": "))
        let end = try #require(text.range(of: ", \"groups\": "))
        return String(text[start.upperBound..<end.lowerBound])
    }

    // MARK: Layers

    private func candidate(percent: Int, sensitivity: Int = 9) -> String {
        let config = #"{"gestures":{"shake":{"sensitivity":\#(sensitivity)}}}"#
        return #""candidate":{"config":\#(config),"percent":\#(percent),"seed":"s"}"#
    }

    /// A board with revision 1 of the layer `all`, which is proven.
    private func provenBoard(_ yaml: String = "{}") throws -> FleetBench {
        var board = try FleetBench(yaml, retained: [Self.all: layer(1, sensitivity: 3)])
        try board.pass(70)
        return board
    }

    @Test("What became of layers is reported in the recorded way")
    func layers() throws {
        var golden = GoldenText()
        var board = try FleetBench("device: { groups: [laundry, floor-2] }")
        golden.add("none", try report(&board))
        board = try FleetBench(
            retained: [Self.all: layer(1, sensitivity: 3), "jostle/a/config/desired": layer(4, "{}")])
        golden.add("applied at the connection", try report(&board))
        board = try provenBoard()
        golden.add("proven", try report(&board))
        try board.publish(.all, layer(2, sensitivity: 9))
        golden.add("on probation", try report(&board))
        try board.publish(.all, "")
        golden.add("missing", try report(&board))
        try board.receive(Self.all, layer(1, sensitivity: 9))
        golden.add("stale", try report(&board))
        try board.publish(.all, layer(2, sensitivity: 4))
        golden.add("conflict", try report(&board))
        try board.publish(.all, layer(3, #"{"gestures":{"shake":{"sensitivity":70,"x":1}},"mqtt":{"prefix":"x"}}"#))
        golden.add("rejected", try report(&board))
        try board.publish(.all, "{")
        golden.add("unreadable", try report(&board))
        let wrong = (1...25).map { "\"key-\($0)\":1" }.joined(separator: ",")
        try board.publish(.all, layer(4, "{\(wrong)}"))
        golden.add("many errors", try report(&board))

        board = try FleetBench()
        try board.publish(.all, "7")
        golden.add("unreadable, nothing in force", try report(&board))
        try board.publish(.all, layer(1 << 33, sensitivity: 4))
        golden.add("too large a revision", try report(&board))
        let epoch = #""epoch":"0123abcd","at":1794999999999"#
        try board.publish(.all, layer(2, sensitivity: 4, epoch))
        golden.add("of an epoch", try report(&board))
        try board.publish(.all, layer(3, sensitivity: 4))
        golden.add("stale, of another epoch", try report(&board))
        try board.publish(.all, layer(1, sensitivity: 4, #""at":1795999999999"#))
        golden.add("from the future", try report(&board))

        board = try FleetBench()
        try board.publish(
            .all,
            layer(1, #"{"gestures":{"shake":{"sensitivity":7,"future":1},"wink":{"a":1}}}"#, #""unknown":"ignore""#))
        golden.add("unknown keys", try report(&board))

        board = try provenBoard()
        board.hasWorkingDisk = false
        try board.publish(.all, layer(2, sensitivity: 9))
        golden.add("cannot be saved", try report(&board))
        board = try FleetBench(connects: false)
        board.deliver(.connected)
        board.bench.receive(Self.all, layer(1, sensitivity: 3), retain: true)
        golden.add("waits for the others", try report(&board))

        board = try FleetBench()
        try board.publish(.device, layer(1, #"{"gestures":{"shake":{"sensitivity":8,"when":{"tilt_below":40}}}}"#))
        try board.publish(.all, layer(1, #"{"gestures":{"shake":{"when":{"tilt_above":50}}}}"#))
        golden.add("excluded by a lower layer", try report(&board))
        expectGolden(golden, "reported-layers.txt")
    }

    @Test("Candidates and revisions that are undone are reported in the recorded way")
    func probation() throws {
        var golden = GoldenText()
        var board = try provenBoard()
        try board.publish(.all, layer(2, sensitivity: 3, candidate(percent: 0)))
        golden.add("a candidate of others", try report(&board))
        try board.publish(.all, layer(3, sensitivity: 3, candidate(percent: 100)))
        golden.add("a candidate", try report(&board))
        try board.pass(70)
        try board.publish(.all, layer(4, sensitivity: 4, candidate(percent: 100, sensitivity: 90)))
        golden.add("a candidate that is refused", try report(&board))
        try board.pass(70)
        try board.publish(.all, layer(5, sensitivity: 5, candidate(percent: 100)))
        board.hasSensor = false
        try board.pass(14)
        golden.add("a candidate that is undone", try report(&board))
        try board.pass(14)
        board.hasSensor = true
        golden.add("and its layer too", try report(&board))
        try board.receive(Self.all, layer(3, sensitivity: 3))
        golden.add("an older revision after that", try report(&board))
        try board.publish(.all, layer(6, sensitivity: 60))
        golden.add("a wrong revision after that", try report(&board))

        board = try provenBoard()
        try board.publish(.all, layer(2, sensitivity: 9))
        board.failToApply("the chip does not have this rate")
        golden.add("settings that the sensor refuses", try report(&board))
        board = try provenBoard()
        try board.publish(.all, layer(2, sensitivity: 9))
        for _ in 1...3 { try board.restart() }
        golden.add("three deaths", try report(&board))
        expectGolden(golden, "reported-probation.txt")
    }

    @Test("Groups, keys that wait and signatures are reported in the recorded way")
    func others() throws {
        var golden = GoldenText()
        golden.heading("registry")
        var board = try FleetBench(retained: [
            Self.registry: #"{"schema":1,"revision":3,"groups":["b"]}"#, "jostle/_group/b/config": layer(1, "{}"),
        ])
        try board.answerSubscriptions()
        try board.pass(4)
        golden.add("applied", try report(&board))
        for (name, text) in [
            ("stale", #"{"schema":1,"revision":2,"groups":["c"]}"#),
            ("conflict", #"{"schema":1,"revision":3,"groups":["c"]}"#),
            ("rejected", #"{"schema":1,"revision":4,"groups":["c","c"]}"#), ("unreadable", "["),
        ] {
            try board.receive(Self.registry, text)
            golden.add(name, try report(&board))
        }
        try board.publish(Self.registry, #"{"schema":1,"revision":4,"groups":[]}"#)
        golden.add("empty", try report(&board))

        golden.heading("keys")
        board = try FleetBench("fleet: { remote: [log, sensor, device.version] }")
        try board.publish(.all, layer(1, #"{"log":{"level":"debug"},"device":{"version":"1.2"}}"#))
        golden.add("restart required", try report(&board))
        board = try FleetBench()
        try board.receive("jostle/a/set/gestures.shake.sensitivity", "7")
        golden.add("not written yet", try report(&board))
        board.deliver(.fileWritten(.localSettings, failure: "No space left on device"))
        golden.add("cannot be written", try report(&board))
        board.deliver(.fileWritten(.localSettings, failure: nil))
        golden.add("written", try report(&board))

        golden.heading("signatures")
        let signer = try #require(DocumentSigner(reading: goldenSigningKey, otherName: "none"))
        let key = try #require(signer.trustedKey).text
        let document = layer(1, sensitivity: 3)
        let envelope = try LayerDocument(reading: Array(document.utf8), layer: "all").envelope
        let signature = try #require(try signer.sign(envelope, topic: Self.all))
        let member = #""signature":{"key":"\#(signature.key)","value":"\#(signature.value)"}"#
        board = try FleetBench("fleet: { trusted_keys: [\"\(key)\"] }")
        try board.publish(.all, document)
        golden.add("missing", try report(&board))
        try board.publish(.all, layer(1, sensitivity: 4, member))
        golden.add("of another document", try report(&board))
        try board.publish(.all, layer(1, sensitivity: 3, member))
        golden.add("right", try report(&board))
        expectGolden(golden, "reported-others.txt")
    }
}
