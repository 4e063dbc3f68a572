internal import Documents
internal import Glibc
internal import JostleCommandLine
internal import JostleConfiguration
internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// Puts values into force: in the configuration file, unless something above the file sets them.
struct TuningResult {
    let gesture: Gesture
    let loaded: LoadedConfiguration
    let layers: LayersInForce
    let arguments: Arguments
    let dialogue: Dialogue
    let signals: SignalWaiter

    /// Writes a value of the gesture, such as its `sensitivity`, into the file and offers to clear one above it.
    ///
    /// - Returns: whether it is in the file now.
    @discardableResult
    func store(_ value: String, as name: String) throws -> Bool {
        let key = "gestures.\(gesture.word).\(name)"
        // What the file has.
        let configured = ConfigurationSchema.value(of: key, in: loaded.settings).map(YAMLText.flow) ?? ""
        let override = layers.override(of: key)
        if let override {
            dialogue.say("\(override.text). That takes precedence over the file, which has \(configured).")
        }
        if value != configured {
            guard try write(value, of: key, takesEffect: override == nil) else { return false }
        } else if override == nil {
            dialogue.say("The \(name) is already \(value): nothing to change.")
        }
        guard let override else { return true }
        guard override.layer == nil else {
            dialogue.say("The file has no effect until the fleet's layer changes; \(override.advice)")
            return true
        }
        try clear(override, value)
        return true
    }

    /// Writes the value into the file if the user agrees.
    ///
    /// - Returns: whether it is in the file now.
    private func write(_ value: String, of key: String, takesEffect: Bool) throws -> Bool {
        guard let file = file(setting: key) else {
            dialogue.say("There is no configuration file. Set it in a new one, or with --set: \(key)=\(value)")
            return false
        }
        guard try isConfirmed("Write \(key): \(value) into \(file)?") else {
            dialogue.say("Nothing was written. Set \(key)=\(value) by hand, or repeat this with --yes.")
            return false
        }
        try write(value, of: key, into: file)
        let effect =
            takesEffect ? "\(key) is \(value), from the next start or reload." : "\(key): \(value)"
        dialogue.say("Written into \(file): \(effect)")
        return true
    }

    /// Writes the value into a file; the rest of it, with its comments, does not change.
    ///
    /// - Throws: status 77 or 73 if the file cannot be written, 78 if its layout does not allow it; the file is then
    ///   unchanged.
    private func write(_ value: String, of key: String, into path: String) throws {
        // Resolve a symbolic link, so that the file is replaced and not the link.
        let target = realPath(path) ?? path
        let text: String
        do {
            text = try FileContents.text(of: target, limit: ReaderLimits().bytes + 1, mayBePipe: true)
        } catch  where error.isMissing {
            text = ""
        } catch {
            throw Failure(.noInput, "\(path): \(error)")
        }
        let edited = try Failure.with(.configuration) {
            try ConfigurationEdit.set(key, to: value, in: text, source: .file(path))
        }
        do {
            try FileContents.replace(target, with: Array(edited.utf8))
        } catch {
            throw Failure(
                error.isPermission ? .permission : .cannotCreate,
                "\(path) cannot be written: \(error); set \(key) to \(value) there by hand")
        }
    }

    /// The file that sets the key, which may be one of conf.d: the value in another file would have no effect.
    private func file(setting key: String) -> String? {
        if case .file(let path)? = loaded.provenance[key]?.source { return path }
        return Configuration.file(arguments)
    }

    /// Clears the value above the file if the user agrees.
    private func clear(_ override: LayersInForce.Override, _ value: String) throws {
        let key = override.key
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

    private func isConfirmed(_ question: String) throws -> Bool {
        if arguments.has("yes") { return true }
        guard dialogue.isInteractive else { return false }
        return try dialogue.ask(question)
    }
}

/// What a trial of all sensitivities found, in words.
struct TuningReport {
    /// The most false alarms that are listed.
    private static let listedAlarms = 10

    let tuning: SensitivityTuning

