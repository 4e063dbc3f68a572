package import MotionCore

extension Payloads {
    /// A movement that was almost a gesture, and what it lacked.
    package static func nearMiss(_ miss: NearMiss, at time: Int64, isSimulated: Bool) -> JSONObject {
        var object = JSONObject()
        object.add("t", time)
        object.add("gesture", miss.gesture.word)
        object.add("reason", miss.reason.word)
        object.add("value", miss.value * miss.unit.factor, decimals: 3)
        object.add("limit", miss.limit * miss.unit.factor, decimals: 3)
        if miss.value.isFinite || miss.limit.isFinite { object.add("unit", miss.unit.symbol) }
        if let direction = miss.direction { object.add("direction", direction.word) }
        if let precedence = miss.precedence { object.add("precedence", precedence.word) }
        if let gate = miss.gate { object.add("gate", gate.word) }
        object.add("text", miss.explanation)
        if isSimulated || miss.isSimulated { object.add("simulated", true) }
        return object
    }
}

extension NearMiss.Unit {
    /// The contract's symbol; `nil` for a count, a ratio or a score.
    fileprivate var symbol: String? {
        switch self {
        case .one: nil
        case .acceleration: "m/s²"
        case .seconds: "s"
        case .angle: "°"
        case .rate: "°/s"
        }
    }

    /// The contract's unit, as a multiple of the SI unit.
    fileprivate var factor: Double {
        switch self {
        case .one, .acceleration, .seconds: 1
        case .angle, .rate: degreesPerRadian
        }
    }
}

extension NearMiss.Reason {
    /// The reason's contract name.
    package var word: String {
        switch self {
        case .tooWeak: "too_weak"
        case .tooFewReversals: "too_few_reversals"
        case .tooFewTaps: "too_few_taps"
        case .noQuietBefore: "no_quiet_before"
        case .noQuietAfter: "no_quiet_after"
        case .notAlongOneLine: "not_along_one_line"
        case .tooIrregular: "too_irregular"
        case .tooSlow: "too_slow"
        case .wrongPace: "wrong_pace"
        case .tooPeaky: "too_peaky"
        case .likeSteps: "like_steps"
        case .notStill: "not_still"
        case .tooShort: "too_short"
        case .tooSmallAngle: "too_small_angle"
        case .notConvincing: "not_convincing"
        case .partOfFall: "part_of_fall"
        case .excluded: "excluded"
        case .tooSoon: "too_soon"
        case .gateClosed: "gate_closed"
        case .setInMotion: "set_in_motion"
        case .notBraked: "not_braked"
        case .otherDirection: "other_direction"
        case .tilted: "tilted"
        case .notVertical: "not_vertical"
        }
    }
}

extension NearMiss.GateCondition {
    /// The condition's contract name: its key in `when`.
    fileprivate var word: String {
        switch self {
        case .still, .moving: "still"
        case .side: "side"
        case .tiltAbove: "tilt_above"
        case .tiltBelow: "tilt_below"
        case .quietHours: "quiet_hours"
        }
    }
}
