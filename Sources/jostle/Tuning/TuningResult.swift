internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages

/// Puts a sensitivity into force: in the configuration file, unless something above the file sets it.
struct TuningResult {
    /// The key of the sensitivity.
    let key: String

    /// The sensitivity in the file.
    let configured: Int

    let layers: LayersInForce

    /// The configuration file; `nil` if there is none.
    let file: String?
    let loaded: LoadedConfiguration

    /// Writes the sensitivity into the file and offers to clear a value above it.
    func store(
        _ sensitivity: Int, _ arguments: Arguments, _ dialogue: Dialogue, _ signals: SignalWaiter
    ) throws(CommandFailure) {
        let override = layers.override(of: key)
        if let override {
            dialogue.say("\(override.text). That takes precedence over the file, which has \(configured).")
        }
        if sensitivity != configured {
            guard try write(sensitivity, arguments, dialogue, takesEffect: override == nil) else { return }
        } else if override == nil {
            dialogue.say("The sensitivity is already \(sensitivity): nothing to change.")
        }
        guard let override else { return }
        guard override.layer == nil else {
            dialogue.say("The file has no effect until the fleet's layer changes; \(override.advice)")
            return
        }
        try clear(override, sensitivity, arguments, dialogue, signals)
    }

    /// Writes the sensitivity into the file if the user agrees.
    ///
    /// - Returns: whether it is in the file now.
    private func write(
        _ sensitivity: Int, _ arguments: Arguments, _ dialogue: Dialogue, takesEffect: Bool
    ) throws(CommandFailure) -> Bool {
        guard let file = fileToChange else {
            dialogue.say("There is no configuration file. Set it in a new one, or with --set: \(key)=\(sensitivity)")
            return false
        }
        guard try isConfirmed("Write \(key): \(sensitivity) into \(file)?", arguments, dialogue) else {
            dialogue.say("Nothing was written. Set \(key)=\(sensitivity) by hand, or repeat this with --yes.")
            return false
        }
        try TuningTarget(path: file).write(sensitivity, key: key)
        let effect =
            takesEffect ? "\(key) is \(sensitivity), from the next start or reload." : "\(key): \(sensitivity)"
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
        _ override: LayersInForce.Override, _ sensitivity: Int, _ arguments: Arguments, _ dialogue: Dialogue,
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
            let isInForce = values[key].map(YAMLText.flow) == "\(sensitivity)"
            moment = isInForce ? "now" : "from the next start or reload"
        }
        dialogue.say("Cleared the value that was set over MQTT: \(key) is \(sensitivity), \(moment).")
    }

    private func isConfirmed(
        _ question: String, _ arguments: Arguments, _ dialogue: Dialogue
    ) throws(CommandFailure) -> Bool {
        if arguments.has("yes") { return true }
        guard dialogue.isInteractive else { return false }
        return try dialogue.ask(question)
    }
}
