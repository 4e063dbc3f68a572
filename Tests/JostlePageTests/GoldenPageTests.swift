import BrokerTestSupport
import JostleConfiguration
import JostleMessages
import JostleOperator
import MotionCore
import Testing

@testable import JostlePage

/// Requirement: what the page's server sends to browsers and Prometheus, and keeps, does not change: a page stays open
/// while the server is replaced.
@Suite struct GoldenPageTests {
    // MARK: Rows

    /// Messages of boards in all conditions.
    private static let messages =
        BoardMetricsTests.messages.map { (topic: "dut/\($0.0)", text: $0.1) } + others

    private static let others: [(topic: String, text: String)] = [
        ("plain/availability", "online"),
        ("off/availability", "offline"), ("off/health", #"{"version":"0.1","problems":[],"rate":0,"outbox":12}"#),
        ("off/config/reported", #"{"layers":{"all":{"status":"applied","revision":1}},"groups":[]}"#),
        ("named/availability", "online"),
        (
            "named/config/reported",
            #"""
            {"settings":{"device":{"name":"Wäsche \"1\"\\ </script> 😀\u0007"}},"groups":["laundry","floor-2"],
            "layers":{"all":{"status":"rejected","revision":3,"in_force":2,
            "errors":[{"path":"gestures.shake.sensitivity","reason":"is out of bounds"}]},
            "device":{"status":"rolled_back","revision":5,"reason":"no samples"}}}
            """#
        ),
        ("named/state", #"{"moving":false,"side":"-x","vibrating":false,"simulated":true,"stopped":true}"#),
        (
            "named/event/shake",
            #"{"id":"a-1","t":1795182603123,"gesture":"shake","phase":"cancelled","axis":"x","reason":"too_short"}"#
        ),
        ("broken/availability", "online"), ("broken/health", "{"), ("broken/state", "7"),
    ]

    private func list(retain: Bool) -> BoardList {
        var list = BoardList(prefix: "jostle")
        for (topic, text) in Self.messages { BoardListTests.take(&list, topic, text, retain: retain) }
        return list
    }

    @Test("The rows of boards have the recorded form")
    func rows() {
        var golden = GoldenText()
        for retain in [true, false] {
            golden.heading(retain ? "of what the broker keeps" : "of what boards publish")
            for (index, row) in list(retain: retain).rows(after: 0, limit: 100).rows.enumerated() {
                golden.add("row \(index + 1)", row.bytes)
            }
        }
        expectGolden(golden, "page-rows.txt")
    }

    // MARK: Layers of the fleet

    private func event(
        _ messages: [(String, String)], trustedKeys: [JostleSettings.TrustedKey] = []
    ) -> [UInt8] {
        let (documents, list) = FleetEventTests().state(messages, trustedKeys: trustedKeys)
        return FleetEvent(documents, list.model.boards.values).event.bytes
    }

    @Test("The layers of the fleet have the recorded form")
    func fleet() throws {
        let tests = FleetEventTests()
        let by = #","by":"ada@desk","at":1795182603123,"note":"less \"eager\" <b>""#
        let errors = #""errors":[{"path":"gestures.tap.sensitivity","reason":"is out of bounds"}]"#
        var messages = [("_all/config", tests.document(7, by))]
        messages += tests.board("a", #""all":{"status":"applied","revision":7}"#)
        messages += tests.board("c", #""all":{"status":"applied","revision":6}"#, isOnline: false)
        messages += tests.board("d", #""all":{"status":"rejected","revision":7,"in_force":6,\#(errors)}"#)
        messages += tests.board("e", #""all":{"status":"rolled_back","revision":7,"in_force":6,"reason":"no samples"}"#)
        messages += tests.board("f", #""all":{"status":"none"}"#)
        messages += tests.board("h", #""all":{"status":"stale","revision":5,"in_force":7}"#)
        messages += tests.board("i", #""all":{"status":"applied","revision":9}"#)
        messages += tests.board("j", #""all":{"status":"exploded","revision":7}"#)
        let more =
            #","candidate":{"config":{},"percent":12.34567,"seed":"s"},"signature":{"key":"ops-1","value":"eA=="}"#
        messages += [("_group/laundry/config", tests.document(3, more)), ("k/config/desired", tests.document(1))]
        messages += tests.board("k", #""group:laundry":{"status":"applied","revision":3},"device":{"status":"none"}"#)
        var golden = GoldenText()
        golden.add("none", event([]))
        golden.add("layers", event(messages))
        golden.add("unreadable", event([("_all/config", #"{"schema":1,"revision":"x"}"#)]))
        let keys = [JostleSettings.TrustedKey(name: "ops", publicKey: "PUAXw+hDiVqStwqnTRt+vJyYLM8uxJaMwM1V8Sr0Zgw=")]
        golden.add("not signed", event([("_all/config", tests.document(2))], trustedKeys: keys))
        let many = (10..<70).map { ("_group/g\($0)/config", tests.document(2)) }
        let failing = (10..<40).flatMap {
            tests.board("b\($0)", #""group:g10":{"status":"rejected","revision":2,\#(errors)}"#)
        }
        golden.add("many", event(many + failing))
        expectGolden(golden, "page-fleet.txt")
    }

    // MARK: Files and small texts

    @Test("The running hours are kept in the recorded form")
    func runningHours() throws {
        typealias Rig = RunningHoursTests.Rig
        var golden = GoldenText()
        var rig = Rig()
        func text(_ rig: Rig, _ time: Double) -> String {
            rig.hours.text(at: Rig.instant(time), milliseconds: rig.wall(time))
        }
        golden.add("nothing", text(rig, 30_000))
        rig.state(true, 30_000)
        golden.add("a machine runs", text(rig, 30_060.25))
        rig.state(false, 30_120.5)
        rig.state(true, 32_000.125, id: "dryer")
        rig.state(true, 33_000, id: "b-1")
        rig.state(false, 33_000.0004, id: "b-1")
        golden.add("several", text(rig, 32_010))
        let again = try rig.restarted(40_000, saved: 32_010)
        golden.add("read again", text(again, 40_001))
        expectGolden(golden, "page-running.txt")
    }

    @Test("What the server asks of boards, and what it refuses to browsers, has the recorded form")
    func smallTexts() {
        var golden = GoldenText()
        golden.heading("streams")
        var leases = StreamLeases()
        leases.open("dut", at: 0)
        for lease in leases.due(at: 0, isOnline: { _ in true }) { golden.add("all arguments", lease.arguments.bytes) }
        for (time, name) in [(1.0, "of an older agent"), (2, "of one that is older still")] {
            leases.refused("dut", error: "bad_arguments", at: time)
            for lease in leases.due(at: time, isOnline: { _ in true }) { golden.add(name, lease.arguments.bytes) }
        }
        golden.heading("refusals")
        let refusals: [PageRefusal] = [
            .badRequest("its body is not JSON"), .signedOut, .wrongPassword, .readOnly, .forbidden, .metricsToken,
            .metricsElsewhere, .notFound("such request"), .method(allowed: "GET"), .tooLarge, .mediaType,
            .host("evil.example"), .tooManyAttempts(seconds: 10), .tooManyViewers, .notConnected("Connection refused"),
        ]
        for refusal in refusals { golden.add("\(refusal.status) \(refusal.word)", refusal.message) }
        golden.heading("events")
        let viewer = Viewer(board: nil, wantsStream: false) { _ in }
        for number in 1...603 { viewer.send(ServerSentEvent(.gesture, Array("{\"n\":\(number)}".utf8))) }
        var buffer = [UInt8](repeating: 0, count: 37)
        let piece = buffer.withUnsafeMutableBytes { viewer.read(into: $0) }
        if case .bytes(let count) = piece { golden.add("dropped", Array(buffer[..<count])) }
        golden.add("a payload with line breaks", ServerSentEvent(.state, Array("{\n\"a\":\r\n1}\u{0}".utf8)).bytes)
        expectGolden(golden, "page-small-texts.txt")
    }

    // MARK: Metrics

    @Test("The metrics have the recorded form")
    func metrics() {
        var golden = GoldenText()
        let formats: [(String, MetricsText.Format)] = [("Prometheus", .prometheus), ("OpenMetrics", .openMetrics)]
        for (name, format) in formats {
            for isConnected in [true, false] {
                var text = MetricsText()
                list(retain: false).addMetrics(
                    to: &text, isConnected: isConnected, at: Timestamp(seconds: 2), midnight: 1_795_129_200_000)
                golden.add("\(name), connected: \(isConnected)", text.takeBytes(format))
            }
        }
        expectGolden(golden, "page-metrics.txt")
    }
}
