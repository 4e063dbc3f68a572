import Documents
import Foundation
import Testing

@testable import JostleConfiguration

/// The files in `config/` must match the program.
@Suite struct ShippedFilesTests {
    private static let reference = configDirectory.appendingPathComponent("jostle.reference.yaml")

    /// What a board is installed with sets nothing, so that better defaults reach it, and so that a snippet of the
    /// documentation can be appended.
    @Test func installedFileSetsNothing() throws {
        let file = configDirectory.appendingPathComponent("jostle.yaml")
        let loaded = try JostleSettings.load(file: file.path)
        #expect(loaded.settings == JostleSettings() && loaded.provenance == Provenance())
        let appended = try String(contentsOf: file, encoding: .utf8) + "mqtt:\n  broker: mqtt://broker.local\n"
        #expect(try build(appended).problems.isEmpty)
    }

    /// Without the #, what is commented out is a configuration. A comment has one space after the #.
    @Test func installedFileHasValidExamples() throws {
        let text = try String(contentsOf: configDirectory.appendingPathComponent("jostle.yaml"), encoding: .utf8)
        let examples = text.split(separator: "\n").filter { $0.hasPrefix("#") && $0 != "#" }.map { $0.dropFirst() }
            .filter { !$0.hasPrefix(" ") || $0.hasPrefix("  ") && $0.contains(":") && !$0.contains("jostle check") }
        let builder = try build(examples.joined(separator: "\n"))
        #expect(builder.problems.isEmpty && builder.contradictions.isEmpty, "\(builder.problems)")
        let keys = ["device.id", "device.name", "mqtt.broker", "mqtt.username", "mqtt.password_file"]
        let found = ConfigurationSchema.keys.map(\.path).filter { builder.provenance[$0] != nil }
        #expect(Set(found) == Set(keys + ["gestures.shake.sensitivity"]))
        // What has a default is shown with it.
        #expect(builder.settings.motion == JostleSettings().motion)
    }

    @Test func referenceHasDefaults() throws {
        let loaded = try JostleSettings.load(file: Self.reference.path)
        #expect(loaded.settings == JostleSettings())
        // Their defaults depend on fleet.trusted_keys.
        let dependent = ["commands.allow", "settings.allow"]
        for key in ConfigurationSchema.keys {
            let isCommentedOut = key.isOptional || dependent.contains(key.path)
            #expect((loaded.provenance[key.path] != nil) == !isCommentedOut, "\(key.path)")
        }
    }

    @Test func referenceHasEveryKeyWithValidExample() throws {
        let text = try String(contentsOf: Self.reference, encoding: .utf8)
        // A commented-out key has no space after the #; a comment has one.
        let whole = text.split(separator: "\n", omittingEmptySubsequences: false).map { line -> String in
            guard let mark = line.firstIndex(of: "#"), line[mark...].dropFirst().first?.isLetter == true else {
                return String(line)
            }
            return String(line[..<mark] + line[mark...].dropFirst())
        }.joined(separator: "\n")
        let builder = try build(whole)
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        #expect(builder.contradictions.isEmpty)
        for key in ConfigurationSchema.keys {
            #expect(builder.provenance[key.path] != nil, "\(key.path)")
        }
    }

