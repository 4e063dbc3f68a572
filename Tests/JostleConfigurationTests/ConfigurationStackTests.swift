import Documents
import MotionCore
import Testing

@testable import JostleConfiguration

/// Requirement: values set over MQTT override file and arguments, follow the same rules, and cannot make a board
/// unreachable.
@Suite struct ConfigurationStackTests {
    /// A stack of a file and a local layer, empty by default.
    private func stack(_ file: String, _ layer: ConfigurationLayer? = nil) throws -> ConfigurationStack {
        let loaded = try build(file).finish()
        return ConfigurationStack(loaded, layers: [layer ?? ConfigurationLayer("local")])
    }

    private func layer(_ text: String) throws -> ConfigurationLayer {
        try ConfigurationLayer("local", reading: Array(text.utf8), source: .file("local"))
    }

    @Test func reloadHoldsKeysThatAreReadAtTheStart() throws {
        let old = "device: { id: a }\nsensor: { bus: /dev/i2c-1 }\ngestures: { shake: { sensitivity: 3 } }\n"
        let new = "sensor: { bus: /dev/i2c-2, rate: 50 Hz }\ngestures: { tap: { sensitivity: 4 } }\n"
        let start = try stack(old, layer("{\"gestures.flick.sensitivity\": 9}"))
        let (stack, pending) = start.reloading(try build(new).finish())
        #expect(pending == ["device.id", "sensor.bus"])
        let settings = stack.resolution.settings
        #expect(settings.device.id == "a" && settings.sensor.bus == "/dev/i2c-1" && settings.imu.rate == 50)
        let gestures = settings.motion.gestures
        #expect(gestures.shake.common.sensitivity == 5 && gestures.tap.common.sensitivity == 4)
        #expect(gestures.flick.common.sensitivity == 9)
        #expect(stack.resolution.provenance["sensor.bus"]?.line == 2)
        // A second time it is compared with what is in force, not with what was read last.
        #expect(stack.reloading(try build(new).finish()).pending == pending)
        #expect(stack.reloading(try build(old).finish()).pending.isEmpty)
    }

    /// The new rule is permitted only under the new prefix, which needs a restart.
    @Test func reloadTakesNothingIfTheHalvesDoNotFit() throws {
        let start = try stack("gestures: { shake: { sensitivity: 3 } }")
        let new = """
            mqtt: { prefix: other }
            gestures: { shake: { sensitivity: 7 } }
            actions: [{ on: tap, publish: { topic: jostle/_all/x } }]
            """
        let (stack, pending) = start.reloading(try build(new).finish())
        #expect(stack == start)
        #expect(pending == ["gestures.shake.sensitivity", "actions", "mqtt.prefix"])
    }

