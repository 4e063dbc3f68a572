import BrokerTestSupport
import Foundation
import Testing

/// Requirement: what the commands besides `jostle fleet` print and send for programs does not change.
@Suite(.needsProgram) final class GoldenProgramTests {
    private var golden = GoldenText()
    private let rig = Rig()

    // MARK: Sensors

    @Test("What scan prints for programs has the recorded form", .needsFakeAdapter)
    func scan() async throws {
        let tests = try ScanTests()
        func add(_ name: String, _ outcome: Outcome) {
            golden.add(name, outcome) { text in
                text.replacingOccurrences(of: tests.bus, with: "/dev/i2c-1")
                    .replacing(/"kernel_devices":\[[^\]]*\]/, with: "\"kernel_devices\":[…]")
                    .replacing(/("(?:response|deviation_percent)":)-?[0-9.]+/) { "\($0.output.1)N" }
            }
        }
        for options in [
            "", "bcm2835", "who=0x12", "who=0x20", "who=0x75", "address=0x40", "open=EACCES", "busy",
            "fail=1x100:ETIMEDOUT", "funcs=0x37f0000",
        ] {
            add(options, try await tests.scan(options, "--json"))
        }
        for options in ["selftest=4", "selftest=-20", ""] {
            add("self-test \(options)", try await tests.scan(options, "--json", "--self-test"))
        }
        expectGolden(golden, "scan-json.txt")
    }

    @Test("What noise prints for programs has the recorded form")
    func noise() async throws {
        let tests = NoiseTests()
        let recording = try tests.recording()
        golden.add("both sensors", try await jostle("noise", recording, "--json"))
        expectGolden(try await jostle("noise", recording, "--svg", "-").output, "noise.svg")
        golden.add(
            "no gyroscope", try await jostle("noise", try tests.recording(hasGyroscope: false), "--json"))
        expectGolden(golden, "noise-json.txt")
    }

    // MARK: Recordings

    @Test("What replay prints has the recorded form")
    func replay() async throws {
        golden.add("events", try await jostle("replay", "-", input: Recording.shake()))
        golden.add("attitude", try await jostle("replay", "-", "--attitude", "-", input: Recording.tilted)) { text in
            text.split(separator: "\n").prefix(6).map { "\($0)\n" }.joined()
        }
        expectGolden(golden, "replay.txt")
    }

    @Test("What tune keeps and exports has the recorded form")
    func tune() async throws {
        let tests = try TuneRecordingsTests()
        #expect(try await tests.keep().status == 0)
        golden.add("about.json", try tests.content("1-shake/about.json").withoutVersion)
        for name in ["gesture.labels.csv", "handling.labels.csv"] {
            golden.add(name, try tests.content("1-shake/\(name)"))
        }
        for name in ["gesture.csv", "handling.csv"] {
            let lines = try tests.content("1-shake/\(name)").split(separator: "\n")
            golden.add("\(name), its beginning", lines.prefix(12).map { "\($0)\n" }.joined())
        }
        let archive = tests.directory.path("export.tar")
        #expect(try await tests.tune("--export", archive).status == 0)
        let list = try ChildProcess(["/bin/sh", "-c", "tar -tf export.tar >list"], in: tests.directory)
        #expect(await eventually { list.exitStatus() != nil })
        golden.add("export", try String(contentsOfFile: tests.directory.path("list"), encoding: .utf8))
        expectGolden(golden, "tune.txt")
    }

    // MARK: Configuration

    @Test("What is said of the values in force has the recorded form")
    func configuration() async throws {
        let tests = try LayersInForceTests()
        try tests.storeValue()
        let state = ["--config", tests.file, "--state", tests.directory.path("state")]
        let commands = [
            ["config", "show", "--json"] + state, ["config", "show", "--origin"] + state,
            ["config", "show"] + state, ["check-config", tests.file, "--show"],
        ]
        for words in commands {
            let name = words.prefix { $0 != "--config" }.filter { $0 != tests.file }.joined(separator: " ")
            golden.add(name, try await tests.run(words)) {
                $0.replacingOccurrences(of: tests.directory.path(""), with: "DIRECTORY/")
            }
        }
        expectGolden(golden, "configuration-in-force.txt")
    }

    // MARK: Requests

    /// The board does not answer: what is asked of it matters.
    @Test("What commands ask of an agent has the recorded form", .needsBroker)
    func requests() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let tests = try LayersInForceTests()
        let settings = #"{"gestures":{"shake":{"sensitivity":2}}}"#
        for (topic, text) in [
            ("availability", "online"),
            ("config/reported", #"{"settings":\#(settings),"origins":{"gestures.shake.sensitivity":"local"}}"#),
        ] {
            try observer.publish("jostle/dut/\(topic)", text, retain: true)
        }
        try #require(await observer.sees { $0.all.count == 2 })
        try tests.storeValue()
        let address = ["--set", "mqtt.broker=mqtt://127.0.0.1:\(broker.port)"]
        let commands = [
            ["simulate", "shake", "--on", "dut"], ["simulate", "walk", "--for", "5.5", "--on", "dut"],
            ["simulate", "tap", "--count", "2", "--on", "dut"], ["stop", "--on", "dut"], ["start", "--on", "dut"],
            ["config", "clear", "--config", tests.file, "gestures.shake.sensitivity"],
        ]
        for words in commands {
            let count = observer.all.count
            let program = try rig.run(
                words + address, environment: ["STATE_DIRECTORY": tests.directory.path("state")])
            defer { program.kill() }
            try #require(await observer.sees { $0.all.count > count }, "\(program.errors)")
            for message in observer.all[count...] {
                let asks = message.properties.responseTopic != nil ? ", asks for an answer" : ""
                golden.add("\(message.topic)\(asks)", message.payload)
            }
        }
        expectGolden(golden, "requests.txt")
    }

    @Test("What a swarm says of orders has the recorded form", .needsBroker)
    func swarm() async throws {
        let rig = try await SwarmRig(devices: 2, "--json")
        for order in ["sensor-dead swarm-0001", "die swarm-0002"] { rig.order(order) }
        #expect(await rig.says(#""order":"die""#))
        for line in rig.swarm.output.split(separator: "\n") where line.hasPrefix(#"{"order""#) {
            golden.add("order", String(line))
        }
        expectGolden(golden, "swarm-orders.txt")
    }
}
