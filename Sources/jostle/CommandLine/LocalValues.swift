internal import Documents
internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import LinuxSensors
internal import LinuxSystem
internal import StateStorage

/// Clears values that were set over MQTT, so that the configuration file applies again.
enum LocalValues {
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
    ) throws -> Outcome {
        do {
            let device = try RemoteDevice(id: layers.id, settings: loaded.settings)
            return .byAgent(try device.clear(keys, within: answerTime, signals: signals))
        } catch {
            let failure = Failure(error)
            if let holder = StateDirectoryLock.holder(of: layers.directory) {
                throw failure.adding(
                    "\(holder) runs with the values in \(layers.directory); stop it first, then repeat this")
            }
            switch error {
            case BrokerError.unknown, BrokerError.notConnected, BrokerError.privateBroker,
                BrokerError.silent(_, false), BrokerError.silent(_, nil):
                try clear(keys, in: layers.directory)
                return .inDirectory
            case BrokerError.interrupted: throw failure
            default:
                throw failure.adding(
                    "If the agent does not run: jostle config clear --state \(layers.directory) "
                        + keys.joined(separator: " "))
            }
        }
    }

    /// Clears keys in the state directory of an agent that does not run.
    ///
    /// - Throws: status 69 if an agent uses the directory, 77 or 73 if its file cannot be written.
    static func clear(_ keys: [String], in directory: String) throws {
        if let holder = StateDirectoryLock.holder(of: directory) {
            throw Failure(
                .unavailable,
                "\(holder) uses the state directory \(directory) and would not notice; leave --state out to clear the "
                    + "values through it, or stop it first")
        }
        do {
            try LocalLayer.clear(keys, in: StateDirectory(path: directory))
        } catch {
            throw Failure(
                error.isPermission ? .permission : .cannotCreate,
                "the values set over MQTT in \(directory) cannot be changed: \(error)")
        }
    }
}

/// What is in force above the configuration file on this board: values set over MQTT, and the fleet's layers.
struct LayersInForce {
    /// The configuration with everything above it.
    let stack: ConfigurationStack

    /// The state directory from which it was read.
    let directory: String

    /// The agent's id in topics.
    let id: String

    /// Reads what the agent with this configuration has stored, in `directory` or in the usual one. What cannot be read
    /// is reported to standard error. A `file` in /etc/jostle is that of the service.
    init(upon loaded: LoadedConfiguration, file: String?, directory: String? = nil) {
        let directory = directory ?? LayersInForce.directory(for: file)
        self.directory = directory
        id = loaded.settings.device.id ?? DeviceName.ofThisMachine(instance: file.flatMap(LayersInForce.instance))
        if access(directory, R_OK | X_OK) != 0, errno == EACCES {
            Output.warn(
                "what was set over MQTT or by the fleet is unknown: \(directory): \(systemMessage(EACCES)); "
                    + "use sudo")
            stack = ConfigurationStack(loaded, layers: [])
            return
        }
        let stored = StoredConfiguration.read(loaded, id: id, in: StateDirectory(path: directory))
        for problem in stored.problems { Output.warn("\(problem)") }
        stack = stored.stack
    }

    // MARK: The directory

    /// The state directory of the agent that reads a configuration file: `$STATE_DIRECTORY`, that of the service for its
    /// file, else that of this user.
    static func directory(for file: String?) -> String {
        if let directory = Configuration.variable("STATE_DIRECTORY") { return directory }
        guard let service = file.flatMap(serviceDirectory), DirectoryContents.exists(service) else {
            return Configuration.stateDirectory
        }
        return service
    }

    /// The state directory of the service, or of its instance, that reads a file: /var/lib/jostle/left for
    /// /etc/jostle/left.yaml; `nil` for another file.
    static func serviceDirectory(of file: String) -> String? {
        InstalledService.name(reading: file).map(InstalledService.stateDirectory)
    }

    /// The instance of the service that reads a file: left for /etc/jostle/left.yaml; `nil` for another file.
    private static func instance(of file: String) -> String? {
        guard let name = InstalledService.name(reading: file), name != "jostle" else { return nil }
        return name
    }

    // MARK: Values

    /// A value above the file, for people.
    struct Override: Equatable {
        let key: String
        /// The value in force.
        let value: String
        /// The layer of the fleet that sets it; `nil` if it was set over MQTT at home.
        let layer: String?
        /// The device's id.
        let id: String

        /// `gestures.shake.sensitivity is 2, set over MQTT`.
        var text: String { "\(key) is \(value), set \(layer.map { "by the fleet's layer \($0)" } ?? "over MQTT")" }

        /// How to remove it, as a clause.
        var advice: String {
            guard let layer else { return "clear it with: jostle config clear \(key)" }
            switch layer.split(separator: ":").map(String.init) {
            case ["all"]: return "remove it with: jostle fleet unset --all \(key)"
            case let words where words.first == "group" && words.count == 2:
                return "remove it with: jostle fleet unset --group \(words[1]) \(key)"
            default: return "remove it with: jostle fleet unset --device \(id) \(key)"
            }
        }
    }

    /// What sets a key above the file; `nil` if nothing does.
    func override(of key: String) -> Override? {
        let layer = stack.layer(governing: key)
        guard layer != nil || isLocal(key), let value = stack.value(of: key) else { return nil }
        return Override(key: key, value: YAMLText.flow(value), layer: layer, id: id)
    }

    /// Whether the value in force was set over MQTT at home.
    private func isLocal(_ key: String) -> Bool {
        if case .layer(let name)? = stack.resolution.provenance[key]?.source { return name == LocalLayer.name }
        return false
    }

    /// The keys that were set over MQTT, also those that a layer of the fleet or a refusal keeps from having an effect.
    var localKeys: [String] { stack.layers.flatMap(\.entries).map(\.key) }

    /// All values that differ from the file because something above it sets them.
    var overrides: [Override] { stack.keys.compactMap { self.override(of: $0) } }
}

extension Configuration {
    /// Reads the files of a command line again, on any thread.
    static func reading(_ arguments: Arguments) -> ConfigurationReading {
        { Result { () throws(ConfigurationErrors) in try load(arguments, boardFile: .replaceable) } }
    }
}