    /// The sensitivity in force, and the one that will be written.
    let present: Int
    let chosen: Int

    /// The table of all sensitivities, and what became of each demonstration.
    var text: String { (["", table, demonstrations] + alarms).joined(separator: "\n") }

    private var table: String {
        let best = tuning.best.sensitivity
        let rows = tuning.outcomes.map { outcome in
            var marks: [String] = []
            if outcome.sensitivity == best { marks.append("<- best") }
            if outcome.sensitivity == present { marks.append("<- now") }
            return [
                "\(outcome.sensitivity)", "\(outcome.caught) of \(tuning.shown)", "\(outcome.fired)",
                marks.joined(separator: " "),
            ]
        }
        return TextTable([["sensitivity", "caught", "by mistake", ""]] + rows, rightAligned: 0...2).description
    }

    private var demonstrations: String {
        let misses = tuning.misses(at: chosen)
        let lines = tuning.demonstrations.enumerated().map { index, demonstration in
            let title = "\(tuning.gesture.word) \(index + 1): "
            let range = TuningReport.range(demonstration.sensitivities)
            let found = range.isEmpty ? "not recognised at any sensitivity" : "recognised at \(range)"
            guard let miss = misses.first(where: { $0.index == index })?.miss else { return title + found }
            return title + found + TuningReport.reason(miss, at: chosen)
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Why a demonstration is missed at a sensitivity, as the end of a sentence.
    private static func reason(_ miss: TuningTrial.Miss, at sensitivity: Int) -> String {
        var parts: [String] = []
        if !miss.taken.isEmpty { parts.append("taken for a \(miss.taken.map(\.word).joined(separator: " and a "))") }
        if let near = miss.nearMiss { parts.append(near.explanation) }
        guard !parts.isEmpty else { return "" }
        return "; at \(sensitivity): \(parts.joined(separator: "; "))"
    }

    private var alarms: [String] {
        let all = tuning.falseAlarms
        guard !all.isEmpty else { return [] }
        var lines = all.prefix(TuningReport.listedAlarms).map { alarm in
            let place =
                alarm.isInHandling
                ? "after \(decimal(alarm.seconds, 1)) s of handling"
                : "a second time, \(decimal(alarm.seconds, 1)) s after the start"
            return
                "by mistake at \(TuningReport.range(alarm.sensitivities)), \(place): \(EventRow.sentence(alarm.event))"
        }
        if all.count > TuningReport.listedAlarms { lines.append("and \(all.count - TuningReport.listedAlarms) more") }
        return [lines.joined(separator: "\n") + "\n"]
    }

    /// Numbers as ranges: `2 … 5, 7`.
    static func range(_ numbers: [Int]) -> String {
        var runs: [ClosedRange<Int>] = []
        for number in numbers {
            if let last = runs.last, last.upperBound == number - 1 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) … \($0.upperBound)" }
            .joined(separator: ", ")
    }
}

/// The best sensitivity for some movements, and the value of another setting if that fits better than the present one.
struct TuningProposal {
    /// All sensitivities with the proposed value of the other setting.
    let tuning: SensitivityTuning

    /// The same with the present value.
    let present: SensitivityTuning

    /// The other setting; `nil` if its present value is best, or the gesture has none.
    let choice: TuningChoice?

    init(_ gesture: Gesture, _ movements: TuningMovements, _ settings: MotionSettings) {
        func trial(_ settings: MotionSettings) -> SensitivityTuning {
            SensitivityTuning(
                gesture, settings: settings, calibration: movements.calibration,
                unknownRanges: movements.unknownRanges, shown: movements.shown, bouts: movements.bouts,
                ordinary: movements.ordinary)
        }
        present = trial(settings)
        var best = present
        var choice: TuningChoice?
        for alternative in TuningChoice.alternatives(for: gesture, to: settings, after: present) {
            let result = trial(alternative.settings)
            guard result.leastLoss < best.leastLoss else { continue }
            (best, choice) = (result, alternative)
        }
        tuning = best
        self.choice = choice
    }
}
