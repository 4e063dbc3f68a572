import Testing

@testable import JostleConfiguration

/// Requirement: values that can never have an effect are named, and values in force are not.
@Suite struct WarningsTests {
    private func warnings(_ text: String) throws -> [String] { try build(text).finish().warnings.map(\.description) }

    @Test(arguments: [
        (
            "actions: [{ on: tap, count: [2, 3], consume: true }]",
            #"jostle.yaml:1:29: actions[0].count: "2, 3" never acts: gestures.tap.counts does not include double, triple;"#
        ),
        (
            "gestures: { flick: { directions: left } }\n"
                + "actions: [{ on: flick, direction: [right, up], consume: true }]",
            #"jostle.yaml:2:35: actions[0].direction: "right, up" never acts: gestures.flick.directions does not include right, up"#
        ),
        (
            "gestures: { shake: { enabled: false } }\nactions: [{ on: shake, consume: true }]",
            #"jostle.yaml:2:17: actions[0].on: "shake" never acts: gestures.shake.enabled is false"#
        ),
        (
            "gestures: { flip: { when: { quiet_hours: [\"06:00-18:00\", \"18:00-06:00\"] } } }\n"
                + "actions: [{ on: flip, consume: true }]",
            #"jostle.yaml:2:17: actions[0].on: "flip" never acts: gestures.flip.when.quiet_hours covers the whole day"#
        ),
        (
            "gestures: { flip: { when: { quiet_hours: \"00:00-24:00\" } } }",
            "jostle.yaml:1:42: gestures.flip.when.quiet_hours: covers the whole day, so that flip never begins"
        ),
        (
            "actions:\n- { on: shake, consume: true }\n- { on: shake, axis: x, consume: true }",
            #"jostle.yaml:3:9: actions[1].on: "shake" never acts: actions[0] consumes every shake before it"#
        ),
        (
            "sensor: { driver: adxl345 }\nactions: [{ on: turn, consume: true }]",
            #"jostle.yaml:2:17: actions[0].on: "turn" never acts: the ADXL345 has no gyroscope"#
        ),
        (
            "sensor: { gyroscope: false }\nactions: [{ on: turn, consume: true }]",
            #"jostle.yaml:2:17: actions[0].on: "turn" never acts: sensor.gyroscope is false"#
        ),
    ])
    func namesWhatHasNoEffect(text: String, warning: String) throws {
        let found = try warnings(text)
        #expect(found.count == 1 && found[0].hasPrefix(warning), "\(found)")
    }

    @Test(arguments: [
        "gestures: { flick: { directions: left } }\nactions: [{ on: flick, direction: [right, left], consume: true }]",
        "{}", "actions: [{ on: tap, count: 1, consume: true }]",
        "gestures: { tap: { counts: [single, double] } }\nactions: [{ on: tap, count: [2, 3], consume: true }]",
        "gestures: { flip: { when: { quiet_hours: \"22:00-21:59\" } } }\nactions: [{ on: flip, consume: true }]",
        "actions:\n- { on: shake, axis: x, consume: true }\n- { on: shake, axis: y, consume: true }",
        "actions:\n- { on: shake, consume: true }\n- { on: tap, consume: true }",
        "gestures: { flip: { enabled: false, when: { quiet_hours: \"00:00-24:00\" } } }",
    ])
    func acceptsWhatHasOne(text: String) throws {
        #expect(try warnings(text).isEmpty)
    }
}
