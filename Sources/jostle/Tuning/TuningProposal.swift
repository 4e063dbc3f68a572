internal import MotionCore
internal import MotionKit

/// The best sensitivity for some movements, and the value of another setting if that fits better than the present one.
struct TuningProposal {
    /// All sensitivities with the proposed value of the other setting.
    let tuning: SensitivityTuning

    /// The same with the present value.
    let present: SensitivityTuning

    /// The other setting; `nil` if its present value is best, or the gesture has none.
    let choice: TuningChoice?

    init(_ gesture: Gesture, _ movements: TuningMovements, _ settings: MotionSettings) {
        func trial(_ settings: MotionSettings) -> SensitivityTuning {
            SensitivityTuning(
                gesture, settings: settings, calibration: movements.calibration,
                unknownRanges: movements.unknownRanges, shown: movements.shown, bouts: movements.bouts,
                ordinary: movements.ordinary)
        }
        present = trial(settings)
        var best = present
        var choice: TuningChoice?
        for alternative in TuningChoice.alternatives(for: gesture, to: settings, after: present) {
            let result = trial(alternative.settings)
            guard result.leastLoss < best.leastLoss else { continue }
            (best, choice) = (result, alternative)
        }
        tuning = best
        self.choice = choice
    }
}
