internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages

/// Puts a value into force: in the configuration file, unless something above the file sets it.
struct TuningResult {
    /// The key of the value.
    let key: String

    /// What the value is called: `sensitivity`.
    let name: String

    /// The value in the file.
    let configured: String

    let layers: LayersInForce

    /// The configuration file; `nil` if there is none.
    let file: String?
    let loaded: LoadedConfiguration

    /// Writes the value into the file and offers to clear one above it.
    ///
    /// - Returns: whether it is in the file now.
    @discardableResult
    func store(
        _ value: String, _ arguments: Arguments, _ dialogue: Dialogue, _ signals: SignalWaiter
    ) throws(CommandFailure) -> Bool {
        let override = layers.override(of: key)
        if let override {
            dialogue.say("\(override.text). That takes precedence over the file, which has \(configured).")
        }
        if value != configured {
            guard try write(value, arguments, dialogue, takesEffect: override == nil) else { return false }
        } else if override == nil {
            dialogue.say("The \(name) is already \(value): nothing to change.")
        }
        guard let override else { return true }
        guard override.layer == nil else {
            dialogue.say("The file has no effect until the fleet's layer changes; \(override.advice)")
            return true
        }
        try clear(override, value, arguments, dialogue, signals)
        return true
    }

    /// Writes the value into the file if the user agrees.
    ///
    /// - Returns: whether it is in the file now.
    private func write(
        _ value: String, _ arguments: Arguments, _ dialogue: Dialogue, takesEffect: Bool
    ) throws(CommandFailure) -> Bool {
        guard let file = fileToChange else {
            dialogue.say("There is no configuration file. Set it in a new one, or with --set: \(key)=\(value)")
            return false
        }
        guard try isConfirmed("Write \(key): \(value) into \(file)?", arguments, dialogue) else {
            dialogue.say("Nothing was written. Set \(key)=\(value) by hand, or repeat this with --yes.")
            return false
        }
        try TuningTarget(path: file).write(value, key: key)
        let effect =
            takesEffect ? "\(key) is \(value), from the next start or reload." : "\(key): \(value)"
        dialogue.say("Written into \(file): \(effect)")
        return true
    }

    /// The file that sets the key, which may be one of conf.d: the value in another file would have no effect.
    private var fileToChange: String? {
        if case .file(let path)? = loaded.provenance[key]?.source { return path }
        return file
    }

    /// Clears the value above the file if the user agrees.
    private func clear(
        _ override: LayersInForce.Override, _ value: String, _ arguments: Arguments, _ dialogue: Dialogue,
        _ signals: SignalWaiter
    ) throws(CommandFailure) {
        var isWanted = arguments.has("clear")
        if !isWanted, dialogue.isInteractive {
            isWanted = try dialogue.ask("Clear the value that was set over MQTT, so that the file applies?")
        }
        guard isWanted else {
            dialogue.say("It stays \(override.value); \(override.advice)")
            return
        }
        let outcome = try LocalValues.clear([key], loaded, layers, signals: signals)
        var moment = "from the next start"
        if case .byAgent(let values) = outcome {
            // The agent has not read the file since it was written.
            let isInForce = values[key].map(YAMLText.flow) == value
            moment = isInForce ? "now" : "from the next start or reload"
        }
        dialogue.say("Cleared the value that was set over MQTT: \(key) is \(value), \(moment).")
    }

    private func isConfirmed(
        _ question: String, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws(CommandFailure) -> Bool {
        if arguments.has("yes") { return true }
        guard dialogue.isInteractive else { return false }
        return try dialogue.ask(question)
    }
}
