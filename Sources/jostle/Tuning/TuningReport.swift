internal import JostleMessages
internal import MotionCore
internal import MotionKit

/// What a trial of all sensitivities found, in words.
struct TuningReport {
    /// The most false alarms that are listed.
    private static let listedAlarms = 10

    let tuning: SensitivityTuning

    /// The sensitivity in force, and the one that will be written.
    let present: Int
    let chosen: Int

    /// The table of all sensitivities, and what became of each demonstration.
    var text: String { (["", table, demonstrations] + alarms).joined(separator: "\n") }

    private var table: String {
        let best = tuning.best.sensitivity
        let rows = tuning.outcomes.map { outcome in
            var marks: [String] = []
            if outcome.sensitivity == best { marks.append("<- best") }
            if outcome.sensitivity == present { marks.append("<- now") }
            return [
                "\(outcome.sensitivity)", "\(outcome.caught) of \(tuning.shown)", "\(outcome.fired)",
                marks.joined(separator: " "),
            ]
        }
        return TextTable([["sensitivity", "caught", "by mistake", ""]] + rows, rightAligned: 0...2).description
    }

    private var demonstrations: String {
        let misses = tuning.misses(at: chosen)
        let lines = tuning.demonstrations.enumerated().map { index, demonstration in
            let title = "\(tuning.gesture.word) \(index + 1): "
            let range = TuningReport.range(demonstration.sensitivities)
            let found = range.isEmpty ? "not recognised at any sensitivity" : "recognised at \(range)"
            guard let miss = misses.first(where: { $0.index == index })?.miss else { return title + found }
            return title + found + TuningReport.reason(miss, at: chosen)
        }
        return lines.map { $0 + "\n" }.joined()
    }

    /// Why a demonstration is missed at a sensitivity, as the end of a sentence.
    private static func reason(_ miss: TuningTrial.Miss, at sensitivity: Int) -> String {
        var parts: [String] = []
        if !miss.taken.isEmpty { parts.append("taken for a \(miss.taken.map(\.word).joined(separator: " and a "))") }
        if let near = miss.nearMiss { parts.append(near.explanation) }
        guard !parts.isEmpty else { return "" }
        return "; at \(sensitivity): \(parts.joined(separator: "; "))"
    }

    private var alarms: [String] {
        let all = tuning.falseAlarms
        guard !all.isEmpty else { return [] }
        var lines = all.prefix(TuningReport.listedAlarms).map { alarm in
            let place =
                alarm.isInHandling
                ? "after \(decimal(alarm.seconds, 1)) s of handling"
                : "a second time, \(decimal(alarm.seconds, 1)) s after the start"
            return
                "by mistake at \(TuningReport.range(alarm.sensitivities)), \(place): \(EventRow.sentence(alarm.event))"
        }
        if all.count > TuningReport.listedAlarms { lines.append("and \(all.count - TuningReport.listedAlarms) more") }
        return [lines.joined(separator: "\n") + "\n"]
    }

    /// Numbers as ranges: `2 … 5, 7`.
    static func range(_ numbers: [Int]) -> String {
        var runs: [ClosedRange<Int>] = []
        for number in numbers {
            if let last = runs.last, last.upperBound == number - 1 {
                runs[runs.count - 1] = last.lowerBound...number
            } else {
                runs.append(number...number)
            }
        }
        return runs.map { $0.count == 1 ? "\($0.lowerBound)" : "\($0.lowerBound) … \($0.upperBound)" }
            .joined(separator: ", ")
    }
}