    @Test func examplesAreValid() throws {
        let directory = configDirectory.appendingPathComponent("examples")
        let names = try FileManager.default.contentsOfDirectory(atPath: directory.path).filter { $0.hasSuffix(".yaml") }
        #expect(names.count >= 3)
        for name in names {
            #expect(throws: Never.self, "\(name)") {
                let loaded = try JostleSettings.load(file: directory.appendingPathComponent(name).path)
                #expect(loaded.settings.device.id != nil)
                #expect(loaded.settings.mqtt.broker != nil)
            }
        }
    }

    @Test func documentedRulesAndGatesAreValid() throws {
        let file = configDirectory.deletingLastPathComponent().appendingPathComponent("docs/gestures.md")
        let page = try String(contentsOf: file, encoding: .utf8)
        let blocks = page.components(separatedBy: "```yaml\n").dropFirst()
        #expect(blocks.count >= 3)
        for block in blocks {
            let text = String(block.prefix(upTo: try #require(block.range(of: "```")).lowerBound))
            let builder = try build(text, directory: configDirectory.path)
            // The file of a learned gesture is not there.
            let problems = (builder.problems + builder.contradictions).filter {
                !$0.path.hasPrefix("gestures.learned.")
            }
            #expect(problems.isEmpty, "\(problems)")
            if text.contains("learned:") { continue }
            #expect(builder.settings != JostleSettings())
        }
    }

    @Test func schemaFileIsUpToDate() throws {
        let file = configDirectory.appendingPathComponent("jostle.schema.json")
        #expect(try String(contentsOf: file, encoding: .utf8) == ConfigurationSchema.jsonSchema)
    }

    @Test func schemaHasKeysDefaultsAndBounds() throws {
        let bytes = Array(ConfigurationSchema.jsonSchema.utf8)
        let schema = try JSONReader.read(bytes, source: .file("jostle.schema.json"))
        // Foundation's parser accepts it as JSON.
        _ = try JSONSerialization.jsonObject(with: Data(bytes))

        func leaves(_ node: JSONValue, _ path: String) -> [String: JSONValue] {
            guard let properties = node["properties"]?.members else { return [path: node] }
            #expect(node["additionalProperties"]?.text == "false", "\(path)")
            return properties.reduce(into: [:]) { result, entry in
                let inner = path.isEmpty ? entry.name : "\(path).\(entry.name)"
                result.merge(leaves(entry.value, inner)) { first, _ in first }
            }
        }
        var keys = leaves(schema, "")
        let learned = try #require(keys.removeValue(forKey: "gestures.learned")?["additionalProperties"])
        #expect(leaves(learned, "").keys.contains("when.quiet_hours"))
        #expect(Set(keys.keys) == Set(ConfigurationSchema.keys.map(\.path)))
        for key in ConfigurationSchema.keys {
            #expect(keys[key.path]?["description"]?.text == key.summary)
            let expected = shape(try json(key.defaultValue.compactText))
            #expect(keys[key.path]?["default"].map(shape) == expected)
        }
        #expect(keys["gestures.shake.sensitivity"]?["minimum"]?.text == "1")
        #expect(keys["gestures.shake.sensitivity"]?["maximum"]?.text == "10")
        let rate = try #require(keys["sensor.rate"]?["anyOf"])
        #expect(shape(rate).contains("{type: \"number\", minimum: 4, maximum: 4000}"))
        let heartbeat = try #require(keys["publish.motion.heartbeat"]?["anyOf"])
        #expect(shape(heartbeat).contains("{const: 0}, {type: \"number\", minimum: 0.1, maximum: 3600}"))
        let deadband = try #require(keys["publish.attitude.deadband"]?["anyOf"])
        #expect(shape(deadband).contains("{type: \"number\", minimum: 0, maximum: 180}"))
        #expect(shape(try #require(keys["log.level"]?["enum"])) == #"["error", "warning", "info", "debug"]"#)
    }

    @Test func schemaPatternsMatchProgram() throws {
        for (dimension, texts) in [
            (Dimension.duration, ["20 ms", "0.5s", "1e-2 s", "7", "30 µs", "1 h"]),
            (Dimension.accelerationRange, ["±8 g", "+/- 16g", "39.2 m/s^2", "8"]),
            (Dimension.rotationRange, ["2000 °/s", "± 500 deg/s"]),
        ] {
            let expression = try Regex(dimension.pattern)
            for text in texts {
                #expect(try expression.wholeMatch(in: text) != nil, "\(text)")
                #expect(throws: Never.self) { try dimension.read(text) }
            }
            for text in ["fast", "20 parsec", "", "1,5 s", "--1"] {
                #expect(try expression.wholeMatch(in: text) == nil, "\(text)")
                #expect(throws: ValueRefusal.self) { try dimension.read(text) }
            }
        }
    }
}
