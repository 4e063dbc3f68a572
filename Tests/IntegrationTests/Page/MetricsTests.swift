import BrokerTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Requirement: Prometheus reads what the boards publish, and the documentation and the dashboard are about that.
@Suite(.needsPage) struct MetricsTests {
    private let rig = Rig()
    private let directory = TemporaryDirectory.new()

    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        .deletingLastPathComponent()

    // MARK: A board that publishes everything

    private static let health = """
        {"version":"0.1.0","uptime":90,"problems":["clock"],"sensor":"MPU-6050","temperature":23.5,"rate":199.5,
        "period_ppm":-250,"samples":1000,"gaps":2,"lost_samples":7,"overflows":1,"misalignments":3,"recoveries":4,
        "clipped_samples":5,"bus_errors":{"timed_out":6},"gestures":8,"dropped_deliveries":9,"outbox":10,
        "outbox_bytes":1100,"outbox_dropped":12,"outbox_expired":13,"connects":14,"cpu_percent":12.5,"memory_mb":2,
        "clock":"unsynchronised"}
        """
    private static let reported = """
        {"settings":{"device":{"name":"A \\"lamp\\"\\\\"},"sensor":{"rate":"200 Hz"}},"groups":["a"],
        "layers":{"all":{"status":"applied","revision":3}}}
        """

    private static let machine =
        #"{"t":4102444800000,"phase":"running","runs_today":2,"v_10_90":1.83,"a_10_90":0.412,"changed":false}"#

    /// Publishes it: first what is retained, then, when the page knows the board, the rest.
    private func publishEverything(_ observer: Observer, page: PageRig) async throws {
        let retained = [
            ("availability", "online"), ("health", Self.health), ("config/reported", Self.reported),
            ("machine", Self.machine),
            ("state", #"{"moving":true,"tilt":3,"vibrating":true,"vibration":0.25,"simulated":false,"stopped":false}"#),
        ]
        for (name, text) in retained {
            try observer.publish("jostle/lamp/\(name)", text, retain: true)
        }
        let isKnown = await eventually {
            (try? metrics(page).contains("jostle_board_moving{board=\"lamp\"} 1")) ?? false
        }
        try #require(isKnown, "\(page.program.errors)")
        let vibration = #"{"id":"a-1","gesture":"vibration","phase":"began","frequency":12.5}"#
        try observer.publish("jostle/lamp/event/vibration", vibration)
        let shake = #"{"id":"a-2","gesture":"shake","phase":"began","simulated":true}"#
        try observer.publish("jostle/lamp/event/shake", shake)
        let attitude = #"{"t":1795182603123,"roll":90,"pitch":-45,"yaw":180}"#
        try observer.publish("jostle/lamp/attitude", attitude)
        try #require(await eventually { (try? metrics(page).contains("jostle_board_yaw_radians")) ?? false })
    }

    /// A page at a broker where the board has published everything.
    func withEverythingPublished(_ body: (PageRig) async throws -> Void) async throws {
        let (broker, observer) = try await rig.observedBroker()
        let page = try await rig.page(broker: broker.port)
        try await publishEverything(observer, page: page)
        try await body(page)
    }

    private func metrics(_ page: PageRig, accept: String = "") throws -> String {
        try RawHTTP.get(page.port, "/metrics", accept.isEmpty ? [] : [("Accept", accept)]).body
    }

    // MARK: The text

    /// The metrics of the table in the documentation, with their labels.
    private func documented() throws -> [String: Set<String>] {
        let page = try String(contentsOf: Self.repository.appendingPathComponent("docs/metrics.md"), encoding: .utf8)
        var metrics: [String: Set<String>] = [:]
        for line in page.split(separator: "\n") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 4, let name = cells[0].wholeMatch(of: /`([a-z_]+)`/)?.1 else { continue }
            metrics[String(name)] = Set(cells[2].matches(of: /`([a-z]+)`/).map { String($0.1) })
        }
        return metrics
    }

