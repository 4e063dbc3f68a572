import Documents
import Testing

@testable import JostleConfiguration

/// Requirement: a rule with a name can be switched off and on above the file that has it, and nothing else of it can be
/// changed there.
@Suite struct RuleSwitchTests {
    private static let file = """
        actions:
          - { on: shake, name: lamp, publish: { topic: a } }
          - { on: tap, name: fan-2, enabled: false, publish: { topic: b } }
          - { on: turn, publish: { topic: c } }
        """

    private func stack(_ file: String = file, local: String = "{}") throws -> ConfigurationStack {
        let layer = try ConfigurationLayer("local", reading: Array(local.utf8), source: .file("local"))
        return ConfigurationStack(try build(file).finish(), layers: [layer])
    }

    private func enabled(_ stack: ConfigurationStack) -> [Bool] { stack.resolution.settings.actions.map(\.isEnabled) }

    private func origins(_ stack: ConfigurationStack) -> [String: String] {
        guard let members = stack.origins.members else { return [:] }
        return Dictionary(uniqueKeysWithValues: members.map { ($0.name, $0.value.compactText) })
    }

    @Test func switchesByName() throws {
        var stack = try stack()
        #expect(enabled(stack) == [true, false, true])
        #expect(origins(stack)["actions.lamp.enabled"] == nil && origins(stack)["actions.fan-2.enabled"] == "\"file\"")
        try stack.set("actions.lamp.enabled", to: false, in: "local")
        try stack.set("actions.fan-2.enabled", to: true, in: "local")
        #expect(enabled(stack) == [false, true, true])
        #expect(stack.value(of: "actions.lamp.enabled") == false)
        #expect(origins(stack)["actions.lamp.enabled"] == "\"local\"")
        #expect(stack.layers[0].text.contains("\"actions.fan-2.enabled\": true"))
        #expect(stack.values.compactText.contains(#"{"on": "shake", "name": "lamp", "enabled": false"#))
        // The rest of the rule is as in the file.
        #expect(stack.resolution.settings.actions[0].publish.topic?.source == "a")
        try stack.set("actions.lamp.enabled", to: nil, in: "local")
        #expect(enabled(stack) == [true, true, true])
    }

