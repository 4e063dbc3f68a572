internal import JostleConfiguration
internal import JostleOperator

/// Validates the device id of the commands that send requests to a running agent.
enum DeviceIDArgument {
    /// Checks the value of `--on`, or of another option.
    static func check(_ id: String, option: String = "on") throws(CommandFailure) {
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "--\(option) is \"\(id)\", not a device id: letters, digits, _ and -")
        }
    }
}

extension CommandFailure {
    /// Why a device did not answer.
    init(_ error: RemoteDeviceError) {
        switch error {
        case .mqtt, .secretFile, .privateBroker: self.init(.configuration, "\(error)")
        case .notConnected, .silent, .unknown: self.init(.unavailable, "\(error)")
        case .notAllowed: self.init(.permission, "\(error)")
        case .malformed: self.init(.badData, "\(error)")
        case .interrupted: self.init(.temporary, "\(error)")
        }
    }

    /// A device's refusal of a command.
    init(refusal answer: RemoteAnswer) {
        let status: ExitStatus =
            switch answer.error {
            case "bad_arguments": .usage
            case "busy", "too_many": .temporary
            case "not_allowed": .permission
            default: .unavailable
            }
        self.init(status, answer.message ?? "refused: \(answer.error ?? "no reason given")")
    }
}
