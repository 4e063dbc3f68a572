/// What every recognizer can be told.
public struct RecognizerSettings: Equatable, Sendable, BitwiseCopyable {
    /// Whether the gesture is recognised at all. Default true.
    public var isEnabled = true

    /// From 1 (only what is unmistakable) to 10 (the gentlest too). Default 5.
    /// A higher value never misses what a lower one catches, and fires more often by mistake.
    public var sensitivity = 5

    /// Seconds from a gesture's end during which no other of its kind begins. Smaller tells quick successions apart,
    /// larger ignores more of what follows.
    public var cooldown: Double

    /// When the gesture may begin. Default: always.
    public var gate = GestureGate()

    /// Makes the default settings with a cooldown in seconds.
    public init(cooldown: Double) {
        self.cooldown = cooldown
    }
}

/// How gestures are recognised, one by one.
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

    /// Which gestures exclude one another or wait for one another.
    public var relations = GestureRelations()

    /// Makes the default settings.
    public init() {}

    /// The gestures that are recognised at all.
    public var enabled: GestureSet {
        var enabled: GestureSet = []
        var rest = GestureSet.all
        while let gesture = rest.popFirst() {
            if self[gesture].isEnabled { enabled.insert(GestureSet(gesture)) }
        }
        return enabled
    }

    /// What a gesture's recognizer was told of that which all can be told.
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
            }
        }
    }
}
