internal import IMUDrivers

extension DataReadyStatus.State {
    /// The state's value in payloads.
    var word: String {
        switch self {
        case .none: "none"
        case .seeking: "seeking"
        case .used: "used"
        case .unused: "unused"
        }
    }
}

extension DataReadyFault {
    /// The fault's value in payloads.
    var word: String {
        switch self {
        case .silent: "silent"
        case .mismatched: "mismatched"
        case .unsupported: "unsupported"
        }
    }
}

extension IMUState {
    /// The state's value in payloads.
    var word: String {
        switch self {
        case .asleep: "asleep"
        case .identifying: "identifying"
        case .resetting: "resetting"
        case .waking: "waking"
        case .configuring: "configuring"
        case .settling: "settling"
        case .streaming: "streaming"
        case .recovering: "recovering"
        }
    }
}

extension MagnetometerState {
    /// The state's value in payloads.
    var word: String {
        switch self {
        case .asleep: "asleep"
        case .identifying: "identifying"
        case .starting: "starting"
        case .measuring: "measuring"
        case .recovering: "recovering"
        }
    }
}
