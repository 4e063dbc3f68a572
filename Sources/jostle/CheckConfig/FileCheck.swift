internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import MotionKit

/// Checks the files that a configuration names, as the user that will read them.
struct FileCheck {
    /// Files without which the agent does not start, or never reaches its broker.
    private(set) var errors: [ConfigurationProblem] = []

    /// What could not be checked, and what may be wrong.
    private(set) var warnings: [ConfigurationProblem] = []

    private let loaded: LoadedConfiguration
    /// The service, if this process is another user and the service may read the configuration.
    private let service: FileReader?
    private let isOfService: Bool
    /// The secrets that this process cannot read.
    private var unreadSecrets = 0

    /// Checks the files for the user of the service if the configuration `isOfService`, else for this process. Root may
    /// read everything, and is warned of what the service may not.
    init(_ loaded: LoadedConfiguration, isOfService: Bool) {
        self.loaded = loaded
        self.isOfService = isOfService
        service = isOfService || Configuration.isRoot ? FileReader.ofService() : nil
        let mqtt = loaded.settings.mqtt
        checkSecret(mqtt.usernameFile, "mqtt.username_file")
        checkSecret(mqtt.passwordFile, "mqtt.password_file")
        check(mqtt.caFile, "mqtt.ca_file")
        check(mqtt.caDirectory, "mqtt.ca_directory", isDirectory: true)
        check(mqtt.certificateFile, "mqtt.certificate_file")
        checkSecret(mqtt.keyFile, "mqtt.key_file")
        checkFirstLines()
        if let bus = loaded.settings.sensor.bus, loaded.settings.sensor.driver != .virtual, access(bus, F_OK) != 0 {
            warn("sensor.bus", bus, "is not there now: \(String(cString: strerror(errno)))")
        }
        checkTrajectory()
    }

    // MARK: Files of the connection

    private mutating func check(_ path: String?, _ key: String, isDirectory: Bool = false) {
        guard let path else { return }
        let isForService = isOfService && service != nil
        let reader = isForService ? service ?? .ownProcess : .ownProcess
        switch reader.obstacle(to: path, isDirectory: isDirectory) {
        case .refused(let reason): refuse(key, path, "cannot be read: \(reason)")
        case .unknown(let reason): warn(key, path, "cannot be checked: \(reason)")
        case nil:
            if !isForService, case .refused(let reason)? = service?.obstacle(to: path, isDirectory: isDirectory) {
                warn(key, path, "cannot be read by the service: \(reason)")
            }
        }
    }

    /// A secret may also be a credential, which systemd reads for the service. Every secret is refused if all users can
    /// read it.
    private mutating func checkSecret(_ name: String?, _ key: String) {
        guard let name else { return }
        let path: String
        switch JostleSettings.place(ofSecret: name) {
        case .hidden:
            unreadSecrets += 1
            let reason =
                Configuration.isRoot
                ? "it is not in /etc/jostle/credentials, and only the service gets other credentials of systemd"
                : "only root and the service see credentials; use sudo"
            return warn(key, name, "cannot be checked: \(reason)")
        case .credential(let file):
            path = file
            if access(path, R_OK) != 0 { refuse(key, path, "cannot be read: \(String(cString: strerror(errno)))") }
        case .file(let file):
            path = file
            check(path, key)
        }
        var status = stat()
        if stat(path, &status) == 0, status.st_mode & 0o007 != 0 {
            refuse(key, path, "is refused because every user can read it; run chmod o= \(path)")
        }
        if access(path, R_OK) != 0 { unreadSecrets += 1 }
    }

    /// Reads user name and password as the agent will, if this process may.
    private mutating func checkFirstLines() {
        let mqtt = loaded.settings.mqtt
        guard errors.isEmpty, unreadSecrets == 0, mqtt.usernameFile != nil || mqtt.passwordFile != nil else { return }
        do throws(SecretFileError) {
            _ = try loaded.settings.mqttOptions(clientID: "check", brokers: [])
        } catch {
            refuse("mqtt.\(error.key)", error.path, error.reason)
        }
    }

    // MARK: The sensor

    /// The virtual sensor's movement: the agent refuses an unknown one.
    private mutating func checkTrajectory() {
        let sensor = loaded.settings.sensor
        guard sensor.driver == .virtual else { return }
        do throws(SensorError) {
            _ = try SensorSelection.loopDuration(of: sensor.trajectory)
        } catch {
            refuse("sensor.trajectory", sensor.trajectory, "cannot be used: \(error.withSuggestion)")
        }
    }

    private mutating func refuse(_ key: String, _ found: String, _ reason: String) {
        errors.append(problem(key, found, reason))
    }

    private mutating func warn(_ key: String, _ found: String, _ reason: String) {
        warnings.append(problem(key, found, reason))
    }

    /// The whole path is named: the reader has to find the file.
    private func problem(_ key: String, _ found: String, _ reason: String) -> ConfigurationProblem {
        let position = loaded.provenance[key] ?? ConfigurationPosition(.argument(key))
        return ConfigurationProblem(at: position, path: key, ConfigurationProblem.escaped("\(found) \(reason)"))
    }
}
