internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import StateStorage

/// What a report of this board is about: its configuration, as far as it can be read, and where it keeps its state.
struct SupportSubject {
    /// The configuration; `nil` if it is invalid or cannot be read.
    let loaded: LoadedConfiguration?
    /// Why it is not there.
    let errors: ConfigurationErrors?
    /// The configuration with everything above it.
    let stored: StoredConfiguration?
    /// The main file of the configuration, also if it does not exist.
    let file: String
    let stateDirectory: String
    /// The unit of the service.
    let unit: String
    let id: String

    init(_ arguments: Arguments) {
        let service = Configuration.variable("JOSTLE_INSTANCE") ?? "jostle"
        unit = InstalledService.unit(service)
        let named = Configuration.file(arguments)
        file = named ?? ConfigurationFile.systemPath
        stateDirectory = arguments.value("state") ?? SupportSubject.stateDirectory(service)
        do throws(ConfigurationErrors) {
            let loaded = try JostleSettings.load(
                file: named, overrides: arguments.values("set") + BrokerArgument.overrides(arguments))
            self.loaded = loaded
            errors = nil
            id = loaded.settings.device.id ?? DeviceName.ofThisMachine()
            stored = StoredConfiguration.read(loaded, id: id, in: StateDirectory(path: stateDirectory))
        } catch {
            loaded = nil
            errors = error
            id = DeviceName.ofThisMachine()
            stored = nil
        }
    }

    /// That of the service, unless this process has one of its own.
    private static func stateDirectory(_ service: String) -> String {
        if let directory = Configuration.variable("STATE_DIRECTORY") { return directory }
        let directory = InstalledService.stateDirectory(service)
        return DirectoryContents.exists(directory) ? directory : Configuration.stateDirectory
    }

    /// The settings in force.
    var settings: JostleSettings? { stored?.stack.resolution.settings ?? loaded?.settings }

    /// The files of the configuration.
    var files: [String] {
        var files = [file]
        if let directory = DropInDirectory(of: file) {
            do throws(SystemFailure) { files += try directory.files() } catch {}
        }
        return files
    }

    // MARK: Secrets

    /// Everything that must not be in the report, as far as it is known.
    func secrets(hidesBroker: Bool) -> SecretRemoval {
        var removal = SecretRemoval()
        let publicNames = [id, settings?.mqtt.prefix].compactMap { $0 }
        if let known = loaded?.settings.secrets {
            for password in known.passwords { removal.add(password) }
            for name in known.userNames { removal.add(userName: name, publicNames: publicNames) }
        }
        for file in files {
            guard let text = FileContents.text(ofOptional: file, limit: 1 << 20) else { continue }
            removal.add(secretsOf: text, publicNames: publicNames)
        }
        let parent = FileContents.parts(of: file).directory
        for directory in ["\(parent)/credentials", Configuration.variable("CREDENTIALS_DIRECTORY")].compactMap({ $0 }) {
            for text in SupportSubject.contents(of: directory) { removal.add(text) }
        }
        for value in SupportSubject.secretVariables() { removal.add(value) }
        if hidesBroker, let settings {
            for broker in settings.brokers(embeddedPort: nil) + settings.forCommands.brokers(embeddedPort: nil) {
                removal.hide(broker: broker.host)
            }
        }
        return removal
    }

    /// The texts of the files in a directory; certificates and keys are recognised without them.
    private static func contents(of directory: String) -> [String] {
        var names: [String] = []
        do throws(SystemFailure) { names = try DirectoryContents.names(directory) } catch {}
        return names.prefix(64).compactMap { FileContents.text(ofOptional: "\(directory)/\($0)", limit: 4096) }
            .filter { !$0.contains("-----BEGIN ") }
    }

    /// The values of the environment variables that are named like a secret: environ(7).
    private static func secretVariables() -> [String] {
        var values: [String] = []
        var next = environ
        while let variable = next.pointee {
            let parts = String(cString: variable).split(separator: "=", maxSplits: 1).map(String.init)
            next += 1
            // The shell's working directories are named like a password.
            guard parts.count == 2, SecretPlaces.isSecret(parts[0]), !["PWD", "OLDPWD"].contains(parts[0])
            else { continue }
            values.append(parts[1])
        }
        return values
    }
}