    /// The metrics of a text, with their labels besides `board`.
    private func served(_ text: String) -> [String: Set<String>] {
        var metrics: [String: Set<String>] = [:]
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let name = String(line.prefix { $0 != "{" && $0 != " " })
            let labels = Set(line.matches(of: /[{,]([a-z]+)="/).map { String($0.1) }).subtracting(["board"])
            metrics[name, default: labels].formUnion(labels)
        }
        return metrics
    }

    @Test func theProgramServesExactlyTheDocumentedMetrics() async throws {
        try await withEverythingPublished { page in

            let documented = try documented()
            #expect(documented.count > 50)
            let older = try RawHTTP.get(page.port, "/metrics")
            #expect(older.status == 200)
            #expect(older.header("Content-Type") == "text/plain; version=0.0.4; charset=utf-8")
            #expect(older.header("Cache-Control") == "no-store")
            #expect(served(older.body) == documented)
            let accept = "application/openmetrics-text; version=1.0.0"
            let open = try RawHTTP.get(page.port, "/metrics", [("Accept", accept)])
            #expect(open.header("Content-Type") == "application/openmetrics-text; version=1.0.0; charset=utf-8")
            #expect(open.body.hasSuffix("\n# EOF\n") && served(open.body) == documented)

            let head = try RawHTTP.send(page.port, "HEAD", "/metrics")
            #expect(head.status == 200 && head.body.isEmpty)
            #expect(try RawHTTP.send(page.port, "POST", "/metrics", body: "{}").status == 405)
        }
    }

    @Test("While nobody looks, the last attitude is kept, and every message counts")
    func keepsTheLastAttitude() async throws {
        let (broker, observer) = try await rig.observedBroker()
        let page = try await rig.page(broker: broker.port)
        try await publishEverything(observer, page: page)
        let before = try messages(in: metrics(page))
        for number in 1...50 {
            try observer.publish("jostle/lamp/attitude", #"{"t":1795182603123,"roll":0,"pitch":0,"yaw":\#(number)}"#)
        }
        // 50 degrees.
        let last = "jostle_board_yaw_radians{board=\"lamp\"} 0.87266"
        #expect(await eventually { (try? metrics(page).contains(last)) ?? false })
        #expect(try messages(in: metrics(page)) == before + 50)
    }

    /// The number of messages that have arrived at the page.
    private func messages(in metrics: String) throws -> Int {
        let line = try #require(metrics.split(separator: "\n").first { $0.hasPrefix("jostle_page_messages_total ") })
        return try #require(Int(line.split(separator: " ")[1]))
    }

    @Test(.needsPrometheus) func theLinterOfPrometheusFindsNothing() async throws {
        try await withEverythingPublished { page in
            #expect(try lint(metrics(page)) == "")
            // It would find something.
            let other = try lint("a_milliseconds 1\n")
            #expect(other.contains("a_milliseconds"))
        }
    }

    /// What `promtool check metrics` says about a text.
    private func lint(_ text: String) throws -> String {
        let file = try directory.write(text, to: "metrics")
        let tool = try #require(OptionalProgram.path("promtool"))
        let child = try ChildProcess(
            ["/bin/sh", "-c", "exec \"$0\" check metrics <\"$1\" >output 2>&1", tool, file], in: directory)
        child.wait()
        return try String(contentsOfFile: directory.path("output"), encoding: .utf8)
    }

    // MARK: Prometheus

    @Test(.needsPrometheus) func prometheusReadsAVirtualBoard() async throws {
        let rig = try await AgentRig("shake", "publish.health.interval=1 s")
        let page = try await self.rig.page(broker: rig.broker.port)
        let prometheus = try await PrometheusRig(page: page.port)

        #expect(await prometheus.answers("up{job=\"jostle\"}") { $0[0].value == 1 })
        #expect(await prometheus.answers("jostle_board_online{board=\"dut\"}") { $0[0].value == 1 })
        #expect(await prometheus.answers("jostle_board_wanted_sample_rate_hertz") { $0[0].value == 50 })
        #expect(
            await prometheus.answers("jostle_board_info") {
                $0[0].labels["sensor"]?.contains("MPU-6050") == true && $0[0].labels["simulated"] == "true"
            })
        #expect(await prometheus.answers("jostle_board_samples_total") { $0[0].value > 50 })
        #expect(await prometheus.answers("jostle_board_roll_radians") { abs($0[0].value) <= .pi })
        // Every shake once, from the first that the page sees.
        let shakes = "jostle_board_events_total{gesture=\"shake\",phase=\"began\",simulated=\"true\"}"
        #expect(await prometheus.answers(shakes) { $0[0].value >= 2 })
        let counted = try prometheus.query(shakes).first?.value ?? 0
        try await rig.observer.catchUp()
        let published = try rig.observer.shakes().filter { $0.phase == "began" }.count
        #expect(counted <= Double(published))

        _ = await rig.agent.terminate()
        #expect(await prometheus.answers("jostle_board_online{board=\"dut\"}") { $0[0].value == 0 })
        // The last value must not go on for five minutes, as that of a series does that merely ends.
        #expect(await eventually { (try? prometheus.query("jostle_board_sample_rate_hertz").isEmpty) ?? false })
        #expect(try prometheus.query("jostle_board_samples_total").count == 1)

        rig.broker.kill()
        #expect(await prometheus.answers("jostle_page_broker_connected") { $0[0].value == 0 })
    }

    @Test(.needsPrometheus) func everyQueryOfTheDashboardHasAnAnswer() async throws {
        try await withEverythingPublished { page in
            let prometheus = try await PrometheusRig(page: page.port)
            #expect(await prometheus.answers("jostle_board_online{board=\"lamp\"}"))

            let data = try Data(contentsOf: Self.repository.appendingPathComponent("config/grafana/jostle.json"))
            let dashboard = try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
            var count = 0
            for panel in dashboard["panels"] as? [[String: Any]] ?? [] {
                for target in panel["targets"] as? [[String: Any]] ?? [] {
                    let expression = try #require(target["expr"] as? String)
                    // What Grafana puts in the place of its variables.
                    let values = [
                        "$board": "lamp|dut", "=\"$one\"": "=~\"lamp|dut\"", "$top": "10", "$__rate_interval": "1m",
                        "$__range": "1h",
                    ]
                    let query = values.reduce(expression) { $0.replacing($1.key, with: $1.value) }
                    #expect(await prometheus.answers(query), "\(panel["title"] ?? ""): \(query)")
                    count += 1
                }
            }
            #expect(count > 20)
            let problem = try prometheus.query("jostle_board_info{name=\"A \\\"lamp\\\"\\\\\"}")
            #expect(problem.count == 1, "the name arrives as it is")
        }
    }

    // MARK: Access

    @Test(.needsPrometheus) func prometheusShowsTheToken() async throws {
        let broker = try await rig.broker()
        let token = "0123456789abcdef0123456789abcdef"
        let file = try directory.write("\(token)\n", to: "token", permissions: 0o600)
        let page = try await rig.page(broker: broker.port, ["page.metrics_token_file=\(file)"])

        let without = try RawHTTP.get(page.port, "/metrics")
        #expect(without.status == 401 && without.header("WWW-Authenticate") == "Bearer")
        #expect(!without.body.contains("jostle_page"))
        #expect(try RawHTTP.get(page.port, "/metrics", [("Authorization", "Bearer \(token)0")]).status == 401)
        let right = try RawHTTP.get(page.port, "/metrics", [("Authorization", "Bearer \(token)")])
        #expect(right.status == 200 && right.body.contains("jostle_page_requests_total{code=\"401\"} 2"))
        #expect(try RawHTTP.get(page.port, "/metrics", [page.signIn()]).status == 200)
        #expect(!page.program.errors.contains(token), "the token is never logged")

        let job = "    authorization: {credentials_file: \"\(file)\"}"
        let prometheus = try await PrometheusRig(page: page.port, job)
        #expect(await prometheus.answers("up{job=\"jostle\"}") { $0[0].value == 1 })
    }

    @Test func aProxyAndAnotherNameAreRefusedWithoutAToken() async throws {
        let broker = try await rig.broker()
        let page = try await rig.page(broker: broker.port)
        #expect(try RawHTTP.get(page.port, "/metrics").status == 200)
        let forwarded = try RawHTTP.get(page.port, "/metrics", [("X-Forwarded-For", "192.0.2.7")])
        #expect(forwarded.status == 403 && forwarded.body.contains("page.metrics_token_file"))
        #expect(try RawHTTP.get(page.port, "/metrics", [("Host", "attacker.example:\(page.port)")]).status == 421)
    }

    @Test(
        arguments: [
            ("0123456789abcde\n", "shorter than 16 characters; openssl rand -hex 32"),
            ("0123456789 abcdef\n", "has a space"), ("\n0123456789abcdef\n", "is empty"),
            ("0123456789abcdeö\n", "not ASCII"),
        ])
    func aTokenThatCannotBeUsedEndsTheProgram(_ text: String, _ reason: String) async throws {
        let file = try directory.write(text, to: "token", permissions: 0o600)
        let program = try await JostleProgram(
            ["--broker", "mqtt://127.0.0.1:1", "--listen", "127.0.0.1:0", "--set", "page.metrics_token_file=\(file)"],
            program: Products.pageProgram
        ).outcome().expect(status: 78, errors: "page.metrics_token_file: \(file): ")
        #expect(program.errors.contains(reason))
    }
}
