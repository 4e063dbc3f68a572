internal import JostleConfiguration
package import MotionCore

extension NearMiss {
    /// A sentence for people: which gesture was almost recognised, and which condition failed.
    package var explanation: String {
        let bound = value < limit ? "at least \(text(limit)) is needed" : "at most \(text(limit)) is allowed"
        let figures = value.isFinite && limit.isFinite ? ", \(text(value)) but \(bound)" : ""
        return "no \(gesture.word): \(reason.words)\(figures)"
    }

    private func text(_ value: Double) -> String {
        switch unit {
        case .one: NumberText.decimal(value, 2)
        case .acceleration: "\(NumberText.decimal(value, 2)) m/s²"
        case .seconds: "\(NumberText.decimal(value, 2)) s"
        case .angle: "\(NumberText.decimal(value * degreesPerRadian, 1))°"
        case .rate: "\(NumberText.decimal(value * degreesPerRadian, 0)) °/s"
        }
    }
}

extension NearMiss.Reason {
    fileprivate var words: String {
        switch self {
        case .tooWeak: "too weak"
        case .tooFewReversals: "too few reversals"
        case .tooFewTaps: "too few taps"
        case .noQuietBefore: "no quiet before it"
        case .noQuietAfter: "no quiet after it"
        case .notAlongOneLine: "not along one line"
        case .tooIrregular: "too irregular"
        case .tooSlow: "too slow"
        case .wrongPace: "too slow or too quick"
        case .tooPeaky: "more like blows"
        case .likeSteps: "more like steps"
        case .notStill: "it was moved meanwhile"
        case .tooShort: "too short"
        case .tooSmallAngle: "too small an angle"
        case .notConvincing: "not convincing"
        case .partOfFall: "part of a fall or a blow"
        case .excluded: "another gesture takes precedence"
        case .tooSoon: "too soon after the last one"
        case .gateClosed: "it may not begin now, see its `when`"
        }
    }
}
