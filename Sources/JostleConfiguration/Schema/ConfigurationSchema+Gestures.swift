internal import MotionCore

extension ConfigurationSchema {
    static let gestures = Section(
        "gestures", "Which gestures are recognised, and how.",
        [
            gesture(
                "shake", .shake, "Shaking back and forth.",
                [
                    .key(
                        "maximum_duration", \.motion.gestures.shake.maximumDuration, .quantity(.duration, 1...60),
                        "Time after which a shake is cancelled as too long (s), so that a journey is not a gesture.")
                ]),
            gesture(
                "tap", .tap, "One, two or three short taps with a finger.",
                [
                    .key(
                        "counts", \.motion.gestures.tap.counts, .tapCounts,
                        "The tap counts to distinguish: single, double, triple, or a list. A tap is delayed only if a higher count is listed."
                    ),
                    .key(
                        "window", \.motion.gestures.tap.window, .quantity(.duration, 0.15...0.6),
                        "Longest time between the taps of a double or triple tap (s). Larger allows slower tapping, but delays single taps."
                    ),
                    .key(
                        "threshold", \.motion.gestures.tap.threshold, .quantity(.acceleration, 0.2...50),
                        "Peak of the weakest tap at sensitivity 5 on a board that is held or worn (m/s²). At rest, half of it is enough. Smaller detects softer taps, but also knocks on the table."
                    ),
                    .key(
                        "stillness", \.motion.gestures.tap.stillness, .quantity(.acceleration, 0.1...10),
                        "Movement allowed before a tap (m/s² RMS). Larger detects taps on the move, but may take footsteps for taps."
                    ),
                ]),
            gesture(
                "flick", .flick, "One quick movement in a direction.",
                [
                    .key(
                        "strength", \.motion.gestures.flick.strength, .quantity(.acceleration, 1...80),
                        "Peak acceleration of a flick at sensitivity 5 (m/s²). Larger requires a sharper movement."),
                    .key(
                        "maximum_duration", \.motion.gestures.flick.maximumDuration, .quantity(.duration, 0.2...1.2),
                        "Longest time from the first stroke to rest (s). Larger accepts a wind-up and a slow return."),
                    .key(
                        "directions", \.motion.gestures.flick.directions, .directions,
                        "The directions that are recognised: any, one, or a list."),
                ]),
            gesture(
                "turn", .turn, "Turning, by default like a knob. It needs a gyroscope.",
                [
                    .key(
                        "mode", \.motion.gestures.turn.mode, .choice(["knob": .knob, "free": .free]),
                        "knob: only from rest to rest, about the vertical, without tilting. free: every rotation about an axis, also of a wrist."
                    ),
                    .key(
                        "knob_angle", \.motion.gestures.turn.knobAngle,
                        .quantity(.angle, (3 * radiansPerDegree)...(90 * radiansPerDegree)),
                        "knob: smallest rotation that counts as a turn, at sensitivity 5 (°). Larger ignores small corrections."
                    ),
                    .key(
                        "knob_rest", \.motion.gestures.turn.knobRest, .quantity(.duration, 0.1...5),
                        "knob: stillness before a turn (s). Larger ignores more of the movements of a hand."),
                    .key(
                        "knob_duration", \.motion.gestures.turn.knobDuration, .quantity(.duration, 0.5...30),
                        "knob: time after which a turn is cancelled as too long (s). Larger lets people turn more slowly."
                    ),
                    .key(
                        "minimum_angle", \.motion.gestures.turn.minimumAngle,
                        .quantity(.angle, (5 * radiansPerDegree)...(2 * Double.pi)),
                        "free: smallest rotation that counts as a turn, at sensitivity 5 (°). Larger ignores all but wide turns."
                    ),
                    .key(
                        "minimum_rate", \.motion.gestures.turn.minimumRate,
                        .quantity(.rotationRange, (5 * radiansPerDegree)...(1000 * radiansPerDegree)),
                        "free: rate that a turn must reach, at sensitivity 5 (°/s). Larger accepts only brisk turns."
                    ),
                    .key(
                        "minimum_duration", \.motion.gestures.turn.minimumDuration, .quantity(.duration, 0...2),
                        "free: shortest rotation that counts as a turn (s). Larger ignores quick turns."),
                    .key(
                        "swings", \.motion.gestures.turn.swings, .integer(1...100),
                        "free: turns back and forth that are reported before the movement counts as swinging, like an arm while walking."
                    ),
                    .key(
                        "maximum_duration", \.motion.gestures.turn.maximumDuration, .quantity(.duration, 1...600),
                        "free: time after which a turn is cancelled as too long (s)."),
                    .key(
                        "change_angle", \.motion.gestures.turn.changeAngle,
                        .quantity(.angle, radiansPerDegree...(90 * radiansPerDegree)),
                        "Smallest change of the angle that is reported (°). Smaller follows more closely, but sends more messages."
                    ),
                    .key(
                        "change_interval", \.motion.gestures.turn.changeInterval, .quantity(.duration, 0.02...10),
                        "Shortest time between two reported changes (s). Smaller follows more closely, but sends more messages."
                    ),
                ]),
            gesture(
                "flip", .flip, "Being turned onto another side.",
                [
                    .key(
                        "hold_time", \.motion.gestures.flip.holdTime, .quantity(.duration, 0.04...5),
                        "Time for which the new side must stay up (s). Larger waits longer for the hand to become still."
                    ),
                    .key(
                        "steadiness", \.motion.gestures.flip.steadiness,
                        .quantity(.angle, radiansPerDegree...(30 * radiansPerDegree)),
                        "How far the vertical may wander during that time, at sensitivity 5 (°). Larger tolerates a swinging hand."
                    ),
                ]),
            gesture(
                "tilt", .tilt, "Being tilted away from the reference attitude.",
                [
                    .key(
                        "angle", \.motion.gestures.tilt.angle,
                        .quantity(.angle, (2 * radiansPerDegree)...(170 * radiansPerDegree)),
                        "Angle from the reference attitude at which the tilt begins (°)."),
                    .key(
                        "hysteresis", \.motion.gestures.tilt.hysteresis, .quantity(.angle, 0...(45 * radiansPerDegree)),
                        "How far below that angle the tilt ends (°). With a larger value it must be tilted further back."
                    ),
                    .key(
                        "hold_time", \.motion.gestures.tilt.holdTime, .quantity(.duration, 0...60),
                        "Time for which the angle must stay beyond its limit (s). Larger ignores more of walking and shaking."
                    ),
                ]),
            gesture(
                "fall", .fall, "Free fall.",
                [
                    .key(
                        "minimum_duration", \.motion.gestures.fall.minimumDuration, .quantity(.duration, 0.08...1),
                        "Free fall after which a fall is certain even before an impact, at sensitivity 5 (s). Larger waits for the impact."
                    ),
                    .key(
                        "maximum_duration", \.motion.gestures.fall.maximumDuration, .quantity(.duration, 0.3...10),
                        "Longest free fall (s). A longer one is cancelled."),
                ]),
            gesture(
                "impact", .impact, "A blow.",
                [
                    .key(
                        "threshold", \.motion.gestures.impact.threshold, .quantity(.acceleration, 5...150),
                        "Peak acceleration of the weakest impact at sensitivity 5 (m/s²). Smaller detects softer impacts."
                    ),
                    .key(
                        "maximum_duration", \.motion.gestures.impact.maximumDuration, .quantity(.duration, 0.005...0.2),
                        "Longest impact (s). Larger includes padded impacts and, eventually, the swings of a shake."),
                ]),
            gesture(
                "motion", .motion, "Any movement.",
                [
                    .key(
                        "stillness", \.motion.gestures.motion.stillness, .quantity(.duration, 0.2...3600),
                        "Stillness after which a movement has ended (s). Larger merges several movements into one."),
                    .key(
                        "threshold", \.motion.gestures.motion.threshold, .quantity(.acceleration, 0.05...5),
                        "Change of the acceleration below 2 Hz that begins a movement, at sensitivity 5 (m/s²). Smaller reacts to a touch."
                    ),
                    .key(
                        "rotation_rate", \.motion.gestures.motion.rotationRate,
                        .quantity(.rotationRange, (0.5 * radiansPerDegree)...(90 * radiansPerDegree)),
                        "Rotation rate that begins a movement, at sensitivity 5 (°/s)."),
                    .key(
                        "vibration", \.motion.gestures.motion.vibration, .quantity(.acceleration, 0.5...50),
                        "RMS of faster acceleration that counts as movement although nothing is displaced, at sensitivity 5 (m/s²)."
                    ),
                ]),
            gesture(
                "vibration", .vibration, "A running machine.",
                [
                    .key(
                        "threshold", \.motion.gestures.vibration.threshold, .quantity(.acceleration, 0.02...20),
                        "RMS over all axes at which a machine counts as running, at sensitivity 5 (m/s²). Smaller detects quieter machines."
                    ),
                    .key(
                        "run_time", \.motion.gestures.vibration.runTime, .quantity(.duration, 1...600),
                        "Vibration after which a machine counts as running (s). Larger ignores knocks and work on the table."
                    ),
                    .key(
                        "done_after", \.motion.gestures.vibration.doneAfter, .quantity(.duration, 2...7200),
                        "Time without vibration after which a machine is done (s): set it to the longest pause within a cycle."
                    ),
                    .key(
                        "minimum_frequency", \.motion.gestures.vibration.minimumFrequency,
                        .quantity(.frequency, 1...200),
                        "Lowest frequency that counts as vibration (Hz). Larger ignores people's movements."),
                ]),
        ])

