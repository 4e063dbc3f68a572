import BrokerTestSupport
import Documents
import Foundation
import MotionCore
import Testing

@testable import JostleConfiguration

/// Requirement: a learned gesture is a part of the configuration: in files, on `set` topics all but its template, in layers.
@Suite struct LearnedGestureSettingsTests {
    private static func template(_ name: String, examples: Int = 3, frames: Int = 30) -> String {
        let example = (0..<frames).map { MotionFrame(encoded: [Int16($0), -3, 64, Int16(-$0), 5, 7]) }
        let gesture = LearnedGesture(examples: Array(repeating: example, count: examples), threshold: 0.8)
        return GestureName(name).map { GestureTemplate(name: $0, gesture).text } ?? ""
    }

    /// A file with these gestures and further lines below `gestures.learned.<name>`.
    private static func file(_ names: String..., keys: String = "", frames: Int = 30) -> String {
        files(names, keys: keys, frames: frames)
    }

    private static func files(_ names: [String], keys: String = "", frames: Int = 30) -> String {
        names.reduce("gestures:\n  learned:\n") { text, name in
            let lines = template(name, frames: frames).split(separator: "\n").map { "        \($0)\n" }.joined()
            return text + "    \(name):\n\(keys)      template: |\n\(lines)"
        }
    }

    private func stack(_ file: String = file("circle"), patches: [PatchLayer] = []) throws -> ConfigurationStack {
        let layer = try ConfigurationLayer("local", reading: Array("{}".utf8), source: .file("local"))
        return ConfigurationStack(try build(file).finish(), layers: [layer], patches: patches)
    }

    private func faults(_ text: String, directory: String? = nil) throws -> [String] {
        let builder = try build(text, directory: directory)
        return (builder.problems + builder.contradictions).map(\.description)
    }

    @Test func isReadFromAFile() throws {
        let keys =
            "      sensitivity: 7\n      cooldown: 2 s\n      hold: [flick]\n      when: {side: +z, quiet_hours: 22:00-07:00}\n"
        let settings = try build(Self.file("circle", keys: keys)).finish().settings
        let gesture = try #require(settings.learnedGestures().first)
        #expect(gesture.common.sensitivity == 7 && gesture.common.cooldown == 2 && gesture.held == .flick)
        #expect(gesture.common.gate.sides == BodySides(.plusZ) && gesture.gesture.examples.count == 3)
        #expect(settings.gestureKinds.map(\.word).last == "circle" && settings.allQuietHours.count == 1)
        let silent = settings.learnedGestures(silent: [gesture.name])
        #expect(silent.map(\.common.isEnabled) == [false])
    }

