internal import JostleAgent
internal import MotionCore

/// A row of the events' CSV file: see "Recording files" in the README.
enum EventRow {
    static let header = "t_s,gesture,phase,direction,side,count,axis,angle,strength,duration,reason\n"

    /// The row of an event at the time `time`, empty where a field does not apply.
    static func text(_ event: GestureEvent, time: String) -> String {
        let fields: [String] = [
            time, event.gesture.word, event.phase.word, "", "", "", event.axis?.word ?? "", "",
            event.strength.map { decimal($0, 3) } ?? "", event.duration.map { decimal($0, 3) } ?? "",
            event.reason?.word ?? "",
        ]
        return fields.joined(separator: ",") + "\n"
    }
}

/// A number with at most `decimals` decimals.
func decimal(_ value: Double, _ decimals: Int) -> String { JSONObject.number(value, decimals: decimals) }
