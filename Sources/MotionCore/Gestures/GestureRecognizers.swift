/// All recognizers, what they are fed with, and the arbiter between them.
///
/// A sample goes into the grid, whose cells go to the recognizers that look at movement; those that look for short
/// blows and for vibration see the sample itself. What they find, they propose to the arbiter. Cancelling and forgetting
/// are done for all of them here: a recognizer never closes what it began because of something from outside.
public struct GestureRecognizers: ~Copyable {
    private var grid = CellGrid()
    private var arbiter: GestureArbiter
    private var misses = NearMisses()
    private var shake: ShakeRecognizer
    private var vibration: VibrationRecognizer
    private var tap: TapRecognizer

    /// Makes recognizers that have seen nothing.
    public init(settings: GestureSettings) {
        arbiter = GestureArbiter(settings: settings)
        shake = ShakeRecognizer(settings: settings.shake)
        vibration = VibrationRecognizer(settings: settings.vibration)
        tap = TapRecognizer(settings: settings.tap)
    }

    /// The gestures under way.
    public var open: GestureSet { arbiter.open }

    /// Whether a machine runs, also where that may not be told as a gesture.
    var isVibrating: Bool { vibration.isRunning }

    /// Whether near misses are kept for `takeNearMiss()`. Default: no.
    public var explainsNearMisses: Bool {
        get { misses.isWanted }
        set { misses.isWanted = newValue }
    }

    /// The oldest near miss that has not been taken.
    public mutating func takeNearMiss() -> NearMiss? { misses.take() }

    /// Takes a sample and hands what it brings about to `emit`.
    public mutating func update(_ sample: GestureSample, emit: (GestureEvent) -> Void) {
        let values = CellGrid.Values(acceleration: sample.acceleration, rotationRate: sample.rotationRate)
        guard grid.add(values, at: sample.timestamp) else {
            // Nobody knows what was in the gap.
            arbiter.cancelAll(.interrupted, at: sample.timestamp, emit: emit)
            forget()
            return
        }
        if let event = vibration.update(sample, &misses) {
            arbiter.propose(event, undecided: [], &misses, emit: emit)
        }
        while let means = grid.next() {
            let cell = GestureCell(
                time: grid.end, acceleration: means.acceleration, rotationRate: means.rotationRate, sample: sample)
            update(cell, emit: emit)
        }
        if arbiter.settings.tap.common.isEnabled, tap.listen(sample, &misses),
            let event = tap.conclude(at: sample.timestamp, &misses)
        {
            arbiter.propose(event, undecided: [], &misses, emit: emit)
        }
        arbiter.release(at: sample.timestamp, undecided: undecided, &misses, emit: emit)
    }

    /// The gestures that may still come of the movement under way.
    private var undecided: GestureSet { shake.isUndecided ? .shake : [] }

    private mutating func update(_ cell: GestureCell, emit: (GestureEvent) -> Void) {
        arbiter.update(cell)
        let settings = arbiter.settings
        if settings.shake.common.isEnabled, let event = shake.update(cell, &misses) {
            arbiter.propose(event, undecided: [], &misses, emit: emit)
        }
    }

    private mutating func forget() {
        shake.reset()
        vibration.reset()
        tap.reset()
    }

    /// Takes over new settings; a gesture under way is cancelled where they switch it off.
    public mutating func apply(_ settings: GestureSettings, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        let old = arbiter.settings
        guard settings != old else { return }
        arbiter.apply(settings, at: timestamp, emit: emit)
        shake.apply(settings.shake)
        vibration.apply(settings.vibration)
        tap.apply(settings.tap)
        if settings.shake.common.isEnabled != old.shake.common.isEnabled { shake.reset() }
        if settings.tap.common.isEnabled != old.tap.common.isEnabled { tap.reset() }
    }

    /// Cancels every gesture under way.
    public mutating func cancel(_ reason: CancellationReason, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        arbiter.cancelAll(reason, at: timestamp, emit: emit)
        forget()
    }
}
