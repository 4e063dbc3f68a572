internal import MotionCore

extension ConfigurationSchema {
    static let gestures = Section(
        "gestures", "Which gestures are recognised, and how.",
        [
            gesture(
                "shake", .shake, "Shaking to and fro.",
                [
                    .key(
                        "maximum_duration", \.motion.gestures.shake.maximumDuration, .quantity(.duration, 1...60),
                        "Time after which a shake is cancelled as too long (s): a journey is no gesture.")
                ]),
            gesture(
                "tap", .tap, "One, two or three short knocks with a finger.",
                [
                    .key(
                        "counts", \.motion.gestures.tap.counts, .tapCounts,
                        "Which numbers of taps are told apart: single, double, triple, or a list. A tap waits only for what is listed."
                    ),
                    .key(
                        "window", \.motion.gestures.tap.window, .quantity(.duration, 0.15...0.6),
                        "Time from tap to tap within a double or triple one (s). Larger lets people take their time, and singles wait longer."
                    ),
                    .key(
                        "threshold", \.motion.gestures.tap.threshold, .quantity(.acceleration, 0.2...50),
                        "Peak of the weakest tap at sensitivity 5 (m/s²). Smaller hears softer taps, and knocks on the table too."
                    ),
                    .key(
                        "stillness", \.motion.gestures.tap.stillness, .quantity(.acceleration, 0.1...10),
                        "Movement allowed before a tap (m/s² RMS). Larger takes taps on the move, and footsteps for taps."
                    ),
                ]),
            gesture(
                "flick", .flick, "One quick stroke in a direction.",
                [
                    .key(
                        "strength", \.motion.gestures.flick.strength, .quantity(.acceleration, 1...80),
                        "Peak acceleration of a flick at sensitivity 5 (m/s²). Larger asks for a sharper wrist."),
                    .key(
                        "maximum_duration", \.motion.gestures.flick.maximumDuration, .quantity(.duration, 0.2...1.2),
                        "Time from the first stroke to rest, at most (s). Larger takes in windups and slow ways back."),
                ]),
            gesture(
                "turn", .turn, "Turning about an axis. It needs a gyroscope.",
                [
                    .key(
                        "minimum_angle", \.motion.gestures.turn.minimumAngle,
                        .quantity(.angle, (5 * radiansPerDegree)...(2 * Double.pi)),
                        "The angle from which on a rotation is a turn, at sensitivity 5 (°). Larger leaves out all but wide ones."
                    ),
                    .key(
                        "minimum_rate", \.motion.gestures.turn.minimumRate,
                        .quantity(.rotationRange, (5 * radiansPerDegree)...(1000 * radiansPerDegree)),
                        "The rate that a turn must have reached, at sensitivity 5 (°/s). Larger takes only brisk turns."
                    ),
                    .key(
                        "minimum_duration", \.motion.gestures.turn.minimumDuration, .quantity(.duration, 0...2),
                        "Time that a rotation must have lasted to be a turn (s). Larger leaves out quick turns."),
                    .key(
                        "swings", \.motion.gestures.turn.swings, .integer(1...100),
                        "Turns to and fro that are told before it is taken for swinging, as an arm does in walking."),
                    .key(
                        "maximum_duration", \.motion.gestures.turn.maximumDuration, .quantity(.duration, 1...600),
                        "Time after which a turn is cancelled as too long (s)."),
                    .key(
                        "change_angle", \.motion.gestures.turn.changeAngle,
                        .quantity(.angle, radiansPerDegree...(90 * radiansPerDegree)),
                        "The angle that makes a change worth telling (°). Smaller follows more closely and sends more."),
                    .key(
                        "change_interval", \.motion.gestures.turn.changeInterval, .quantity(.duration, 0.02...10),
                        "Time from one change told to the next, at least (s). Smaller follows more closely and sends more."
                    ),
                ]),
            gesture(
                "flip", .flip, "Being laid on another side.",
                [
                    .key(
                        "hold_time", \.motion.gestures.flip.holdTime, .quantity(.duration, 0.04...5),
                        "Time for which a side has to be held up (s). Larger waits longer for a quiet hand."),
                    .key(
                        "steadiness", \.motion.gestures.flip.steadiness,
                        .quantity(.angle, radiansPerDegree...(30 * radiansPerDegree)),
                        "How far the vertical may wander meanwhile, at sensitivity 5 (°). Larger takes a swinging hand."
                    ),
                ]),
            gesture(
                "tilt", .tilt, "Being tilted away from the reference attitude.",
                [
                    .key(
                        "angle", \.motion.gestures.tilt.angle,
                        .quantity(.angle, (2 * radiansPerDegree)...(170 * radiansPerDegree)),
                        "The angle from the reference attitude at which it begins (°)."),
                    .key(
                        "hysteresis", \.motion.gestures.tilt.hysteresis, .quantity(.angle, 0...(45 * radiansPerDegree)),
                        "How far below that angle it ends (°). Larger wants it to be put back."),
                    .key(
                        "hold_time", \.motion.gestures.tilt.holdTime, .quantity(.duration, 0...60),
                        "Time for which the angle has to stay beyond its limit (s). Larger ignores more of walking and shaking."
                    ),
                ]),
            gesture(
                "fall", .fall, "Falling freely.",
                [
                    .key(
                        "minimum_duration", \.motion.gestures.fall.minimumDuration, .quantity(.duration, 0.08...1),
                        "Free fall after which a fall is certain before it has hit anything, at sensitivity 5 (s). Larger waits for the blow."
                    ),
                    .key(
                        "maximum_duration", \.motion.gestures.fall.maximumDuration, .quantity(.duration, 0.3...10),
                        "The longest free fall (s); what goes on for longer is cancelled."),
                ]),
            gesture(
                "impact", .impact, "A blow.",
                [
                    .key(
                        "threshold", \.motion.gestures.impact.threshold, .quantity(.acceleration, 5...150),
                        "Peak acceleration of the weakest blow at sensitivity 5 (m/s²). Smaller catches softer blows."),
                    .key(
                        "maximum_duration", \.motion.gestures.impact.maximumDuration, .quantity(.duration, 0.005...0.2),
                        "The longest blow (s). Larger takes in what is padded, and in the end the swings of a shake."),
                ]),
            gesture(
                "motion", .motion, "Being moved at all.",
                [
                    .key(
                        "stillness", \.motion.gestures.motion.stillness, .quantity(.duration, 0.2...3600),
                        "Stillness after which movement has ended (s). Larger makes one movement of many."),
                    .key(
                        "threshold", \.motion.gestures.motion.threshold, .quantity(.acceleration, 0.05...5),
                        "Change of the acceleration below 2 Hz at which it begins, at sensitivity 5 (m/s²). Smaller wakes up at a touch."
                    ),
                    .key(
                        "rotation_rate", \.motion.gestures.motion.rotationRate,
                        .quantity(.rotationRange, (0.5 * radiansPerDegree)...(90 * radiansPerDegree)),
                        "The rate of turning at which it begins, at sensitivity 5 (°/s)."),
                    .key(
                        "vibration", \.motion.gestures.motion.vibration, .quantity(.acceleration, 0.5...50),
                        "RMS of quicker acceleration that counts as movement though it displaces nothing, at sensitivity 5 (m/s²)."
                    ),
                ]),
            gesture(
                "vibration", .vibration, "A machine that runs.",
                [
                    .key(
                        "threshold", \.motion.gestures.vibration.threshold, .quantity(.acceleration, 0.02...20),
                        "RMS over all axes from which a machine runs, at sensitivity 5 (m/s²). Smaller finds quieter machines."
                    ),
                    .key(
                        "run_time", \.motion.gestures.vibration.runTime, .quantity(.duration, 1...600),
                        "Vibration that it takes until a machine runs (s). Larger ignores knocks and work on the table."
                    ),
                    .key(
                        "done_after", \.motion.gestures.vibration.doneAfter, .quantity(.duration, 2...7200),
                        "Time without vibration after which a machine is done (s): the longest pause within one cycle."),
                    .key(
                        "minimum_frequency", \.motion.gestures.vibration.minimumFrequency,
                        .quantity(.frequency, 1...200),
                        "The lowest frequency that is vibration (Hz). Larger leaves people out."),
                ]),
        ])

