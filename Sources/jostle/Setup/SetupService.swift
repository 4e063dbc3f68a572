internal import Glibc
internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import JostleOperator
internal import LinuxSystem

// The last steps of `jostle setup`: calibration and service.
extension Setup {
    private static let unit = InstalledService.unit("jostle")

    /// Seconds within which the device must be online.
    private static let startTime = 30.0

    // MARK: Calibration

    /// Calibrates the gyroscope as the user of the service, whose directory keeps the result.
    func calibrate() throws(CommandFailure) {
        guard !arguments.has("no-calibrate"), try candidate().settings.sensor.driver != .virtual else { return }
        if !arguments.has("calibrate") {
            guard asks, files.isSystem else { return }
            dialogue.say("\nCalibration")
            guard try dialogue.ask("Calibrate the gyroscope now? The board must lie still for ten seconds.") else {
                return
            }
        }
        var isServiceUp = false
        var words = [Setup.program, "calibrate", "gyro", "--yes", "--config", files.configuration]
        if files.isSystem {
            isServiceUp = ["active", "activating", "reloading"].contains(ServiceUnit.ask(Setup.unit)?.activity)
            if isServiceUp { _ = systemctl("stop") }
            let directory = "STATE_DIRECTORY=\(InstalledService.stateDirectory("jostle"))"
            words = ["runuser", "-u", "jostle", "--", "env", directory] + words
        }
        // The answer to the next question may be that the service stays as it is.
        defer { if isServiceUp { _ = systemctl("start") } }
        dialogue.end()
        do throws(SystemFailure) {
            let end = try ChildProgram(words[0], Array(words.dropFirst())).runInForeground()
            if end != .exited(0) { dialogue.say("The gyroscope is not calibrated; jostle calibrate does that later.") }
        } catch {
            dialogue.say("The calibration cannot be started: \(words[0]): \(error)")
        }
    }

    /// The path of this program (realpath(3)), which another process can execute.
    private static var program: String {
        guard let path = realpath("/proc/self/exe", nil) else { return "jostle" }
        defer { free(path) }
        return String(cString: path)
    }

    // MARK: Service

    /// Starts the service and waits until the device answers over the broker.
    func startService(_ loaded: LoadedConfiguration) throws(CommandFailure) {
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
            throw CommandFailure(
                .unavailable, lines: ["the service does not start\(reason)", "More: journalctl -u jostle -n 50"])
        }
        try waitUntilOnline(id, loaded.settings)
    }

    private func mayStartService() throws(CommandFailure) -> Bool {
        if arguments.has("no-enable") { return false }
        if arguments.has("enable") || !asks { return true }
        return try dialogue.ask("Start the service, now and with the board?")
    }

    /// Asks the agent for an answer over the broker.
    private func waitUntilOnline(_ id: String, _ settings: JostleSettings) throws(CommandFailure) {
        let topic = "\(settings.mqtt.prefix)/\(id)"
        let deadline = WallClock.monotonic.advanced(bySeconds: Setup.startTime)
        while WallClock.monotonic < deadline {
            do throws(RemoteDeviceError) {
                let device = try RemoteDevice(id: id, settings: settings)
                _ = try device.request("ping", JSONObject(), within: 3, signals: signals)
                dialogue.say("\(id) is online. Shake it, and watch: jostle watch \(id)")
                dialogue.say("Its events are on \(topic)/event/#; Home Assistant shows it under Settings -> Devices.")
                return
            } catch {
                switch error {
                case .interrupted: throw CommandFailure(error)
                case .privateBroker: return dialogue.say("The service runs, with a broker of its own.")
                default: break
                }
            }
        }
        throw CommandFailure(
            .unavailable, lines: ["the service runs, but \(topic) does not answer", "sudo jostle doctor says why"])
    }

    /// Runs a command of systemctl on the service; false if it fails.
    private func systemctl(_ command: String) -> Bool {
        ChildProgram("systemctl", [command, Setup.unit]).output(within: 40) != nil
    }
}