    @Test func theTemplateMayBeAFile() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "learned-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        try Self.template("loop").write(to: directory.appending(path: "a.gesture"), atomically: true, encoding: .utf8)
        let text = "gestures: { learned: { circle: { template: a.gesture } } }"
        let settings = try build(text, directory: directory.path).finish().settings
        // The key is the name, whatever the file says.
        #expect(settings.learnedGestures().map(\.name.description) == ["circle"])
        #expect(try faults(text, directory: "/nowhere")[0].contains("cannot be read: "))
        let layer = PatchLayer("all", [ConfigurationPatch(try yaml(text).placed(at: DocumentPosition(.layer("all"))))])
        let outcome = try stack("{}", patches: [layer]).resolution.outcomes[0]
        #expect(outcome.problems[0][0].reason.contains("only a file on the device"))
    }

    /// Files of this version are read for ever.
    @Test func theFormatStays() throws {
        let tests = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
        let path = tests.appending(path: "Golden/circle.gesture").path
        let settings = try build("gestures: { learned: { circle: { template: \(path) } } }").finish().settings
        let template = try #require(settings.learned.values.first?.template)
        #expect(template.exampleCount == 3 && template.threshold == 0.75)
        expectGolden(template.text, "circle.gesture")
    }

    @Test func whatIsReportedLoadsAgain() throws {
        let loaded = try build(Self.file("circle", "knock", keys: "      sensitivity: 3\n")).finish()
        let text = ConfigurationSchema.describe(loaded.settings, loaded.provenance)
        #expect(try build(text).finish().settings == loaded.settings)
    }

    @Test(arguments: [
        ("gestures: { learned: { shake: {} } }", "\"shake\""), ("gestures: { learned: { Circle: {} } }", "Circle"),
        ("gestures: { learned: { any: { enabled: true } } }", "cannot be the name of a learned gesture"),
        ("gestures: { learned: { circle: { sensitivity: 7 } } }", "gestures.learned.circle: has no template"),
        ("gestures: { learned: { circle: { template: \"jostle gesture 1\\nname x\\n\" } } }", "is no learned gesture"),
        ("gestures: { learned: { circle: { template: \"jostle gesture 9\\n\" } } }", "later version"),
        ("gestures: { learned: [circle] }", "is not a mapping of names"),
        ("gestures: { learned: { circle: { sensitvity: 7 } } }", "did you mean \"sensitivity\"?"),
        ("actions: [{ on: circle, publish: { topic: a } }]", "\"circle\" is unknown"),
        ("actions: [{ on: shkae, publish: { topic: a } }]", "did you mean \"shake\""),
        ("actions: [{ on: learned, publish: { topic: a } }]", "is unknown"),
    ]) func isRefused(text: String, reason: String) throws {
        let faults = try faults(text)
        #expect(faults.contains { $0.contains(reason) } || reason == "\"shake\"" && !faults.isEmpty, "\(faults)")
    }

    @Test func tooManyAndTooLongOnesAreRefused() throws {
        #expect(
            try faults(Self.files((0..<11).map { "g\($0)" })).contains {
                $0.contains("gestures.learned: \"11\" are too many gestures; allowed: at most 10")
            })
        let long = Self.files((0..<8).map { "a\($0)" }, frames: 125)
        #expect(try faults(long).contains { $0.contains("gestures.learned: \"120 s\" have too long examples") })
    }

    @Test func allButTheTemplateCanBeSet() throws {
        var stack = try stack()
        try stack.set("gestures.learned.circle.sensitivity", to: 8, in: "local")
        try stack.set("gestures.learned.circle.when.still", to: true, in: "local")
        #expect(stack.resolution.settings.learnedGestures()[0].common.sensitivity == 8)
        #expect(stack.value(of: "gestures.learned.circle.sensitivity") == 8)
        #expect(
            stack.refusal("gestures.learned.circle.template", .string(Self.template("circle")))?.contains(
                "use jostle learn")
                == true)
        #expect(stack.refusal("gestures.learned.other.sensitivity", 8)?.contains("has no template") == true)
        #expect(stack.refusal("gestures.learned.tap.sensitivity", 8) != nil)
        #expect(stack.refusal("gestures.learned.circle", "x")?.contains("is a group of keys") == true)
        // What the board has learned itself is kept.
        try stack.set(
            "gestures.learned.other.template", to: .string(Self.template("other")), in: "local", isLearned: true)
        try stack.set("gestures.learned.other.sensitivity", to: 2, in: "local")
        let reopened = ConfigurationStack(stack.base, layers: stack.layers)
        #expect(reopened.resolution.settings.learnedGestures().map(\.common.sensitivity) == [8, 2])
    }

    @Test func whatTheBoardLearnedIsForgotten() throws {
        let (circle, other) = (try #require(GestureName("circle")), try #require(GestureName("other")))
        // Whatever others may set.
        var stack = try stack(Self.file("circle") + "settings: { allow: [] }\n")
        try stack.checkRoom(for: other, in: "local")
        try stack.set(
            "gestures.learned.other.template", to: .string(Self.template("other")), in: "local", isLearned: true)
        #expect(stack.resolution.settings.learnedGestures().map { "\($0.name)" } == ["circle", "other"])
        let isForgotten = stack.forget(other, in: "local")
        #expect(isForgotten && stack.layers[0].entries.isEmpty)
        #expect(stack.resolution.refused.isEmpty)
        // One of the files stays.
        let isAlsoForgotten = stack.forget(circle, in: "local")
        #expect(!isAlsoForgotten)
        #expect(stack.resolution.settings.learnedGestures().map { "\($0.name)" } == ["circle"])
    }

    @Test func thereIsRoomForTenOfItsOwn() throws {
        let (known, new) = (try #require(GestureName("g3")), try #require(GestureName("g10")))
        let full = try stack(Self.files((0..<10).map { "g\($0)" }, frames: 10))
        try full.checkRoom(for: known, in: "local")
        #expect {
            try full.checkRoom(for: new, in: "local")
        } throws: {
            "\($0)".contains("has 10 gestures already; allowed: at most 10")
        }
        let wave: JSONValue = .string(Self.template("g3"))
        let layer = PatchLayer(
            "all", [ConfigurationPatch(["gestures": ["learned": ["g3": ["template": wave]]]])])
        let held = try stack("{}", patches: [layer])
        #expect {
            try held.checkRoom(for: known, in: "local")
        } throws: {
            "\($0)".contains("is set by the fleet's layer all")
        }
    }

    /// A rule may be about what the board is still to learn, if it may learn over MQTT.
    @Test func rulesMayBeAboutWhatIsNotLearnedYet() throws {
        let rule = "actions: [{ on: nod, publish: { topic: t, payload: p } }]\n"
        #expect(try faults(rule).contains { $0.contains("nod") })
        #expect(try faults(rule + "commands: { allow: [learn] }\n") == [])
    }

    @Test func reportsHaveItsChecksumOnly() throws {
        let values = try stack().values["gestures"]?["learned"]?["circle"]
        let text = try #require(values?["template"]?.string)
        #expect(text.contains(" bytes, checksum ") && text.utf8.count < 50)
        let stack = try stack()
        #expect(stack.keys.contains("gestures.learned.circle.hold"))
        #expect(stack.origins["gestures.learned.circle.template"] == "file")
    }

    @Test func aLayerBringsAndRemovesIt() throws {
        let tree: JSONValue = [
            "gestures": ["learned": ["knock": ["template": .string(Self.template("knock")), "sensitivity": 4]]]
        ]
        let layer = PatchLayer("all", [ConfigurationPatch(tree)])
        var stack = try stack(patches: [layer])
        #expect(stack.resolution.settings.learnedGestures().map(\.name.description) == ["circle", "knock"])
        #expect(PatchCheck(ConfigurationPatch(tree)).problems.isEmpty)
        let one = PatchCheck(ConfigurationPatch(["gestures": ["learned": ["circle": ["enabled": false]]]]))
        #expect(one.problems.isEmpty && one.values.map(\.key) == ["gestures.learned.circle.enabled"])
        stack.setPatches([PatchLayer("all", [ConfigurationPatch(["gestures": ["learned": ["circle": .null]]])])])
        #expect(stack.resolution.settings.learned.isEmpty)
        stack.setPatches([PatchLayer("all", [ConfigurationPatch(["gestures": .null])])])
        #expect(stack.resolution.settings.learned.isEmpty)
    }

    @Test func patternsMayNameIt() throws {
        for pattern in ["gestures.learned", "gestures.learned.circle", "gestures.learned.*.sensitivity"] {
            let file = Self.file("circle") + "settings: { allow: [\"\(pattern)\"] }\n"
            var stack = try stack(file)
            try stack.set("gestures.learned.circle.sensitivity", to: 8, in: "local")
            #expect(stack.refusal("gestures.shake.sensitivity", 8) != nil)
        }
        #expect(try !faults("settings: { allow: [gestures.learned.circle.sensitvity] }").isEmpty)
    }

    @Test func changesAreListed() throws {
        let (one, other) = (try build("{}").finish().settings, try build(Self.file("circle")).finish().settings)
        #expect(ConfigurationStack.changedKeys(one, other).map(\.key) == ["gestures.learned.circle.template"])
        #expect(ConfigurationStack.changedKeys(other, one).allSatisfy { $0.effect == .live })
    }

    @Test func rulesMayBeAboutIt() throws {
        let rule = """
            actions:
              - { on: circle, strength_above: 3, publish: { topic: a, payload: "${gesture} ${confidence}" } }

            """
        let loaded = try build(Self.file("circle") + rule).finish()
        #expect(loaded.settings.actions[0].on.word == "circle" && loaded.warnings.isEmpty)
        let off = try build(Self.file("circle", keys: "      enabled: false\n") + rule).finish()
        #expect(off.warnings.map(\.description).contains { $0.contains("gestures.learned.circle.enabled is false") })
        #expect(
            try faults(Self.file("circle") + "actions: [{ on: circle, count: 2, consume: true }]")[0].contains(
                "does not apply to circle"))
    }
}
