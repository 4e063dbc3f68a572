/// The files in the state directory that the participants write.
enum StateFile: String, CaseIterable, Sendable {
    case localSettings = "local-settings.json"
    case fleetLayers = "fleet-layers.json"
    case announcedTopics = "announced-topics"
    case deviceNames = "device-names"
    /// The last time that was known to be right.
    case lastTime = "last-time"
    /// Since when the machine runs that carries the board.
    case machineRun = "machine-run"
    /// The version of the package that the configuration asks for, for jostle-upgrade.service.
    case wantedVersion = "wanted-version"
}
