package import JostleMessages
package import MosquittoClient

/// Why the fleet's documents could not be read or published.
package enum FleetSessionError: Error, Sendable {
    /// The MQTT client rejected its options.
    case mqtt(MQTTError)
    /// A secret file cannot be used.
    case secretFile(SecretFileError)
    /// The configured broker is embedded in an agent, so that no other program can use it.
    case privateBroker
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
    /// A signal ended the wait.
    case interrupted
}

extension FleetSessionError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .mqtt(let error): return "\(error)"
        case .secretFile(let error): return "\(error)"
        case .privateBroker:
            return "mqtt.broker is embedded, so every agent has its own broker: name the fleet's broker with --broker"
        case .notConnected(let failure): return "the broker was not reached\(failure.map { ": \($0)" } ?? " in time")"
        case .refused(let failure): return failure
        case .notAllowed(let filter, let reason): return "may not subscribe to \(filter): \(reason)"
        case .incomplete(let dropped): return "\(dropped) messages of the broker did not fit into the memory set aside"
        case .unsettled(let seconds):
            return "the broker was still sending after \(seconds.rounded(to: 0)) s; allow more time with --settle"
        case .interrupted: return "interrupted"
        }
    }
}
