import Documents
import Foundation
import Testing

/// Requirement: the files for other programs name topics that the agent publishes, and fields of their payloads.
///
/// What it publishes is in the goldens of the agent's tests.
@Suite struct IntegrationFileTests {
    /// The fields of the payloads by topic, without prefix and board: `event/shake`. Text and truth values are apart.
    private struct Published {
        var fields: [String: Set<String>] = [:]
        var texts: [String: Set<String>] = [:]
        var plain: Set<String> = []

        init() throws {
            for name in ["agent-telemetry", "agent-events", "agent-events-later", "agent-health"] {
                let golden = try Documentation.text(of: "Tests/Golden/\(name).txt")
                for line in golden.matches(of: /(?m)^[^#\n].*?: jostle\/washer-1\/([a-z\/]+) \([^)]*\) (.*)$/) {
                    let topic = String(line.1)
                    let json = try? JSONSerialization.jsonObject(with: Data(line.2.replacing(":T,", with: ":1,").utf8))
                    guard let object = json as? [String: Any] else {
                        plain.insert("\(topic)=\(line.2)")
                        continue
                    }
                    fields[topic, default: []].formUnion(object.keys)
                    let other = object.filter { $0.value is String || "\(type(of: $0.value))".contains("Bool") }
                    texts[topic, default: []].formUnion(other.keys)
                }
            }
        }

        /// The topics that a filter below a board matches; `+` is any level.
        func topics(_ filter: Substring) -> [String] {
            let wanted = filter.split(separator: "/")
            return fields.keys.filter { topic in
                let levels = topic.split(separator: "/")
                return levels.count == wanted.count && zip(levels, wanted).allSatisfy { $1 == "+" || $0 == $1 }
            }
        }
    }

    private let published: Published

    init() throws {
        published = try Published()
        #expect(published.fields.count > 10 && published.plain.contains("availability=online"))
    }

    private func file(_ name: String) throws -> String { try Documentation.text(of: "config/integrations/\(name)") }

    @Test func nodeREDFlowIsWhole() throws {
        let data = Data(try file("node-red.json").utf8)
        let nodes = try #require(try JSONSerialization.jsonObject(with: data) as? [[String: Any]])
        let known = nodes.compactMap { $0["id"] as? String }
        #expect(Set(known).count == nodes.count)
        let core: Set = ["tab", "mqtt-broker", "mqtt in", "mqtt out", "switch", "change", "debug", "inject"]
        var payloads = 0
        for node in nodes {
            let id = try #require(node["id"] as? String)
            #expect(core.contains(node["type"] as? String ?? ""), "\(id)")
            let wires = (node["wires"] as? [[String]] ?? []).flatMap { $0 }
            #expect(Set(wires).isSubset(of: known), "\(id)")
            for reference in ["z", "broker"] where node["type"] as? String != "mqtt-broker" {
                if let other = node[reference] as? String { #expect(known.contains(other), "\(id)") }
            }
            guard node["type"] as? String == "mqtt in", let topic = node["topic"] as? String else { continue }
            #expect(node["datatype"] as? String == "json")
            let topics = published.topics(topic.dropFirst("jostle/+/".count))
            #expect(topics.count == 1, "\(id): \(topic)")
            // The fields that the nodes behind it name, in their properties, rules and expressions.
            var reached: [String] = []
            var next = wires
            while let id = next.popLast() {
                guard !reached.contains(id), let other = nodes.first(where: { $0["id"] as? String == id }) else {
                    continue
                }
                reached.append(id)
                next += (other["wires"] as? [[String]] ?? []).flatMap { $0 }
                for match in "\(other)".matches(of: /payload\.([a-z_]+)/) {
                    payloads += 1
                    let field = String(match.1)
                    let isKnown =
                        field == "delayed" || topics.contains { published.fields[$0]?.contains(field) == true }
                    #expect(isKnown, "\(id): \(topic) has no \(field)")
                }
            }
        }
        #expect(payloads >= 5)
    }

    @Test func openHABChannelsHaveTopicsAndFields() throws {
        let things = try file("openhab/jostle.things")
        let channels = things.matches(
            of: /Type ([a-z]+) : ([a-z]+) .*stateTopic="jostle\/lamp-shaker\/([^"]+)".*JSONPATH:\$\.([a-z_]+)"(.*)\]/)
        #expect(channels.count == things.matches(of: #/(?m)^ *Type /#).count && channels.count > 8)
        var names: Set<String> = []
        for channel in channels {
            names.insert(String(channel.2))
            let topic = String(channel.3)
            #expect(published.fields[topic]?.contains(String(channel.4)) == true, "\(channel.0)")
            #expect((channel.1 == "trigger") == topic.hasPrefix("event/"), "\(channel.0)")
            #expect((channel.1 == "switch") == channel.5.contains("on=\"true\", off=\"false\""), "\(channel.0)")
        }
        for state in ["online", "offline"] {
            #expect(things.contains("=\"\(state)\"") && published.plain.contains("availability=\(state)"))
        }
        for name in ["items", "rules"] {
            let links = try file("openhab/jostle.\(name)").matches(of: /"mqtt:topic:house:lamp-shaker:([a-z]+)"/)
            #expect(!links.isEmpty)
            for link in links { #expect(names.contains(String(link.1)), "\(link.0)") }
        }
    }

