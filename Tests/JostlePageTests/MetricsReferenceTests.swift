import Foundation
import Testing

@testable import JostlePage

/// Requirement: the documentation and the dashboard know exactly the metrics that the program serves.
@Suite struct MetricsReferenceTests {
    private static let repository = URL(fileURLWithPath: #filePath)
        .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()

    private static func table() -> String {
        let rows = MetricFamily.all.map { family in
            let labels = family.labels.map { "`\($0)`" }.joined(separator: ", ")
            return "| `\(family.sampleName)` | \(family.kind.rawValue) | \(labels) | \(family.help) |\n"
        }
        return "\n| metric | type | labels | meaning |\n| --- | --- | --- | --- |\n" + rows.joined() + "\n"
    }

    /// With `JOSTLE_WRITE_DOCS` set, as `make docs-reference` sets it, writes the table before comparing it.
    @Test func theTableInTheDocumentationIsTheOneOfTheProgram() throws {
        let file = Self.repository.appendingPathComponent("docs/metrics.md")
        let text = try String(contentsOf: file, encoding: .utf8)
        let begin = try #require(text.range(of: "<!-- metrics -->\n"))
        let end = try #require(text.range(of: "<!-- /metrics -->"))
        let written = String(text[begin.upperBound..<end.lowerBound])
        if written != Self.table(), ProcessInfo.processInfo.environment["JOSTLE_WRITE_DOCS"] != nil {
            let page = text.replacingCharacters(in: begin.upperBound..<end.lowerBound, with: Self.table())
            try page.write(to: file, atomically: true, encoding: .utf8)
            return
        }
        #expect(written == Self.table(), "the table in docs/metrics.md is out of date. Run: make docs-reference")
    }

    /// The names of metrics in a text.
    private func names(in text: String) -> Set<String> {
        Set(text.matches(of: /\b(?:jostle_board|jostle_page|process)_[a-z_]*[a-z]\b/).map { String($0.output) })
    }

    @Test func theDocumentationNamesNoOtherMetrics() throws {
        let served = Set(MetricFamily.all.map(\.sampleName))
        for path in ["docs/metrics.md", "docs/page.md", "README.md"] {
            let text = try String(contentsOf: Self.repository.appendingPathComponent(path), encoding: .utf8)
            #expect(names(in: text).subtracting(served) == [], "\(path)")
        }
    }

    // MARK: The dashboard

    private func dashboard() throws -> [String: Any] {
        let data = try Data(contentsOf: Self.repository.appendingPathComponent("config/grafana/jostle.json"))
        return try #require(try JSONSerialization.jsonObject(with: data) as? [String: Any])
    }

    private func panels() throws -> [[String: Any]] {
        try #require(try dashboard()["panels"] as? [[String: Any]])
    }

    @Test func everyPanelHasTitleUnitAndData() throws {
        // The ids of Grafana's units: its value formats.
        let units: Set = [
            "short", "cps", "bool_on_off", "degree", "accMS2", "hertz", "ppm", "celsius", "s", "percentunit", "bytes",
            "suffix: mm/s",
        ]
        let kinds: Set = ["row", "stat", "table", "timeseries", "state-timeline"]
        let panels = try panels()
        #expect(panels.count > 20)
        #expect(Set(panels.compactMap { $0["id"] as? Int }).count == panels.count)
        #expect(Set(panels.compactMap { $0["title"] as? String }).count == panels.count)
        for panel in panels {
            let title = try #require(panel["title"] as? String)
            let kind = try #require(panel["type"] as? String)
            #expect(kinds.contains(kind), "\(title)")
            guard kind != "row" else { continue }
            let defaults = (panel["fieldConfig"] as? [String: Any])?["defaults"] as? [String: Any]
            let unit = try #require(defaults?["unit"] as? String, "\(title)")
            #expect(units.contains(unit), "\(title): \(unit)")
            #expect((panel["description"] as? String)?.hasSuffix(".") == true, "\(title)")
            let targets = try #require(panel["targets"] as? [[String: Any]])
            #expect(!targets.isEmpty && Set(targets.compactMap { $0["refId"] as? String }).count == targets.count)
            for source in [panel] + targets {
                #expect((source["datasource"] as? [String: Any])?["uid"] as? String == "${datasource}", "\(title)")
            }
        }
    }

    /// With hundreds of boards, a panel shows those that matter most, numbers of all, or one board.
    @Test func noPanelDrawsEveryBoard() throws {
        for panel in try panels() where panel["type"] as? String != "table" {
            for target in panel["targets"] as? [[String: Any]] ?? [] {
                let expression = try #require(target["expr"] as? String)
                let bounds = ["topk($top, ", "bottomk($top, ", "\"$one\"", "sum", "count(", "min("]
                #expect(bounds.contains { expression.contains($0) }, "\(panel["title"] ?? ""): \(expression)")
            }
        }
    }

    /// No two panels overlap, and none is wider than the dashboard.
    @Test func panelsLieSideBySide() throws {
        var taken: Set<[Int]> = []
        for panel in try panels() {
            let place = try #require(panel["gridPos"] as? [String: Int])
            let (x, y) = (try #require(place["x"]), try #require(place["y"]))
            let (width, height) = (try #require(place["w"]), try #require(place["h"]))
            #expect(x >= 0 && x + width <= 24)
            for column in x..<(x + width) {
                for row in y..<(y + height) {
                    #expect(taken.insert([column, row]).inserted, "\(panel["title"] ?? "")")
                }
            }
        }
    }

    @Test func everyQueryAsksForServedMetricsOfTheChosenBoards() throws {
        let served = Set(MetricFamily.all.map(\.sampleName))
        var used: Set<String> = []
        for panel in try panels() {
            for target in panel["targets"] as? [[String: Any]] ?? [] {
                let expression = try #require(target["expr"] as? String)
                let names = names(in: expression)
                #expect(!names.isEmpty && names.subtracting(served) == [], "\(expression)")
                let chosen = expression.matches(of: /jostle_board_(?!info)\w+\{board=(~"\$board"|"\$one")/)
                #expect(chosen.count == expression.matches(of: /jostle_board_(?!info)/).count, "\(expression)")
                used.formUnion(names)
            }
        }
        // What the dashboard is for.
        for family: MetricFamily in [
            .online, .problem, .rate, .gaps, .busErrors, .events, .roll, .pitch, .yaw, .vibration, .temperature,
            .outbox,
        ] {
            #expect(used.contains(family.sampleName), "\(family.name)")
        }
    }

    @Test func theChoiceOfBoardsIsThatOfTheMetrics() throws {
        let templating = try #require(try dashboard()["templating"] as? [String: Any])
        let variables = try #require(templating["list"] as? [[String: Any]])
        #expect(variables.map { $0["name"] as? String } == ["datasource", "board", "top", "one"])
        #expect(variables.map { $0["type"] as? String } == ["datasource", "query", "custom", "query"])
        for index in [1, 3] {
            let definition = variables[index]["definition"] as? String
            #expect(definition == "label_values(\(MetricFamily.online.sampleName), board)")
        }
    }
}
