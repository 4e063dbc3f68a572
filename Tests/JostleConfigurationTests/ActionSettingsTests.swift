import Documents
import MotionCore
import Testing

@testable import JostleConfiguration

/// The rules of `actions`: all their keys, and the positions and texts of their problems.
@Suite struct ActionSettingsTests {
    /// One rule in YAML's flow style.
    private func rule(_ text: String) throws -> JostleSettings.Action {
        let builder = build(overrides: ["actions=[{\(text)}]"])
        #expect(builder.problems.isEmpty, "\(builder.problems)")
        return try #require(builder.settings.actions.first)
    }

    @Test func ruleHasDefaults() throws {
        let action = try rule("on: shake, publish: {topic: lamp}")
        #expect(action.gesture == .shake && action.phase == nil && action.actingPhase == .began)
        #expect(action.filter == JostleSettings.EventFilter())
        #expect(action.publish.topic?.source == "lamp")
        #expect(action.publish.payload == Template(.event))
        #expect(action.publish.qos == 1 && !action.publish.isRetained && action.publish.lifetime == 30)
        #expect(!action.isConsuming && !action.reachesOut)
        #expect(try rule("on: tap, publish: {topic: lamp}").actingPhase == .recognized)
    }

    @Test func readsEveryKey() throws {
        let flip = try rule(
            "on: flip, phase: recognized, from: +z, to: [-x, -z], angle_above: 100 °, consume: true, "
                + "publish: {topic: 'a/${device}/b', payload: 'to ${to}', qos: 0, retain: true, expires: 2 min}")
        #expect(flip.phase == .recognized && flip.isConsuming)
        #expect(flip.filter.from == [.plusZ] && flip.filter.to == [.minusX, .minusZ])
        #expect(flip.filter.angleAbove == 100 * radiansPerDegree)
        #expect(flip.publish.topic?.parts == [.text("a/"), .field(.device, fallback: ""), .text("/b")])
        #expect(flip.publish.payload.parts == [.text("to "), .field(.to, fallback: "")])
        #expect(flip.publish.qos == 0 && flip.publish.isRetained && flip.publish.lifetime == 120)
        let tap = try rule("on: tap, count: [2, 3], side: -y, strength_above: 2 g, consume: true")
        #expect(tap.filter.counts == [2, 3] && tap.filter.sides == [.minusY])
        #expect(tap.filter.strengthAbove == 2 * standardGravity)
        let turn = try rule("on: turn, phase: changed, axis: z, direction: left, consume: true")
        #expect(turn.filter.axes == [.z] && turn.filter.directions == [.left] && turn.phase == .changed)
        let machine = try rule("on: vibration, phase: ended, duration_above: 10 min, publish: {topic: t}")
        #expect(machine.filter.durationAbove == 600)
    }

