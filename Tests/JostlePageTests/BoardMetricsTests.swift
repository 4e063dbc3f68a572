import MosquittoClient
import MotionCore
import Testing

@testable import JostlePage

/// Requirement: what a board publishes appears in the metrics in base units, and vanishes when it is not known any more.
@Suite struct BoardMetricsTests {
    private static let health = """
        {"version":"0.1.0","uptime":90,"problems":["clock","outbox","clock"],"sensor":"MPU-6050","sensor_state":"streaming",
        "temperature":23.5,"rate":199.5,"period_ppm":-250,"samples":1000,"gaps":2,"lost_samples":7,"overflows":1,
        "misalignments":3,"recoveries":4,"clipped_samples":5,"bus_errors":{"timed_out":6,"other":0},"gestures":8,
        "dropped_deliveries":9,"outbox":10,"outbox_bytes":1100,"outbox_dropped":12,"outbox_expired":13,"connects":14,
        "cpu_percent":12.5,"memory_mb":2,"clock":"unsynchronised"}
        """
    private static let reported = """
        {"settings":{"device":{"name":"The \\"lamp\\""},"sensor":{"rate":"0.2 kHz"},
        "publish":{"health":{"interval":"20 s"},"attitude":{"heartbeat":"10 s"}}},"groups":["a","b"],
        "layers":{"all":{"status":"rejected","revision":3}}}
        """
    private static let machine = """
        {"t":1795182603123,"phase":"running","confidence":"learnt","runs":12,"runs_today":1,"seconds_today":7312,
        "duration":754,"v_10_90":1.5,"a_10_90":0.412,"peak":1.9,"crest":4.6,"kurtosis":3.1,"octaves":[-41.2,-38],
        "lines":[[24.8,0.31]],"changed":true,"deviation":{"octave":22.4,"decibels":4.2,"since":1795182000000}}
        """
    static let messages = [
        ("availability", "online"), ("health", health), ("config/reported", reported), ("machine", machine),
        ("state", #"{"moving":true,"tilt":90,"vibrating":true,"vibration":0.25,"simulated":false,"stopped":false}"#),
        ("attitude", #"{"roll":180,"pitch":-90,"yaw":45}"#),
        ("event/vibration", #"{"id":"a-1","gesture":"vibration","phase":"began","frequency":12.5}"#),
    ]

    private func list(_ messages: [(String, String)]) -> BoardList {
        var list = BoardList(prefix: "jostle")
        for (name, text) in messages { take(name, text, into: &list) }
        return list
    }

    private func take(_ name: String, _ text: String, into list: inout BoardList, at seconds: Double = 0) {
        let message = MQTTMessage(topic: "jostle/dut/\(name)", text: text, retain: false)
        guard let topic = BoardTopic(message.topic, prefix: "jostle") else { return }
        _ = list.update(topic, message, at: time(seconds), milliseconds: 1_795_182_603_123)
    }

    private func time(_ seconds: Double) -> Timestamp { Timestamp(nanoseconds: 0).advanced(bySeconds: seconds) }

    /// The samples, by their names and labels without the board.
    private func samples(
        _ list: BoardList, isConnected: Bool = true, at seconds: Double = 1, midnight: Int64 = 1_795_129_200_000
    ) -> [String: String] {
        var text = MetricsText()
        list.addMetrics(to: &text, isConnected: isConnected, at: time(seconds), midnight: midnight)
        let lines = String(decoding: text.takeBytes(.prometheus), as: UTF8.self).split(separator: "\n")
        var samples: [String: String] = [:]
        for line in lines where !line.hasPrefix("#") {
            let space = line.lastIndex(of: " ") ?? line.startIndex
            let name = String(line[..<space]).replacing("jostle_board_", with: "").replacing("board=\"dut\",", with: "")
                .replacing("{board=\"dut\"}", with: "")
            #expect(samples[name] == nil, "\(name) is there twice")
            samples[name] = String(line[line.index(after: space)...])
        }
        return samples
    }

    @Test func everythingThatABoardPublishesAppearsInBaseUnits() {
        let samples = samples(list(Self.messages))
        let expected = [
            #"info{name="The \"lamp\"",groups="a,b",version="0.1.0",sensor="MPU-6050",simulated="false"}"#: "1",
            "online": "1", "last_message_timestamp_seconds": "1795182603.123", "malformed_messages_total": "0",
            #"problem{problem="clock"}"#: "1", #"problem{problem="outbox"}"#: "1", "configuration_followed": "0",
            "clock_synchronised": "0", "stopped": "0", "uptime_seconds": "90", "cpu_ratio": "0.125",
            "memory_bytes": "2097152", "temperature_celsius": "23.5", "sample_rate_hertz": "199.5",
            "wanted_sample_rate_hertz": "200", "sample_period_error_ratio": "-0.00025", "samples_total": "1000",
            "sample_gaps_total": "2", "lost_samples_total": "7", "sensor_overflows_total": "1",
            "sensor_misalignments_total": "3", "sensor_recoveries_total": "4", "clipped_samples_total": "5",
            #"bus_errors_total{kind="timed_out"}"#: "6", #"bus_errors_total{kind="other"}"#: "0",
            "gestures_total": "8", "dropped_deliveries_total": "9", "mqtt_connects_total": "14",
            "outbox_messages": "10", "outbox_size_bytes": "1100", "outbox_dropped_messages_total": "12",
            "outbox_expired_messages_total": "13", "moving": "1", "vibrating": "1",
            "vibration_meters_per_second_squared": "0.25", "vibration_frequency_hertz": "12.5",
            #"events_total{gesture="vibration",phase="began",simulated="false"}"#: "1",
            "roll_radians": "\(Double.pi)", "pitch_radians": "\(-Double.pi / 2)", "yaw_radians": "\(Double.pi / 4)",
            "tilt_radians": "\(Double.pi / 2)", "machine_running": "1", "machine_paused": "0", "machine_changed": "1",
            "machine_runs_today": "1", "machine_velocity_meters_per_second": "0.0015",
            "machine_acceleration_meters_per_second_squared": "0.412",
        ]
        for (name, value) in expected { #expect(samples[name] == value, "\(name): \(samples[name] ?? "absent")") }
        let others = samples.filter { expected[$0.key] == nil }
        #expect(others.count == Gesture.builtIn.count - 1, "\(others.keys)")
        #expect(others.allSatisfy { $0.key.hasPrefix("events_total") && $0.value == "0" })
    }

    /// What remains of a board whose present state is not known.
    private func expectOnlyCounters(_ samples: [String: String]) {
        let remaining = samples.keys.map { String($0.prefix { $0 != "{" }) }.filter { !$0.hasSuffix("_total") }
        #expect(Set(remaining).subtracting(["online", "info", "last_message_timestamp_seconds"]).isEmpty)
        #expect(samples["samples_total"] == "1000" && samples["malformed_messages_total"] == "0")
    }

    @Test func measuredValuesVanishWithTheBoard() {
        let samples = samples(list(Self.messages + [("availability", "offline")]))
        #expect(samples["online"] == "0")
        expectOnlyCounters(samples)
    }

    @Test func measuredValuesVanishWithTheBroker() {
        let samples = samples(list(Self.messages), isConnected: false)
        #expect(samples["online"] == nil)
        expectOnlyCounters(samples)
    }

    @Test func measuredValuesVanishAfterThreeIntervals() {
        let list = list(Self.messages)
        let late = samples(list, at: 31)
        #expect(late["roll_radians"] == nil && late["sample_rate_hertz"] == "199.5" && late["tilt_radians"] != nil)
        let later = samples(list, at: 61)
        #expect(later["sample_rate_hertz"] == nil && later[#"problem{problem="clock"}"#] == nil)
        #expect(later["online"] == "1" && later["stopped"] == "0" && later["wanted_sample_rate_hertz"] == "200")
    }

    @Test func intervalsAreTheDefaultsUnlessTheBoardReportsThem() {
        let list = list(Self.messages.filter { $0.0 != "config/reported" })
        #expect(samples(list, at: 89)["yaw_radians"] != nil)
        #expect(samples(list, at: 91)["yaw_radians"] == nil)
        #expect(samples(list, at: 179)["temperature_celsius"] != nil)
        #expect(samples(list, at: 181)["temperature_celsius"] == nil)
    }

    @Test func attitudeWithoutHeartbeatIsValidWhileTheBoardIsOnline() {
        let off = Self.reported.replacing("\"10 s\"", with: "\"0 s\"")
        let list = list(Self.messages.filter { $0.0 != "config/reported" } + [("config/reported", off)])
        #expect(samples(list, at: 86_400)["roll_radians"] != nil)
    }

    @Test func aStoppedBoardHasNoPosition() {
        let stopped = #"{"moving":false,"tilt":90,"vibrating":false,"vibration":0.25,"stopped":true}"#
        let samples = samples(list(Self.messages + [("state", stopped)]))
        #expect(samples["stopped"] == "1" && samples["temperature_celsius"] == "23.5")
        for name in ["moving", "tilt_radians", "vibrating", "roll_radians", "machine_running"] {
            #expect(samples[name] == nil, "\(name)")
        }
    }

    @Test func theFrequencyIsThatOfAVibrationUnderWay() {
        let quiet = #"{"moving":false,"vibrating":false,"vibration":0}"#
        #expect(samples(list(Self.messages + [("state", quiet)]))["vibration_frequency_hertz"] == nil)
    }

    /// Requirement: what a machine did in an earlier minute, or on an earlier day, is not shown as what it does now.
    @Test func aMachineIsMeasuredWhileItRuns() {
        func machine(_ text: String, at seconds: Double = 1, midnight: Int64 = 1_795_129_200_000) -> [String: String] {
            let messages = Self.messages.filter { $0.0 != "machine" } + [("machine", text)]
            let all = samples(list(messages), at: seconds, midnight: midnight)
            return all.filter { $0.key.hasPrefix("machine_") }
        }
        let velocity = "machine_velocity_meters_per_second"
        #expect(machine(Self.machine, at: 179)[velocity] == "0.0015" && machine(Self.machine, at: 181)[velocity] == nil)
        #expect(machine(Self.machine, midnight: 1_795_215_600_000)["machine_runs_today"] == "0", "it was yesterday")
        let paused = machine(#"{"phase":"paused","duration":900,"quiet_for":40,"v_10_90":1.5,"changed":false}"#)
        #expect(paused == ["machine_running": "1", "machine_paused": "1", "machine_changed": "0"])
        let quiet = machine(
            #"{"phase":"running","v_10_260":0.34,"a_10_400":0.1,"below":["v_10_260"],"changed":false,"runs_today":"x"}"#
        )
        #expect(quiet[velocity] == nil && quiet["machine_acceleration_meters_per_second_squared"] == "0.1")
        #expect(machine(#"{"phase":"on fire"}"#) == [:])
    }

    @Test func whatABoardDoesNotPublishIsAbsent() {
        let samples = samples(list([("availability", "online")]))
        #expect(
            samples.filter { !$0.key.hasPrefix("events_total") }.keys.sorted() == [
                #"info{name="",groups="",version="",sensor="",simulated=""}"#, "last_message_timestamp_seconds",
                "malformed_messages_total", "online",
            ])
    }

    @Test func hostileValuesAreBounded() {
        let words = (0..<500).map { "\"problem \($0)\"" }.joined(separator: ",")
        let kinds = (0..<500).map { "\"Kind \($0)\":1" }.joined(separator: ",")
        let samples = samples(
            list([
                ("availability", "online"), ("attitude", #"{"roll":1e9,"pitch":0,"yaw":0}"#), ("attitude", "{"),
                (
                    "health",
                    "{\"problems\":[\(words)],\"bus_errors\":{\(kinds)},\"samples\":-5,\"rate\":1e999,\"gaps\":\"3\"}"
                ),
            ]))
        #expect(samples.count < 30)
        #expect(samples[#"problem{problem="other"}"#] == "1" && samples[#"bus_errors_total{kind="other"}"#] == "8")
        for name in ["samples_total", "sample_rate_hertz", "sample_gaps_total", "roll_radians"] {
            #expect(samples[name] == nil, "\(name)")
        }
    }
}
