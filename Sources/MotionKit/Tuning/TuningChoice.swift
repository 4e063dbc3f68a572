package import MotionCore

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
