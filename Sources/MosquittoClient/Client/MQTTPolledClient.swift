/// A client of an MQTT broker that has no thread and never waits. Its owner polls its socket and advances it.
///
/// One thread can drive any number of them. A round is: wait with `poll` or `epoll` until the descriptor in `interest`
/// is ready or `deadline` has passed, then call `advance`, which returns the events. Both properties change with every
/// call of `advance`, `publish`, `subscribe`, `unsubscribe` and `stop`. When a connection ends, its descriptor is
/// already closed. During a graceful disconnect, the descriptor is a duplicate of the connection's, so `epoll` must be
/// updated. As in `MQTTClient`, a lost connection is re-established until `stop`, messages are accepted only while
/// there is a connection, and every token accepted by `publish` is reported exactly once.
///
/// An `advance` that follows `MQTTEvent.connecting` may block: libmosquitto resolves the broker's name with
/// `getaddrinfo`, for which it has no alternative. With a numeric address it does not block.
///
/// It is not `Sendable`: all calls must come from one thread, one at a time.
package final class MQTTPolledClient<Token: Hashable & Sendable> {
    package typealias Instant = ContinuousClock.Instant

    private let connection: PolledConnection
    private let tokens = TokenTable<Token>()

    /// Creates a client. It is due immediately and connects in the first `advance`.
    ///
    /// - Throws: `invalidOption` or another validation error.
    package init(options: MQTTOptions) throws(MQTTError) {
        try options.validate()
        connection = PolledConnection(options: options)
    }

    /// The socket and the readiness to poll it for; `nil` if there is no socket.
    package var interest: MQTTInterest? { connection.interest }

    /// When to call `advance` even if the socket is not ready; may be in the past. `nil` once the client has ended.
    package var deadline: Instant? { connection.deadline }

    /// Whether `stopped` has been returned. No events follow it.
    package var isFinished: Bool { connection.isFinished }

    /// The client's counters and state.
    package var statistics: MQTTStatistics { connection.statistics }

    /// Performs the due work: connects, reads, writes, checks timeouts.
    ///
    /// - Parameters:
    ///   - readiness: the socket's readiness; empty if the deadline has passed.
    ///   - now: the current time.
    /// - Returns: the events, in order.
    package func advance(_ readiness: MQTTReadiness = [], now: Instant = .now) -> [MQTTEvent<Token>] {
        connection.advance(readiness, now: now).compactMap(tokens.resolve)
    }

    /// Accepts a message, which the next `advance` sends.
    ///
    /// - Parameters:
    ///   - message: what to publish; its payload is copied.
    ///   - token: identifies the message when its outcome is reported. Without a token, it is not reported.
    /// - Throws: `notConnected`, `queueFull`, `stopped`, or the fault in the message.
    package func publish(_ message: MQTTMessage, token: Token? = nil) throws(MQTTError) {
        try tokens.publish(message, token, maximumSize: connection.options.maximumPacketSize, connection.publish)
    }

    /// Subscribes, now and on every later connection; see `MQTTClient.subscribe`.
    ///
    /// - Throws: `invalidTopic`.
    package func subscribe(
        to filter: String, qos: MQTTQoS, keepsRetainFlag: Bool = false, isOptional: Bool = false
    ) throws(MQTTError) {
        try MQTTTopic.validate(filter: filter)
        let subscription = MQTTSubscription(qos: qos, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
        connection.change(.subscribe(filter, subscription))
    }

    /// Ends a subscription.
    package func unsubscribe(from filter: String) {
        connection.change(.unsubscribe(filter))
    }

    /// Gives way to another client with the same id: see `MQTTClient.giveWay`.
    package func giveWay(for delay: Duration?) { connection.giveWay(for: delay) }

    /// Whether this host's network may be the reason why there is no connection. If so, call `networkReturned` when an
    /// interface or an address of this host comes back (`NetworkMonitor`).
    package var awaitsNetwork: Bool { connection.awaitsNetwork }

    /// This host's network came back: the next attempt is due within `MQTTBackoff.networkReturn`. Otherwise, it has no
    /// effect. The client is due immediately.
    package func networkReturned(now: Instant = .now) {
        connection.networkReturned(now: now)
    }

    /// Starts to end the client gracefully: sends the accepted messages, then the farewell, then a DISCONNECT, so that
    /// the broker does not publish the will. `stopped` is the last event.
    ///
    /// If the farewell is not acknowledged in time, the connection is dropped instead, and the broker publishes the
    /// will.
    /// - Parameters:
    ///   - limit: how long to wait for acknowledgements. The broker gets up to 150 ms more to close.
    ///   - farewell: a last message, published after all others.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) {
        connection.stop(PolledConnection.StopRequest(deadline: .now + limit, farewell: farewell))
    }
}
