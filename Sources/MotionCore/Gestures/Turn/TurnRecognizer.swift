/// Recognises turns: those of a knob, or every deliberate rotation about an axis of the body.
///
/// It needs a gyroscope, since an accelerometer does not see turns about the vertical. Without one, nothing is
/// recognised; see `Gesture.needingGyroscope`.
struct TurnRecognizer: ~Copyable {
    private var free: FreeTurnRecognizer
    private var knob: KnobRecognizer
    /// The mode in use: a turn in progress ends in the mode in which it began.
    private var mode: TurnMode

    /// The settings. A turn in progress continues if they change.
    var settings: TurnSettings {
        didSet {
            free.settings = settings
            knob.settings = settings
            changeMode()
        }
    }

    init(settings: TurnSettings) {
        self.settings = settings
        mode = settings.mode
        free = FreeTurnRecognizer(settings: settings)
        knob = KnobRecognizer(settings: settings)
    }

    /// Whether a rotation has covered half of a turn's smallest angle and may still become a turn.
    var isUndecided: Bool { mode == .knob ? knob.isUndecided : free.isUndecided }

    /// Resets the recognizer without an event; the caller cancels a turn in progress.
    mutating func reset() {
        free.reset()
        knob.reset()
        mode = settings.mode
    }

    /// Processes a cell; returns the resulting event, if any.
    mutating func update(_ cell: GestureCell, _ misses: inout NearMisses) -> GestureEvent? {
        let event = mode == .knob ? knob.update(cell, &misses) : free.update(cell, &misses)
        if event != nil { changeMode() }
        return event
    }

    /// Goes over to the mode of the settings, unless a turn is in progress.
    private mutating func changeMode() {
        guard mode != settings.mode, !free.isTurning, !knob.isTurning else { return }
        reset()
    }
}

/// How turns are recognised.
public struct TurnSettings: Equatable, Sendable, BitwiseCopyable {
    /// Common settings; the default cooldown is 0 s.
    public var common = RecognizerSettings(cooldown: 0)

    /// Which rotations are turns. Default `.knob`.
    public var mode = TurnMode.knob

    /// Of a knob: the angle at which a rotation becomes a turn at sensitivity 5, rad. Default 8°. Smaller reports turns
    /// sooner, but also a nudge; larger reports only wider ones. Each step of sensitivity is 10 %.
    public var knobAngle = 8 * radiansPerDegree

    /// Of a knob: the stillness before a turn, s. Default 0.3. Smaller lets turns follow one another sooner; larger
    /// leaves out more of the movements of a hand that holds the body.
    public var knobRest = 0.3

    /// Of a knob: the longest turn from rest to rest, s. Default 2. Smaller leaves out more of the movements of a hand;
    /// larger lets people turn more slowly.
    public var knobDuration = 2.0

    /// If free: the angle at which a rotation becomes a turn at sensitivity 5, rad. Default 30°. Smaller reports turns sooner,
    /// but also small movements of a hand; larger reports only wide ones. Each step of sensitivity is 10 %.
    public var minimumAngle = 30 * radiansPerDegree

    /// If free: the rate that a turn must have reached at sensitivity 5, rad/s. Default 40 °/s. Smaller includes slow rotation;
    /// larger accepts only brisk turns. Each step of sensitivity is 10 %.
    public var minimumRate = 40 * radiansPerDegree

    /// If free: the time that a rotation must last to become a turn, s. Default 0.2. Smaller reports turns sooner, but takes
    /// flicks and shakes of a wrist for turns; larger leaves out quick turns.
    public var minimumDuration = 0.2

    /// If free: the number of turns to and fro, each within 0.8 s of the previous one, after which the movement counts
    /// as swinging, like the arm of a person who walks. Default 2. Smaller suppresses a swinging body sooner; larger
    /// lets people turn to and fro for longer.
    public var swings = 2

    /// If free: time after which a turn is cancelled as too long, s. Default 20. Smaller gives up sooner on something that only
    /// goes round; larger lets people turn more slowly and farther.
    public var maximumDuration = 20.0

    /// The change of angle after which a `changed` event is sent, rad. Default 10°. Smaller follows the movement more
    /// closely but sends more; larger sends less.
    public var changeAngle = 10 * radiansPerDegree

    /// Smallest time between two `changed` events, s. Default 0.1. Smaller follows the movement more closely but sends
    /// more; larger sends less.
    public var changeInterval = 0.1

    /// Creates the default settings.
    public init() {}

    /// Each step of sensitivity divides the needed angle and rate by this.
    private static let sensitivityStep = 1.1

    /// The factor by which sensitivity divides the needed angle and rate.
    var gain: Double { common.gain(step: TurnSettings.sensitivityStep) }
}

/// Which rotations are turns.
public enum TurnMode: UInt8, CaseIterable, Sendable, BitwiseCopyable {
    /// Those of a knob: from rest to rest, about the vertical, without tilting. A worn or carried body hardly ever moves
    /// like that unintentionally.
    case knob
    /// Every rotation about an axis of the body, also in a hand, and one that goes on for long.
    case free
}
