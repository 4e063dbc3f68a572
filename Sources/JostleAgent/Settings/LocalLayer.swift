internal import JostleConfiguration
internal import JostleMessages
internal import StateStorage

/// The layer of what was set in the home, as its file has it: `local-settings.json`.
enum LocalLayer {
    /// The layer's name in reports.
    static let name = "local"

    /// More than all keys together take, bytes.
    private static let largest = 65_536

    /// A configuration with what was set in the home upon it; what of that cannot be in force is logged.
    static func stack(upon loaded: LoadedConfiguration, in directory: StateDirectory, log: Log) -> ConfigurationStack {
        let (layer, problem) = load(from: directory)
        if let problem { log.warning(problem) }
        let stack = ConfigurationStack(loaded, layers: [layer])
        for problem in stack.resolution.refused { log.warning("what was set is not in force: \(problem)") }
        if !layer.entries.isEmpty { log.info("set in the home: \(layer.entries.map(\.key).joined(separator: ", "))") }
        return stack
    }

    /// The layer that is stored, an empty one if there is none, and what is to be said of a file that cannot be used.
    ///
    /// A torn file is put aside: the device starts with what its own file says, and the next change is stored again.
    private static func load(from directory: StateDirectory) -> (layer: ConfigurationLayer, problem: String?) {
        let empty = ConfigurationLayer(name)
        let file = StateFile.localSettings.rawValue
        switch directory.read(file, limit: largest + 1) {
        case .none: return (empty, nil)
        case .failed(let failure): return (empty, "\(file) cannot be read: \(failure); what was set is not in force")
        case .text(let text):
            do throws(ConfigurationProblem) {
                return (try ConfigurationLayer(name, reading: Array(text.utf8), source: .file(file)), nil)
            } catch {
                let place = directory.setAside(file)
                return (empty, "\(error); what was set is lost" + (place.map { ", see \($0)" } ?? ""))
            }
        }
    }
}
