import Testing

@testable import JostlePage

/// Requirement: Prometheus and every reader of OpenMetrics understand the metrics, whatever is in them.
@Suite struct MetricsTextTests {
    private func text(_ format: MetricsText.Format, _ add: (inout MetricsText) -> Void) -> String {
        var text = MetricsText()
        add(&text)
        return String(decoding: text.takeBytes(format), as: UTF8.self)
    }

    @Test func openMetricsNamesFamiliesAndPrometheusNamesSamples() {
        func add(_ text: inout MetricsText) {
            text.add(.events, MetricLabels(["board": "a"]), 3)
            text.add(.temperature, MetricLabels(["board": "a"]), -1.5)
            text.add(.build, MetricLabels(["version": "1.2"]), 1)
        }
        let open = text(.openMetrics, add)
        #expect(
            open == """
                # TYPE jostle_board_temperature_celsius gauge
                # UNIT jostle_board_temperature_celsius celsius
                # HELP jostle_board_temperature_celsius Temperature of the chip.
                jostle_board_temperature_celsius{board="a"} -1.5
                # TYPE jostle_board_events counter
                # HELP jostle_board_events \(MetricFamily.events.help)
                jostle_board_events_total{board="a"} 3
                # TYPE jostle_page_build info
                # HELP jostle_page_build The version of the page.
                jostle_page_build_info{version="1.2"} 1
                # EOF

                """)
        let older = text(.prometheus, add)
        #expect(
            older == """
                # HELP jostle_board_temperature_celsius Temperature of the chip.
                # TYPE jostle_board_temperature_celsius gauge
                jostle_board_temperature_celsius{board="a"} -1.5
                # HELP jostle_board_events_total \(MetricFamily.events.help)
                # TYPE jostle_board_events_total counter
                jostle_board_events_total{board="a"} 3
                # HELP jostle_page_build_info The version of the page.
                # TYPE jostle_page_build_info gauge
                jostle_page_build_info{version="1.2"} 1

                """)
    }

    @Test func linesOfAFamilyStandTogetherInTheOrderInWhichTheyWereAdded() {
        let text = text(.prometheus) { text in
            for board in ["b", "a"] {
                text.add(.samples, MetricLabels(["board": board]), 1)
                text.add(.rate, MetricLabels(["board": board]), 200)
            }
        }
        let names = text.split(separator: "\n").filter { !$0.hasPrefix("#") }
        #expect(
            names == [
                "jostle_board_sample_rate_hertz{board=\"b\"} 200", "jostle_board_sample_rate_hertz{board=\"a\"} 200",
                "jostle_board_samples_total{board=\"b\"} 1", "jostle_board_samples_total{board=\"a\"} 1",
            ])
    }

    @Test func escapesLabels() {
        let labels = MetricLabels(["board": "a\"b\\c\nd", "name": ""]).and("sensor", "é}")
        let text = text(.prometheus) { $0.add(.boardInfo, labels, 1) }
        #expect(text.hasSuffix("\njostle_board_info{board=\"a\\\"b\\\\c\\nd\",name=\"\",sensor=\"é}\"} 1\n"))
    }

    @Test func whatIsNotKnownIsAbsent() {
        let text = text(.openMetrics) { text in
            text.add(.rate, nil)
            text.add(.rate, .nan)
            text.add(.rate, .infinity)
            text.add(.rate, -.infinity)
            // A counter cannot be negative.
            text.add(.samples, -1)
            text.add(.online, MetricLabels(), nil as Bool?)
        }
        #expect(text == "# EOF\n")
    }

    @Test(
        arguments: [
            (0.0, "0"), (-0.0, "0"), (1, "1"), (-2, "-2"), (0.1, "0.1"), (1_795_182_603.123, "1795182603.123"),
            (12_345_678_901_234, "12345678901234"), (1e300, "1e+300"), (1.5e-7, "1.5e-07"),
            (9e15, "9000000000000000.0"),
        ])
    func numbers(_ value: Double, _ expected: String) {
        #expect(text(.prometheus) { $0.add(.rate, value) }.hasSuffix("hertz \(expected)\n"))
    }

    @Test(
        arguments: [
            (nil, false), ("", false), ("*/*", false), ("text/html", false), ("application/openmetrics-text", true),
            ("application/openmetrics-text; version=1.0.0", true),
            ("application/openmetrics-text;version=0.0.1", false),
            ("application/openmetrics-text; version=1.0.0; q=0", false),
            ("text/plain;version=0.0.4;q=0.9, application/openmetrics-text;version=1.0.0;q=0.2", false),
            ("APPLICATION/OpenMetrics-Text; Version=\"1.0.0\"; Q=0.3", true),
            ("application/openmetrics-text;q=x", false),
            // Prometheus 2.42 and 3.
            (
                "application/openmetrics-text;version=1.0.0,application/openmetrics-text;version=0.0.1;q=0.75,"
                    + "text/plain;version=0.0.4;q=0.5,*/*;q=0.1", true
            ),
            (
                "application/openmetrics-text;version=1.0.0;escaping=allow-utf-8;q=0.5,"
                    + "application/openmetrics-text;version=0.0.1;q=0.4,text/plain;version=1.0.0;q=0.3,"
                    + "text/plain;version=0.0.4;q=0.2,*/*;q=0.1", true
            ),
        ] as [(String?, Bool)])
    func theClientChoosesTheFormat(_ header: String?, _ isOpenMetrics: Bool) {
        #expect((MetricsText.Format(accepted: header) == .openMetrics) == isOpenMetrics)
    }

    /// What the linter of Prometheus wants, and what both formats need.
    @Test func familiesAreNamedByTheRules() {
        let names = MetricFamily.all.map(\.name) + MetricFamily.all.map(\.sampleName)
        #expect(Set(MetricFamily.all.map(\.name)).count == MetricFamily.all.count)
        #expect(names.allSatisfy { $0.wholeMatch(of: /[a-z][a-z_]*[a-z]/) != nil })
        for family in MetricFamily.all {
            #expect(!family.name.hasSuffix("_total") && !family.name.hasSuffix("_info"), "\(family.name)")
            #expect(family.unit.map { family.name.hasSuffix("_\($0)") } ?? true, "\(family.name)")
            #expect(family.help.hasSuffix(".") && !family.help.contains("\""), "\(family.name)")
        }
    }
}
