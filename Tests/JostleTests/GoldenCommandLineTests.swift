import BrokerTestSupport
import JostleCommandLine
import JostleConfiguration
import JostleMessages
import JostleOperator
import LinuxSystem
import MosquittoClient
import MotionCore
import Testing

@testable import jostle

/// Requirement: what the commands print for programs does not change.
@Suite struct GoldenCommandLineTests {
    /// A text without the version of this program.
    private func clean(_ text: String) -> String { text.replacing(version, with: "VERSION") }

    // MARK: doctor

    @Test("The findings of doctor have the recorded form")
    func doctor() {
        var all = DoctorReport(device: "washer-1", subject: "jostle.service")
        for (index, examination) in Examination.allCases.enumerated() {
            let finding: Finding =
                switch index % 4 {
                case 0: .ok(examination, "fine: \"é\" \\ 1")
                case 1: .warning(examination, "works, but not for ever", "sudo systemctl enable jostle", "Then wait.")
                case 2: .failed(examination, "does not work", ["first step", "second \"step\""], status: .permission)
                default: .unknown(examination, "could not be examined")
                }
            all.add([finding])
        }
        var well = DoctorReport(device: "door", subject: "this user's agent")
        well.add([.ok(.chip, "MPU-6050 at 0x68"), .ok(.configuration, "valid")])
        var warned = DoctorReport(device: "door", subject: "this user's agent")
        warned.add([.warning(.clock, "not synchronised")])
        let empty = DoctorReport(device: "door", subject: "this user's agent")
        var golden = GoldenText()
        for (name, report) in [("all verdicts", all), ("well", well), ("warned", warned), ("nothing", empty)] {
            golden.heading(name)
            golden.add("JSON", clean(String(decoding: report.json.bytes, as: UTF8.self)))
            golden.add("text", report.text)
            golden.add("summary", report.summary)
            golden.add("advice", report.advice ?? "none")
        }
        expectGolden(golden, "doctor.txt")
    }

    // MARK: watch

    private static let health = [
        #"{"version":"0.1","problems":["clock","outbox"],"sensor":"MPU-6050","sensor_state":"streaming","rate":199.54"#,
        #""period_ppm":-250,"gaps":2,"bus_errors":{"timed_out":6,"other":1},"outbox":10,"cpu_percent":12.55"#,
        #""memory_mb":2,"uptime":7384}"#,
    ].joined(separator: ",")

    private static let reported = [
        #"{"settings":{"device":{"name":"Lamp"}},"groups":["laundry"]"#,
        #""layers":{"all":{"status":"applied","revision":12}"#,
        #""group:laundry":{"status":"rejected","revision":3,"in_force":2"#,
        #""errors":[{"path":"a.b","reason":"is wrong"}]}"#,
        #""device":{"status":"none"}}}"#,
    ].joined(separator: ",")

