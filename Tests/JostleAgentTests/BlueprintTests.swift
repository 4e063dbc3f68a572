import Documents
import Foundation
import JostleMessages
import Testing

@testable import JostleAgent
@testable import JostleConfiguration

/// Requirement: the blueprints for Home Assistant use triggers that the device announces, and inputs that they declare.
///
/// `Scripts/test-home-assistant` runs them in a real Home Assistant.
@Suite struct BlueprintTests {
    private static var names: [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory.path)) ?? []
        return names.filter { $0.hasSuffix(".yaml") }.sorted()
    }

    private static var repository: URL {
        URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
            .deletingLastPathComponent()
    }

    private static var directory: URL {
        repository.appendingPathComponent("deploy/home-assistant/blueprints/automation/jostle")
    }

    /// A blueprint, with `input:NAME` instead of `!input NAME`, because the reader knows no tags.
    private func read(_ name: String) throws -> JSONValue {
        let text = try String(contentsOf: Self.directory.appendingPathComponent(name), encoding: .utf8)
        return try YAMLReader.read(Array(text.replacing("!input ", with: "input:").utf8), source: .file(name))
    }

    /// The types and subtypes that a device with the default settings announces, as `shake began`, and its manufacturer.
    private func announced() throws -> (triggers: Set<String>, manufacturers: Set<String>) {
        let facts = DiscoveryFacts(
            id: "dut", identity: BoardIdentity(id: "dut", hardware: ""), topics: Topics(prefix: "jostle", id: "dut"),
            version: "1.2.3", sensor: "MPU-6050",
            hasGyroscope: true, board: BoardFacts(model: "Raspberry Pi 4", serial: "1000"), commands: [])
        var triggers: Set<String> = []
        var manufacturers: Set<String> = []
        for message in DiscoverySet(JostleSettings(), facts).messages {
            let data = Data(message.payload.utf8)
            guard let object = try JSONSerialization.jsonObject(with: data) as? [String: Any] else { continue }
            if let device = object["device"] as? [String: Any], let name = device["manufacturer"] as? String {
                manufacturers.insert(name)
            }
            if object["automation_type"] != nil, let type = object["type"], let subtype = object["subtype"] {
                triggers.insert("\(type) \(subtype)")
            }
        }
        return (triggers, manufacturers)
    }

    /// Their texts `input:NAME`, wherever they are.
    private func inputs(in node: JSONValue) -> Set<String> {
        switch node.content {
        case .object(let members): members.reduce(into: []) { $0.formUnion(inputs(in: $1.value)) }
        case .array(let nodes): nodes.reduce(into: []) { $0.formUnion(inputs(in: $1)) }
        default: node.text.map { $0.hasPrefix("input:") ? [String($0.dropFirst(6))] : [] } ?? []
        }
    }

    @Test func blueprintsExist() throws {
        #expect(Self.names.count >= 5)
        let page = try String(
            contentsOf: Self.repository.appendingPathComponent("docs/home-assistant.md"), encoding: .utf8)
        for name in Self.names { #expect(page.contains("/\(name))"), "docs/home-assistant.md has no link to \(name)") }
    }

    /// The triggers on a device, also those for which an action waits.
    private func deviceTriggers(in node: JSONValue) -> [JSONValue] {
        switch node.content {
        case .object(let members):
            (node["platform"]?.text == "device" ? [node] : []) + members.flatMap { deviceTriggers(in: $0.value) }
        case .array(let nodes): nodes.flatMap { deviceTriggers(in: $0) }
        default: []
        }
    }

    @Test func triggersAreAnnounced() throws {
        let (announced, manufacturers) = try announced()
        for name in Self.names {
            let blueprint = try read(name)
            guard let starting = blueprint["trigger"]?.elements else {
                Issue.record("\(name) has no list of triggers")
                continue
            }
            let triggers = deviceTriggers(in: blueprint)
            // A trigger on an entity would also fire after a restart.
            let onlyDevices = starting.allSatisfy { $0["platform"]?.text == "device" }
            #expect(onlyDevices && !starting.isEmpty && triggers.count >= starting.count, "\(name)")
            for trigger in triggers {
                #expect(trigger["domain"]?.text == "mqtt", "\(name)")
                #expect(trigger["device_id"]?.text == "input:board", "\(name)")
                let words = "\(trigger["type"]?.text ?? "") \(trigger["subtype"]?.text ?? "")"
                #expect(announced.contains(words), "\(name): no device announces \(words)")
            }
            let selector = blueprint["blueprint"]?["input"]?["board"]?["selector"]?["device"]?["filter"]
            guard let filters = selector?.elements else {
                Issue.record("\(name) offers every device")
                continue
            }
            for filter in filters {
                #expect(filter["integration"]?.text == "mqtt", "\(name)")
                #expect(manufacturers == [filter["manufacturer"]?.text ?? ""], "\(name)")
            }
        }
    }

    @Test func inputsAreDeclaredDescribedAndUsed() throws {
        for name in Self.names {
            let blueprint = try read(name)
            let head = try #require(blueprint["blueprint"], "\(name)")
            #expect(head["domain"]?.text == "automation", "\(name)")
            #expect(head["description"] != nil && head["homeassistant"]?["min_version"] != nil, "\(name)")
            guard let declared = head["input"]?.members else {
                Issue.record("\(name) has no inputs")
                continue
            }
            for entry in declared {
                let isComplete = ["name", "description", "selector"].allSatisfy { entry.value[$0] != nil }
                #expect(isComplete, "\(name): \(entry.name)")
            }
            #expect(Set(declared.map(\.name)) == inputs(in: blueprint), "\(name)")
            #expect(["single", "queued"].contains(blueprint["mode"]?.text ?? ""), "\(name)")
        }
    }
}
