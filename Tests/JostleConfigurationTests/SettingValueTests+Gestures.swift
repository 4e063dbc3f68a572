import MotionCore

@testable import JostleConfiguration

// The keys of all gestures except shake, whose keys are among the filters: accepted and refused values.
extension AcceptedValue {
    static let gestures: [AcceptedValue] = recognizers + Gesture.allCases.flatMap { gates(of: "\($0)", $0) }

    private static let recognizers: [AcceptedValue] = [
        .init("gestures.tap.enabled", "false") { !$0.motion.gestures.tap.common.isEnabled },
        .init("gestures.tap.sensitivity", "8") { $0.motion.gestures.tap.common.sensitivity == 8 },
        .init("gestures.tap.cooldown", "2 s") { $0.motion.gestures.tap.common.cooldown == 2 },
        .init("gestures.tap.counts", "[single, triple]") {
            $0.motion.gestures.tap.counts == TapCounts.single.union(.triple)
        },
        .init("gestures.tap.window", "0.3 s") { $0.motion.gestures.tap.window == 0.3 },
        .init("gestures.tap.threshold", "2 m/s²") { $0.motion.gestures.tap.threshold == 2 },
        .init("gestures.tap.stillness", "1") { $0.motion.gestures.tap.stillness == 1 },
        .init("gestures.flick.enabled", "false") { !$0.motion.gestures.flick.common.isEnabled },
        .init("gestures.flick.sensitivity", "8") { $0.motion.gestures.flick.common.sensitivity == 8 },
        .init("gestures.flick.cooldown", "2 s") { $0.motion.gestures.flick.common.cooldown == 2 },
        .init("gestures.flick.strength", "1 g") { $0.motion.gestures.flick.strength == standardGravity },
        .init("gestures.flick.maximum_duration", "0.5 s") { $0.motion.gestures.flick.maximumDuration == 0.5 },
        .init("gestures.flick.directions", "[left, up]") {
            $0.motion.gestures.flick.directions == MotionDirections(.left).union(MotionDirections(.up))
        },
        .init("gestures.flick.directions", "backward") {
            $0.motion.gestures.flick.directions == MotionDirections(.backward)
        },
        .init("gestures.flick.directions", "any") { $0.motion.gestures.flick.directions == .all },
        .init("gestures.turn.enabled", "false") { !$0.motion.gestures.turn.common.isEnabled },
        .init("gestures.turn.sensitivity", "8") { $0.motion.gestures.turn.common.sensitivity == 8 },
        .init("gestures.turn.cooldown", "2 s") { $0.motion.gestures.turn.common.cooldown == 2 },
        .init("gestures.turn.minimum_angle", "90 deg") {
            $0.motion.gestures.turn.minimumAngle == 90 * radiansPerDegree
        },
        .init("gestures.turn.minimum_rate", "100 °/s") {
            $0.motion.gestures.turn.minimumRate == 100 * radiansPerDegree
        },
        .init("gestures.turn.minimum_duration", "0") { $0.motion.gestures.turn.minimumDuration == 0 },
        .init("gestures.turn.swings", "5") { $0.motion.gestures.turn.swings == 5 },
        .init("gestures.turn.maximum_duration", "1 min") { $0.motion.gestures.turn.maximumDuration == 60 },
        .init("gestures.turn.change_angle", "5 deg") { $0.motion.gestures.turn.changeAngle == 5 * radiansPerDegree },
        .init("gestures.turn.change_interval", "1 s") { $0.motion.gestures.turn.changeInterval == 1 },
        .init("gestures.flip.enabled", "false") { !$0.motion.gestures.flip.common.isEnabled },
        .init("gestures.flip.sensitivity", "8") { $0.motion.gestures.flip.common.sensitivity == 8 },
        .init("gestures.flip.cooldown", "2 s") { $0.motion.gestures.flip.common.cooldown == 2 },
        .init("gestures.flip.hold_time", "1 s") { $0.motion.gestures.flip.holdTime == 1 },
        .init("gestures.flip.steadiness", "10 deg") { $0.motion.gestures.flip.steadiness == 10 * radiansPerDegree },
        .init("gestures.tilt.enabled", "false") { !$0.motion.gestures.tilt.common.isEnabled },
        .init("gestures.tilt.sensitivity", "8") { $0.motion.gestures.tilt.common.sensitivity == 8 },
        .init("gestures.tilt.cooldown", "2 s") { $0.motion.gestures.tilt.common.cooldown == 2 },
        .init("gestures.tilt.angle", "45 deg") { $0.motion.gestures.tilt.angle == 45 * radiansPerDegree },
        .init("gestures.tilt.hysteresis", "0") { $0.motion.gestures.tilt.hysteresis == 0 },
        .init("gestures.tilt.hold_time", "1 min") { $0.motion.gestures.tilt.holdTime == 60 },
        .init("gestures.fall.enabled", "false") { !$0.motion.gestures.fall.common.isEnabled },
        .init("gestures.fall.sensitivity", "8") { $0.motion.gestures.fall.common.sensitivity == 8 },
        .init("gestures.fall.cooldown", "2 s") { $0.motion.gestures.fall.common.cooldown == 2 },
        .init("gestures.fall.minimum_duration", "0.3 s") { $0.motion.gestures.fall.minimumDuration == 0.3 },
        .init("gestures.fall.maximum_duration", "2 s") { $0.motion.gestures.fall.maximumDuration == 2 },
        .init("gestures.impact.enabled", "false") { !$0.motion.gestures.impact.common.isEnabled },
        .init("gestures.impact.sensitivity", "8") { $0.motion.gestures.impact.common.sensitivity == 8 },
        .init("gestures.impact.cooldown", "2 s") { $0.motion.gestures.impact.common.cooldown == 2 },
        .init("gestures.impact.threshold", "50") { $0.motion.gestures.impact.threshold == 50 },
        .init("gestures.impact.maximum_duration", "50 ms") { $0.motion.gestures.impact.maximumDuration == 0.05 },
        .init("gestures.motion.enabled", "false") { !$0.motion.gestures.motion.common.isEnabled },
        .init("gestures.motion.sensitivity", "8") { $0.motion.gestures.motion.common.sensitivity == 8 },
        .init("gestures.motion.cooldown", "2 s") { $0.motion.gestures.motion.common.cooldown == 2 },
        .init("gestures.motion.stillness", "1 min") { $0.motion.gestures.motion.stillness == 60 },
        .init("gestures.motion.threshold", "1") { $0.motion.gestures.motion.threshold == 1 },
        .init("gestures.motion.rotation_rate", "10 °/s") {
            $0.motion.gestures.motion.rotationRate == 10 * radiansPerDegree
        },
        .init("gestures.motion.vibration", "10") { $0.motion.gestures.motion.vibration == 10 },
        .init("gestures.vibration.enabled", "false") { !$0.motion.gestures.vibration.common.isEnabled },
        .init("gestures.vibration.sensitivity", "8") { $0.motion.gestures.vibration.common.sensitivity == 8 },
        .init("gestures.vibration.cooldown", "2 s") { $0.motion.gestures.vibration.common.cooldown == 2 },
        .init("gestures.vibration.threshold", "1") { $0.motion.gestures.vibration.threshold == 1 },
        .init("gestures.vibration.run_time", "30 s") { $0.motion.gestures.vibration.runTime == 30 },
        .init("gestures.vibration.done_after", "10 s") { $0.motion.gestures.vibration.doneAfter == 10 },
        .init("gestures.vibration.minimum_frequency", "8 Hz") { $0.motion.gestures.vibration.minimumFrequency == 8 },
    ]
}