    @Test func telegrafReadsFieldsThatExist() throws {
        let text = try file("telegraf.conf")
        let parts = text.split(separator: "[[inputs.mqtt_consumer]]").dropFirst()
        #expect(parts.count == 2)
        /// The texts of an array of TOML.
        func list(_ key: String, in part: Substring) -> [String] {
            let line = part.split(separator: "\n").first { $0.hasPrefix("  \(key) = [") } ?? ""
            return line.matches(of: /"([^"]*)"/).map { String($0.1) }
        }
        for part in parts {
            let filters = list("topics", in: part)
            let topics = filters.flatMap { published.topics($0.dropFirst("jostle/+/".count)) }
            #expect(!filters.isEmpty && topics.count >= filters.count)
            let strings = list("json_string_fields", in: part)
            let texts = topics.reduce(into: Set<String>()) { $0.formUnion(published.texts[$1] ?? []) }
            for field in strings + list("tag_keys", in: part) {
                #expect(
                    texts.contains(field) || field == "simulated", "no \(filters) has a text or truth value \(field)")
            }
            #expect(topics.allSatisfy { published.fields[$0]?.contains("t") == true })
            let levels = try #require(
                part.firstMatch(of: /topic = "([^"]+)"\n *measurement = "([^"]+)"\n *tags = "([^"]+)"/))
            let counts = [levels.1, levels.2, levels.3].map { $0.split(separator: "/").count }
            #expect(Set(counts).count == 1 && filters.allSatisfy { $0.split(separator: "/").count == counts[0] })
        }
    }

    // MARK: Forges

    @Test(arguments: ["fault", "gesture", "wish"])
    func issueFormsAreWhole(name: String) throws {
        let path = ".github/ISSUE_TEMPLATE/\(name).yml"
        let form = try YAMLReader.read(Array(try Documentation.text(of: path).utf8), source: .file(path))
        #expect(form["name"]?.text != nil && form["description"]?.text != nil)
        let body = try #require(form["body"]?.elements)
        let fields = body.filter { $0["type"]?.text != "markdown" }
        #expect(Set(fields.compactMap { $0["id"]?.text }).count == fields.count && !fields.isEmpty)
        for element in body {
            #expect(["markdown", "textarea", "input"].contains(element["type"]?.text), "\(path)")
            let isMarkdown = element["type"]?.text == "markdown"
            #expect(element["attributes"]?[isMarkdown ? "value" : "label"]?.text != nil, "\(path)")
        }
    }

    @Test func faultsAskForDoctorAndSupport() throws {
        let text = try Documentation.text(of: ".github/ISSUE_TEMPLATE/fault.yml")
        #expect(text.contains("`sudo jostle doctor --json`") && text.contains("`sudo jostle support`"))
    }

    @Test(arguments: [
        ".github/workflows/check.yml", ".forgejo/workflows/check.yml", ".gitlab-ci.yml", ".woodpecker.yaml",
    ])
    func everyForgeRunsTheSameChecks(path: String) throws {
        let text = try Documentation.text(of: path)
        #expect(text.contains("&& .ci/run") && text.split(separator: "\n").count < 20)
        #expect(throws: Never.self) { try YAMLReader.read(Array(text.utf8), source: .file(path)) }
    }
}
