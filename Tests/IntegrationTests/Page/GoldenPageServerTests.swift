import BrokerTestSupport
import Foundation
import HTTPTestSupport
import MosquittoClient
import Testing

/// Requirement: what the page's server sends to browsers, boards and Prometheus does not change.
@Suite(.needsPage) final class GoldenPageServerTests {
    private var golden = GoldenText()
    private let rig = Rig()

    private static let board: [(topic: String, text: String)] = [
        (
            "_all/config",
            #"{"schema":1,"revision":3,"config":{"gestures":{"shake":{"sensitivity":7}}},"by":"ada@desk","note":"é"}"#
        ),
        ("dut/availability", "online"), ("dut/health", #"{"version":"0.1.0","problems":["clock"],"rate":199.50}"#),
        (
            "dut/config/reported",
            #"{"settings":{"device":{"name":"A \"lamp\""}},"groups":["a"],"layers":{"all":{"status":"applied","#
                + #""revision":3}}}"#
        ),
        ("dut/state", #"{"t":1795182603123,"moving":false,"side":"+z","vibrating":false}"#),
    ]

    /// What is not retained, so that a page that opens later does not get it.
    private static let passing: [(topic: String, text: String, name: String)] = [
        ("event/shake", #"{"id":"f00d-1","t":1795182603123,"gesture":"shake","phase":"began"}"#, "gesture"),
        ("near-miss", #"{"t":1795182603123,"gesture":"tap","reason":"too_long"}"#, "near-miss"),
        ("attitude", #"{"t":1795182603123,"roll":90,"pitch":-45,"yaw":180}"#, "attitude"),
        ("motion", #"{"t":1795182603123,"acceleration":[0,0,9.81]}"#, "motion"),
        ("stream", #"{"seq":1,"samples":[]}"#, "stream"),
        ("command/ping/result", #"{"ok":true,"uptime":12}"#, "result"),
        ("command/stream/result", #"{"ok":false,"error":"denied","message":"not \"here\""}"#, "lease"),
    ]

    /// The text without what differs in each run.
    private static func scrubbed(_ text: String, _ broker: TestBroker) -> String {
        text.withoutVersion.replacing(/("(?:now|today_seconds|run)":)(?:[0-9.]+|"[^"]*")/) { "\($0.output.1)N" }
            .replacing(/("t":)(?!1795182603123)[0-9]+/) { "\($0.output.1)N" }
            .replacingOccurrences(of: ":\(broker.port)", with: ":PORT")
    }

    private func publish(_ observer: Observer, _ topic: String, _ text: String, retain: Bool) throws {
        try observer.publish(
            MQTTMessage(topic: "jostle/\(topic)", text: text, qos: .atLeastOnce, retain: retain))
    }

    @Test("The events that pages receive have the recorded form")
    func events() async throws {
        let (broker, observer) = try await rig.observedBroker()
        for (topic, text) in Self.board { try publish(observer, topic, text, retain: true) }
        let page = try await rig.page(broker: broker.port, ["page.control=true"], environment: ["TZ": "UTC"])
        let cookie = try page.signIn()
        let first = try rig.events(page, "view=boards", cookie)
        // Until everything is known: the rows of a page that opens then are one event.
        let isKnown = await eventually {
            let row = first.last("boards")?.data ?? ""
            return first.last("fleet")?.data.contains("\"applied\":1") == true && row.contains("lamp")
                && row.contains("clock") && row.contains("+z")
        }
        try #require(isKnown, "\(first.all)")
        func add(_ events: PageEvents, _ name: String) throws {
            golden.add(name, Self.scrubbed(try #require(events.last(name), "\(name)").data, broker))
        }
        let list = try rig.events(page, "view=boards", cookie)
        golden.heading("all boards")
        try #require(await eventually { list.last("listed") != nil && list.last("fleet") != nil }, "\(list.all)")
        for name in ["broker", "boards", "listed", "fleet"] { try add(list, name) }

        golden.heading("one board")
        let board = try rig.events(page, "board=dut&stream=1", cookie)
        for name in ["broker", "availability", "reported", "health", "state", "running", "lease"] {
            #expect(await eventually { board.last(name) != nil }, "\(name)")
            try add(board, name)
        }
        // The list of events shows the lease before the broker has passed on the command.
        #expect(await observer.sees { !$0.messages("command/stream").isEmpty })
        let lease = try #require(observer.messages("command/stream").last)
        golden.add("jostle/dut/command/stream", lease.payload)
        for (topic, text, name) in Self.passing {
            let before = board.all(name).count
            // The first ones may come before the subscription.
            let hasArrived = await eventually {
                try? publish(observer, "dut/\(topic)", text, retain: false)
                usleep(20_000)
                return board.all(name).count > before && board.last(name)?.data.contains("asked") == false
            }
            #expect(hasArrived, "\(name)")
            try add(board, name)
        }
        try publish(observer, "dut/availability", "offline", retain: true)
        #expect(await eventually { board.last("availability")?.data.contains("false") == true })
        try add(board, "availability")

        golden.heading("a board that is gone")
        for (topic, _) in Self.board.dropFirst() { try publish(observer, topic, "", retain: true) }
        #expect(await eventually { list.last("removed") != nil && list.last("listed")?.data.contains(":0,") == true })
        for name in ["removed", "listed"] { try add(list, name) }
        #expect(await eventually { list.last("ping") != nil })
        try add(list, "ping")
        expectGolden(golden, "page-events.txt")
    }

    @Test("The answers to requests, and what they publish, have the recorded form")
    func requests() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let page = try await rig.page(broker: broker.port, ["page.control=true"])
        try #require(await page.program.logs("connected to "), "\(page.program.errors)")
        let cookie = try page.signIn()
        golden.heading("answers")
        func add(_ name: String, _ reply: RawHTTP.Reply) {
            golden.add("\(name) \(reply.status)", Self.scrubbed(reply.body, broker))
        }
        add("/api/session", try RawHTTP.get(page.port, "/api/session", [cookie]))
        add("/api/session of a stranger", try RawHTTP.get(page.port, "/api/session"))
        add("/nothing", try RawHTTP.get(page.port, "/nothing", [cookie]))
        add("/events?board=a/b", try RawHTTP.get(page.port, "/events?board=a/b", [cookie]))
        add("DELETE /", try RawHTTP.send(page.port, "DELETE", "/", [cookie]))
        add("of another host", try RawHTTP.get(page.port, "/", [("Host", "evil.example"), cookie]))
        let large = String(repeating: "x", count: 17_000)
        for (name, path, body) in [
            ("a large body", "/api/set", large), ("no JSON", "/api/set", "{"), ("no board", "/api/set", "{}"),
            ("another path", "/api/nothing", "{}"), ("no password", "/api/login", "{}"),
            ("a wrong key", "/api/set", #"{"board":"dut","key":"a b","value":1}"#),
            ("no value", "/api/set", #"{"board":"dut","key":"device.name"}"#),
            ("a wrong command", "/api/command", #"{"board":"dut","name":"a/b"}"#),
        ] {
            add(name, try page.post(path, body, cookie))
        }
        golden.heading("published")
        let values = [
            "7", "-1.50", "1e3", "true", "null", #""a\"b\\\n\u0000\u007f é 😀""#, #"[ 1 , "2" , [] ]"#,
            #"{"a":{},"b":{"c":[true]}}"#,
        ]
        for value in values {
            let count = observer.all.count
            add("/api/set", try page.post("/api/set", #"{"board":"dut","key":"a.b","value":\#(value)}"#, cookie))
            #expect(await observer.sees { $0.all.count > count })
            for message in observer.all[count...] { golden.add(message.topic, message.payload) }
        }
        for arguments in [
            "", #","arguments":{}"#, #","arguments":{ "movement" : "shake","seconds":1.50,"x":[1,null] }"#,
        ] {
            let count = observer.all.count
            let body = #"{"board":"dut","name":"simulate"\#(arguments)}"#
            add("/api/command", try page.post("/api/command", body, cookie))
            #expect(await observer.sees { $0.all.count > count })
            for message in observer.all[count...] { golden.add(message.topic, message.payload) }
        }
        expectGolden(golden, "page-requests.txt")
    }

    /// The numbers of the boards are in another test.
    @Test("The metrics of the server have the recorded form")
    func metrics() async throws {
        try await MetricsTests().withEverythingPublished { page in
            let text = try RawHTTP.get(page.port, "/metrics").body
            let scrubbed = text.replacing(/(?m)^([^#].*) [^ ]+$/) { "\($0.output.1) N" }
                .replacing(/version="[^"]*"/, with: "version=\"VERSION\"")
            expectGolden(scrubbed, "page-metrics-server.txt")
        }
    }
}
