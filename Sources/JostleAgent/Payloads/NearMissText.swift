public import MotionCore

extension NearMiss {
    /// What was almost recognised and what it lacked, in a sentence for people.
    public var explanation: String {
        "no \(gesture.word): \(reason.words(value: value, limit: limit))"
    }
}

extension NearMiss.Reason {
    /// The reason with its figures; those are left out where there are none.
    fileprivate func words(value: Double, limit: Double) -> String {
        switch self {
        case .tooWeak: "too weak" + figures(value, "of the", limit, " m/s²", end: " it needs")
        case .tooFewReversals: "too few reversals" + figures(value, "of the", limit, "", end: " it needs")
        case .noQuietBefore: "no quiet before it" + figures(value, "where at most", limit, " m/s²", end: " may be")
        case .noQuietAfter: "no quiet after it" + figures(value, "where at most", limit, " m/s²", end: " may be")
        case .notAlongOneLine: "not along one line" + figures(value, "across, at most", limit, "", end: "")
        case .tooIrregular: "too irregular" + figures(value, "of at most", limit, "", end: "")
        case .tooSlow: "too slow" + figures(value, "of at most", limit, " s", end: "")
        case .tooPeaky: "more like blows" + figures(value, "of at most", limit, "", end: " peak to RMS")
        case .tooShort: "too short" + figures(value, "of the", limit, " s", end: " it needs")
        case .tooSmallAngle:
            "too small an angle"
                + figures(value * degreesPerRadian, "of the", limit * degreesPerRadian, "°", end: " it needs")
        case .notConvincing: "not convincing" + figures(value, "of the", limit, "", end: " it needs")
        case .partOfFall: "it came with a fall or a blow"
        case .notStill: "it was moved" + figures(value, "where at most", limit, " m/s²", end: " may be")
        case .tooFewTaps: "too few taps" + figures(value, "of the", limit, "", end: " that are told")
        case .excluded: "another gesture takes precedence"
        case .tooSoon: "too soon" + figures(value, "of the", limit, " s", end: " after the last one")
        case .gateClosed: "it may not begin now: see `when` and the quiet hours"
        }
    }

    private func figures(_ value: Double, _ link: String, _ limit: Double, _ unit: String, end: String) -> String {
        guard value.isFinite, limit.isFinite else { return "" }
        return " (\(number(value)) \(link) \(number(limit))\(unit)\(end))"
    }

    private func number(_ value: Double) -> String { JSONObject.number(value, decimals: 2) }
}