    /// The keys of one gesture: those that all have, then its own.
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
                    "From 1 (only what is unmistakable) to 10 (the gentlest too)."),
                .key(
                    "cooldown", \.motion.gestures[gesture].cooldown, .quantity(.duration, 0...60),
                    "Time after it in which no other begins (s). Larger ignores more of what follows."),
            ] + own + [gate(of: gesture)])
    }

    /// When a gesture may begin, by how the device was held before it and by the clock.
    private static func gate(of gesture: Gesture) -> Section.Member {
        .group(
            "when", "When it may begin: what the device did before, and the time of day.",
            [
                .key(
                    "still", optional: \.motion.gestures[gesture].gate.still, .boolean, example: "true",
                    "true: only out of stillness, false: only while moving. Without it, either."),
                .key(
                    "side", \.motion.gestures[gesture].gate.sides, .sides,
                    "Which side has to be up before it: any, one, or one of a list."),
                .key(
                    "tilt_above", \.motion.gestures[gesture].gate.tiltAbove, .quantity(.angle, 0...Double.pi),
                    "Only where the device is tilted at least so far from the reference attitude (°)."),
                .key(
                    "tilt_below", \.motion.gestures[gesture].gate.tiltBelow, .quantity(.angle, 0...Double.pi),
                    "Only where the device is tilted at most so far from the reference attitude (°)."),
                .key(
                    "minimum_interval", \.motion.gestures[gesture].gate.minimumInterval,
                    .quantity(.duration, 0...86_400),
                    "Time from the beginning of one to the beginning of the next, at least (s)."),
                .key(
                    "quiet_hours", optional: \.quietHours[gesture], .oneOrMore(.dailySpan), example: "22:00-07:00",
                    "Time of day at which none begins, or a list of times, by the local clock."),
            ])
    }
}
