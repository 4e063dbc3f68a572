internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem

/// The configuration of a run that only shows something: `jostle demo`, `jostle simulate`.
///
/// It never disturbs the service on the same board. It has an id of its own, a private broker, no actions and no Home
/// Assistant discovery, unless the command line says otherwise.
struct DemoConfiguration {
    var loaded: LoadedConfiguration

    /// What differs from the configuration of this board, for people: one sentence each.
    var notes: [String] = []

    /// Why the sensor is a virtual one, although nobody asked for that.
    var missingSensor: String?

    /// Loads it. The file of this board gives sensor, attitude and gestures; a file named by `--config` gives everything
    /// except the id.
    ///
    /// - Throws: status 78 with one line per problem of the arguments or of a file that they name, or 66 if that cannot
    ///   be read.
    static func load(_ arguments: Arguments) throws -> DemoConfiguration {
        let overrides = arguments.values("set") + BrokerArgument.overrides(arguments)
        if arguments.value("config") != nil {
            let loaded = try Configuration.load(arguments, overrides: BrokerArgument.overrides(arguments))
            return DemoConfiguration(loaded, isTold: { loaded.provenance[$0] != nil })
        }
        var notes: [String] = []
        let file = ConfigurationFile.standard()
        let board: LoadedConfiguration
        do {
            board = try JostleSettings.load(file: file)
        } catch {
            // Usually the file may be read by the service only.
            notes.append("The configuration of this board is not used: \(error.failure.lines[0])")
            board = LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
        }
        do {
            let told = try LoadedConfiguration(settings: JostleSettings(), provenance: Provenance())
                .overridden(by: overrides.filter { $0.hasPrefix("mqtt.broker") })
            let base = board.withoutIdentity(keepsConnection: told.settings.mqtt.broker != nil)
            let loaded = try base.overridden(by: overrides)
            let others = board.settings.device.id.map { [$0] } ?? []
            return DemoConfiguration(loaded, isTold: loaded.isArgument, otherIDs: others, notes: notes)
        } catch {
            throw Failure(.configuration, lines: error.failure.lines)
        }
    }

    /// Replaces what the command line does not say, `isTold`, by what is safe.
    init(
        _ loaded: LoadedConfiguration, isTold: (String) -> Bool, otherIDs: [String] = [], notes: [String] = []
    ) {
        var loaded = loaded
        if !loaded.isArgument("device.id") {
            let others = otherIDs + [loaded.settings.device.id, DeviceName.ofThisMachine()].compactMap { $0 }
            loaded.settings.device.id = DemoConfiguration.id(board: DeviceName.ofThisMachine(), others: others)
        }
        if loaded.settings.mqtt.broker == nil { loaded.settings.mqtt.broker = .embedded }
        if !isTold("home_assistant.discovery") { loaded.settings.homeAssistant.discovery = false }
        if !isTold("sensor.enabled") { loaded.settings.sensor.isEnabled = true }
        self.loaded = loaded
        self.notes = notes
    }

    /// An id that none of the `others` has: `demo-` and the name of the board.
    static func id(board: String, others: [String]) -> String {
        let name = "demo-" + board.prefix(57)
        let names = [name] + others.indices.map { "\(name)-\($0 + 2)" }
        return names.first { !others.contains($0) } ?? name
    }
}