    @Test func setOverridesFileAndRemovalRestoresIt() throws {
        var stack = try stack("gestures:\n  shake:\n    sensitivity: 3\n")
        try stack.set("gestures.shake.sensitivity", to: 7, in: "local")
        try stack.set("publish.attitude.rate", to: "2", in: "local")
        #expect(stack.resolution.settings.motion.gestures.shake.common.sensitivity == 7)
        #expect(stack.resolution.settings.publish.attitude.rate == 2)
        #expect(stack.resolution.provenance["gestures.shake.sensitivity"]?.source == .layer("local"))
        // Stored in the form of the report.
        #expect(
            stack.layers[0].text
                == "{\n  \"gestures.shake.sensitivity\": 7,\n  \"publish.attitude.rate\": \"2 Hz\"\n}\n")
        try stack.set("gestures.shake.sensitivity", to: nil, in: "local")
        #expect(stack.resolution.settings.motion.gestures.shake.common.sensitivity == 3)
        try stack.set("publish.attitude.rate", to: nil, in: "local")
        #expect(stack.layers == [ConfigurationLayer("local")])
        let untouched = try self.stack("gestures:\n  shake:\n    sensitivity: 3\n")
        #expect(stack.resolution == untouched.resolution)
    }

    /// A resolution takes milliseconds on a board, and a slider sends many values.
    @Test func resolvesOncePerValue() throws {
        var stack = try stack("{}")
        #expect(stack.resolutionCount == 1)
        try stack.set("publish.attitude.rate", to: "2", in: "local")
        _ = (stack.values, stack.origins)
        #expect(stack.resolutionCount == 2)
        try stack.set("publish.attitude.rate", to: nil, in: "local")
        #expect(stack.resolutionCount == 3)
        // An invalid value is refused without a resolution.
        #expect(stack.refusal("publish.attitude.rate", "fast")?.contains("is not") == true)
        #expect(stack.resolutionCount == 3)
    }

    /// Even if a stored layer already has the same invalid value.
    @Test func refusesStoredInvalidValueAgain() throws {
        var stack = try stack("{}", layer(#"{"publish.attitude.rate": "fast"}"#))
        try #require(stack.resolution.refused.count == 1)
        let before = stack
        #expect(throws: DocumentProblem.self) { try stack.set("publish.attitude.rate", to: "fast", in: "local") }
        #expect(stack == before)
    }

    @Test func storedLayerReadsBackEqual() throws {
        var stack = try stack("{}")
        try stack.set("gestures.tap.counts", to: ["single", "double"], in: "local")
        try stack.set("gestures.tap.enabled", to: false, in: "local")
        try stack.set("gestures.shake.when.quiet_hours", to: "22:00-07:00", in: "local")
        try stack.set("gestures.shake.when.still", to: .null, in: "local")
        try stack.set("attitude.low_pass", to: .number("0.25"), in: "local")
        let again = try self.stack("{}", layer(stack.layers[0].text))
        #expect(again.layers == stack.layers)
        #expect(again.resolution == stack.resolution)
        #expect(again.resolution.settings.motion.gestures.tap.counts == [.single, .double])
        #expect(again.resolution.settings.quietHours.count == 1)
    }

    @Test(arguments: [
        "mqtt.broker", "mqtt.prefix", "device.id", "device.name", "sensor.rate", "sensor.driver", "actions",
        "log.level",
        "motion.rotation_low_pass", "", ".", "gestures", "gestures..shake", "publish", "nonsense", "$SYS",
        "GESTURES.shake",
        "gestures.shake", "gestures.shake.when", "gestures.shake.sensitivity.x", "gestures.shake.sensitivty",
        "gestures.\u{0}", "attitude.", "attitude.low_pass.",
    ])
    func refusesOtherKeys(_ key: String) throws {
        let stack = try stack("mqtt: { broker: 'mqtt://a' }")
        #expect(stack.refusal(key, 5) != nil)
        #expect(stack.refusal(key, nil) != nil)
    }

    @Test func refusalHasReasonButNoSecret() throws {
        let stack = try stack("{}")
        #expect(
            stack.refusal("gestures.shake.sensitivity", 11)
                == "local: gestures.shake.sensitivity: \"11\" is out of bounds; allowed: 1 … 10")
        #expect(
            stack.refusal("gestures.shake.sensitivty", 5)?.contains("did you mean \"sensitivity\"?") == true)
        #expect(stack.refusal("gestures.shake", ["enabled": false])?.contains("is a group of keys") == true)
        let secret = try #require(stack.refusal("mqtt.password", "hunter2"))
        #expect(
            !secret.contains("hunter2") && secret.contains("keys of gestures, attitude, publish or actions.*.enabled"))
    }

    @Test func refusesContradictionsInAnyOrder() throws {
        var stack = try stack("gestures: { shake: { when: { tilt_below: 40 } } }")
        let above = "gestures.shake.when.tilt_above"
        let below = "gestures.shake.when.tilt_below"
        #expect(stack.refusal(above, 50)?.contains("tilt_above is larger than tilt_below") == true)
        try stack.set(above, to: 10, in: "local")
        try stack.set(below, to: 60, in: "local")
        try stack.set(above, to: 50, in: "local")
        #expect(stack.resolution.refused.isEmpty)
        #expect(stack.refusal(below, 45)?.contains("conflicts with") == true)
        // A stored layer is applied as a whole, although its first value alone contradicts the file.
        let again = ConfigurationStack(
            try build("gestures: { shake: { when: { tilt_below: 40 } } }").finish(), layers: stack.layers)
        #expect(again.resolution == stack.resolution)
        // After removal of one value the other no longer fits, and is reported as refused.
        try stack.set(below, to: nil, in: "local")
        #expect(stack.resolution.refused.map(\.path) == [above])
        #expect(stack.resolution.settings.motion.gestures.shake.common.gate.tiltAbove == 0)
    }

    @Test func reportsOutdatedStoredValues() throws {
        let kept = try layer(
            #"{"gestures.shake.sensitivity": 7, "gestures.shake.cooldown": "99 h", "mqtt.prefix": "x", "sensor.rate": 4}"#
        )
        let stack = try stack("{}", kept)
        #expect(stack.resolution.settings.motion.gestures.shake.common.sensitivity == 7)
        #expect(stack.resolution.refused.map(\.path) == ["gestures.shake.cooldown", "mqtt.prefix", "sensor.rate"])
        var rest = stack.resolution.settings
        rest.motion.gestures.shake.common.sensitivity = 5
        #expect(rest == JostleSettings())
    }

    @Test func laterLayerOverridesEarlierOne() throws {
        var fleet = ConfigurationLayer("fleet")
        fleet["gestures.shake.sensitivity"] = 2
        fleet["gestures.tap.sensitivity"] = 3
        var local = ConfigurationLayer("local")
        local["gestures.shake.sensitivity"] = 9
        let stack = ConfigurationStack(try build("{}").finish(), layers: [fleet, local])
        #expect(stack.resolution.settings.motion.gestures.shake.common.sensitivity == 9)
        #expect(stack.resolution.settings.motion.gestures.tap.common.sensitivity == 3)
        #expect(
            stack.origins.compactText
                == #"{"gestures.shake.sensitivity": "local", "gestures.tap.sensitivity": "fleet"}"#)
    }

    @Test func reportOmitsLogin() throws {
        let stack = try stack("mqtt: { username: bob, password_file: /secret }\nsensor: { rate: 100 }")
        let text = stack.values.compactText + stack.origins.compactText
        #expect(!text.contains("bob") && !text.contains("/secret"))
        let tree = try json(stack.values.compactText)
        #expect(tree["sensor"]?["rate"]?.text == "100 Hz")
        #expect(tree["gestures"]?["shake"]?["enabled"]?.text == "true")
        #expect(stack.origins.compactText == #"{"sensor.rate": "file"}"#)
    }

    @Test(arguments: [
        ("7", JSONValue.number("7")), ("true", .bool(true)), ("null", .null), ("0.5 s", .string("0.5 s")),
        ("\"start\"", .string("start")), ("start", .string("start")), (" 7 ", .number("7")),
        ("[\"+x\",\"-x\"]", .array(["+x", "-x"])), ("ON", .string("ON")), ("5 °", .string("5 °")),
    ])
    func readsMessageAsJSONOrText(_ text: String, _ expected: JSONValue) throws {
        #expect(try JSONValue(message: Array(text.utf8), topic: "t") == expected)
    }

    @Test(
        arguments: [[0xFF], [0x22, 0x61], Array("{\"a\":1,\"a\":2}".utf8), Array("[1,".utf8), [0x35, 0xC3]] as [[UInt8]]
    )
    func refusesMalformedMessage(_ bytes: [UInt8]) {
        #expect(throws: DocumentProblem.self) { try JSONValue(message: bytes, topic: "t") }
    }
}
