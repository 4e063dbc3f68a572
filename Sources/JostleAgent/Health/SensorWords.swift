internal import IMUDrivers
internal import MotionKit

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

extension MagnetometerFault {
    /// What is wrong, in words.
    var explanation: String {
        switch self {
        case .bus(let error): error.explanation
        case .identity(let found): "it answers \(hexadecimal(found)), which is not its identity"
        case .readBack(let register, let wrote, let read):
            "register \(hexadecimal(register)) holds \(hexadecimal(read)) after \(hexadecimal(wrote)) was written"
        case .trim(let found): "its factory value \(hexadecimal(found)) cannot be right"
        case .deadline: "its reset did not end"
        case .configurationLost(let register):
            "register \(hexadecimal(register)) has changed: it was reset, or another program uses it"
        case .stalled: "it answers and does not measure"
        }
    }
}
