internal import JostleAgent
internal import MotionCore

/// A row of the events' CSV file: see "Recording files" in the README.
enum EventRow {
    /// The columns that every reader of such files relies on, then those that came later.
    static let header =
        "t_s,gesture,phase,direction,side,count,axis,angle,strength,duration,reason,from,to,reversals,level,frequency,"
        + "height\n"

    /// The row of an event at the time `time`, empty where a field does not apply.
    static func text(_ event: GestureEvent, time: String) -> String {
        let fields: [String] = [
            time, event.gesture.word, event.phase.word, event.direction?.word ?? "", event.side?.word ?? "",
            event.count.map { "\($0)" } ?? "", event.axis?.word ?? "",
            event.angle.map { decimal($0 * degreesPerRadian, 2) } ?? "", event.strength.map { decimal($0, 3) } ?? "",
            event.duration.map { decimal($0, 3) } ?? "", event.reason?.word ?? "", event.from?.word ?? "",
            event.to?.word ?? "", event.reversals.map { "\($0)" } ?? "", event.level.map { decimal($0, 4) } ?? "",
            event.frequency.map { decimal($0, 3) } ?? "", event.height.map { decimal($0, 3) } ?? "",
        ]
        return fields.joined(separator: ",") + "\n"
    }
}

/// A number with at most `decimals` decimals.
func decimal(_ value: Double, _ decimals: Int) -> String { JSONObject.number(value, decimals: decimals) }
