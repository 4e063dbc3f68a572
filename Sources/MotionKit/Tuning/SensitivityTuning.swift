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

    /// A demonstrated gesture, and at which sensitivities it was recognised.
    package struct Demonstration: Equatable, Sendable {
        package var bout: BoutDetector.Bout
        package var sensitivities: [Int] = []
        /// What was recognised at the first of them.
        package var event: GestureEvent?
    }

    /// A gesture that was recognised although nobody made it.
    package struct FalseAlarm: Equatable, Sendable {
        /// Whether it came during ordinary handling; else it is a second recognition of a demonstrated gesture.
        package var isInHandling: Bool
        /// Seconds from the beginning of that recording.
        package var seconds: Double
        package var sensitivities: [Int]
        /// What was recognised at the first of them.
        package var event: GestureEvent
    }

    /// Alarms of different sensitivities this close together, in seconds, are the same one.
    private static let sameAlarm = 1.0

    /// The gesture to tune.
    package let gesture: Gesture

    /// The number of demonstrated gestures.
    package var shown: Int { demonstrations.count }

    /// The outcome for every sensitivity, from 1 to 10.
    package private(set) var outcomes: [Outcome] = []

    /// The demonstrated gestures.
    package private(set) var demonstrations: [Demonstration]

    /// The false alarms of all sensitivities, in the order of their times.
    package private(set) var falseAlarms: [FalseAlarm] = []

    private let trial: TuningTrial

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
        demonstrations = bouts.map { Demonstration(bout: $0) }
        trial = TuningTrial(
            gesture, settings: settings, calibration: calibration, unknownRanges: unknownRanges, shown: shown,
            ordinary: ordinary)
        for sensitivity in 1...10 { outcomes.append(outcome(at: sensitivity)) }
        falseAlarms.sort { ($0.isInHandling ? 1 : 0, $0.seconds) < ($1.isInHandling ? 1 : 0, $1.seconds) }
    }

    private mutating func outcome(at sensitivity: Int) -> Outcome {
        let (shown, ordinary) = trial.beginnings(at: sensitivity)
        var outcome = Outcome(sensitivity: sensitivity, caught: 0, fired: 0)
        var used: Set<Int> = []
        for index in demonstrations.indices {
            let bout = demonstrations[index].bout
            let within = shown.indices.filter { event in
                let time = shown[event].timestamp
                return !used.contains(event) && time >= bout.start && time <= trial.latestRecognition(of: bout)
            }
            guard let first = within.first else { continue }
            used.formUnion(trial.allowsRepetition || bout.isVague ? within : [first])
            outcome.caught += 1
            demonstrations[index].sensitivities.append(sensitivity)
            if demonstrations[index].event == nil { demonstrations[index].event = shown[first] }
        }
        for (index, event) in shown.enumerated() where !used.contains(index) {
            note(event, isInHandling: false, trial.shown.first, sensitivity)
            outcome.fired += 1
        }
        for event in ordinary { note(event, isInHandling: true, trial.ordinary.first, sensitivity) }
        outcome.fired += ordinary.count
        return outcome
    }

    private mutating func note(
        _ event: GestureEvent, isInHandling: Bool, _ first: MotionSample?, _ sensitivity: Int
    ) {
        let seconds = first.map { event.timestamp.seconds(since: $0.timestamp) } ?? 0
        let known = falseAlarms.firstIndex {
            $0.isInHandling == isInHandling && abs($0.seconds - seconds) < Self.sameAlarm
        }
        if let known {
            if falseAlarms[known].sensitivities.last != sensitivity {
                falseAlarms[known].sensitivities.append(sensitivity)
            }
        } else {
            falseAlarms.append(
                FalseAlarm(
                    isInHandling: isInHandling, seconds: seconds, sensitivities: [sensitivity], event: event))
        }
    }

    /// Misses and false alarms; a miss counts as two false alarms.
    private func loss(_ outcome: Outcome) -> Int { 2 * (shown - outcome.caught) + outcome.fired }

    /// The loss of the best sensitivity.
    package var leastLoss: Int { outcomes.map(loss).min() ?? 0 }

    /// The best sensitivity, which has the least loss. If several are equally good, the one in the middle, because it has
    /// the widest margin on both sides.
    package var best: Outcome {
        let least = leastLoss
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

    /// Why each demonstrated gesture that a sensitivity does not recognise is missed there.
    package func misses(at sensitivity: Int) -> [(index: Int, miss: TuningTrial.Miss)] {
        let missed = demonstrations.indices.filter { !demonstrations[$0].sensitivities.contains(sensitivity) }
        guard !missed.isEmpty else { return [] }
        let found = trial.explain(missed.map { demonstrations[$0].bout }, at: sensitivity)
        return zip(missed, found).map { ($0, $1) }
    }
}

/// A value of another setting of a gesture that may fit the demonstrated movements better than the present one.
package struct TuningChoice: Equatable, Sendable {
    /// The key below that of the gesture.
    package let key: String

    /// The value as it is written in a file.
    package let value: String

    /// The settings with this value.
    package let settings: MotionSettings

    /// The values to try instead of the present ones, after a trial of those. There are none for most gestures.
    package static func alternatives(
        for gesture: Gesture, to settings: MotionSettings, after present: SensitivityTuning
    ) -> [TuningChoice] {
        switch gesture {
        case .tap:
            let counts: [(String, TapCounts)] = [("single", .single), ("double", .double), ("triple", .triple)]
            return counts.compactMap { word, count in
                guard settings.gestures.tap.counts != count else { return nil }
                var changed = settings
                changed.gestures.tap.counts = count
                return TuningChoice(key: "counts", value: word, settings: changed)
            }
        case .flick:
            // Somebody who always flicks to one side: what was recognised in another direction was a mistake.
            let shown = present.demonstrations.compactMap { $0.event?.direction }
            guard let direction = shown.first, shown.allSatisfy({ $0 == direction }) else { return [] }
            let directions = MotionDirections(direction)
            guard settings.gestures.flick.directions != directions else { return [] }
            var changed = settings
            changed.gestures.flick.directions = directions
            return [TuningChoice(key: "directions", value: "\(direction)", settings: changed)]
        case .turn:
            let isKnob = settings.gestures.turn.mode == .knob
            var changed = settings
            changed.gestures.turn.mode = isKnob ? .free : .knob
            return [TuningChoice(key: "mode", value: isKnob ? "free" : "knob", settings: changed)]
        default: return []
        }
    }
}
