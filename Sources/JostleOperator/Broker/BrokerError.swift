internal import JostleConfiguration
package import LinuxSystem

/// Why a broker, or a device behind it, could not be reached or did not answer.
package enum BrokerError: Error, Sendable {
    /// The configured broker is embedded in an agent, so that no other program can use it; with what to do.
    case privateBroker(advice: String)
    /// The broker was not reached in time; with the last failure, if there was one.
    case notConnected(String?)
    /// The broker refused the user.
    case refused(String)
    /// The broker refused a subscription.
    case notAllowed(filter: String, reason: String)
    /// Messages arrived faster than they were read, so that some are missing.
    case incomplete(dropped: Int)
    /// The broker was still sending retained messages after this time.
    case unsettled(seconds: Double)
    /// The device did not answer in time; with its availability at the broker, `nil` if that is unknown.
    case silent(id: String, isOnline: Bool?)
    /// The broker knows no such device, but these.
    case unknown(id: String, known: [String])
    /// The broker sends no retained messages for subscriptions with a wildcard.
    case withoutRetained
    /// The answer cannot be parsed.
    case malformed(String)
    /// A signal ended the wait.
    case interrupted

    /// Whether it may pass by itself, as when the broker is being restarted.
    package var mayPass: Bool {
        switch self {
        case .notConnected, .unsettled, .incomplete: true
        default: false
        }
    }
}

extension BrokerError: FailureConvertible, CustomStringConvertible {
    package var failure: Failure {
        let status: ExitStatus =
            switch self {
            case .privateBroker: .configuration
            case .notConnected, .silent, .unknown, .withoutRetained: .unavailable
            case .refused, .notAllowed: .permission
            case .malformed: .badData
            case .incomplete, .unsettled, .interrupted: .temporary
            }
        return Failure(status, description)
    }

    package var description: String {
        switch self {
        case .privateBroker(let advice): "mqtt.broker is embedded, so every agent has its own broker: \(advice)"
        case .notConnected(let failure): "the broker was not reached\(failure.map { ": \($0)" } ?? " in time")"
        case .refused(let failure): failure
        case .notAllowed(let filter, let reason): "may not subscribe to \(filter): \(reason)"
        case .incomplete(let dropped): "\(dropped) messages of the broker did not fit into the memory set aside"
        case .unsettled(let seconds):
            "the broker was still sending after \(seconds.rounded(to: 0)) s; allow more time with --settle"
        case .silent(let id, nil): "no answer: the broker knows no device \(id)"
        case .silent(let id, false?): "no answer: \(id) is offline"
        case .silent(let id, true?): "no answer from \(id), although it is online; may this user send commands?"
        case .unknown(let id, let known): "no answer: \(BrokerError.unknownDevice(id, known: known))"
        case .withoutRetained:
            "this broker sends no retained messages for a subscription with a wildcard, as RabbitMQ does not: which devices "
                + "there are cannot be known before they publish"
        case .malformed(let reason): "the answer cannot be parsed: \(reason)"
        case .interrupted: "interrupted"
        }
    }

    /// That the broker does not know a device, which ones it knows, and which was probably meant.
    package static func unknownDevice(_ id: String, known: [String]) -> String {
        let names = known.prefix(10).joined(separator: ", ")
        let more = known.count > 10 ? " and \(known.count - 10) more" : ""
        let others = known.isEmpty ? "" : "; it knows \(names)\(more)"
        return "the broker knows no device \(id)\(others)\(EditDistance.suggestion(for: id, among: known))"
    }

    /// For a command that talks to one agent.
    static let privateAgentBroker = BrokerError.privateBroker(
        advice: "name the agent's broker with --set mqtt.broker=mqtt://127.0.0.1:PORT")
}
