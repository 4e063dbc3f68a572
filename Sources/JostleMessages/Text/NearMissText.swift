internal import Documents
internal import JostleConfiguration
internal import LinuxSystem
package import MotionCore

extension NearMiss {
    /// A sentence for people: which gesture was almost recognised, and what a person can change about the movement.
    package var explanation: String { "no \(kind.word): \(fault)" }

    /// The clause without the gesture's name.
    package var fault: String {
        if let example { return fault(beside: "example \(example + 1)") }
        let own = gesture.facts.nearMisses[reason]
        return switch reason {
        case .tooStrong: allowed("too strong")
        case .tooQuick: needed("too quick")
        case .tooWeak: needed(unit == .rate ? "too slow" : own ?? "too weak")
        case .tooFewReversals: tooFew("swings to and fro")
        case .tooFewTaps: tooFew(value == 1 ? "tap" : "taps in a row")
        case .noQuietBefore: noQuietBefore
        case .noQuietAfter: allowed("it did not come to rest")
        case .notAlongOneLine: usual("its swings were not along one line", by: "astray")
        case .tooIrregular: usual("its swings were uneven", by: "times one another")
        case .tooSlow: allowed(own ?? "too slow")
        case .wrongPace:
            usual(value < limit ? "its swings were too quick" : "its swings were too slow", by: "each")
        case .tooPeaky: "more like blows than the swings of a hand"
        case .likeSteps: "up and down, like steps or jumps"
        case .notStill: allowed(own ?? "it was moved meanwhile")
        case .tooShort: needed(own ?? "too short")
        case .tooSmallAngle: needed("too small an angle")
        case .notConvincing: own ?? "not convincing"
        case .partOfFall: value.isFinite ? "it followed a fall of \(text(value))" : "it came with a fall or a blow"
        case .excluded: "\(precedence?.withArticle ?? "another gesture") takes precedence"
        case .tooSoon: needed("too soon after the last one")
        case .gateClosed: closed
        case .setInMotion: allowed("it pushed the board along")
        case .notBraked: needed("the stroke was not braked")
        case .tilted: angleAllowed("it tilted")
        case .notVertical: angleAllowed("it strayed from the vertical")
        case .otherDirection:
            "\(direction.map { "\($0.word) is" } ?? "its direction is") not in gestures.\(gesture.word).directions"
        }
    }

    /// That of a learned gesture, whose score was too high.
    private func fault(beside example: String) -> String {
        let fault =
            switch reason {
            case .tooWeak: "it was smaller or gentler than \(example)"
            case .tooStrong: "it was larger or more violent than \(example)"
            case .tooQuick: "it was quicker than \(example)"
            case .tooSlow: "it was slower than \(example)"
            case .noQuietBefore: "something moved just before it"
            case .noQuietAfter: "something moved just after it"
            default: "it went another way than \(example)"
            }
        return
            "\(fault) (\(NumberText.decimal(value, 2)) from \(example), less than \(NumberText.decimal(limit, 2)) is needed)"
    }

    private var noQuietBefore: String {
        switch unit {
        case .rate: allowed("it was turning before")
        case .seconds: needed("it was not held still before")
        default: allowed("it was moving before")
        }
    }

    /// Which condition of the gate was not met.
    private var closed: String {
        let key = "\(kind.section).when"
        return switch gate {
        case .still: "it had not been still before (\(key).still)"
        case .moving: "it had been still before (\(key).still is false)"
        case .side: "another side was up than one of \(key).side"
        case .tiltAbove: "\(needed("the board was not tilted enough")) (\(key).tilt_above)"
        case .tiltBelow: "\(allowed("the board was tilted")) (\(key).tilt_below)"
        case .quietHours: "these are quiet hours (\(key).quiet_hours)"
        case nil: "it may not begin now, see \(key)"
        }
    }

    private func needed(_ fault: String) -> String {
        figures.map { "\(fault), \($0.value) but at least \($0.limit) is needed" } ?? fault
    }

    private func allowed(_ fault: String) -> String {
        figures.map { "\(fault), \($0.value) but at most \($0.limit) is allowed" } ?? fault
    }

    /// The same for a movement by an angle.
    private func angleAllowed(_ fault: String) -> String {
        figures.map { "\(fault) by \($0.value) but at most \($0.limit) is allowed" } ?? fault
    }

    /// The limits of a shape are not strict.
    private func usual(_ fault: String, by measure: String) -> String {
        let bound = value < limit ? "at least" : "at most"
        return figures.map { "\(fault), \($0.value) \(measure) but usually \(bound) \($0.limit)" } ?? fault
    }

    private func tooFew(_ things: String) -> String {
        figures.map { "only \($0.value) \(things), \($0.limit) are needed" } ?? "too few \(things)"
    }

    /// The value and the limit, with so many decimals that they differ; `nil` if there are not both, or hardly a difference.
    private var figures: (value: String, limit: String)? {
        guard value.isFinite, limit.isFinite else { return nil }
        for more in 0...2 {
            let figures = (text(value, more: more), text(limit, more: more))
            if figures.0 != figures.1 { return figures }
        }
        return nil
    }

    private func text(_ value: Double, more: Int = 0) -> String {
        switch unit {
        case .one: NumberText.decimal(value, 1 + more)
        case .acceleration: "\(NumberText.decimal(value, 1 + more)) m/s²"
        case .seconds: "\(NumberText.decimal(value, 2 + more)) s"
        case .angle: "\(NumberText.decimal(value * degreesPerRadian, more))°"
        case .rate: "\(NumberText.decimal(value * degreesPerRadian, more)) °/s"
        }
    }
}

extension Gesture {
    fileprivate var withArticle: String {
        self == .learned
            ? "a learned gesture" : "aeiou".contains(text: String(word.prefix(1))) ? "an \(word)" : "a \(word)"
    }
}
