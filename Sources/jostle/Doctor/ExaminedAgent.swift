internal import JostleAgent
internal import JostleCommandLine
internal import JostleConfiguration

/// Whose agent is examined: the service, if one reads this configuration, else this user's.
struct ExaminedAgent {
    /// The service; `nil` if systemd does not know it, or does not answer.
    let unit: ServiceUnit?

    /// The name of the service that reads the configuration file; `nil` if none does.
    let unitName: String?

    /// The user that opens the agent's files and devices.
    let reader: FileReader

    let stateDirectory: String

    /// Finds it by the configuration file, or by the name of a unit.
    init(file: String?, unitName name: String?) {
        let name =
            name
            ?? file.flatMap(InstalledService.name(reading:)).map(InstalledService.unit)
            ?? (file == nil ? InstalledService.unit("jostle") : nil)
        let unit = name.flatMap(ServiceUnit.ask).flatMap { $0.isInstalled ? $0 : nil }
        self.unit = unit
        unitName = name
        if let user = unit?.user {
            reader = FileReader.of(user: user, groups: unit?.supplementaryGroups ?? []) ?? .ownProcess
        } else {
            reader = .ownProcess
        }
        stateDirectory =
            Configuration.variable("STATE_DIRECTORY") ?? unit?.stateDirectory ?? Configuration.stateDirectory
    }

    /// For the report's title.
    var subject: String { unit?.name ?? "this user's agent" }

    /// Whether an agent runs: as the service, or with the same state directory.
    var isRunning: Bool { isServiceRunning || StateDirectoryLock.holder(of: stateDirectory) != nil }

    var isServiceRunning: Bool { unit?.activity == "active" }

    // MARK: Findings

    var findings: [Finding] { service + account }

    private var service: [Finding] {
        guard let unitName else { return [] }
        guard let unit else {
            return [
                .warning(
                    .service, "\(unitName) is not installed, so that nothing starts Jostle with the board",
                    "sudo apt install ./jostle_….deb   # or, in the sources: sudo make install")
            ]
        }
        let isSound = unit.activity == "active" && unit.restarts == 0
        return unit.findings(lastError: isSound ? nil : ServiceUnit.lastError(of: unit.name))
    }

    private var account: [Finding] {
        guard let user = unit?.user else { return [] }
        guard FileReader.exists(user: user) else {
            return [
                .failed(
                    .account, "the service's user \(user) does not exist",
                    ["sudo systemd-sysusers", "Or install the package again: sudo apt reinstall jostle"])
            ]
        }
        return []
    }
}