    @Test func nothingElseCanBeSet() throws {
        let stack = try stack()
        #expect(
            stack.refusal("actions.lmap.enabled", true)?.hasSuffix(
                "actions.lmap.enabled: there is no rule \"lmap\"; did you mean \"lamp\"?; allowed: lamp or fan-2")
                == true)
        #expect(stack.refusal("actions.lamp.enabled", "maybe")?.contains("neither true nor false") == true)
        for key in ["actions", "actions.lamp", "actions.lamp.on", "actions.lamp.publish.topic", "actions..enabled"] {
            #expect(stack.refusal(key, "x")?.contains("cannot be set over MQTT") == true, "\(key)")
        }
        let narrow = try self.stack(Self.file + "\nsettings: { allow: [gestures] }")
        #expect(
            narrow.refusal("actions.lamp.enabled", false)?.contains("allowed: keys of gestures (settings.allow)")
                == true)
        let one = try self.stack(Self.file + "\nsettings: { allow: [actions.lamp.enabled] }")
        #expect(one.refusal("actions.lamp.enabled", false) == nil)
        #expect(one.refusal("actions.fan-2.enabled", true) != nil)
        let none = try self.stack("actions: [{ on: shake, publish: { topic: a } }]")
        #expect(none.refusal("actions.lamp.enabled", false)?.contains("none: no rule of actions has a name") == true)
    }

    /// A rule that runs a program or calls a webhook and is off in the files is switched on by no layer above them, and one
    /// that is on can be switched off, and back.
    @Test(arguments: ["run: /bin/siren", "post: 'https://a.example'"]) func ruleThatReachesOutIsOnlySwitchedOff(
        _ task: String
    ) throws {
        let file = """
            actions:
              - { on: shake, name: a, enabled: false, \(task) }
              - { on: tap, name: b, \(task) }
            settings: { allow: [actions.*.enabled] }
            fleet: { remote: [actions.*.enabled] }
            """
        for pattern in ["*", "actions", "actions.*", "actions.a.run", "a*", "actions.*.*"] {
            for key in ["settings.allow", "fleet.remote"] {
                #expect(!build(overrides: ["\(key)=['\(pattern)']"]).problems.isEmpty, "\(key): \(pattern)")
            }
        }
        var stack = try stack(file)
        for value in [true, "on", "yes"] as [JSONValue] {
            #expect(stack.refusal("actions.a.enabled", value) != nil)
        }
        #expect(
            stack.refusal("actions.a.enabled", true)?.contains(
                "cannot be switched on over MQTT: the rule runs a program or calls a webhook, and is off") == true)
        try stack.set("actions.a.enabled", to: false, in: "local")
        try stack.set("actions.b.enabled", to: false, in: "local")
        #expect(enabled(stack) == [false, false])
        try stack.set("actions.b.enabled", to: true, in: "local")
        #expect(enabled(stack) == [false, true])
        // What was stored for another file.
        let stored = try self.stack(file, local: #"{"actions.a.enabled": true, "actions.b.enabled": false}"#)
        #expect(enabled(stored) == [false, false])
        #expect(stored.resolution.refused.map(\.path) == ["actions.a.enabled"])
        // The fleet's layers.
        for text in [
            #"{"actions":{"a":{"enabled":true}}}"#, #"{"actions":{"a":{"enabled":null}}}"#, #"{"actions":{"a":null}}"#,
        ] {
            for layer in ["all", "group:laundry", "device"] {
                let patch = ConfigurationPatch(try json(text))
                stack.setPatches([PatchLayer(layer, [patch])])
                #expect(enabled(stack) == [false, true], "\(layer): \(text)")
                #expect(
                    stack.resolution.outcomes.first?.problems.first?.first?.path == "actions.a.enabled",
                    "\(layer): \(text)")
            }
        }
        // Not by two layers together either.
        let layers = try ["all", "device"].map {
            PatchLayer($0, [ConfigurationPatch(try json(#"{"actions":{"b":{"enabled":false}}}"#))])
        }
        stack.setPatches(layers)
        #expect(enabled(stack) == [false, false])
        // The board's own files and arguments can.
        var builder = try build(file)
        builder.apply(try yaml("actions: { a: { enabled: true } }"))
        builder.apply(override: "actions.b.enabled=false")
        #expect(try builder.finish().settings.actions.map(\.isEnabled) == [true, false])
    }

    /// A stored value for a rule that a new file does not have is reported, and applies to a rule of the name again.
    @Test func survivesReload() throws {
        var stack = try stack(local: #"{"actions.lamp.enabled": false}"#)
        #expect(enabled(stack) == [false, false, true] && stack.resolution.refused.isEmpty)
        stack = stack.reloading(try build("actions: [{ on: tap, name: other, consume: true }]").finish()).stack
        #expect(enabled(stack) == [true])
        #expect(stack.resolution.refused.map(\.path) == ["actions.lamp.enabled"])
        stack = stack.reloading(try build("actions: [{ on: tap, name: lamp, consume: true }]").finish()).stack
        #expect(enabled(stack) == [false] && stack.resolution.refused.isEmpty)
    }

    /// A layer above the file may be another file, an argument, or one of the fleet.
    @Test func everyLayerCanSwitch() throws {
        var builder = try build(Self.file)
        builder.apply(try yaml("actions: { lamp: { enabled: false } }"))
        builder.apply(override: "actions.fan-2.enabled=true")
        let loaded = try builder.finish()
        #expect(loaded.settings.actions.map(\.isEnabled) == [false, true, true])
        let text = #"{"actions":{"lamp":null,"fan-2":{"enabled":false}}}"#
        let patch = ConfigurationPatch(try JSONReader.read(Array(text.utf8), source: .layer("all")))
        let stack = ConfigurationStack(
            loaded, layers: [ConfigurationLayer("local")], patches: [PatchLayer("all", [patch])])
        #expect(enabled(stack) == [true, false, true])
        #expect(stack.resolution.outcomes.first?.keys == ["actions.lamp.enabled", "actions.fan-2.enabled"])
        #expect(origins(stack)["actions.fan-2.enabled"] == "\"all\"")
        #expect(stack.refusal("actions.fan-2.enabled", true)?.contains("is set by the fleet's layer all") == true)
    }

    @Test func unknownNameIsAMistakeInAFileToo() throws {
        var builder = try build(Self.file)
        builder.apply(try yaml("actions:\n  door: { enabled: false }\n"))
        #expect(
            builder.problems.map(\.description) == [
                "jostle.yaml:2:3: actions.door.enabled: there is no rule \"door\"; allowed: lamp or fan-2"
            ])
    }

    @Test func anotherListStartsAnew() throws {
        var builder = try build(Self.file)
        builder.apply(try yaml("actions: { lamp: { enabled: false } }"))
        builder.apply(try yaml("actions: [{ on: flip, name: lamp, consume: true }]"))
        #expect(builder.settings.actions.map(\.isEnabled) == [true])
        #expect(builder.provenance["actions.lamp.enabled"] == nil)
    }

    @Test func fleetLayerNeedsTheRule() throws {
        let loaded = try build(Self.file).finish()
        func outcome(_ text: String, ignores: Bool = false) throws -> PatchOutcome? {
            let patch = ConfigurationPatch(try json(text), ignoresUnknownKeys: ignores)
            return ConfigurationStack(loaded, layers: [], patches: [PatchLayer("all", [patch])]).resolution.outcomes
                .first
        }
        let unknown = #"{"actions":{"door":{"enabled":false}}}"#
        #expect(try outcome(unknown)?.chosen == nil)
        #expect(try outcome(unknown)?.problems.first?.first?.reason.contains("there is no rule \"door\"") == true)
        #expect(try outcome(unknown, ignores: true)?.ignoredKeys == ["actions.door"])
        let topic = try outcome(#"{"actions":{"lamp":{"publish":{"topic":"x"}}}}"#, ignores: true)
        #expect(topic?.chosen == nil)
        let list = try outcome(#"{"actions":[{"on":"shake","consume":true}]}"#)
        #expect(list?.problems.first?.first?.reason == "cannot be set over MQTT")
        // Whoever publishes it does not know the rules of each device.
        let check = PatchCheck(ConfigurationPatch(try json(unknown)))
        #expect(check.problems.isEmpty, "\(check.problems)")
        #expect(check.values == [PatchCheck.Value(key: "actions.door.enabled", value: false)])
        #expect(!PatchCheck(ConfigurationPatch(try json(#"{"actions":{"door":{"on":"tap"}}}"#))).problems.isEmpty)
    }

    @Test func changesNameTheRule() throws {
        let before = try stack().resolution.settings
        let after = try stack(local: #"{"actions.lamp.enabled": false}"#).resolution.settings
        let changes = ConfigurationStack.changedKeys(before, after)
        #expect(changes.map(\.key) == ["actions.lamp.enabled"] && changes[0].effect == .live)
        let other = try build("actions: [{ on: tap, name: lamp, consume: true }]").finish().settings
        #expect(ConfigurationStack.changedKeys(before, other).map(\.key) == ["actions"])
    }

    /// A rule that is switched off can never act, and whoever switched it off knows.
    @Test func warningsLeaveOutRulesThatAreOff() throws {
        let text = """
            gestures: { turn: { enabled: false } }
            actions:
              - { on: turn, enabled: false, publish: { topic: a } }
              - { on: tap, enabled: false, consume: true }
              - { on: tap, publish: { topic: b } }
            """
        #expect(try build(text).finish().warnings.isEmpty)
    }
}
