internal import JostleMessages
internal import MosquittoClient

/// What is logged about the connection. A broker that is away for a week is tried a hundred thousand times: of attempts that
/// fail alike the 1st, 2nd, 4th, 8th and so on are logged as warnings, so that a memory card is not worn out by a log; and so
/// are messages to a topic that the broker does not take.
struct ConnectionLog {
    /// A line and how much it matters.
    struct Line: Equatable {
        var level: Log.Level
        var text: String
    }

    private struct Failures {
        var last: MQTTFailure
        var count = 0
    }

    private var failures: [BrokerAddress: Failures] = [:]
    private var rejections: [String: Int] = [:]

    /// Topics whose rejections are counted; who has more of them knows what is wrong.
    private static let topics = 100

    /// What is to be logged about an event; `nil` for nothing.
    mutating func line<Token>(for event: MQTTEvent<Token>) -> Line? {
        switch event {
        case .connected(let connection):
            failures = [:]
            return Line(level: .info, text: "connected to \(connection.broker) with MQTT \(connection.version)")
        case .refused(let end), .disconnected(let end): return line(for: end)
        case .subscriptionRefused(let filter, let reason):
            return Line(level: .warning, text: "may not subscribe to \(filter): \(reason)")
        case .rejected(_, let topic, let failure): return line(forRejectionOf: topic, failure)
        case .connecting(let broker, let version):
            return Line(level: .debug, text: "connecting to \(broker) with MQTT \(version)")
        case .subscribed, .message, .acknowledged, .stopped: return nil
        }
    }

    private mutating func line<Token>(for end: MQTTDisconnection<Token>) -> Line? {
        guard let retryAfter = end.retryAfter else {
            return Line(level: .debug, text: "disconnected from \(end.broker)")
        }
        var failed = failures[end.broker] ?? Failures(last: end.failure)
        if failed.last != end.failure { failed = Failures(last: end.failure) }
        failed.count += 1
        failures[end.broker] = failed
        let advice = end.advice.map { "; \($0)" } ?? ""
        let tries = failed.count > 2 ? "; tried \(failed.count) times so far" : ""
        let pause = retryAfter.seconds.rounded(to: 1)
        return Line(
            level: ConnectionLog.isLogged(failed.count) ? .warning : .debug,
            text: "\(end.broker): \(end.failure)\(advice)\(tries); trying again in \(pause) s")
    }

    private mutating func line(forRejectionOf topic: String, _ failure: MQTTFailure) -> Line? {
        guard rejections[topic] != nil || rejections.count < ConnectionLog.topics else { return nil }
        let count = (rejections[topic] ?? 0) + 1
        rejections[topic] = count
        guard ConnectionLog.isLogged(count) else { return nil }
        let times = count > 1 ? ", \(count) times so far" : ""
        return Line(
            level: .warning,
            text: "the broker does not take messages to \(topic): \(failure.messageDescription)\(times)")
    }

    /// Whether the failure that comes for this time is logged: if it is a power of two.
    static func isLogged(_ count: Int) -> Bool { count & (count - 1) == 0 }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
