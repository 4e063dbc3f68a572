internal import JostleAgent
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
            dialogue.say(LearningSession.explanation)
        }
        let session = LearningSession(plan)
        var announced: String?
        while true {
            var hasWaited = false
            for sample in try sensor.newSamples("\(plan.name) is not learned") {
                if let step = session.take(sample) {
                    try say(step)
                    if case .done = step, let template = session.template { return template }
                    if session.prompt == .wait {
                        dialogue.say(session.prompt.words(of: plan))
                        hasWaited = true
                    }
                }
                show(session.prompt, &announced)
            }
            // What was done meanwhile belongs to no trial.
            if hasWaited { _ = try sensor.newSamples() }
        }
    }

    /// Says what has happened.
    ///
    /// - Throws: status 65 if nothing was learned.
    private func say(_ step: LearningSession.Step) throws {
        if case .failed(let failure) = step { throw Failure(.badData, failure.words) }
        let picture = { energies in dialogue.isInteractive ? "\(GuidedLearning.picture(energies)) " : "" }
        for line in step.lines(picture: picture) { dialogue.say(line) }
    }

    /// Says what to do now: on the progress line, or in a line of its own if there is none.
    private func show(_ prompt: LearningSession.Prompt, _ announced: inout String?) {
        switch prompt {
        case .wear(let left):
            let part = 1 - left / plan.background
            dialogue.show("Wear it: \(Dialogue.bar(part)) \(durationText(left.rounded(.up))) left")
        case .rest(let part): dialogue.show("\(prompt.words(of: plan)) \(Dialogue.bar(part))")
        case .moving: dialogue.show(prompt.words(of: plan))
        case .wait, .over: break
        case .rehearse, .show, .test:
            let words = prompt.words(of: plan)
            if dialogue.isInteractive {
                dialogue.show(words)
            } else if announced != words {
                announced = words
                dialogue.say(words)
            }
        }
    }

    /// How much moved in an example: a column for 0.08 s.
    private static func picture(_ energies: [Double]) -> String {
        let blocks: [Character] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
        let most = max(energies.max() ?? 0, 1e-3)
        return String(
            stride(from: 0, to: energies.count, by: 2).map { blocks[min(7, Int(8 * energies[$0] / most))] })
    }
}
