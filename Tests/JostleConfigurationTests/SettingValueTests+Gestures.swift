import MotionCore

@testable import JostleConfiguration

// The keys of all gestures except shake, whose keys are among the filters: accepted and refused values.
extension AcceptedValue {
    static let gestures: [AcceptedValue] =
        Gesture.builtIn.filter { $0 != .shake }.flatMap(common) + own
        + Gesture.builtIn.flatMap { gates(of: "\($0)", $0) }

    private static func gesture(
        _ path: String, _ text: String, _ isApplied: @escaping @Sendable (GestureSettings) -> Bool
    ) -> AcceptedValue {
        .init("gestures.\(path)", text) { isApplied($0.motion.gestures) }
    }

    private static func common(of gesture: Gesture) -> [AcceptedValue] {
        [
            .gesture("\(gesture).enabled", "false") { !$0[gesture].isEnabled },
            .gesture("\(gesture).sensitivity", "8") { $0[gesture].sensitivity == 8 },
            .gesture("\(gesture).cooldown", "2 s") { $0[gesture].cooldown == 2 },
        ]
    }

    private static let own: [AcceptedValue] = [
        .gesture("tap.counts", "[single, triple]") { $0.tap.counts == TapCounts.single.union(.triple) },
        .gesture("tap.window", "0.3 s") { $0.tap.window == 0.3 },
        .gesture("tap.threshold", "2 m/s²") { $0.tap.threshold == 2 },
        .gesture("tap.stillness", "1") { $0.tap.stillness == 1 },
        .gesture("flick.strength", "1 g") { $0.flick.strength == standardGravity },
        .gesture("flick.maximum_duration", "0.5 s") { $0.flick.maximumDuration == 0.5 },
        .gesture("flick.directions", "[left, up]") {
            $0.flick.directions == MotionDirections(.left).union(MotionDirections(.up))
        },
        .gesture("flick.directions", "backward") { $0.flick.directions == MotionDirections(.backward) },
        .gesture("flick.directions", "any") { $0.flick.directions == .all },
        .gesture("turn.mode", "free") { $0.turn.mode == .free },
        .gesture("turn.mode", "knob") { $0.turn.mode == .knob },
        .gesture("turn.knob_angle", "20 deg") { $0.turn.knobAngle == 20 * radiansPerDegree },
        .gesture("turn.knob_rest", "1 s") { $0.turn.knobRest == 1 },
        .gesture("turn.knob_duration", "3 s") { $0.turn.knobDuration == 3 },
        .gesture("turn.minimum_angle", "90 deg") { $0.turn.minimumAngle == 90 * radiansPerDegree },
        .gesture("turn.minimum_rate", "100 °/s") { $0.turn.minimumRate == 100 * radiansPerDegree },
        .gesture("turn.minimum_duration", "0") { $0.turn.minimumDuration == 0 },
        .gesture("turn.swings", "5") { $0.turn.swings == 5 },
        .gesture("turn.maximum_duration", "1 min") { $0.turn.maximumDuration == 60 },
        .gesture("turn.change_angle", "5 deg") { $0.turn.changeAngle == 5 * radiansPerDegree },
        .gesture("turn.change_interval", "1 s") { $0.turn.changeInterval == 1 },
        .gesture("flip.hold_time", "1 s") { $0.flip.holdTime == 1 },
        .gesture("flip.steadiness", "10 deg") { $0.flip.steadiness == 10 * radiansPerDegree },
        .gesture("tilt.angle", "45 deg") { $0.tilt.angle == 45 * radiansPerDegree },
        .gesture("tilt.hysteresis", "0") { $0.tilt.hysteresis == 0 },
        .gesture("tilt.hold_time", "1 min") { $0.tilt.holdTime == 60 },
        .gesture("fall.minimum_duration", "0.3 s") { $0.fall.minimumDuration == 0.3 },
        .gesture("fall.maximum_duration", "2 s") { $0.fall.maximumDuration == 2 },
        .gesture("impact.threshold", "50") { $0.impact.threshold == 50 },
        .gesture("impact.maximum_duration", "50 ms") { $0.impact.maximumDuration == 0.05 },
        .gesture("motion.stillness", "1 min") { $0.motion.stillness == 60 },
        .gesture("motion.threshold", "1") { $0.motion.threshold == 1 },
        .gesture("motion.rotation_rate", "10 °/s") { $0.motion.rotationRate == 10 * radiansPerDegree },
        .gesture("motion.vibration", "10") { $0.motion.vibration == 10 },
        .gesture("vibration.threshold", "1") { $0.vibration.threshold == 1 },
        .gesture("vibration.threshold", "auto") { $0.vibration.threshold == nil },
        .gesture("vibration.profile", "dishwasher") { $0.vibration.profile == .dishwasher },
        .gesture("vibration.speed", "1500 rpm") { $0.vibration.speed == 25 },
        .gesture("vibration.speed", "25 Hz") { $0.vibration.speed == 25 },
        .gesture("vibration.class", "medium_rigid") { $0.vibration.machineClass == .mediumRigid },
        .gesture("vibration.run_time", "30 s") { $0.vibration.runTime == 30 },
        .gesture("vibration.done_after", "10 s") { $0.vibration.doneAfter == 10 },
        .gesture("vibration.minimum_frequency", "8 Hz") { $0.vibration.minimumFrequency == 8 },
    ]
}

