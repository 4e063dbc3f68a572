/// All recognizers, their input, and the arbiter between them.
///
/// A sample goes to the recognizers of short blows and vibration, and into the grid. The grid's cells go to the
/// recognizers of movement. Recognizers propose events to the arbiter. Cancelling and resetting happen here for all of
/// them: a recognizer never closes its own gesture because of an external cause.
package struct GestureRecognizers: ~Copyable {
    private var grid = CellGrid()
    private var arbiter: GestureArbiter
    private var misses = NearMisses()
    private var shake: ShakeRecognizer
    private var tap: TapRecognizer
    private var flick: FlickRecognizer
    private var turn: TurnRecognizer
    private var flip: FlipRecognizer
    private var tilt: TiltRecognizer
    private var fall: FallRecognizer
    private var impact: ImpactRecognizer
    private var motion: MotionRecognizer
    private var vibration: VibrationRecognizer
    private var learned: LearnedRecognizer?
    private var learnedMiss: LearnedMiss?
    /// The gestures with a waiting event that wait for a learned one.
    private var held: GestureSet = []
    private var frames: FrameRecorder?

    package init(settings: GestureSettings) {
        arbiter = GestureArbiter(settings: settings)
        shake = ShakeRecognizer(settings: settings.shake)
        tap = TapRecognizer(settings: settings.tap)
        flick = FlickRecognizer(settings: settings.flick)
        turn = TurnRecognizer(settings: settings.turn)
        flip = FlipRecognizer(settings: settings.flip)
        tilt = TiltRecognizer(settings: settings.tilt)
        fall = FallRecognizer(settings: settings.fall)
        impact = ImpactRecognizer(settings: settings.impact)
        motion = MotionRecognizer(settings: settings.motion)
        vibration = VibrationRecognizer(settings: settings.vibration)
    }

    /// The gestures in progress.
    package var open: GestureSet { arbiter.open }

    /// Whether a movement is in progress that is a gesture or may become one. A tilt and the run of a machine last for hours.
    mutating func isExpecting() -> Bool {
        !arbiter.open.subtracting([.tilt, .vibration]).isEmpty || !undecided().isEmpty
    }

    /// Whether the body moves and whether a machine runs, even if these gestures may not be reported.
    var isMoving: Bool { motion.isMoving }
    var isVibrating: Bool { vibration.isRunning }

    /// The strength of the vibration, m/s².
    var vibrationLevel: Double { vibration.level }

    /// The sensor's noise, m/s²/√Hz per axis; `nil` if it is not known.
    var noiseDensity: Double? {
        get { vibration.noiseDensity }
        set { vibration.noiseDensity = newValue }
    }

    /// Whether to keep near misses for `takeNearMiss()`. Default: false.
    package var explainsNearMisses: Bool {
        get { misses.isEnabled }
        set {
            misses.isEnabled = newValue
            learned?.explainsNearMisses = newValue
        }
    }

    /// The gestures that may not begin now; those in progress still end normally. Default: none.
    package var silenced: GestureSet {
        get { arbiter.silenced }
        set { arbiter.silenced = newValue }
    }

    /// Removes and returns the oldest near miss.
    package mutating func takeNearMiss() -> NearMiss? { misses.take() }

    /// Processes a sample and passes the resulting events to `emit`.
    package mutating func update(_ sample: GestureSample, emit: (GestureEvent) -> Void) {
        let values = CellGrid.Values(acceleration: sample.acceleration, rotationRate: sample.rotationRate)
        guard grid.add(values, at: sample.timestamp) else {
            // The movement during the gap is unknown.
            cancel(.interrupted, at: sample.timestamp, emit: emit)
            vibration.skip(sample.interval)
            return
        }
        let enabled = arbiter.enabled
        // Runs even if it is turned off: whether a machine runs is always published.
        if let event = vibration.update(sample, &misses) { propose(event, emit: emit) }
        if enabled.contains(.fall) { fall.observe(sample) }
        if enabled.contains(.impact), impact.update(sample), let event = impact.follow(sample, &misses) {
            propose(event, emit: emit)
        }
        while let means = grid.next() {
            let cell = GestureCell(
                time: grid.end, acceleration: means.acceleration, rotationRate: means.rotationRate,
                nearest: grid.nearest(interval: sample.interval), sample: sample)
            update(cell, enabled, emit: emit)
        }
        // After the recognizers that may exclude a tap.
        if enabled.contains(.tap), tap.update(sample, &misses),
            let event = tap.finishSequence(at: sample.timestamp, &misses)
        {
            propose(event, emit: emit)
        }
        if arbiter.isAnyWaiting {
            arbiter.release(at: sample.timestamp, undecided: undecided(), held: held, &misses, emit: emit)
        }
    }

    /// Replaces the learned gestures; `nil` for none. Allocates.
    mutating func apply(_ gestures: LearnedGestures?) {
        learned = gestures.map { LearnedRecognizer($0) }
        arbiter.apply(gestures)
        held = []
        learned?.explainsNearMisses = misses.isEnabled
    }

    /// The score of the last learned gesture.
    var learnedScore: LearnedScore? {
        mutating get { learned?.score }
    }

    /// Removes and returns the last near miss of a learned gesture.
    mutating func takeLearnedMiss() -> LearnedMiss? {
        defer { learnedMiss = nil }
        return learnedMiss
    }

    /// Has the frames of what follows recorded, for `takeFrame`. Allocates.
    mutating func recordFrames() { frames = FrameRecorder() }

    /// Removes and returns the oldest recorded frame.
    mutating func takeFrame() -> SampledFrame? { frames?.take() }

    /// Processes a cell with the recognizers of movement, those that take precedence first.
    private mutating func update(_ cell: GestureCell, _ enabled: GestureSet, emit: (GestureEvent) -> Void) {
        arbiter.update(cell)
        if let event = learned?.update(cell) { propose(event, emit: emit) }
        if misses.isEnabled, let miss = learned?.takeMiss() {
            learnedMiss = miss
            misses.add(miss.nearMiss)
        }
        if arbiter.isAnyWaiting { updateHeld(at: cell.timestamp) }
        frames?.add(cell)
        if enabled.contains(.fall), let event = fall.update(cell, &misses) { propose(event, emit: emit) }
        if enabled.contains(.shake), let event = shake.update(cell, &misses) { propose(event, emit: emit) }
        if enabled.contains(.flick), let event = flick.update(cell, &misses) { propose(event, emit: emit) }
        if enabled.contains(.turn), let event = turn.update(cell, &misses) { propose(event, emit: emit) }
        if enabled.contains(.flip), let event = flip.update(cell, &misses) { propose(event, emit: emit) }
        if enabled.contains(.tilt), let event = tilt.update(cell, &misses) { propose(event, emit: emit) }
        // Runs even if it is turned off: whether the body moves is always published.
        if let event = motion.update(cell, &misses) { propose(event, emit: emit) }
    }

    private mutating func propose(_ event: GestureEvent, emit: (GestureEvent) -> Void) {
        let isStart = event.phase == .began || event.phase == .recognized
        let isHeld = isStart && learned?.holds(event.gesture, sinceMiddle: 0.5 * (event.duration ?? 0)) ?? false
        if isHeld { held.insert(GestureSet(event.gesture)) }
        arbiter.propose(event, undecided: undecided(), held: isHeld ? held : [], &misses, emit: emit)
    }

    /// Judges again which of the waiting gestures wait for a learned one.
    private mutating func updateHeld(at timestamp: Timestamp) {
        held = []
        var rest = arbiter.waiting
        while let gesture = rest.popFirst() {
            let since = arbiter.sinceMiddle(of: gesture, at: timestamp)
            if learned?.holds(gesture, sinceMiddle: since) ?? false { held.insert(GestureSet(gesture)) }
        }
    }

    /// The gestures that the current movement may still become.
    ///
    /// It mutates nothing. But the compiler would take half a minute to check that a borrowed value of this size is not
    /// copied.
    private mutating func undecided() -> GestureSet {
        var undecided: GestureSet = []
        if shake.isUndecided { undecided.insert(.shake) }
        if tap.isUndecided { undecided.insert(.tap) }
        if flick.isUndecided { undecided.insert(.flick) }
        if turn.isUndecided { undecided.insert(.turn) }
        if flip.isUndecided { undecided.insert(.flip) }
        if tilt.isUndecided { undecided.insert(.tilt) }
        if fall.isUndecided { undecided.insert(.fall) }
        return undecided.intersection(arbiter.enabled)
    }

    /// Resets recognizers, except those that always run.
    private mutating func forget(_ gestures: GestureSet) {
        var remaining = gestures
        while let gesture = remaining.popFirst() {
            switch gesture {
            case .shake: shake.reset()
            case .tap: tap.reset()
            case .flick: flick.reset()
            case .turn: turn.reset()
            case .flip: flip.reset()
            case .tilt: tilt.reset()
            case .fall: fall.reset()
            case .impact: impact.reset()
            case .motion, .vibration, .learned: break
            }
        }
    }

    /// Applies new settings; cancels the gestures that they disable.
    package mutating func apply(_ settings: GestureSettings, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        guard settings != arbiter.settings else { return }
        let before = arbiter.enabled
        arbiter.apply(settings, at: timestamp, emit: emit)
        shake.settings = settings.shake
        tap.settings = settings.tap
        flick.settings = settings.flick
        turn.settings = settings.turn
        flip.settings = settings.flip
        tilt.settings = settings.tilt
        fall.settings = settings.fall
        impact.settings = settings.impact
        motion.settings = settings.motion
        vibration.settings = settings.vibration
        forget(before.symmetricDifference(arbiter.enabled))
    }

    /// Takes up the run of a machine that an earlier run of the program has reported as begun, so many seconds ago.
    mutating func resumeVibration(after seconds: Double) {
        arbiter.resume(.vibration)
        vibration.resume(after: seconds)
    }

    func machineReport(at timestamp: Timestamp) -> MachineReport { vibration.presentReport(at: timestamp) }

    mutating func takeMachineReport() -> MachineReport? { vibration.takeReport() }

    var machineDeviation: MachineDeviation? { vibration.deviation }

    /// Takes up a deviation of the machine that an earlier run of the program has reported.
    mutating func resumeMachine(_ deviation: MachineDeviation?) { vibration.resume(deviation) }

    /// Somebody says how the machine is now.
    mutating func learn(_ now: MachineStatement, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        if let event = vibration.learn(now, at: timestamp) { propose(event, emit: emit) }
    }

    /// Has what was learnt of the machine read or replaced.
    mutating func withMachineMemory<R>(_ body: (inout MachineMemory) -> R) -> R { body(&vibration.memory) }

    /// Cancels every gesture in progress. Only a machine runs on whatever happens to the samples, unless nothing will see its
    /// end. What the next samples show was there before: it is no event.
    package mutating func cancel(_ reason: CancellationReason, at timestamp: Timestamp, emit: (GestureEvent) -> Void) {
        arbiter.cancelAll(reason, except: reason == .stopped ? [] : .vibration, at: timestamp, emit: emit)
        forget(.all)
        motion.reset()
        learned?.reset()
        frames?.reset()
        vibration.interrupt()
    }
}
