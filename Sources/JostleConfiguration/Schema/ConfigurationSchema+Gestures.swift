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
                ])
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
