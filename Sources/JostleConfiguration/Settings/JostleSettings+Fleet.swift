extension JostleSettings {
    /// Which keys a home may set on the topics `set/<key>`.
    package struct SettingsAccess: Equatable, Sendable {
        /// Sections and keys; an empty list allows none. Default: `gestures`, `attitude` and `publish`.
        package var allow = ["gestures", "attitude", "publish"]

        package init() {}
    }

    /// The configuration of a fleet over MQTT.
    package struct Fleet: Equatable, Sendable {
        /// The sections and keys that the fleet's layers may set. Smaller limits what an operator, or whoever controls the
        /// broker, can change.
        package var remote = [
            "gestures", "attitude", "publish", "sensor.rate", "sensor.*_range", "home_assistant.discovery",
        ]

        /// Seconds for which a new revision is watched before it counts as proven. Default 60. Smaller notices fewer
        /// faults, larger keeps the way back open for longer.
        package var probation = 60.0

        package init() {}
    }
}
