internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import StateStorage

/// Keeps the layer of what was set in the home in a file of the state directory: `local-settings.json`.
struct LocalLayerStore: Sendable {
    static let fileName = "local-settings.json"
    /// The layer's name in reports.
    static let layerName = "local"

    /// More than all keys together take, bytes.
    private static let largest = 65_536

    private let directory: StateDirectory

    init(stateDirectory: String) {
        directory = StateDirectory(path: stateDirectory)
    }

    /// A configuration with what was set in the home upon it; what of that cannot be in force is logged.
    func stack(upon loaded: LoadedConfiguration, log: Log) -> ConfigurationStack {
        let (layer, problem) = load()
        if let problem { log.warning(problem) }
        let stack = ConfigurationStack(loaded, layers: [layer])
        for problem in stack.resolution.refused { log.warning("what was set is not in force: \(problem)") }
        if !layer.entries.isEmpty { log.info("set in the home: \(layer.entries.map(\.key).joined(separator: ", "))") }
        return stack
    }

    /// The layer that is kept, an empty one where there is none, and what is to be said of a file that cannot be used.
    ///
    /// A torn file is put aside: the device starts with what its own file says, and the next change is kept again.
    func load() -> (layer: ConfigurationLayer, problem: String?) {
        let empty = ConfigurationLayer(LocalLayerStore.layerName)
        switch directory.read(LocalLayerStore.fileName, limit: LocalLayerStore.largest + 1) {
        case .none: return (empty, nil)
        case .failed(let failure):
            return (
                empty, "\(LocalLayerStore.fileName) cannot be read: errno \(failure.code); what was set is not in force"
            )
        case .text(let text):
            do throws(ConfigurationProblem) {
                let layer = try ConfigurationLayer(
                    LocalLayerStore.layerName, reading: Array(text.utf8), source: .file(LocalLayerStore.fileName))
                return (layer, nil)
            } catch {
                let place = directory.setAside(LocalLayerStore.fileName)
                return (empty, "\(error); what was set is lost" + (place.map { ", see \($0)" } ?? ""))
            }
        }
    }

    /// Keeps the layer.
    ///
    /// - Returns: 0, or the errno of what failed; the old file is then still there.
    func save(_ layer: ConfigurationLayer) -> Int32 {
        do throws(SystemFailure) {
            try directory.write(layer.text, to: LocalLayerStore.fileName)
            return 0
        } catch {
            return error.code
        }
    }
}