    /// The keys of a gesture: the common ones, then its own.
    private static func gesture(
        _ name: String, _ gesture: Gesture, _ summary: String, _ own: [Section.Member]
    ) -> Section.Member {
        .group(
            name, summary,
            [
                .key(
                    "enabled", \.motion.gestures[gesture].isEnabled, .boolean, "Whether it is recognised."),
                .key(
                    "sensitivity", \.motion.gestures[gesture].sensitivity, .integer(1...10),
                    "From 1 (only unmistakable gestures) to 10 (even the gentlest)."),
                .key(
                    "cooldown", \.motion.gestures[gesture].cooldown, .quantity(.duration, 0...60),
                    "Time after its end in which it does not begin again (s). Larger ignores more of what follows."),
            ] + own + [gate(of: gesture)])
    }

    /// The conditions for the beginning of a gesture: the state of the device before it, and the time of day.
    private static func gate(of gesture: Gesture) -> Section.Member {
        .group(
            "when", "When it may begin: the state of the device before it, and the time of day.",
            [
                .key(
                    "still", optional: \.motion.gestures[gesture].gate.still, .boolean, example: "true",
                    "true: only after stillness, false: only while moving. Without it, either."),
                .key(
                    "side", \.motion.gestures[gesture].gate.sides, .sides,
                    "Side that must be up before it: any, one, or one of a list."),
                .key(
                    "tilt_above", \.motion.gestures[gesture].gate.tiltAbove, .quantity(.angle, 0...Double.pi),
                    "Only if the device is tilted at least this far from the reference attitude (°)."),
                .key(
                    "tilt_below", \.motion.gestures[gesture].gate.tiltBelow, .quantity(.angle, 0...Double.pi),
                    "Only if the device is tilted at most this far from the reference attitude (°)."),
                .key(
                    "minimum_interval", \.motion.gestures[gesture].gate.minimumInterval,
                    .quantity(.duration, 0...86_400),
                    "Shortest time between the beginnings of two gestures of this kind (s)."),
                .key(
                    "quiet_hours", optional: \.quietHours[gesture], .oneOrMore(.dailySpan), example: "22:00-07:00",
                    "Time of day, or a list of times, in which it does not begin, by the local clock."),
            ])
    }
}