extension RefusedValue {
    static let gestures: [Row] =
        Gesture.builtIn.filter { $0 != .shake }.flatMap(common) + own
        + Gesture.builtIn.flatMap { gates(of: "\($0)") }

    private static func common(of gesture: Gesture) -> [Row] {
        [
            ("gestures.\(gesture).enabled", ["yes"], "neither true nor false"),
            ("gestures.\(gesture).sensitivity", ["0"], "out of bounds"),
            ("gestures.\(gesture).cooldown", ["61 s"], "out of bounds"),
        ]
    }

    private static let own: [Row] = [
        ("gestures.tap.counts", ["four"], "is unknown"),
        ("gestures.tap.counts", ["[]"], "empty"),
        ("gestures.tap.window", ["1 s"], "out of bounds"),
        ("gestures.tap.threshold", ["0.1"], "out of bounds"),
        ("gestures.tap.stillness", ["11"], "out of bounds"),
        ("gestures.flick.directions", ["sideways"], "is unknown"),
        ("gestures.flick.directions", ["[]"], "empty"),
        ("gestures.flick.directions", ["[left, any]"], "is unknown"),
        ("gestures.flick.strength", ["0.5"], "out of bounds"),
        ("gestures.flick.maximum_duration", ["2 s"], "out of bounds"),
        ("gestures.turn.mode", ["crank"], "is unknown"),
        ("gestures.turn.knob_angle", ["2 deg"], "out of bounds"),
        ("gestures.turn.knob_rest", ["0"], "out of bounds"),
        ("gestures.turn.knob_duration", ["1 min"], "out of bounds"),
        ("gestures.turn.minimum_angle", ["4 deg"], "out of bounds"),
        ("gestures.turn.minimum_rate", ["1 °/s"], "out of bounds"),
        ("gestures.turn.minimum_duration", ["3 s"], "out of bounds"),
        ("gestures.turn.swings", ["0"], "out of bounds"),
        ("gestures.turn.maximum_duration", ["0.5 s"], "out of bounds"),
        ("gestures.turn.change_angle", ["0.5 deg"], "out of bounds"),
        ("gestures.turn.change_interval", ["0.01"], "out of bounds"),
        ("gestures.flip.hold_time", ["6 s"], "out of bounds"),
        ("gestures.flip.steadiness", ["31 deg"], "out of bounds"),
        ("gestures.tilt.angle", ["1 deg"], "out of bounds"),
        ("gestures.tilt.hysteresis", ["46 deg"], "out of bounds"),
        ("gestures.tilt.hold_time", ["2 min"], "out of bounds"),
        ("gestures.fall.minimum_duration", ["0.05"], "out of bounds"),
        ("gestures.fall.maximum_duration", ["11 s"], "out of bounds"),
        ("gestures.impact.threshold", ["4"], "out of bounds"),
        ("gestures.impact.maximum_duration", ["0.3 s"], "out of bounds"),
        ("gestures.motion.stillness", ["0.1"], "out of bounds"),
        ("gestures.motion.threshold", ["6"], "out of bounds"),
        ("gestures.motion.rotation_rate", ["0.1 °/s"], "out of bounds"),
        ("gestures.motion.vibration", ["0.4"], "out of bounds"),
        ("gestures.vibration.threshold", ["0.01"], "out of bounds"),
        ("gestures.vibration.profile", ["toaster", "1"], "is unknown"),
        ("gestures.vibration.speed", ["0 rpm"], "out of bounds"), ("gestures.vibration.class", ["A"], "is unknown"),
        ("gestures.vibration.run_time", ["0.5 s"], "out of bounds"),
        ("gestures.vibration.done_after", ["1 s"], "out of bounds"),
        ("gestures.vibration.minimum_frequency", ["0.5 Hz"], "out of bounds"),
    ]
}
