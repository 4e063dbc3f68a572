package import MotionCore

/// Tries every sensitivity of a recognizer on demonstrated gestures and on ordinary handling, and suggests the best one.
package struct SensitivityTuning: Sendable {
    /// The result for one sensitivity.
    package struct Outcome: Equatable, Sendable {
        package var sensitivity: Int
        /// The number of demonstrated gestures that were recognised.
        package var caught: Int
        /// The number of false alarms: during ordinary handling, or a second time for one gesture.
        package var fired: Int
    }

    /// The gesture to tune.
    package let gesture: Gesture

    /// The number of demonstrated gestures.
    package let shown: Int

    /// The outcome for every sensitivity, from 1 to 10.
    package let outcomes: [Outcome]

    /// Runs both recordings at every sensitivity.
    ///
    /// - Parameters:
    ///   - gesture: the gesture to tune.
    ///   - settings: all other settings of the pipeline.
    ///   - calibration: the chip's errors.
    ///   - unknownRanges: the sensors whose samples do not show whether they are clipped.
    ///   - shown: samples, along the sensor's axes, of the gesture repeated several times with pauses.
    ///   - bouts: the times of these gestures.
    ///   - ordinary: samples of ordinary handling, in which the gesture must not be recognised.
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

    /// The best sensitivity, which has the fewest misses and false alarms; a miss counts as two false alarms. If several are
    /// equally good, the one in the middle, because it has the widest margin on both sides.
    package var best: Outcome {
        func loss(_ outcome: Outcome) -> Int { 2 * (shown - outcome.caught) + outcome.fired }
        let least = outcomes.map(loss).min() ?? 0
        // The longest run of equal results; if there are several, the one nearest to the default.
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

    /// Whether the best sensitivity has no misses and no false alarms.
    package var isClean: Bool { best.caught == shown && best.fired == 0 }

    /// The times at which the gesture began or was recognised.
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
    /// The latest time at which a gesture in this bout is recognised: a tap, for example, has to wait for a second one.
    fileprivate var latestRecognition: Timestamp { end.advanced(bySeconds: BoutDetector.pause) }
}
