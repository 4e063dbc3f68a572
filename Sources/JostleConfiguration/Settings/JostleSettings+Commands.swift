extension JostleSettings {
    /// What may be asked of the device over MQTT; the raw value is the last level of the command's topic.
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

    /// Which commands are carried out.
    package struct Commands: Equatable, Sendable {
        /// Those that are; the others are refused. Default: those after which the device is as before at its next start at
        /// the latest, and of which none fills its disk. `tare` is one unless `attitude.reference` is `stored`.
        package var allow: [Command] = [.ping, .getState, .identify, .tare, .simulate, .start, .stop, .stream]

        /// Makes the default settings.
        package init() {}
    }
}
