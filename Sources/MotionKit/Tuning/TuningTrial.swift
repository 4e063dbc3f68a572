package import MotionCore

/// Runs the two recordings of a `SensitivityTuning` through the pipeline.
package struct TuningTrial: Sendable {
    /// Why a demonstrated gesture was missed.
    package struct Miss: Equatable, Sendable {
        /// The other gestures that it was recognised as.
        package var taken: [Gesture] = []
        /// The condition that it failed last; `nil` if it did not come close.
        package var nearMiss: NearMiss?
    }

    let shown: [MotionSample]
    let ordinary: [MotionSample]

    private let gesture: Gesture
    private let settings: MotionSettings
    private let calibration: ChipCalibration
    private let unknownRanges: UnknownRanges
    private let limits: BoutDetector.Limits

    init(
        _ gesture: Gesture, settings: MotionSettings, calibration: ChipCalibration, unknownRanges: UnknownRanges,
        shown: [MotionSample], ordinary: [MotionSample]
    ) {
        self.gesture = gesture
        self.settings = TuningTrial.adapted(settings, to: gesture)
        self.calibration = calibration
        self.unknownRanges = unknownRanges
        self.shown = shown
        self.ordinary = ordinary
        limits = TuningTrial.limits(of: gesture)
    }

    /// What separates one demonstration of a gesture from the next.
    package static func limits(of gesture: Gesture) -> BoutDetector.Limits {
        var limits = BoutDetector.Limits()
        switch gesture {
        case .turn, .flip:
            // A knob may be turned slowly.
            limits.rate = (gesture == .turn ? 15 : 25) * radiansPerDegree
            limits.quietRate = 8 * radiansPerDegree
        case .tilt:
            limits.rate = 25 * radiansPerDegree
            limits.quietRate = 8 * radiansPerDegree
            // It is held for a moment before it is put back.
            limits.pause = 2.5
        case .motion:
            // A gentle movement must be noticed too.
            limits.acceleration = 0.5
            limits.quietAcceleration = 0.3
            limits.rate = 8 * radiansPerDegree
            limits.quietRate = 4 * radiansPerDegree
            limits.pause = 2
        case .fall:
            // Picking it up for the next one is none. After a fall, another one within a second is a bounce.
            limits.weightless = 0.3 * standardGravity
            limits.pause = 1.5
        default: break
        }
        return limits
    }

    /// The settings under which demonstrations that follow one another are judged one by one. None of these changes what
    /// is recognised.
    private static func adapted(_ settings: MotionSettings, to gesture: Gesture) -> MotionSettings {
        var settings = settings
        settings.gestures[gesture].isEnabled = true
        settings.gestures[gesture].cooldown = min(settings.gestures[gesture].cooldown, 1)
        settings.gestures[gesture].gate.minimumInterval = 0
        settings.gestures.motion.stillness = min(settings.gestures.motion.stillness, 1)
        settings.gestures.vibration.doneAfter = min(settings.gestures.vibration.doneAfter ?? 4, 4)
        // The attitude in which it lies at first is the one from which it is tilted.
        if gesture == .tilt { settings.reference = .start }
        return settings
    }

    /// Whether another recognition within a demonstration is right: what falls or is struck bounces.
    var allowsRepetition: Bool { gesture == .fall || gesture == .impact }

    /// The latest time at which a gesture in a bout is recognised: a tap, for example, has to wait for a second one.
    func latestRecognition(of bout: BoutDetector.Bout) -> Timestamp {
        bout.end.advanced(bySeconds: max(1, limits.pause))
    }

    /// The events with which the gesture began or was recognised, at a sensitivity: those of the demonstrations and those
    /// of ordinary handling.
    func beginnings(at sensitivity: Int) -> (shown: [GestureEvent], ordinary: [GestureEvent]) {
        var events: [GestureEvent] = []
        let reference = run(shown, at: sensitivity, storedReference: nil) { event in
            if event.gesture == gesture { events.append(event) }
        }
        var others: [GestureEvent] = []
        _ = run(ordinary, at: sensitivity, storedReference: reference) { event in
            if event.gesture == gesture { others.append(event) }
        }
        return (events, others)
    }

    /// Why these bouts of the demonstrations are missed at a sensitivity.
    func explain(_ bouts: [BoutDetector.Bout], at sensitivity: Int) -> [Miss] {
        var misses = bouts.map { _ in Miss() }
        func index(of time: Timestamp) -> Int? {
            bouts.firstIndex { time >= $0.start && time <= latestRecognition(of: $0) }
        }
        _ = run(
            shown, at: sensitivity, storedReference: nil,
            onMiss: { miss in
                guard miss.gesture == gesture, let found = index(of: miss.timestamp) else { return }
                misses[found].nearMiss = miss
            },
            onBeginning: { event in
                // That it moves is true of every gesture.
                guard event.gesture != gesture, event.gesture != .motion, let found = index(of: event.timestamp),
                    !misses[found].taken.contains(event.gesture)
                else { return }
                misses[found].taken.append(event.gesture)
            })
        return misses
    }

    /// Runs samples through a pipeline of their own.
    ///
    /// - Returns: the attitude that counted as zero.
    private func run(
        _ samples: [MotionSample], at sensitivity: Int, storedReference: Quaternion?,
        onMiss: ((NearMiss) -> Void)? = nil, onBeginning: (GestureEvent) -> Void
    ) -> Quaternion? {
        var settings = settings
        settings.gestures[gesture].sensitivity = sensitivity
        if storedReference != nil { settings.reference = .stored }
        var pipeline = MotionPipeline(
            settings: settings, storedReference: storedReference, calibration: calibration,
            unknownRanges: unknownRanges)
        pipeline.explainsNearMisses = onMiss != nil
        for sample in samples {
            // Before, a tilt is measured from lying flat.
            let isReady = gesture != .tilt || pipeline.state.hasReference
            pipeline.process(sample) { event in
                guard isReady else { return }
                if event.phase == .began || event.phase == .recognized { onBeginning(event) }
            }
            while let miss = pipeline.takeNearMiss() { onMiss?(miss) }
        }
        return gesture == .tilt ? pipeline.reference.attitude : nil
    }
}