extension RefusedValue {
    static let gestures: [RefusedValue] = recognizers + Gesture.allCases.flatMap { gates(of: "\($0)") }

    private static let recognizers: [RefusedValue] = [
        .init("gestures.tap.enabled", "yes", "neither true nor false"),
        .init("gestures.tap.sensitivity", "0", "out of bounds"),
        .init("gestures.tap.cooldown", "61 s", "out of bounds"),
        .init("gestures.tap.counts", "four", "is unknown"),
        .init("gestures.tap.counts", "[]", "empty"),
        .init("gestures.tap.window", "1 s", "out of bounds"),
        .init("gestures.tap.threshold", "0.1", "out of bounds"),
        .init("gestures.tap.stillness", "11", "out of bounds"),
        .init("gestures.flick.enabled", "yes", "neither true nor false"),
        .init("gestures.flick.directions", "sideways", "is unknown"),
        .init("gestures.flick.directions", "[]", "empty"),
        .init("gestures.flick.directions", "[left, any]", "is unknown"),
        .init("gestures.flick.sensitivity", "0", "out of bounds"),
        .init("gestures.flick.cooldown", "61 s", "out of bounds"),
        .init("gestures.flick.strength", "0.5", "out of bounds"),
        .init("gestures.flick.maximum_duration", "2 s", "out of bounds"),
        .init("gestures.turn.enabled", "yes", "neither true nor false"),
        .init("gestures.turn.sensitivity", "0", "out of bounds"),
        .init("gestures.turn.cooldown", "61 s", "out of bounds"),
        .init("gestures.turn.minimum_angle", "4 deg", "out of bounds"),
        .init("gestures.turn.minimum_rate", "1 °/s", "out of bounds"),
        .init("gestures.turn.minimum_duration", "3 s", "out of bounds"),
        .init("gestures.turn.swings", "0", "out of bounds"),
        .init("gestures.turn.maximum_duration", "0.5 s", "out of bounds"),
        .init("gestures.turn.change_angle", "0.5 deg", "out of bounds"),
        .init("gestures.turn.change_interval", "0.01", "out of bounds"),
        .init("gestures.flip.enabled", "yes", "neither true nor false"),
        .init("gestures.flip.sensitivity", "0", "out of bounds"),
        .init("gestures.flip.cooldown", "61 s", "out of bounds"),
        .init("gestures.flip.hold_time", "6 s", "out of bounds"),
        .init("gestures.flip.steadiness", "31 deg", "out of bounds"),
        .init("gestures.tilt.enabled", "yes", "neither true nor false"),
        .init("gestures.tilt.sensitivity", "0", "out of bounds"),
        .init("gestures.tilt.cooldown", "61 s", "out of bounds"),
        .init("gestures.tilt.angle", "1 deg", "out of bounds"),
        .init("gestures.tilt.hysteresis", "46 deg", "out of bounds"),
        .init("gestures.tilt.hold_time", "2 min", "out of bounds"),
        .init("gestures.fall.enabled", "yes", "neither true nor false"),
        .init("gestures.fall.sensitivity", "0", "out of bounds"),
        .init("gestures.fall.cooldown", "61 s", "out of bounds"),
        .init("gestures.fall.minimum_duration", "0.05", "out of bounds"),
        .init("gestures.fall.maximum_duration", "11 s", "out of bounds"),
        .init("gestures.impact.enabled", "yes", "neither true nor false"),
        .init("gestures.impact.sensitivity", "0", "out of bounds"),
        .init("gestures.impact.cooldown", "61 s", "out of bounds"),
        .init("gestures.impact.threshold", "4", "out of bounds"),
        .init("gestures.impact.maximum_duration", "0.3 s", "out of bounds"),
        .init("gestures.motion.enabled", "yes", "neither true nor false"),
        .init("gestures.motion.sensitivity", "0", "out of bounds"),
        .init("gestures.motion.cooldown", "61 s", "out of bounds"),
        .init("gestures.motion.stillness", "0.1", "out of bounds"),
        .init("gestures.motion.threshold", "6", "out of bounds"),
        .init("gestures.motion.rotation_rate", "0.1 °/s", "out of bounds"),
        .init("gestures.motion.vibration", "0.4", "out of bounds"),
        .init("gestures.vibration.enabled", "yes", "neither true nor false"),
        .init("gestures.vibration.sensitivity", "0", "out of bounds"),
        .init("gestures.vibration.cooldown", "61 s", "out of bounds"),
        .init("gestures.vibration.threshold", "0.01", "out of bounds"),
        .init("gestures.vibration.run_time", "0.5 s", "out of bounds"),
        .init("gestures.vibration.done_after", "1 s", "out of bounds"),
        .init("gestures.vibration.minimum_frequency", "0.5 Hz", "out of bounds"),
    ]
}
