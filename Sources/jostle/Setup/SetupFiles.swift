internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleOperator
internal import JostleRuntime
internal import LinuxSystem

/// The files that `jostle setup` writes: a few lines beside the configuration, and the password.
struct SetupFiles {
    /// The name of the password's file.
    private static let passwordName = "mqtt-password"

    /// The configuration's directory.
    let directory: String

    /// The main file, which need not exist.
    var configuration: String { "\(directory)/jostle.yaml" }

    /// The file with the answers. A file whose name comes later overrides it.
    var answers: String { "\(directory)/conf.d/10-setup.yaml" }

    /// Whether it is the service's configuration.
    var isSystem: Bool { directory == "/etc/jostle" }

    var passwordFile: String {
        isSystem ? "\(directory)/credentials/\(Self.passwordName)" : "\(directory)/\(Self.passwordName)"
    }

    /// How the configuration names the password's file. systemd passes the service a copy.
    var passwordSetting: String { isSystem ? "credential:\(Self.passwordName)" : passwordFile }

    // MARK: Text

    /// The lines of a configuration with these values, as JSON texts, which are YAML too.
    static func text(_ values: [(key: String, value: String)]) -> String {
        var lines = [
            "# Written by `jostle setup`, which replaces this file when it runs again. Your own settings belong into",
            "# jostle.yaml, or into a file beside this one whose name comes later. jostle.reference.yaml has all keys.",
        ]
        var section = ""
        for (key, value) in values {
            let parts = key.split(separator: ".", maxSplits: 1).map(String.init)
            if parts[0] != section {
                section = parts[0]
                lines.append("\(section):")
            }
            lines.append("  \(parts[1]): \(JSONText.quoted(value))")
        }
        return lines.joined(separator: "\n") + "\n"
    }

    // MARK: Writing

    /// Writes both files. If the configuration is then not valid, everything is as before.
    ///
    /// - Throws: status 73 if a file cannot be written, 78 with the problems of the configuration.
    func write(_ text: String, password: String?) throws -> LoadedConfiguration {
        let before = FileContents.text(ofOptional: answers, limit: 1 << 20)
        try write(text, to: answers, mode: isSystem ? 0o640 : 0o600, directoryMode: 0o755)
        if isSystem { giveToService(answers) }
        let loaded: LoadedConfiguration
        do {
            loaded = try JostleSettings.load(file: configuration)
        } catch {
            if let before {
                // The file keeps its mode and its owner.
                try write(before, to: answers, mode: 0o600, directoryMode: 0o755)
            } else {
                unlink(answers)
            }
            throw Failure(
                .configuration, lines: ["the answers do not fit the configuration; nothing was changed", "\(error)"])
        }
        if let password { try write(password + "\n", to: passwordFile, mode: 0o600, directoryMode: 0o700) }
        return loaded
    }

    private func write(_ text: String, to path: String, mode: UInt32, directoryMode: mode_t) throws {
        let parent = FileContents.parts(of: path).directory
        if !DirectoryContents.exists(parent) {
            FileContents.makeDirectories(parent)
            chmod(parent, directoryMode)
        }
        do {
            try FileContents.replace(path, with: Array(text.utf8), mode: mode)
        } catch {
            throw Failure(error.code == EACCES ? .permission : .cannotCreate, "\(path): \(error)")
        }
    }

    /// The service's group may read the file, and nobody else.
    private func giveToService(_ path: String) {
        if let group = getgrnam("jostle") { chown(path, 0, group.pointee.gr_gid) }
    }
}

// The last steps of `jostle setup`: calibration, the user and the service.
extension Setup {
    private static let unit = InstalledService.unit("jostle")

    /// Seconds within which the device must be online.
    private static let startTime = 30.0

    // MARK: Calibration

