package import JostleOperator

extension CommandFailure {
    /// Why a device did not answer.
    package init(_ error: RemoteDeviceError) {
        switch error {
        case .mqtt, .secretFile, .privateBroker: self.init(.configuration, "\(error)")
        case .notConnected, .silent, .unknown: self.init(.unavailable, "\(error)")
        case .notAllowed: self.init(.permission, "\(error)")
        case .malformed: self.init(.badData, "\(error)")
        case .interrupted: self.init(.temporary, "\(error)")
        }
    }

    /// A device's refusal of a command.
    package init(refusal answer: RemoteAnswer) {
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
