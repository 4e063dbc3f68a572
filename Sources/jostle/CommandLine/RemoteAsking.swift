internal import JostleConfiguration
internal import JostleOperator

/// What the commands that ask a running agent have in common.
enum RemoteAsking {
    /// Checks what was given with --on, or with another option.
    static func check(_ id: String, option: String = "on") throws(CommandFailure) {
        guard JostleSettings.Device.isID(id) else {
            throw CommandFailure(.usage, "--\(option) is \"\(id)\", not the id of a device: letters, digits, _ and -")
        }
    }
}

extension CommandFailure {
    /// Why a device gave no answer.
    init(_ error: RemoteDeviceError) {
        switch error {
        case .mqtt, .secretFile, .privateBroker: self.init(.configuration, "\(error)")
        case .notConnected, .silent: self.init(.unavailable, "\(error)")
        case .notAllowed: self.init(.permission, "\(error)")
        case .malformed: self.init(.badData, "\(error)")
        case .interrupted: self.init(.temporary, "\(error)")
        }
    }

    /// What a device has against a command.
    init(refusal answer: RemoteAnswer) {
        let status: ExitStatus =
            switch answer.error {
            case "bad_arguments": .usage
            case "busy", "too_many": .temporary
            case "not_allowed": .permission
            default: .unavailable
            }
        self.init(status, answer.message ?? "refused: \(answer.error ?? "nobody knows why")")
    }
}
