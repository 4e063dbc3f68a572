package import JostleConfiguration
package import JostleRuntime
internal import LinuxSystem
package import StateStorage

/// A configuration with everything above it that is stored in the state directory: the values set at home, and the
/// fleet's layers.
package struct StoredConfiguration: Sendable {
    package let stack: ConfigurationStack
    let fleet: FleetLayers
    /// The version in the file for the upgrade service; `nil` without one.
    let wantedVersion: String?

    /// Why what is stored cannot be used, as far as `read` noticed.
    package let problems: [String]

    /// Reads what is stored for the device `id`, for an agent that starts now: if new layers are on probation, the start
    /// counts. What cannot be applied is logged.
    package static func open(
        _ loaded: LoadedConfiguration, id: String, boot: String, in directory: StateDirectory, log: Log
    ) -> StoredConfiguration {
        var (stored, problem) = StoredFleet.load(from: directory)
        if let problem { log.warning(problem) }
        let before = stored
        if let line = stored.processStarted(boot: boot, id: id) { log.warning(line) }
        if stored != before {
            // Before anything runs that could end the process again.
            do {
                try directory.write(
                    String(decoding: stored.bytes, as: UTF8.self), to: StateFile.fleetLayers.rawValue)
            } catch {
                log.error("cannot save the fleet's configuration: \(error)")
            }
        }
        let local = LocalLayer.load(from: directory)
        if let problem = local.problem { log.warning(problem) }
        let configuration = StoredConfiguration(
            loaded, local.layer, stored, id: id, wantedVersion: wantedVersion(in: directory))
        configuration.log(to: log)
        return configuration
    }

    /// Reads what is stored for the device `id`, for a program that only shows it. Nothing is changed.
    package static func read(
        _ loaded: LoadedConfiguration, id: String, in directory: StateDirectory
    ) -> StoredConfiguration {
        let local = LocalLayer.load(from: directory, setsAside: false)
        let stored = StoredFleet.load(from: directory, setsAside: false)
        return StoredConfiguration(
            loaded, local.layer, stored.fleet, id: id,
            problems: [local.problem, stored.problem].compactMap { $0 })
    }

    private static func wantedVersion(in directory: StateDirectory) -> String? {
        guard case .text(let text) = directory.read(StateFile.wantedVersion.rawValue, limit: 100) else { return nil }
        return text.split(separator: "\n").first.map(String.init)
    }

    init(
        _ loaded: LoadedConfiguration, _ local: ConfigurationLayer, _ stored: StoredFleet, id: String,
        wantedVersion: String? = nil, problems: [String] = []
    ) {
        self.wantedVersion = wantedVersion
        self.problems = problems
        fleet = FleetLayers(stored, id: id, settings: loaded.settings)
        stack = ConfigurationStack(loaded, layers: [local], patches: fleet.patches)
    }

    private func log(to log: Log) {
        for problem in stack.resolution.refused { log.warning("a locally set value is not applied: \(problem)") }
        let keys = stack.layers.flatMap(\.entries).map(\.key)
        if !keys.isEmpty { log.info("locally set values: \(keys.joined(separator: ", "))") }
        for record in fleet.records {
            guard case .rejected(_, let problems)? = record.finding else { continue }
            for problem in problems { log.warning("layer \(record.name.text) is no longer applied: \(problem)") }
        }
        for (record, outcome) in zip(fleet.records, stack.resolution.outcomes) {
            guard let document = record.stored.inForce?.document else { continue }
            let name = "layer \(outcome.name): revision \(document.revision.number)"
            if outcome.chosen == nil {
                for problem in outcome.problems.last ?? [] { log.warning("\(name) is not applied: \(problem)") }
            } else {
                log.info("\(name) is in force")
            }
        }
    }
}
