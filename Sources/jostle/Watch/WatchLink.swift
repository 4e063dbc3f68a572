internal import JostleOperator
internal import MotionCore

/// How the connection to the broker stands, for people.
struct WatchLink {
    /// One word and the broker: `connected to mqtt://localhost:1883, MQTT 5`.
    private(set) var text = "not connected yet"

    /// Why there is none, and after how many seconds it is tried again.
    private var failure: (reason: String, retryAfter: Double?)?

    /// What the broker does not let this user listen to.
    private(set) var refusals: [String] = []

    /// Messages for which there was no room.
    private(set) var leftOut = 0

    /// Notes what happened.
    ///
    /// - Returns: a line about it, where it is worth one.
    mutating func note(_ report: WatchListener.Report) -> String? {
        switch report {
        case .connecting(let broker):
            text = "connecting to \(broker)"
            return nil
        case .connected(let broker, let version):
            text = "connected to \(broker), MQTT \(version)"
            failure = nil
            refusals = []
            return text
        case .failed(let reason, let seconds):
            text = "not connected"
            // The first failure is told, and every other one.
            let isNews = failure?.reason != reason
            failure = (reason, seconds)
            return isNews ? "not connected: \(reason)" : nil
        case .refused(let filter, let reason):
            let refusal = "may not subscribe to \(filter): \(reason)"
            if refusals.count < 8 { refusals.append(refusal) }
            return refusal
        case .listening, .message: return nil
        }
    }

    /// Notes that messages were left out.
    mutating func note(leftOut count: Int) { leftOut += count }

    /// What is wrong with it; `nil` where nothing is.
    var trouble: String? {
        if let failure {
            let again = failure.retryAfter.map { "trying again in \(decimal($0, 1)) s: " } ?? ""
            return again + failure.reason
        }
        if let refusal = refusals.first { return refusal }
        return leftOut > 0 ? "too fast: \(leftOut) messages were left out" : nil
    }
}
