internal import JostleConfiguration
internal import JostleMessages
internal import MotionCore

/// A row of the CSV file of events: see "Recording files" in docs/command-line.md.
enum EventRow {
    /// The original columns, then those added later; the order is a contract.
    static let header =
        "t_s,gesture,phase,direction,side,count,axis,angle,strength,duration,reason,from,to,reversals,level,frequency,"
        + "height,rate\n"

    /// The row of an event; fields that do not apply are empty.
    static func text(_ event: GestureEvent, time: String) -> String {
        let fields: [String] = [
            time, event.gesture.word, event.phase.word, event.direction?.word ?? "", event.side?.word ?? "",
            event.count.map { "\($0)" } ?? "", event.axis?.word ?? "",
            event.angle.map { decimal($0 * degreesPerRadian, 2) } ?? "", event.strength.map { decimal($0, 3) } ?? "",
            event.duration.map { decimal($0, 3) } ?? "", event.reason?.word ?? "", event.from?.word ?? "",
            event.to?.word ?? "", event.reversals.map { "\($0)" } ?? "", event.level.map { decimal($0, 4) } ?? "",
            event.frequency.map { decimal($0, 3) } ?? "", event.height.map { decimal($0, 3) } ?? "",
            event.rate.map { decimal($0 * degreesPerRadian, 2) } ?? "",
        ]
        return fields.joined(separator: ",") + "\n"
    }

    /// An event in words.
    static func sentence(_ event: GestureEvent) -> String {
        var parts = ["\(event.gesture.word) \(event.phase.word)"]
        if let count = event.count { parts.append("\(count)") }
        if let direction = event.direction { parts.append(direction.word) }
        if let from = event.from, let to = event.to { parts.append("from \(from.word) to \(to.word)") }
        if let side = event.side { parts.append("on \(side.word)") }
        if let axis = event.axis { parts.append("axis \(axis.word)") }
        if let angle = event.angle { parts.append("\(decimal(angle * degreesPerRadian, 1))°") }
        if let rate = event.rate { parts.append("\(decimal(rate * degreesPerRadian, 0)) °/s") }
        if let strength = event.strength { parts.append("\(decimal(strength, 1)) m/s²") }
        if let level = event.level { parts.append("\(decimal(level, 2)) m/s² RMS") }
        if let frequency = event.frequency { parts.append("\(decimal(frequency, 1)) Hz") }
        if let reversals = event.reversals { parts.append("\(reversals) reversals") }
        if let height = event.height { parts.append("height \(decimal(height, 2)) m") }
        if let duration = event.duration { parts.append("after \(decimal(duration, 2)) s") }
        if let reason = event.reason { parts.append(reason.explanation(of: event.gesture)) }
        if event.isSimulated { parts.append("simulated") }
        return parts.joined(separator: ", ")
    }
}

/// A number with at most `decimals` decimals.
func decimal(_ value: Double, _ decimals: Int) -> String { NumberText.decimal(value, decimals) }