    @Test func readsProgramAndWebhook() throws {
        let run = try rule(
            "on: shake, run: [/bin/siren, 5, true, '', \"a b\", a, a], time_limit: 2 min, simulated: true")
        #expect(
            run.run == ["/bin/siren", "5", "true", "", "a b", "a", "a"] && run.timeLimit == 120 && run.actsOnSimulated)
        #expect(run.reachesOut && run.post == nil)
        #expect(try rule("on: shake, run: /bin/with blank").run == ["/bin/with blank"])
        let post = try rule("on: fall, post: 'https://a.example/b?c=%20d'")
        #expect(post.post == .url("https://a.example/b?c=%20d") && post.timeLimit == 10 && !post.actsOnSimulated)
        #expect(try rule("on: fall, post: {url_file: 'credential:hook'}").post == .file("credential:hook"))
        let relative = try build("actions: [{ on: fall, post: { url_file: hook } }]", directory: "/etc/jostle")
        #expect(relative.settings.actions.first?.post == .file("/etc/jostle/hook"))
    }

    /// Reports say that there is a program or a webhook, and not with which arguments or where.
    @Test func reportsHideSecrets() throws {
        let file = """
            actions:
              - { on: shake, run: [/bin/siren, hush-1] }
              - { on: fall, post: "https://a.example/hush-2" }
              - { on: tap, run: /bin/bell, post: { url_file: /etc/hook } }
            """
        let stack = ConfigurationStack(try build(file).finish(), layers: [])
        let text = stack.values["actions"]?.compactText ?? ""
        #expect(!text.contains("hush") && text.contains(#"["/bin/siren", "(hidden)"]"#))
        #expect(text.contains(#""post": "(hidden)""#) && text.contains(#""url_file": "/etc/hook""#))
        // A changed secret is a change.
        let other = try build(file.replacingOccurrences(of: "hush-2", with: "hush-3")).finish().settings
        let changes = ConfigurationStack.changedKeys(stack.resolution.settings, other)
        #expect(changes.map(\.key) == ["actions"] && !"\(changes)".contains("hush-2"))
        // The board itself shows its file.
        #expect(ConfigurationSchema.describe(other, Provenance()).contains("hush-1"))
    }

    @Test func retainedMessageExpiresOnlyIfConfigured() throws {
        #expect(try rule("on: tap, publish: {topic: t, retain: true}").publish.lifetime == nil)
        #expect(try rule("on: tap, publish: {topic: t, retain: true, expires: 5 s}").publish.lifetime == 5)
        #expect(try rule("on: tap, publish: {topic: t, expires: 0}").publish.lifetime == nil)
    }

    @Test(arguments: [
        ("1", "1"), ("true", "true"), ("'null'", "null"), ("''", ""), ("\"two\\nlines\"", "two\nlines"),
        ("'{\"on\": [1]}'", "{\"on\": [1]}"), ("$5 {a} $$", "$5 {a} $$"),
    ])
    func payloadIsAlwaysText(_ written: String, _ expected: String) throws {
        let action = try #require(
            try build("actions:\n- on: tap\n  publish:\n    topic: t\n    payload: \(written)\n").settings.actions.first
        )
        #expect(action.publish.payload.source == expected)
        #expect(action.publish.payload.parts == (expected.isEmpty ? [] : [.text(expected)]))
    }

    @Test func parsesEscapesAndFallbacks() throws {
        #expect(try Template("a$${b}${id}").parts == [.text("a${b}"), .field(.id, fallback: "")])
        #expect(try Template("${axis:-no}${t:-}").parts == [.field(.axis, fallback: "no"), .field(.t, fallback: "")])
    }

    /// The text of a rule without its braces, the key of its problem, and a part of the message.
    private static let mistakes: [(String, String, String)] = [
        ("publish: {topic: t}", "", "has no key \"on\""),
        ("on: shake", "", "has no effect: it needs publish, run, post, or consume: true"),
        ("on: shake, publish: {payload: x}", "publish", "has no key \"topic\""),
        ("on: shake, publish: {}", "publish", "has no key \"topic\""),
        ("on: Shake, consume: true", "on", "did you mean \"shake\"?"),
        ("on: [shake], consume: true", "on", "is a list"),
        (
            "on: shake, phase: recognized, consume: true", "phase",
            "not a phase of shake; allowed: began, ended or cancelled"
        ),
        ("on: tap, phase: began, consume: true", "phase", "not a phase of tap; allowed: recognized"),
        ("on: tap, phase: recognised, consume: true", "phase", "did you mean \"recognized\"?"),
        ("on: shake, count: 2, consume: true", "count", "to shake, which has no count; only tap has it"),
        ("on: shake, direction: left, consume: true", "direction", "no direction; only flick and turn have it"),
        (
            "on: motion, strength_above: 1, consume: true", "strength_above",
            "only shake, tap, flick, fall, impact and a learned gesture have it"
        ),
        (
            "on: tap, duration_above: 1, consume: true", "duration_above",
            "shake, flick, turn, flip, tilt, fall, motion, vibration and a learned gesture"
        ),
        ("on: tap, name: my lamp, consume: true", "name", "is not a rule's name"),
        ("on: tap, name: a/b, consume: true", "name", "is not a rule's name"),
        ("on: tap, enabled: maybe, consume: true", "enabled", "neither true nor false"),
        ("on: tap, count: 4, consume: true", "count", "out of bounds"),
        ("on: tap, count: [1, two], consume: true", "count", "\"two\" is not a whole number"),
        ("on: tap, axis: x, consume: true", "axis", "no axis; only shake and turn have it"),
        ("on: shake, axis: w, consume: true", "axis", "is unknown"),
        ("on: flick, direction: [left, rihgt], consume: true", "direction", "did you mean \"right\"?"),
        ("on: tap, side: top, consume: true", "side", "is unknown"),
        ("on: flip, from: z, consume: true", "from", "did you mean \"+z\"?"),
        ("on: flip, to: [], consume: true", "to", "empty list"),
        ("on: shake, strength_above: 1 s, consume: true", "strength_above", "is not an acceleration"),
        ("on: turn, angle_above: 3601 °, consume: true", "angle_above", "out of bounds"),
        ("on: fall, duration_above: 8 d, consume: true", "duration_above", "out of bounds"),
        ("on: tap, consume: yes", "consume", "neither true nor false"),
        ("on: tap, topic: t", "topic", "unknown key; did you mean \"publish.topic\"?"),
        ("on: tap, cosnume: true", "cosnume", "did you mean \"consume\"?"),
        ("on: tap, run: siren", "run", "does not begin with the absolute path of a program"),
        ("on: tap, run: []", "run", "is an empty list"),
        ("on: tap, run: [/bin/a, [b]]", "run", "is a list, not a single value"),
        ("on: tap, run: [/bin/]", "run", "does not begin with the absolute path"),
        ("on: tap, run: {a: b}", "run", "is a mapping"),
        ("on: tap, run: /bin/a, time_limit: 11 min", "time_limit", "out of bounds"),
        ("on: tap, consume: true, time_limit: 5 s", "time_limit", "has no effect without run"),
        ("on: tap, post: 'ftp://a'", "post", "is no URL that begins with http:// or https://"),
        ("on: tap, post: 'https:///hush-token-of-mine'", "post", "\"https:///hus…\" is a URL without a host"),
        ("on: tap, post: 'https://a/b c'", "post", "with blanks, quotes or characters"),
        ("on: tap, post: {url: 'https://a'}", "post", "is a mapping with other keys than url_file"),
        ("on: tap, post: {url_file: 'credential:a/b'}", "post", "is not the name of a credential"),
        ("on: tap, consume: true, simulated: true", "simulated", "has no effect without run or post"),
        ("on: tap, run: /bin/a, simulated: maybe", "simulated", "neither true nor false"),
        ("on: tap, publish: t", "publish", "is not a mapping of keys to values"),
        ("on: tap, publish: {topic: ''}", "publish.topic", "is empty"),
        ("on: tap, publish: {topic: a/+/b}", "publish.topic", "wildcard"),
        ("on: tap, publish: {topic: 'a/#'}", "publish.topic", "wildcard"),
        ("on: tap, publish: {topic: $SYS/x}", "publish.topic", "reserved for the broker"),
        ("on: tap, publish: {topic: \"a\\nb\"}", "publish.topic", "control characters"),
        ("on: tap, publish: {topic: 'a/${side}'}", "publish.topic", "+ is a wildcard"),
        ("on: tap, publish: {topic: '${event}'}", "publish.topic", "not allowed in a topic"),
        ("on: shake, publish: {topic: 'a/${axis:-#}'}", "publish.topic", "wildcard"),
        ("on: tap, publish: {topic: 'a/${devcie}'}", "publish.topic", "\"${devcie}\"; did you mean \"${device}\"?"),
        (
            "on: shake, publish: {topic: 'a/${count}'}", "publish.topic",
            "has ${count}, but shake has no count; only tap has it"
        ),
        ("on: tap, publish: {topic: t, payload: '${strenght}'}", "publish.payload", "did you mean \"${strength}\"?"),
        (
            "on: tap, publish: {topic: t, payload: '${xyzzy}'}", "publish.payload",
            "the fields are event, device, gesture"
        ),
        ("on: tap, publish: {topic: t, payload: 'a ${count'}", "publish.payload", "has ${ without }"),
        ("on: tap, publish: {topic: t, payload: '${axis}'}", "publish.payload", "has ${axis}, but tap has no axis"),
        ("on: tap, publish: {topic: t, payload: {a: 1}}", "publish.payload", "put JSON in quotes"),
        ("on: tap, publish: {topic: t, payload: }", "publish.payload", "has no value"),
        ("on: tap, publish: {topic: t, qos: 2}", "publish.qos", "out of bounds; allowed: 0 … 1"),
        ("on: tap, publish: {topic: t, retain: 1}", "publish.retain", "neither true nor false"),
        ("on: tap, publish: {topic: t, expires: 0.5 s}", "publish.expires", "out of bounds"),
        ("on: shake, phase: ended, strength_above: 2 g, consume: true", "strength_above", "when it begins"),
    ]

    @Test(arguments: mistakes)
    func reportsMistakeWithKey(_ text: String, _ key: String, _ expected: String) {
        let builder = build(overrides: ["actions=[{on: tap, consume: true}, {\(text)}]"])
        #expect(builder.problems.map(\.path) == ["actions[1]" + (key.isEmpty ? "" : ".\(key)")])
        #expect(builder.problems.first?.description.contains(expected) == true, "\(builder.problems)")
        // A list with a problem is refused as a whole.
        #expect(builder.settings.actions.isEmpty && builder.provenance["actions"] == nil)
    }

    @Test func everyKeyHasMistake() {
        for (path, _) in ConfigurationSchema.action.settings() {
            #expect(ActionSettingsTests.mistakes.contains { $0.1 == path }, "\(path)")
        }
    }

    @Test func reportsAllMistakesWithPositions() throws {
        let builder = try build(
            """
            actions:
              - on: shake
                phase: recognised
                publish:
                  topic: a/+
                  payload: TOGGLE
              - on: tap
                count: [1, 9]
                consume: true
              - tap
              - on: shake
                publish: { topic: t, payload: "${count}" }
            """)
        #expect(
            builder.problems.map(\.description) == [
                "jostle.yaml:3:12: actions[0].phase: \"recognised\" is unknown; did you mean \"recognized\"?; "
                    + "allowed: began, changed, ended, cancelled or recognized",
                "jostle.yaml:5:14: actions[0].publish.topic: \"a/+\" has a wildcard; allowed: a topic without + and #, "
                    + "not beginning with $, with ${field} for the event's fields, for example cmnd/lamp/POWER",
                "jostle.yaml:8:16: actions[1].count: \"9\" is out of bounds; allowed: 1 … 3, or a list of them",
                "jostle.yaml:10:5: actions[2]: \"tap\" is not a mapping of keys to values; allowed: on: …, name: …, "
                    + "enabled: …, phase: …, "
                    + "count: …, axis: …, direction: …, side: …, from: …, to: …, strength_above: …, angle_above: …, "
                    + "duration_above: …, publish: …, run: …, time_limit: …, post: …, simulated: …, consume: …",
                "jostle.yaml:12:35: actions[3].publish.payload: \"${count}\" has ${count}, but shake has no count; only tap has it",
            ])
    }

    @Test func laterLayerReplacesList() throws {
        var builder = try build("actions:\n  - on: shake\n    publish: { topic: a }\n  - on: tap\n    consume: true\n")
        #expect(builder.settings.actions.count == 2)
        #expect(builder.provenance["actions[1].consume"]?.description == "jostle.yaml:5:14")
        builder.apply(override: "actions=[{on: turn, consume: true}]")
        #expect(builder.settings.actions.map(\.gesture) == [.turn])
        #expect(builder.provenance["actions[1].consume"] == nil)
        builder.apply(override: "actions=[{on: trun}]")
        #expect(builder.settings.actions.map(\.gesture) == [.turn])
        builder.apply(override: "actions=")
        #expect(builder.settings.actions.isEmpty)
        #expect(try build("actions:\n").problems.isEmpty)
    }

    @Test func reportLoadsAsSameRules() throws {
        let text =
            "[{on: tap, count: [2, 3], side: -y, publish: {topic: 'a/${device}', payload: '{\"x\": \"${id}\"}', qos: 0}}, "
            + "{on: flip, from: +z, consume: true}]"
        let settings = build(overrides: ["actions=\(text)", "gestures.shake.when.quiet_hours=[22:00-07:00, 1:00-2:00]"])
            .settings
        let again = try build(ConfigurationSchema.describe(settings, Provenance()))
        #expect(again.problems.isEmpty, "\(again.problems)")
        #expect(again.settings == settings && settings.actions.count == 2)
        var message = ConfigurationBuilder()
        message.apply(try json(ConfigurationSchema.values(of: settings).compactText))
        #expect(message.settings == settings, "\(message.problems)")
        let report = ConfigurationSchema.values(of: settings).compactText
        #expect(report.contains(#"{"on": "flip", "from": "+z", "consume": true}"#), "\(report)")
    }

    @Test(arguments: [
        "jostle/dut/command/tare", "jostle/dut", "jostle/dut/event/shake", "jostle/_all/config",
        "jostle/_group/a/config",
        "'jostle/${device}/set/x'", "'jostle/_reply/${gesture}'",
    ])
    func refusesReservedTopics(_ topic: String) {
        let builder = build(overrides: ["actions=[{on: tap, publish: {topic: \(topic)}}]", "device.id=dut"])
        #expect(builder.problems.isEmpty)
        #expect(builder.contradictions.map(\.path) == ["actions[0].publish.topic"])
        #expect(builder.contradictions.first?.reason.contains("is under jostle/") == true)
    }

    @Test func refusesOwnTopicWithoutID() {
        let builder = build(overrides: ["actions=[{on: tap, publish: {topic: 'jostle/${device}/command/tare'}}]"])
        #expect(builder.contradictions.count == 1)
    }

    @Test(arguments: [
        "jostle/other/command/tare", "jostle", "jostles/dut/x", "dut", "'home/${device}/x'", "jostle/dut2/x",
    ])
    func acceptsOtherTopics(_ topic: String) {
        let builder = build(overrides: ["actions=[{on: tap, publish: {topic: \(topic)}}]", "device.id=dut"])
        #expect(builder.problems.isEmpty && builder.contradictions.isEmpty)
    }

    @Test func refusesContradictoryTiltLimits() throws {
        let builder = try build("gestures: { shake: { when: { tilt_above: 40 °, tilt_below: 20 ° } } }")
        #expect(builder.contradictions.map(\.path) == ["gestures.shake.when.tilt_above"])
        let alone = try build("gestures: { shake: { when: { tilt_below: 20 °, tilt_above: 20 ° } } }")
        #expect(alone.contradictions.isEmpty)
    }

    @Test func jsonSchemaDescribesRules() throws {
        let schema = try JSONReader.read(Array(ConfigurationSchema.jsonSchema.utf8), source: testFile)
        guard let choices = schema["properties"]?["actions"]?["anyOf"]?.elements else {
            Issue.record("no anyOf")
            return
        }
        let list = try #require(choices.first)
        #expect(list["type"]?.text == "array")
        let rule = try #require(list["items"])
        #expect(rule["additionalProperties"]?.text == "false")
        #expect(rule["required"].map(shape) == #"["on"]"#)
        #expect(rule["properties"]?["publish"]?["required"].map(shape) == #"["topic"]"#)
        #expect(rule["properties"]?["on"]?["anyOf"].map(shape)?.contains("vibration") == true)
    }
}
