internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSensors
internal import LinuxSystem
internal import StateStorage

/// Clears values that were set over MQTT, so that the configuration file applies again.
enum LocalValues {
    /// The name of their layer in reports.
    static let layerName = LocalLayer.name

    /// Seconds within which a running agent must confirm.
    private static let answerTime = 5.0

    /// Where values were cleared.
    enum Outcome {
        /// In the running agent, where these values are in force now.
        case byAgent([String: JSONValue])
        /// In the state directory of an agent that does not run.
        case inDirectory
    }

    /// Clears keys: through the running agent, or in its state directory if no agent runs there.
    ///
    /// - Throws: the failure with its exit status; the values then stay.
    static func clear(
        _ keys: [String], _ loaded: LoadedConfiguration, _ layers: LayersInForce, signals: SignalWaiter
    ) throws(CommandFailure) -> Outcome {
        do throws(RemoteDeviceError) {
            let device = try RemoteDevice(id: layers.id, settings: loaded.settings)
            return .byAgent(try device.clear(keys, within: answerTime, signals: signals))
        } catch {
            let failure = CommandFailure(error)
            if let holder = StateDirectoryLock.holder(of: layers.directory) {
                throw CommandFailure(
                    failure.status,
                    lines: failure.lines + [
                        "\(holder) runs with the values in \(layers.directory); stop it first, then repeat this"
                    ])
            }
            switch error {
            case .unknown, .notConnected, .privateBroker, .silent(_, "offline"), .silent(_, nil):
                try clear(keys, in: layers.directory)
                return .inDirectory
            case .interrupted: throw failure
            default:
                throw CommandFailure(
                    failure.status,
                    lines: failure.lines + [
                        "If the agent does not run: jostle config clear --state \(layers.directory) "
                            + keys.joined(separator: " ")
                    ])
            }
        }
    }

    /// Clears keys in the state directory of an agent that does not run.
    ///
    /// - Throws: status 69 if an agent uses the directory, 77 or 73 if its file cannot be written.
    static func clear(_ keys: [String], in directory: String) throws(CommandFailure) {
        if let holder = StateDirectoryLock.holder(of: directory) {
            throw CommandFailure(
                .unavailable,
                "\(holder) uses the state directory \(directory) and would not notice; leave --state out to clear the "
                    + "values through it, or stop it first")
        }
        do throws(SystemFailure) {
            try LocalLayer.clear(keys, in: StateDirectory(path: directory))
        } catch {
            throw CommandFailure(
                error.isPermission ? .permission : .cannotCreate,
                "the values set over MQTT in \(directory) cannot be changed: \(error)")
        }
    }
}

extension SystemFailure {
    fileprivate var isPermission: Bool { code == EACCES || code == EPERM }
}
