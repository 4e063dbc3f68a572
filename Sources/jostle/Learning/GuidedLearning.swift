internal import JostleCommandLine
internal import JostleConfiguration
internal import LinuxSystem
internal import MotionCore
internal import MotionKit

/// A guided session of `jostle learn` at the terminal: reads the sensor, says what to do, and what is thought of it.
struct GuidedLearning {
    private let dialogue: Dialogue
    private let sensor: GuidedSensor
    private let plan: LearningSession.Plan

    /// Opens the sensor. It gives up `limit` seconds from now.
    init(_ plan: LearningSession.Plan, _ settings: JostleSettings, _ dialogue: Dialogue, limit: Double) throws {
        self.dialogue = dialogue
        sensor = try GuidedSensor(settings, before: "learn", dialogue: dialogue, limit: limit)
        var plan = plan
        plan.settings = sensor.settings.motion.withoutReference
        plan.calibration =
            CalibrationStore(stateDirectory: Configuration.stateDirectory)
            .load(sensor.storageName, or: dialogue.say).effective
        self.plan = plan
    }

    /// Guides the user until the gesture is learned and tried out.
    ///
    /// - Throws: status 65 if nothing comes of it, 75 if the user interrupts or the time is up.
    func run() throws -> GestureTemplate {
        defer { sensor.stop() }
        dialogue.say("Sensor: \(sensor.title)")
        if plan.background > 0 {
            dialogue.say(
                "First wear the board for \(durationText(plan.background)), and do what you usually do, but not \(plan.name)."
            )
        } else {
            explain()
        }
        var session = LearningSession(plan)
        var announced: String?
        while true {
            var hasWaited = false
            for sample in try sensor.newSamples("\(plan.name) is not learned") {
                guard let step = session.take(sample) else { continue }
                try say(step)
                if case .done = step, let template = session.template { return template }
                guard session.prompt == .wait else { continue }
                dialogue.say("Comparing them with everyday movement.")
                hasWaited = true
            }
            // What was done meanwhile belongs to no trial.
            if hasWaited { _ = try sensor.newSamples() }
            show(session.prompt, &announced)
        }
    }

    private func explain() {
        dialogue.say(
            """
            Hold the board still, make the movement, and hold it still again for a second: always as wide and as fast,
            and within 3 s. The first one is a rehearsal and does not count.
            """)
    }

    /// Says what has happened.
    ///
    /// - Throws: status 65 if nothing was learned.
    private func say(_ step: LearningSession.Step) throws {
        switch step {
        case .worn:
            dialogue.say("Good. Now show \(plan.name).")
            explain()
        case .rehearsed(let findings):
            let words = findings.isEmpty ? "good" : findings.map(\.words).joined(separator: ", ")
            dialogue.say("Rehearsal: \(words). From here on it counts.")
        case .accepted(let number, let seconds, let distance, let energies, let findings):
            var words = ["\(decimal(seconds, 2)) s"]
            if distance.isFinite { words.append("\(decimal(distance, 2)) from the next") }
            let picture = dialogue.isInteractive ? "\(GuidedLearning.picture(energies)) " : ""
            dialogue.say(
                "Example \(number): \(picture)\((words + findings.map(\.words)).joined(separator: ", "))")
        case .refused(let findings):
            dialogue.say("Once more: \(findings.map(\.words).joined(separator: ", "))")
        case .startedAgain: dialogue.say("Unlike the one before: this one is now the first")
        case .restless: dialogue.say("It does not come to rest: hold it still")
        case .learned(let count, let remarks):
            for remark in remarks { dialogue.say(remark.words) }
            dialogue.say("Learned from \(count) examples. Now try it, \(LearningSession.trials) times.")
        case .tested(let number, let trial): dialogue.say("Trial \(number): \(trial.words)")
        case .done(let recognised, let isReliable):
            dialogue.say("Recognised \(recognised) of \(LearningSession.trials).")
            if isReliable { dialogue.say(expectation) }
        case .failed(let failure): throw Failure(.badData, failure.words)
        }
    }

    /// Says what to do now: on the progress line, or in a line of its own if there is none.
    private func show(_ prompt: LearningSession.Prompt, _ announced: inout String?) {
        let title: String
        switch prompt {
        case .wear(let left):
            let part = 1 - left / plan.background
            return dialogue.show("Wear it: \(Dialogue.bar(part)) \(durationText(left.rounded(.up))) left")
        case .rest(let part): return dialogue.show("Hold it still \(Dialogue.bar(part))")
        case .moving: return dialogue.show("…")
        case .wait, .over: return
        case .rehearse: title = "Rehearsal"
        case .show(let number, let count):
            let isOneMore = count > plan.examples.lowerBound
            title = "Example \(number)\(isOneMore ? ", because they differ" : " of \(count)")"
        case .test(let number, let count): title = "Trial \(number) of \(count)"
        }
        let words = "\(title): now, then hold it still"
        if dialogue.isInteractive {
            dialogue.show(words)
        } else if announced != words {
            announced = words
            dialogue.say(words)
        }
    }

    /// What may be promised: docs/figures.md.
    private let expectation = """
        What to expect, if you make it as you have shown it, with a rest before and after: it is recognised nine times in ten
        at least, and everyday movement sets it off less than once in ten hours of being worn. Do not expect that of other
        people, of another mounting or while walking. How it fares on another day is not measured: if it is missed, add
        examples with --more.
        """

    /// How much moved in an example: a column for 0.08 s.
    private static func picture(_ energies: [Double]) -> String {
        let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        let most = max(energies.max() ?? 0, 1e-3)
        return String(
            stride(from: 0, to: energies.count, by: 2).map { blocks[min(7, Int(8 * energies[$0] / most))] })
    }
}
