package import MosquittoClient
package import MotionCore

/// Finds out whether the broker lacks retained messages for subscriptions with a wildcard, as RabbitMQ does. Then a view
/// that has received none cannot tell whether there are devices.
///
/// It stores a message under this program's own reply topic, subscribes to that with a wildcard, and if nothing arrives,
/// by name: only a message that then arrives shows the lack. At the end it removes the message. A broker may also say that it
/// retains nothing: then that is known at once.
package struct WildcardCheck {
    private enum Step {
        case storing(MQTTToken)
        case asking
        case confirming
        case over(isLacking: Bool?)
    }

    /// Seconds that a step may take.
    private static let patience = 1.5

    /// When to call `advance` even if nothing has arrived.
    package private(set) var deadline: Timestamp

    /// Whether the broker lacks them; `nil` while that is not known, and if it cannot be known.
    package var isLacking: Bool? { if case .over(let isLacking) = step { isLacking } else { nil } }
    package var isOver: Bool { if case .over = step { true } else { false } }

    private let view: BrokerView
    private let wildcard: BrokerView.Filter
    private let exact: BrokerView.Filter
    private var step: Step
    private var hasArrived = false

    /// Begins the check.
    ///
    /// - Throws: if there is no connection.
    package init(_ view: BrokerView, at now: Timestamp) throws {
        self.view = view
        exact = BrokerView.Filter(view.replyTopic, isReliable: true, isOptional: true)
        let level = view.replyTopic.lastIndex(of: "/") ?? view.replyTopic.startIndex
        wildcard = BrokerView.Filter("\(view.replyTopic[..<level])/+", isReliable: true, isOptional: true)
        var message = BrokerView.request(view.replyTopic, Array("{}".utf8), lifetime: 60)
        message.retain = true
        let isRetained = view.status.connection?.limits.retains ?? true
        step = isRetained ? .storing(try view.publish(message)) : .over(isLacking: true)
        deadline = now.advanced(bySeconds: WildcardCheck.patience)
    }

    /// Takes a message.
    ///
    /// - Returns: whether it is one of the check.
    package mutating func take(_ message: MQTTMessage) -> Bool {
        guard message.topic == exact.text, message.retain else { return false }
        hasArrived = true
        return true
    }

    /// Goes on after an answer of the broker, or when the deadline has passed.
    package mutating func advance(at now: Timestamp) throws {
        let status = view.status
        let isLate = now >= deadline
        switch step {
        case .storing(let token):
            if status.acknowledged.contains(token) { return try ask(wildcard, .asking, at: now) }
            if isLate || status.rejected[token] != nil { finish(nil) }
        case .asking:
            if hasArrived { return finish(false) }
            if status.refused[wildcard.text] != nil { return finish(nil) }
            if isLate { try ask(exact, .confirming, at: now) }
        case .confirming:
            if hasArrived { return finish(true) }
            if isLate { finish(nil) }
        case .over: return
        }
        if !status.isConnected { finish(nil) }
    }

    /// Ends the check early, and removes its message.
    package mutating func cancel() { finish(nil) }

    private mutating func ask(_ filter: BrokerView.Filter, _ step: Step, at now: Timestamp) throws {
        try view.subscribe(to: [filter])
        self.step = step
        deadline = now.advanced(bySeconds: WildcardCheck.patience)
    }

    private mutating func finish(_ isLacking: Bool?) {
        guard !isOver else { return }
        step = .over(isLacking: isLacking)
        view.unsubscribe(from: [wildcard, exact])
        var removal = MQTTMessage(topic: exact.text, payload: [], qos: .atLeastOnce)
        removal.retain = true
        // Without a connection it expires, if the broker speaks MQTT 5.
        do { try view.send(removal) } catch { return }
    }
}
