extension JostleSettings {
    /// The commands over MQTT; the raw value is the last level of the command's topic.
    package enum Command: String, CaseIterable, Sendable {
        case ping
        case getState = "get-state"
        case identify
        case tare
        case simulate
        case start
        case stop
        case stream
        case record
        case calibrate
        case restart
    }

    /// Which commands are allowed.
    package struct Commands: Equatable, Sendable {
        /// The allowed commands; others are refused. Default: those whose effect ends at the next start at the latest,
        /// and that do not fill the disk. `tare` is allowed too, although its effect lasts if `attitude.reference` is
        /// `stored`.
        package var allow: [Command] = [.ping, .getState, .identify, .tare, .simulate, .start, .stop, .stream]

        package init() {}
    }
}
