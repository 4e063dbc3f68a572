import MotionCore

@testable import JostleConfiguration

// Values of the keys with lists of mappings, and of the keys common to all gestures.

extension AcceptedValue {
    static let actions: [AcceptedValue] = [
        .init("actions", "[]") { $0.actions.isEmpty },
        .init("actions", "[{ on: shake, publish: { topic: a } }]") { $0.actions.count == 1 },
        .init("actions", "[{ on: shake, name: Lamp-1, enabled: false, consume: true }]") {
            $0.actions.first?.name == "Lamp-1" && $0.actions.first?.isEnabled == false
        },
        .init("actions", "[{ on: shake, run: [/bin/a, b], time_limit: 5 s, simulated: true }]") {
            $0.actions.first?.run == ["/bin/a", "b"] && $0.actions.first?.timeLimit == 5
        },
        .init("actions", "[{ on: shake, post: { url_file: /a } }]") { $0.actions.first?.post == .file("/a") },
        .init("actions", "[{ on: tap, consume: true }, { on: turn, consume: true }]") {
            $0.actions.map(\.gesture) == [.tap, .turn]
        },
    ]

    /// Values of a gesture's gate.
    static func gates(of name: String, _ gesture: Gesture) -> [AcceptedValue] {
        let path = "gestures.\(name).when"
        return [
            .init("\(path).still", "true") { $0.motion.gestures[gesture].gate.still == true },
            .init("\(path).still", "false") { $0.motion.gestures[gesture].gate.still == false },
            .init("\(path).side", "any") { $0.motion.gestures[gesture].gate.sides == .all },
            .init("\(path).side", "-x") { $0.motion.gestures[gesture].gate.sides == BodySides(.minusX) },
            .init("\(path).side", "[+z, -y, +z]") {
                $0.motion.gestures[gesture].gate.sides == [BodySides(.plusZ), BodySides(.minusY)]
            },
            .init("\(path).tilt_above", "20 °") { $0.motion.gestures[gesture].gate.tiltAbove == 20 * radiansPerDegree },
            .init("\(path).tilt_above", "0") { $0.motion.gestures[gesture].gate.tiltAbove == 0 },
            .init("\(path).tilt_below", "180 °") { $0.motion.gestures[gesture].gate.tiltBelow == .pi },
            .init("\(path).tilt_below", "1 rad") { $0.motion.gestures[gesture].gate.tiltBelow == 1 },
            .init("\(path).minimum_interval", "10 s") { $0.motion.gestures[gesture].gate.minimumInterval == 10 },
            .init("\(path).minimum_interval", "24 h") { $0.motion.gestures[gesture].gate.minimumInterval == 86_400 },
            .init("\(path).quiet_hours", "22:00-07:00") { $0.quietHours[gesture]?.map(\.text) == ["22:00-07:00"] },
            .init("\(path).quiet_hours", "'0:00 - 24:00'") { $0.quietHours[gesture]?.map(\.text) == ["00:00-24:00"] },
            .init("\(path).quiet_hours", "[22:30-24:00, 00:00-07:05, 13:00-14:59]") {
                $0.quietHours[gesture]?.map(\.text) == ["22:30-24:00", "00:00-07:05", "13:00-14:59"]
            },
        ]
    }
}

extension RefusedValue {
    static let actions: [Row] = [
        ("actions", ["shake"], "is a single value, not a list of mappings"),
        ("actions", ["{ on: shake }"], "is a mapping, not a list of mappings"),
    ]

    /// Values that a gesture's gate refuses.
    static func gates(of name: String) -> [Row] {
        let path = "gestures.\(name).when"
        return [
            ("\(path).still", ["maybe"], "neither true nor false"),
            ("\(path).side", ["up"], "is unknown"),
            ("\(path).side", ["x"], "did you mean \"+x\"?"),
            ("\(path).side", ["[]"], "empty list"),
            ("\(path).side", ["[+x, any]"], "is unknown"),
            ("\(path).tilt_above", ["-1 °"], "out of bounds"),
            ("\(path).tilt_above", ["steep"], "is not an angle"),
            ("\(path).tilt_below", ["181 °"], "out of bounds"),
            ("\(path).minimum_interval", ["-1", "25 h"], "out of bounds"),
            (
                "\(path).quiet_hours",
                [
                    "at night", "22:00", "22-7", "07:00-07:00", "24:00-07:00", "22:60-07:00", "22:00-24:01",
                    "22:00-07:00-08:00", "٢٢:00-07:00", "[22:00-07:00, noon]",
                ], "is not a period"
            ),
            ("\(path).quiet_hours", ["[]"], "empty list"),
        ]
    }
}
