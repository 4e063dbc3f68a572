internal import JostleCommandLine
internal import JostleOperator
internal import MotionCore

/// The state of the connection to the broker, for people.
struct ConnectionStatus {
    /// A short description: `connected to mqtt://localhost:1883, MQTT 5`.
    private(set) var text = "not connected yet"

    /// Why the last attempt failed, and the seconds until the next.
    private var failure: (reason: String, retryAfter: Double?)?

    /// The refused subscriptions.
    private(set) var refusals: [String] = []

    /// The number of messages dropped because they arrived too fast.
    private(set) var droppedMessages = 0

    /// Updates the status with a report.
    ///
    /// - Returns: a line about it; `nil` if it is not worth one.
    mutating func update(with report: WatchListener.Report) -> String? {
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
            // A repeated failure with the same reason is reported only once.
            let isNew = failure?.reason != reason
            failure = (reason, seconds)
            return isNew ? "not connected: \(reason)" : nil
        case .refused(let filter, let reason):
            let refusal = "may not subscribe to \(filter): \(reason)"
            if refusals.count < 8 { refusals.append(refusal) }
            return refusal
        case .listening, .message: return nil
        }
    }

    /// Why nothing is shown although the broker answers: it does not know the device.
    var unknownDevice: String?

    /// Adds to the number of dropped messages.
    mutating func addDropped(_ count: Int) { droppedMessages += count }

    /// The present problem; `nil` if there is none.
    var problem: String? {
        if let failure {
            let again = failure.retryAfter.map { "trying again in \(decimal($0, 1)) s: " } ?? ""
            return again + failure.reason
        }
        if let refusal = refusals.first { return refusal }
        if let unknownDevice { return unknownDevice }
        return droppedMessages > 0 ? "\(droppedMessages) messages arrived too fast and were dropped" : nil
    }
}