    /// Messages of a device, good ones and others.
    private static let messages: [(topic: String, text: String)] = [
        ("availability", "online"), ("availability", "maybe"), ("availability", "offline"),
        ("attitude", #"{"t":1795182603123,"roll":-0.04,"pitch":2,"yaw":3.25,"q":[1,0,0,0]}"#),
        ("state", #"{"moving":true,"side":"+z","tilt":1.5,"vibrating":false,"simulated":false,"stopped":false}"#),
        ("state", #"{"moving":false,"side":"-x","vibrating":true,"simulated":true,"stopped":true}"#),
        ("health", health),
        ("health", #"{"problems":[]}"#), ("health", "{"), ("health", #"{"rate":"fast","problems":7}"#),
        ("config/reported", reported),
        ("config/reported", #"{"settings":{}}"#),
        (
            "event/shake",
            #"{"id":"a-1","t":1795182603123,"gesture":"shake","phase":"began","strength":14.2,"axis":"x"}"#
        ),
        (
            "event/shake",
            #"{"id":"a-2","gesture":"shake","phase":"cancelled","reason":"too_short","duration":0.25,"simulated":true}"#
        ),
        (
            "event/turn",
            #"{"id":"a-3","t":1,"gesture":"turn","phase":"ended","direction":"left","angle":-90,"rate":112.3,"axis":"z"}"#
        ),
        ("event/tap", #"{"id":"a-4","t":1,"gesture":"tap","phase":"recognized","count":2,"side":"+z","delayed":true}"#),
        (
            "event/flip",
            #"{"id":"a-5","t":1,"gesture":"flip","phase":"recognized","from":"+z","to":"-z","clock":"unset"}"#
        ),
        ("event/fall", #"{"id":"a-6","t":1,"gesture":"fall","phase":"ended","height":0.51,"strength":80}"#),
        (
            "event/vibration",
            #"{"id":"a-7","t":1,"gesture":"vibration","phase":"ended","level":0.123,"frequency":24.67}"#
        ),
        ("machine", #"{"t":1,"phase":"running","duration":754,"changed":false}"#),
        ("machine", #"{"t":60001,"phase":"running","duration":814,"changed":false}"#),
        ("machine", #"{"t":70001,"phase":"off","changed":true}"#),
        (
            "event/machine",
            #"{"id":"a-8","t":1,"gesture":"machine","phase":"began","octave":22.4,"decibels":4.2,"since":1}"#
        ),
        (
            "event/vibration",
            #"{"id":"a-9","t":1,"gesture":"vibration","phase":"ended","duration":5400,"longest_pause":310,"peak":1.25,"spun":true}"#
        ),
        ("event/shake", #"{"gesture":"a\nb","phase":"\u001b[2J"}"#), ("event/shake", "[1"),
        ("near-miss", #"{"t":1,"gesture":"shake","reason":"too_weak","text":"no shake: too weak"}"#),
    ]

    @Test("The lines of watch, for people and for programs, have the recorded form")
    func watch() {
        var golden = GoldenText()
        for isUnicode in [true, false] {
            golden.heading("lines, Unicode: \(isUnicode)")
            var lines = WatchLines(glyphs: Glyphs(isUnicode: isUnicode))
            var model = FleetModel(prefix: "jostle", onlyDevice: "dut")
            for (second, message) in Self.messages.enumerated() {
                let now = Timestamp(seconds: Double(10 * second))
                let received = MQTTMessage(topic: "jostle/dut/\(message.topic)", text: message.text)
                let change = model.update(with: received, at: now)?.change
                guard let change, let device = model.boards["dut"] else { continue }
                let line = lines.line(change, of: device, at: now, time: "12:00:00") ?? "no line"
                golden.add("\(second + 1)", ForeignText.oneLine(line))
            }
        }
        golden.heading("JSON")
        let bytes: [UInt8] = [0x1B, 0x5B, 0xFF, 0x00, 0x0A]
        let others = [
            MQTTMessage(topic: "jostle/\"b\\é", payload: bytes),
            MQTTMessage(topic: "jostle/a", text: "{\"a\":\n\t\"\u{9B}é\u{202E}\" , \"b\":1.50}", retain: true),
            MQTTMessage(topic: "jostle/a", text: "online", retain: true), MQTTMessage(topic: "jostle/a", text: ""),
        ]
        let all = Self.messages.map { MQTTMessage(topic: "jostle/dut/\($0.topic)", text: $0.text) } + others
        for (number, message) in all.enumerated() {
            golden.add("\(number + 1)", ForeignText.json(WatchLines.json(message)))
        }
        expectGolden(golden, "watch.txt")
    }

    // MARK: setup

    @Test("The answers to setup are written in the recorded form")
    func setup() {
        let names = ["washer-1", "Wäsche: \"oben\" # 1\\", "", "null", "7", "a\tb\u{7F}é😀", "{x: ${y}}"]
        let values = names.enumerated().map { (key: "device.key\($0.offset)", value: $0.element) }
        let broker = [(key: "mqtt.broker", value: "mqtt://[::1]:1884")]
        expectGolden(SetupFiles.text(values + broker), "setup.yaml")
    }

    // MARK: support

    @Test("A report for a maintainer has the recorded form")
    func support() {
        var secrets = SecretRemoval()
        secrets.add("hush-4711")
        var report = SupportReport(secrets: secrets)
        report.add("Versions", "jostle 1\nSwift 2\n")
        report.add("Board", [("distribution", "Debian"), ("kernel", "Linux \u{1B}[2J")])
        let texts: [(String, String)] = [
            (
                "Reported",
                #"{"t":1,"settings":{"mqtt":{"username":"lamp","broker":["mqtt://me:hush@b"]},"n":[1.50,1e3,-0]}}"#
            ),
            (
                "Refused",
                #"{"refused":[{"key":"mqtt.password","value":"hush"},{"key":"a.b","value":"9","reason":"has hush-4711"}]}"#
            ),
            (
                "Actions",
                #"{"actions":[{"on":"shake","publish":{"topic":"a","payload":"secret"}}],"empty":{},"none":[]}"#
            ),
            ("Nested", #"{"a":{"b":{"c":[[1,[2]],{"d":null,"e":true}]}},"é\"":"\u0007\n"}"#), ("Text", "online"),
            ("Broken", "{\"password\": \"hush"), ("Array", "[]"), ("Number", "1e400"),
        ]
        for (title, text) in texts { report.add(title, json: Array(text.utf8)) }
        report.add("Long", (1...20).map { "line \($0)\n" }.joined(), limit: 200)
        report.add("Log", (1...20).map { "line \($0)\n" }.joined(), limit: 200, keepsEnd: true)
        report.add("Nothing", "")
        expectGolden(report.text("Jostle support report of dut", made: "1.2.3 at 2026-11-20"), "support-report.txt")
    }
}
