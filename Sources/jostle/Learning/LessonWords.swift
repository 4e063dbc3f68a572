internal import JostleConfiguration
internal import MotionCore
internal import MotionKit

// What is said of the examples of a gesture, of recordings and in a guided session alike.

extension ExampleFinding {
    /// What it is, and what to do.
    var words: String {
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
    var words: String {
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
    var words: String {
        switch self {
        case .tooDifferent(let median, let limit):
            "the examples have too little in common (\(decimal(median, 2)) on average, "
                + "\(decimal(limit, 2)) at most): show the same movement again, as wide and as fast"
        case .refusals(let count, let findings):
            "\(count) movements in a row did not do, the last for this: "
                + findings.filter(\.isFault).map(\.words).joined(separator: ", ")
        case .unreliable(let recognised):
            "only \(recognised) of \(LearningSession.trials) were recognised: show it again, always alike, or choose "
                + "another movement"
        }
    }
}

extension LearningSession.Trial {
    var words: String {
        switch self {
        case .recognised(let confidence): "recognised, confidence \(decimal(confidence, 2))"
        case .other(let name): "not recognised: it was \(name)"
        case .almost(let miss): "not recognised: \(miss.words)"
        case .missed: "not recognised: unlike every example"
        }
    }
}
