internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

extension SettingsStore {
    /// The most changed values that are logged one by one.
    private static let loggedChanges = 20

    /// Takes over the stack with the configuration files that were read again: what can change at run time is in force
    /// at once. `pending` are the keys that take effect at the next start.
    mutating func takeOver(_ reloaded: ConfigurationStack, pending: [String], at now: ClockReading) -> Effects {
        let before = stack.resolution
        (stack, keysPending) = (reloaded, pending)
        let after = stack.resolution
        let changes = ConfigurationStack.changedKeys(before.settings, after.settings)
        var effects: Effects = changes.prefix(Self.loggedChanges).map { .log(.info, $0.line) }
        if changes.count > Self.loggedChanges {
            effects.append(.log(.info, "\(changes.count - Self.loggedChanges) more values changed"))
        }
        if !keysPending.isEmpty {
            effects.append(.log(.warning, "takes effect at the next start: \(keysPending.joined(separator: ", "))"))
        } else if changes.isEmpty {
            effects.append(.log(.info, "the configuration was read again; no value in force has changed"))
        }
        for problem in after.refused where !before.refused.contains(problem) {
            effects.append(.log(.warning, "a locally set value is not applied: \(problem)"))
        }
        for outcome in after.outcomes where outcome.chosen == nil && !before.outcomes.contains(outcome) {
            for problem in outcome.problems.last ?? [] {
                effects.append(.log(.warning, "layer \(outcome.name) is not applied: \(problem)"))
            }
        }
        let known = LoadedConfiguration(settings: before.settings, provenance: before.provenance).warnings
        for warning in LoadedConfiguration(settings: after.settings, provenance: after.provenance).warnings
        where !known.contains(warning) {
            effects.append(.log(.warning, "\(warning)"))
        }
        if !changes.isEmpty { effects.append(.request(.apply(after.settings))) }
        effects += writeVersion()
        makeReportDue(at: now.monotonic)
        return effects + report(at: now)
    }
}

extension ConfigurationChange {
    /// The change, for the log. Long values, such as rules, are left out.
    fileprivate var line: String {
        let values = "\(old.compactText) -> \(new.compactText)"
        return values.utf8.count <= 200 ? "\(key): \(values)" : "\(key): changed"
    }
}