    /// Calibrates the gyroscope as the user of the service, whose directory keeps the result.
    func calibrate() throws {
        guard !arguments.has("no-calibrate"), try candidate().settings.sensor.driver != .virtual else { return }
        if !arguments.has("calibrate") {
            guard asks, files.isSystem else { return }
            dialogue.say("\nCalibration")
            guard try dialogue.ask("Calibrate the gyroscope now? The board must lie still for ten seconds.") else {
                return
            }
        }
        var isServiceUp = false
        // A path that another process can execute.
        var words = [
            realPath("/proc/self/exe") ?? "jostle", "calibrate", "gyro", "--yes", "--config", files.configuration,
        ]
        if files.isSystem {
            isServiceUp = ["active", "activating", "reloading"].contains(ServiceUnit.ask(Setup.unit)?.activity)
            if isServiceUp { _ = systemctl("stop") }
            let directory = "STATE_DIRECTORY=\(InstalledService.stateDirectory("jostle"))"
            words = ["runuser", "-u", "jostle", "--", "env", directory] + words
        }
        // The answer to the next question may be that the service stays as it is.
        defer { if isServiceUp { _ = systemctl("start") } }
        Output.flush()
        do {
            let end = try ChildProgram(words[0], Array(words.dropFirst())).runInForeground()
            if end != .exited(0) { dialogue.say("The gyroscope is not calibrated; jostle calibrate does that later.") }
        } catch {
            dialogue.say("The calibration cannot be started: \(words[0]): \(error)")
        }
    }

    // MARK: The user

    /// Lets who called sudo read the configuration, as the service does.
    func addUser() throws {
        guard files.isSystem, let user = Configuration.variable("SUDO_USER"), user != "root",
            let account = getpwnam(user), let group = getgrnam("jostle"),
            Accounts.groups(of: user, primary: account.pointee.pw_gid)?.contains(group.pointee.gr_gid) == false
        else { return }
        if !arguments.has("group") {
            let command = "sudo adduser \(user) jostle"
            guard asks else {
                return dialogue.say(
                    "\nTo let \(user) read the configuration, as jostle watch and others do: \(command)")
            }
            dialogue.say("\nGroup")
            guard try dialogue.ask("Let \(user) read the configuration without sudo, as jostle watch and others do?")
            else { return dialogue.say("Later: \(command)") }
        }
        let isAdded = ChildProgram("usermod", ["-aG", "jostle", user]).output(within: 40) != nil
        dialogue.say(
            isAdded
                ? "\(user) is in the group jostle from the next login on."
                : "\(user) could not be added to the group jostle: usermod -aG jostle \(user) says why")
    }

    // MARK: Service

    /// Starts the service and waits until the device answers over the broker.
    func startService(_ loaded: LoadedConfiguration) throws {
        let id = loaded.settings.device.id ?? DeviceName.ofThisMachine()
        guard files.isSystem else {
            dialogue.say("\nTo try it: jostle run --config \(files.configuration)")
            return
        }
        guard let unit = ServiceUnit.ask(Setup.unit), unit.isInstalled else {
            dialogue.say("\nThere is no service of Jostle on this machine. To run it here: jostle run")
            return
        }
        let mayStart = try mayStartService()
        guard mayStart else {
            dialogue.say("\nThe service is as it was: sudo systemctl enable --now jostle")
            return
        }
        dialogue.say("\nService")
        let isStarted = systemctl("enable") && systemctl("restart")
        guard isStarted else {
            let reason = ServiceUnit.lastError(of: Setup.unit).map { ": \($0)" } ?? ""
            throw Failure(
                .unavailable, lines: ["the service does not start\(reason)", "More: journalctl -u jostle -n 50"])
        }
        try waitUntilOnline(id, loaded.settings)
    }

    private func mayStartService() throws -> Bool {
        if arguments.has("no-enable") { return false }
        if arguments.has("enable") || !asks { return true }
        return try dialogue.ask("Start the service, now and with the board?")
    }

    /// Asks the agent for an answer over the broker.
    private func waitUntilOnline(_ id: String, _ settings: JostleSettings) throws {
        let topic = "\(settings.mqtt.prefix)/\(id)"
        let deadline = WallClock.monotonic.advanced(bySeconds: Setup.startTime)
        while WallClock.monotonic < deadline {
            do {
                let device = try RemoteDevice(id: id, settings: settings)
                _ = try device.request("ping", JSONObject(), within: 3, signals: signals)
                dialogue.say("\(id) is online. Shake it, and watch: jostle watch --device \(id)")
                dialogue.say("Its events are on \(topic)/event/#; Home Assistant shows it under Settings -> Devices.")
                return
            } catch {
                switch error {
                case BrokerError.interrupted: throw error
                case BrokerError.privateBroker: return dialogue.say("The service runs, with a broker of its own.")
                default: break
                }
            }
        }
        throw Failure(
            .unavailable, lines: ["the service runs, but \(topic) does not answer", "sudo jostle doctor says why"])
    }

    /// Runs a command of systemctl on the service; false if it fails.
    private func systemctl(_ command: String) -> Bool {
        ChildProgram("systemctl", [command, Setup.unit]).output(within: 40) != nil
    }
}
