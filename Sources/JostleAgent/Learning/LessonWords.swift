internal import Documents
internal import JostleConfiguration
package import MotionCore
package import MotionKit

// What is said of the examples of a gesture: of recordings, in a guided session, and over MQTT.

extension ExampleFinding {
    /// What it is, and what to do.
    package var words: String {
        switch self {
        case .several: "more than one movement: make one, and rest for a second before and after it"
        case .tooShort: "too short: a movement takes 0.2 s at least"
        case .tooLong: "long: gestures below 3 s are repeated more alike"
        case .tooWeak: "weak: move wider or faster"
        case .unlikeOthers: "unlike the others: show it again"
        case .likeEveryday(let activity): "like \(activity): choose another movement"
        case .likeLearned(let name): "like \(name), which is learned already: choose another movement"
        case .alsoRecognised(let gestures): "also recognised as \(gestures.words.joined(separator: ", "))"
        case .clipped: "at the end of the sensor's range: raise it"
        case .noRotationRate: "without a gyroscope, which recognises less and more falsely"
        }
    }
}

extension Lesson.Remark {
    package var words: String {
        switch self {
        case .different: "The examples differ: expect to repeat it one time in ten."
        case .veryDifferent: "The examples differ very much: expect to repeat it four times in ten."
        case .unevenTempo: "The tempo varies more than twofold: keep it."
        case .likeEveryday(let activity): "It is like \(activity): choose another movement."
        case .alsoRecognised(let gestures):
            "Also recognised in the examples: \(gestures.words.joined(separator: ", "))."
        }
    }
}

extension LearningSession.Failure {
    package var words: String {
        switch self {
        case .tooDifferent(let median, let limit):
            "the examples have too little in common (\(NumberText.decimal(median, 2)) on average, "
                + "\(NumberText.decimal(limit, 2)) at most): show the same movement again, as wide and as fast"
        case .refusals(let count, let findings):
            "\(count) movements in a row did not do, the last for this: "
                + findings.filter(\.isFault).text
        case .unreliable(let recognised):
            "only \(recognised) of \(LearningSession.trials) were recognised: show it again, always alike, or choose "
                + "another movement"
        }
    }
}

extension LearningSession.Trial {
    package var words: String {
        switch self {
        case .recognised(let confidence): "recognised, confidence \(NumberText.decimal(confidence, 2))"
        case .other(let name): "not recognised: it was \(name)"
        case .almost(let miss): "not recognised: \(miss.words)"
        case .missed: "not recognised: unlike every example"
        }
    }
}

extension LearnedScore {
    /// What the score consists of.
    package var parts: String {
        let parts = [("shape", shape), ("loudness", loudness), ("tempo", tempo), ("not alone", isolation)]
        return parts.map { "\($0) \(NumberText.decimal($1, 2))" }.joined(separator: ", ")
    }
}

extension LearnedMiss {
    /// What it lacked, by how much, and what its score consists of.
    package var words: String { "\(nearMiss.fault): \(score.parts)" }
}

extension LearningSession {
    /// How to show a movement.
    package static let explanation = """
        Hold the board still, make the movement, and hold it still again for a second: always as wide and as fast,
        and within 3 s. The first one is a rehearsal and does not count.
        """

    /// What may be promised: docs/figures.md.
    package static let expectation = """
        What to expect, if you make it as you have shown it, with a rest before and after: it is recognised nine times in ten
        at least, and everyday movement sets it off less than once in ten hours of being worn. Do not expect that of other
        people, of another mounting or while walking. How it fares on another day is not measured: if it is missed, add
        examples of that day to it.
        """
}

extension LearningSession.Step {
    /// What has happened, in lines. `picture` is of an example, or empty.
    package func lines(picture: ([Double]) -> String = { _ in "" }) -> [String] {
        switch self {
        case .worn: ["Good. Now show it.", LearningSession.explanation]
        case .rehearsed(let findings):
            ["Rehearsal: \(findings.isEmpty ? "good" : findings.text). From here on it counts."]
        case .accepted(let number, let seconds, let distance, let energies, let findings):
            [
                "Example \(number): \(picture(energies))\(NumberText.decimal(seconds, 2)) s"
                    + (distance.isFinite ? ", \(NumberText.decimal(distance, 2)) from the next" : "")
                    + findings.map { ", \($0.words)" }.joined()
            ]
        case .refused(let findings): ["Once more: \(findings.text)"]
        case .startedAgain: ["Unlike the one before: this one is now the first"]
        case .restless: ["It does not come to rest: hold it still"]
        case .learned(let count, let remarks):
            remarks.map(\.words)
                + ["Learned from \(count) examples. Now try it, \(LearningSession.trials) times."]
        case .tested(let number, let trial): ["Trial \(number): \(trial.words)"]
        case .done(let recognised, let isReliable):
            ["Recognised \(recognised) of \(LearningSession.trials)."]
                + (isReliable ? [LearningSession.expectation] : [])
        case .failed(let failure): [failure.words]
        }
    }
}

extension LearningSession.Prompt {
    /// What to do.
    package func words(of plan: LearningSession.Plan) -> String {
        let title: String
        switch self {
        case .wear: return "Wear the board, and do what you usually do, but not \(plan.name)."
        case .rest: return "Hold it still"
        case .moving: return "…"
        case .wait, .over: return "Comparing them with everyday movement."
        case .rehearse: title = "Rehearsal"
        case .show(let number, let count):
            // More than the fewest are only asked for if they differ.
            title = "Example \(number)\(count > plan.examples.lowerBound ? ", because they differ" : " of \(count)")"
        case .test(let number, let count): title = "Trial \(number) of \(count)"
        }
        return "\(title): now, then hold it still"
    }
}

extension [ExampleFinding] {
    fileprivate var text: String { map(\.words).joined(separator: ", ") }
}
