internal import JostleMessages
internal import MosquittoClient
internal import Synchronization

/// Says what happened to the connection. A broker that is away for a week is tried a hundred thousand times: of attempts that
/// fail alike the 1st, 2nd, 4th, 8th and so on are told, so that a memory card is not worn out by a log; and so of messages
/// to a topic that the broker does not take.
final class ConnectionReport: Sendable {
    private struct Failures {
        var last: MQTTFailure
        var count = 0
    }

    private let log: Log
    private let failures = Mutex<[BrokerAddress: Failures]>([:])
    private let rejections = Mutex<[String: Int]>([:])

    /// Topics whose rejections are counted; who has more of them knows what is wrong.
    private static let topics = 100

    init(_ log: Log) {
        self.log = log
    }

    /// Says what happened.
    func tell(_ event: MQTTEvent<MQTTToken>) {
        switch event {
        case .connected(let connection):
            failures.withLock { $0 = [:] }
            log.info("connected to \(connection.broker) with MQTT \(connection.version)")
        case .refused(let end), .disconnected(let end): tell(end)
        case .subscriptionRefused(let filter, let reason): log.warning("may not subscribe to \(filter): \(reason)")
        case .rejected(_, let topic, let failure):
            let count = rejections.withLock { rejections in
                guard rejections[topic] != nil || rejections.count < ConnectionReport.topics else { return 0 }
                rejections[topic, default: 0] += 1
                return rejections[topic] ?? 0
            }
            guard count > 0, ConnectionReport.isTold(count) else { return }
            let times = count > 1 ? ", \(count) times so far" : ""
            log.warning("the broker does not take messages to \(topic): \(failure.ofMessage)\(times)")
        case .connecting(let broker, let version): log.debug("connecting to \(broker) with MQTT \(version)")
        case .subscribed, .message, .acknowledged, .stopped: break
        }
    }

    private func tell(_ end: MQTTDisconnection<MQTTToken>) {
        guard let retryAfter = end.retryAfter else {
            log.debug("disconnected from \(end.broker)")
            return
        }
        let count = failures.withLock { failures in
            var failed = failures[end.broker] ?? Failures(last: end.failure)
            if failed.last != end.failure { failed = Failures(last: end.failure) }
            failed.count += 1
            failures[end.broker] = failed
            return failed.count
        }
        let advice = end.advice.map { "; \($0)" } ?? ""
        let tries = count > 2 ? "; tried \(count) times so far" : ""
        let line =
            "\(end.broker): \(end.failure)\(advice)\(tries); trying again in \(retryAfter.seconds.rounded(to: 1)) s"
        if ConnectionReport.isTold(count) { log.warning(line) } else { log.debug(line) }
    }

    /// Whether a failure is told that comes for this time: where it is a power of two.
    static func isTold(_ count: Int) -> Bool { count & (count - 1) == 0 }
}

extension Duration {
    /// The duration in seconds.
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) * 1e-18 }
}
