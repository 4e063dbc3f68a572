internal import StateStorage

/// The files in the state directory that the participants write.
package enum StateFile: String, CaseIterable, Sendable {
    case localSettings = "local-settings.json"
    case fleetLayers = "fleet-layers.json"
    case announcedTopics = "announced-topics"
    case deviceNames = "device-names"
    /// How Home Assistant knows the board.
    case identity
    /// The last time that was known to be right.
    case lastTime = "last-time"
    /// Since when the machine runs that carries the board.
    case machineRun = "machine-run"
    /// The last runs of that machine.
    case machineRuns = "machine-runs.json"
    /// The version of the package that the configuration asks for, for jostle-upgrade.service.
    case wantedVersion = "wanted-version"
}

extension StateDirectory {
    /// Reads a file that only `parse` understands. With `setsAside`, a damaged one is moved out of the way.
    ///
    /// - Returns: `nil` without a usable file, and a message about a file that cannot be used, with the consequence of one
    ///   that is `unreadable` or `damaged`.
    func load<Value>(
        _ file: StateFile, limit: Int, setsAside: Bool, unreadable: String, damaged: String,
        _ parse: ([UInt8]) throws -> Value
    ) -> (value: Value?, problem: String?) {
        switch read(file.rawValue, limit: limit) {
        case .none: return (nil, nil)
        case .failed(let failure): return (nil, "\(file.rawValue) cannot be read: \(failure); \(unreadable)")
        case .text(let text):
            do {
                return (try parse(Array(text.utf8)), nil)
            } catch {
                let place = setsAside ? setAside(file.rawValue) : nil
                return (nil, "\(error); \(damaged)" + (place.map { "; the file was moved to \($0)" } ?? ""))
            }
        }
    }
}
