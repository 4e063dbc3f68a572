internal import JostleRuntime
package import MosquittoClient

/// Chooses what to log about the connection. A broker that is away for a week causes a hundred thousand failed
/// attempts. To spare the memory card, only the 1st, 2nd, 4th, 8th … of equal failures is logged as a warning. The same
/// holds for messages to a topic that the broker rejects.
struct ConnectionLog {
    /// A log line and its level.
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
    /// What was said of a broker's limits.
    private var limits: [BrokerAddress: MQTTLimits] = [:]

    /// The maximum number of topics whose rejections are counted. With more than that, the cause is already in the log.
    private static let topics = 100

    /// What a broker does not do and what that costs, once.
    mutating func lines(forLimitsOf connection: MQTTConnection) -> [Line] {
        let known = limits.updateValue(connection.limits, forKey: connection.broker) ?? .none
        guard known != connection.limits else { return [] }
        return connection.costs.map { Line(level: .warning, text: $0) }
    }

    /// The line to log for an event; `nil` for none.
    mutating func line(for event: MQTTEvent) -> Line? {
        switch event {
        case .connected(let connection):
            failures = [:]
            let reason = connection.withoutV5.map { " (MQTT 5: \($0); mqtt.version: v3.1.1 does without it)" } ?? ""
            return Line(
                level: .info, text: "connected to \(connection.broker) with MQTT \(connection.version)\(reason)")
        case .disconnected(let end): return line(for: end)
        case .subscriptionRefused(let filter, let reason):
            return Line(level: .warning, text: "the broker refused the subscription to \(filter): \(reason)")
        case .subscriptionLeftOut(let filter, let reason):
            return Line(level: .warning, text: "not subscribed to \(filter) for now: \(reason)")
        case .subscriptionRestored(let filter): return Line(level: .info, text: "subscribed to \(filter) again")
        case .rejected(_, let topic, let failure): return line(forRejectionOf: topic, failure)
        case .connecting(let broker, let version):
            return Line(level: .debug, text: "connecting to \(broker) with MQTT \(version)")
        case .subscribed, .message, .acknowledged, .stopped: return nil
        }
    }

    private mutating func line(for end: MQTTDisconnection) -> Line? {
        guard let retryAfter = end.retryAfter else {
            return Line(level: .debug, text: "disconnected from \(end.broker)")
        }
        var failed = failures[end.broker] ?? Failures(last: end.failure)
        if failed.last != end.failure { failed = Failures(last: end.failure) }
        failed.count += 1
        failures[end.broker] = failed
        let advice = end.advice.map { "; \($0)" } ?? ""
        let tries = failed.count > 2 ? "; \(failed.count) attempts so far" : ""
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
            level: .warning, text: "the broker rejects messages to \(topic): \(failure.messageDescription)\(times)")
    }

    /// Whether the failure with this number is logged: powers of two are.
    static func isLogged(_ count: Int) -> Bool { count & (count - 1) == 0 }
}

extension MQTTConnection {
    /// What the broker does not do, and what that costs a device, one sentence each.
    package var costs: [String] {
        var texts: [String] = []
        if !limits.retains {
            texts.append(
                "retains no messages, so who subscribes later learns neither that this device is online nor its state and "
                    + "settings, and the fleet's configuration reaches only boards that are connected")
        }
        if limits.maximumQoS == .atMostOnce {
            texts.append("takes messages with QoS 0 only, so events that are sent while a connection breaks are lost")
        }
        return texts.map { "\(broker) \($0)" }
    }
}

/// The filters that the agent is not subscribed to, because a message to them is too large: what the device cannot be
/// told until somebody removes the message.
struct ConnectionFaults {
    private var omissions: [String: MQTTOmission] = [:]

    /// One phrase for each filter, in alphabetical order.
    var phrases: [String] {
        omissions.sorted { $0.key < $1.key }.map { "not subscribed to \($0.key): \($0.value)" }
    }

    /// Handles an event. Returns whether the faults changed.
    mutating func handle(_ event: MQTTEvent) -> Bool {
        switch event {
        case .subscriptionLeftOut(let filter, let omission):
            guard case .messageTooLarge = omission else { return false }
            return omissions.updateValue(omission, forKey: filter) != omission
        // An answer is not enough: the retained message that is too large comes after it.
        case .subscriptionRestored(let filter), .subscriptionRefused(let filter, _): return remove(filter)
        default: return false
        }
    }

    /// The filter is no longer wanted, was refused, or is of use again. Returns whether the faults changed.
    @discardableResult
    mutating func remove(_ filter: String) -> Bool { omissions.removeValue(forKey: filter) != nil }
}
