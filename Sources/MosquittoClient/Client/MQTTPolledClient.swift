/// A client of an MQTT broker that has no thread and never waits: its owner polls its socket and advances it.
///
/// One thread drives one of them or a thousand. A round is: wait with `poll` or `epoll` until the descriptor in `interest`
/// is ready or `deadline` has come, then call `advance`, which returns what happened. Both change with every call of
/// `advance`, `publish`, `subscribe`, `unsubscribe` and `stop`; when a connection ends, its descriptor is closed by then; during the
/// orderly end it is another one of the same connection, which `epoll` has to learn.
/// As in `MQTTClient`, a lost connection is made again until `stop`, messages are only taken while there is one, and every
/// token that `publish` took comes back exactly once.
///
/// An `advance` that follows `MQTTEvent.connecting` may block: libmosquitto asks for the address of the broker's name with
/// `getaddrinfo`, for which there is no other way. With a numeric address it does not.
///
/// It is not `Sendable`: whoever made it uses it, one call at a time.
package final class MQTTPolledClient<Token: Hashable & Sendable> {
    package typealias Instant = ContinuousClock.Instant

    private let options: MQTTOptions
    private let connection: PolledConnection
    private let tokens = TokenTable<Token>()

    /// Makes a client, which is due at once and connects then.
    ///
    /// - Throws: `invalidOption` and the like.
    package init(options: MQTTOptions) throws(MQTTError) {
        try options.validate()
        self.options = options
        connection = PolledConnection(options: options)
    }

    /// The socket, and what it is to be polled for; `nil` while there is none.
    package var interest: MQTTInterest? { connection.interest }

    /// When to call `advance` even if the socket is not ready, possibly in the past; `nil` once the client has ended.
    package var deadline: Instant? { connection.deadline }

    /// Whether `stopped` was returned; nothing happens after it.
    package var isFinished: Bool { connection.isFinished }

    /// Counters, and how the client stands.
    package var statistics: MQTTStatistics { connection.statistics }

    /// Does what is due: connects, reads, writes, gives up.
    ///
    /// - Parameters:
    ///   - readiness: what the socket was found ready for; empty if it is the deadline's turn.
    ///   - now: the present.
    /// - Returns: what happened, in order.
    package func advance(_ readiness: MQTTReadiness = [], now: Instant = .now) -> [MQTTEvent<Token>] {
        connection.advance(readiness, now: now).compactMap(tokens.redeem)
    }

    /// Takes a message, which `advance` hands to the network.
    ///
    /// - Parameters:
    ///   - message: what to publish; its payload is copied.
    ///   - token: the publisher's mark, by which the message's fate is reported; without one it is not.
    /// - Throws: `notConnected`, `queueFull`, `stopped`, or what is wrong with the message.
    package func publish(_ message: MQTTMessage, token: Token? = nil) throws(MQTTError) {
        try message.validate(maximumSize: options.maximumPacketSize)
        let mark = token.map { tokens.enter($0) }
        do throws(MQTTError) {
            try connection.publish(Outgoing(message: message, mark: mark))
        } catch {
            if let mark { tokens.forget(mark) }
            throw error
        }
    }

    /// Subscribes, now and on every later connection; see `MQTTClient.subscribe`.
    ///
    /// - Throws: `invalidTopic`.
    package func subscribe(to filter: String, qos: MQTTQoS, keepsRetainFlag: Bool = false) throws(MQTTError) {
        try MQTTTopic.validate(filter: filter)
        connection.change(.subscribe(filter, MQTTSubscription(qos: qos, keepsRetainFlag: keepsRetainFlag)))
    }

    /// Ends a subscription.
    package func unsubscribe(from filter: String) {
        connection.change(.unsubscribe(filter))
    }

    /// Begins the orderly end: what was taken is sent, then the farewell, and the broker learns that the client leaves, so
    /// that it does not publish the will. `stopped` is the last event.
    ///
    /// If the farewell is not acknowledged in time, the connection is dropped instead, and the will speaks for it.
    /// - Parameters:
    ///   - limit: how long acknowledgements are awaited; up to 150 ms more are for the broker to close.
    ///   - farewell: a last message, published after all others.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) {
        connection.stop(PolledConnection.StopRequest(deadline: .now + limit, farewell: farewell))
    }
}
