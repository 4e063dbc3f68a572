/// A client of an MQTT broker, as a publisher sees it: one that has a thread (`MQTTClient`), or one that is polled
/// (`MQTTPolledClient`).
package protocol MQTTPublisher: AnyObject {
    /// The largest payload, bytes.
    var maximumPacketSize: Int { get }

    /// The client's counters and state.
    var statistics: MQTTStatistics { get }

    /// Accepts a valid message.
    ///
    /// - Throws: `notConnected`, `queueFull` or `stopped`.
    func accept(_ outgoing: Outgoing) throws(MQTTError)

    /// Changes the subscriptions, now and on later connections.
    func change(_ change: SubscriptionChange)

    /// Gives way to another client with the same id: whenever the connection ends from now on, the next attempt waits for
    /// at least `delay`. Otherwise, the broker would disconnect the two in turn, as fast as they can connect. `nil` if there
    /// is no such client any more.
    func giveWay(for delay: Duration?)
}

extension MQTTPublisher {
    /// Publishes a message.
    ///
    /// - Parameters:
    ///   - message: what to publish; its payload is copied.
    ///   - token: identifies the message when its outcome is reported. Without a token, it is not reported.
    /// - Throws: `notConnected`, `queueFull`, `stopped`, or the fault in the message.
    package func publish(_ message: MQTTMessage, token: MQTTToken? = nil) throws(MQTTError) {
        try message.validate(maximumSize: maximumPacketSize)
        try accept(Outgoing(message: message, token: token))
    }

    /// Subscribes, now and on every later connection. A second call for the same filter changes its quality of service,
    /// and the broker sends the retained messages again.
    ///
    /// If the broker ends a connection instead of answering the request for an optional filter, the next connection does
    /// without it, and `subscriptionLeftOut` is reported. The filter is requested once more when the connection is stable.
    ///
    /// When a retained message is published during the subscription, the broker delivers it without the retain flag.
    /// Only MQTT 5 brokers can be asked to keep the flag (`keepsRetainFlag`).
    /// - Throws: `invalidTopic`.
    package func subscribe(
        to filter: String, qos: MQTTQoS, keepsRetainFlag: Bool = false, isOptional: Bool = false
    ) throws(MQTTError) {
        try MQTTTopic.validate(filter: filter)
        let subscription = MQTTSubscription(qos: qos, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
        change(.subscribe(filter, subscription))
    }

    /// Ends a subscription.
    package func unsubscribe(from filter: String) { change(.unsubscribe(filter)) }
}

/// A message to be sent, with its token.
package struct Outgoing: Sendable {
    var message: MQTTMessage
    var token: MQTTToken?
}

extension MQTTToken {
    /// The client's own final message.
    static let farewell = MQTTToken(-1, owner: .max)
}

/// A change of a client's subscriptions.
package enum SubscriptionChange: Sendable {
    case subscribe(String, MQTTSubscription)
    case unsubscribe(String)
}
