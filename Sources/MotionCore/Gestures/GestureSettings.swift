internal import CMotionMath

/// The settings that every recognizer has.
public struct RecognizerSettings: Equatable, Sendable, BitwiseCopyable {
    /// Whether the gesture is recognised. Default true.
    public var isEnabled = true

    /// Sensitivity, from 1 (only unmistakable gestures) to 10 (gentle ones, too). Default 5. Smaller has fewer false
    /// alarms; larger never misses what a smaller value recognises, but has more false alarms.
    public var sensitivity = 5

    /// Time after the end of a gesture during which no other one of its kind begins, s. The default depends on the
    /// gesture. Smaller reports gestures in quick succession; larger ignores more of what follows.
    public var cooldown: Double

    /// When the gesture may begin. Default: always.
    public var gate = GestureGate()

    /// Creates the default settings with a cooldown in seconds.
    public init(cooldown: Double) {
        self.cooldown = cooldown
    }

    /// The factor of a sensitivity of which each step multiplies by `step`; 1 at sensitivity 5.
    func gain(step: Double) -> Double { pow(step, Double(sensitivity - 5)) }
}

/// The settings of all gestures.
public struct GestureSettings: Equatable, Sendable, BitwiseCopyable {
    public var shake = ShakeSettings()
    public var tap = TapSettings()
    public var flick = FlickSettings()
    public var turn = TurnSettings()
    public var flip = FlipSettings()
    public var tilt = TiltSettings()
    public var fall = FallSettings()
    public var impact = ImpactSettings()
    public var motion = MotionGestureSettings()
    public var vibration = VibrationSettings()

    /// Of the gestures of `Recognizer.learned`. Default cooldown 0.5 s.
    public var learned = RecognizerSettings(cooldown: LearnedGestureSettings.cooldown)

    /// Which gestures exclude one another or wait for one another.
    public var relations = GestureRelations()

    /// Creates the default settings.
    public init() {}

    /// The gestures that are enabled.
    public var enabled: GestureSet {
        var enabled: GestureSet = []
        var rest = GestureSet.all
        while let gesture = rest.popFirst() {
            if self[gesture].isEnabled { enabled.insert(GestureSet(gesture)) }
        }
        return enabled
    }

    /// The common settings of a gesture.
    public subscript(gesture: Gesture) -> RecognizerSettings {
        get {
            switch gesture {
            case .shake: shake.common
            case .tap: tap.common
            case .flick: flick.common
            case .turn: turn.common
            case .flip: flip.common
            case .tilt: tilt.common
            case .fall: fall.common
            case .impact: impact.common
            case .motion: motion.common
            case .vibration: vibration.common
            case .learned: learned
            }
        }
        set {
            switch gesture {
            case .shake: shake.common = newValue
            case .tap: tap.common = newValue
            case .flick: flick.common = newValue
            case .turn: turn.common = newValue
            case .flip: flip.common = newValue
            case .tilt: tilt.common = newValue
            case .fall: fall.common = newValue
            case .impact: impact.common = newValue
            case .motion: motion.common = newValue
            case .vibration: vibration.common = newValue
            case .learned: learned = newValue
            }
        }
    }
}
