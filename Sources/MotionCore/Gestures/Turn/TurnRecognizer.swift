/// Recognises turns: those of a knob, or every deliberate rotation about an axis of the body.
///
/// It needs a gyroscope, since an accelerometer does not see turns about the vertical. Without one, nothing is
/// recognised; see `Gesture.needingGyroscope`.
struct TurnRecognizer: ~Copyable {
    private var free: FreeTurnRecognizer
    private var knob: KnobRecognizer
    /// The mode in use: a turn in progress ends in the mode in which it began.
    private var mode: TurnMode

    /// The settings; change them with `apply(_:)`.
    private(set) var settings: TurnSettings

    init(settings: TurnSettings) {
        self.settings = settings
        mode = settings.mode
        free = FreeTurnRecognizer(settings: settings)
        knob = KnobRecognizer(settings: settings)
    }

    /// Whether a rotation has covered half of a turn's smallest angle and may still become a turn.
    var isUndecided: Bool { mode == .knob ? knob.isUndecided : free.isUndecided }

    /// Applies new settings; a turn in progress continues.
    mutating func apply(_ settings: TurnSettings) {
        self.settings = settings
        free.apply(settings)
        knob.apply(settings)
        changeMode()
    }

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
