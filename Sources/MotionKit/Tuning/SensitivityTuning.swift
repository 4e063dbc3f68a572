package import MotionCore

/// What each sensitivity of a recognizer would have made of movements that somebody showed, and which one to take.
package struct SensitivityTuning: Sendable {
    /// What one sensitivity would have done.
    package struct Outcome: Equatable, Sendable {
        package var sensitivity: Int
        /// The gestures shown that it would have caught.
        package var caught: Int
        /// What it would have fired beside them: in ordinary handling, or more than once for one gesture.
        package var fired: Int
    }

    /// The gesture that is tuned.
    package let gesture: Gesture

    /// How many were shown.
    package let shown: Int

    /// The outcome for every sensitivity, from 1 to 10.
    package let outcomes: [Outcome]

    /// Runs both recordings at every sensitivity.
    ///
    /// - Parameters:
    ///   - gesture: what is tuned.
    ///   - settings: everything else about the pipeline.
    ///   - calibration: the chip's errors.
    ///   - unknownRanges: the sensors whose samples do not say where they were cut off.
    ///   - shown: samples along the sensor's axes in which somebody made the gesture several times, with pauses.
    ///   - bouts: when that was.
    ///   - ordinary: samples of everything else, in which nothing may fire.
    package init(
        _ gesture: Gesture, settings: MotionSettings, calibration: ChipCalibration = ChipCalibration(),
        unknownRanges: UnknownRanges = [], shown: [MotionSample], bouts: [BoutDetector.Bout], ordinary: [MotionSample]
    ) {
        self.gesture = gesture
        self.shown = bouts.count
        outcomes = (1...10).map { sensitivity in
            var settings = settings
            settings.gestures[gesture].isEnabled = true
            settings.gestures[gesture].sensitivity = sensitivity
            func fired(in samples: [MotionSample]) -> [Timestamp] {
                SensitivityTuning.beginnings(
                    of: gesture, in: samples, settings: settings, calibration: calibration, unknownRanges: unknownRanges
                )
            }
            let times = fired(in: shown)
            let caught = bouts.filter { bout in times.contains { $0 >= bout.start && $0 <= bout.latestRecognition } }
            return Outcome(
                sensitivity: sensitivity, caught: caught.count,
                fired: times.count - caught.count + fired(in: ordinary).count)
        }
    }

    /// The best sensitivity: as much as possible caught, as little as possible fired beside it, where one that is missed
    /// weighs as much as two that fire; of equally good ones the one in the middle, with the widest margin to both sides.
    package var best: Outcome {
        func loss(_ outcome: Outcome) -> Int { 2 * (shown - outcome.caught) + outcome.fired }
        let least = outcomes.map(loss).min() ?? 0
        // The longest run of equals; of several the one nearest to the default.
        var runs: [[Outcome]] = []
        for outcome in outcomes where loss(outcome) == least {
            if runs.last?.last?.sensitivity == outcome.sensitivity - 1 {
                runs[runs.count - 1].append(outcome)
            } else {
                runs.append([outcome])
            }
        }
        func distance(_ run: [Outcome]) -> Int { abs(run[run.count / 2].sensitivity - 5) }
        let run = runs.max { ($0.count, -distance($0)) < ($1.count, -distance($1)) } ?? outcomes
        return run[run.count / 2]
    }

    /// Whether the best one catches everything and fires nothing beside it.
    package var isClean: Bool { best.caught == shown && best.fired == 0 }

    /// When a gesture would have begun or been recognised.
    private static func beginnings(
        of gesture: Gesture, in samples: [MotionSample], settings: MotionSettings, calibration: ChipCalibration,
        unknownRanges: UnknownRanges
    ) -> [Timestamp] {
        var pipeline = MotionPipeline(settings: settings, calibration: calibration, unknownRanges: unknownRanges)
        var times: [Timestamp] = []
        for sample in samples {
            pipeline.process(sample) { event in
                guard event.gesture == gesture, event.phase == .began || event.phase == .recognized else { return }
                times.append(event.timestamp)
            }
        }
        return times
    }
}

extension BoutDetector.Bout {
    /// When a gesture that was this movement is recognised at the latest: a tap is, once no second one follows.
    fileprivate var latestRecognition: Timestamp { end.advanced(bySeconds: BoutDetector.pause) }
}
