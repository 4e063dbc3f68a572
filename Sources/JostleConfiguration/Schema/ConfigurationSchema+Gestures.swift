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
            ] + own)
    }
}
