internal import JostleAgent
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem

/// The configuration of this board.
extension SupportReport {
    /// The keys that differ from their defaults, with their origins, and the layers in force.
    mutating func addConfiguration(of subject: SupportSubject, _ secrets: SecretRemoval) {
        guard let loaded = subject.loaded, let stored = subject.stored else {
            add("Configuration", SupportReport.lines(of: subject.errors))
            return
        }
        let names = loaded.files.isEmpty ? "none: only the built-in defaults" : loaded.files.joined(separator: ", ")
        var text = "files: \(names)\n"
        if let directory = DropInDirectory(of: subject.file) {
            do throws(SystemFailure) {
                for file in try directory.ignoredFiles() { text += "not read, because of its name: \(file)\n" }
            } catch {
                text += "\(directory.path): \(error)\n"
            }
        }
        text +=
            "device id: \(subject.id)\(loaded.settings.device.id == nil ? " (from host name and serial number)" : "")\n"
        text += "\nAll keys that are not here have their built-in defaults.\n"
        add("Configuration", text + SupportReport.values(of: stored.stack, secrets))
        add("Layers", SupportReport.layers(of: stored))
    }

    private static func values(of stack: ConfigurationStack, _ secrets: SecretRemoval) -> String {
        let resolution = stack.resolution
        let rows = ConfigurationSchema.keys.compactMap { key -> [String]? in
            guard let origin = resolution.provenance[key.path],
                let value = ConfigurationSchema.value(of: key.path, in: resolution.settings)
            else { return nil }
            let name = key.path.split(separator: ".").last.map(String.init) ?? key.path
            return ["\(key.path):", "\(secrets.cleaned(value, of: name).compactText)  # \(origin)"]
        }
        return TextTable(rows).description
    }

    /// What is above the files, and what of it is not in force.
    private static func layers(of stored: StoredConfiguration) -> String {
        let stack = stored.stack
        var lines = stored.problems
        let keys = stack.layers.flatMap(\.entries).map(\.key)
        lines.append("set over MQTT: \(keys.isEmpty ? "nothing" : keys.joined(separator: ", "))")
        lines += stack.resolution.refused.map { "  not in force: \(line(of: $0))" }
        // A layer without a document has neither.
        let outcomes = stack.resolution.outcomes.filter { $0.chosen != nil || !$0.problems.isEmpty }
        if outcomes.isEmpty { lines.append("layers of the fleet: none") }
        for outcome in outcomes {
            let state = outcome.chosen.map { $0 == 0 ? "in force" : "an earlier one is in force" } ?? "not in force"
            lines.append("layer \(outcome.name): \(state); \(outcome.keys.joined(separator: ", "))")
            lines += outcome.problems.joined().map { "  refused: \(line(of: $0))" }
            if !outcome.ignoredKeys.isEmpty {
                lines.append("  left out: \(outcome.ignoredKeys.joined(separator: ", "))")
            }
        }
        return lines.map { $0 + "\n" }.joined()
    }

    private static func lines(of errors: ConfigurationErrors?) -> String {
        switch errors {
        case .invalid(let problems): problems.map { "\(line(of: $0))\n" }.joined()
        case .unreadable(let path, let failure): "\(path): \(failure)\n"
        case nil: ""
        }
    }

    /// A problem with its key at the end: what follows `mqtt.password:` would be taken for a password. The value is left
    /// out if it may be a secret.
    private static func line(of problem: ConfigurationProblem) -> String {
        let mayBeSecret =
            problem.path.isEmpty || problem.path.hasPrefix("mqtt") || problem.path.hasPrefix("actions")
        var text = ConfigurationProblem.escaped("\(problem.position)") + ": "
        if let found = problem.found { text += "\"\(mayBeSecret ? SecretRemoval.mark : found)\" " }
        text += problem.reason
        if let allowed = problem.allowed { text += "; allowed: \(allowed)" }
        return text + (problem.path.isEmpty ? "" : " (\(problem.path))")
    }
}
