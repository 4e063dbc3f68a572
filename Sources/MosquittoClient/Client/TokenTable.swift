internal import Synchronization

/// The tokens of the messages whose outcome is unknown, by mark.
final class TokenTable<Token: Hashable & Sendable>: Sendable {
    private struct State {
        var last: UInt64 = 0
        var tokens: [UInt64: Token] = [:]
    }

    private let state = Mutex(State())

    /// Passes a message on with the mark of its token, which is forgotten if the message is not accepted.
    func publish(
        _ message: MQTTMessage, _ token: Token?, maximumSize: Int, _ accept: (Outgoing) throws(MQTTError) -> Void
    ) throws(MQTTError) {
        try message.validate(maximumSize: maximumSize)
        let mark = token.map { add($0) }
        do throws(MQTTError) {
            try accept(Outgoing(message: message, mark: mark))
        } catch {
            if let mark { _ = take([mark]) }
            throw error
        }
    }

    /// Stores a token under a new mark.
    private func add(_ token: Token) -> MessageMark {
        state.withLock { state in
            state.last += 1
            state.tokens[state.last] = token
            return MessageMark(number: state.last)
        }
    }

    /// Replaces the marks in an event with the publisher's tokens, and removes them from the table. `nil` if the event
    /// concerns a message without a token.
    func resolve(_ event: MQTTEvent<MessageMark>) -> MQTTEvent<Token>? {
        switch event {
        case .connecting(let broker, let version): .connecting(broker, version)
        case .connected(let connection): .connected(connection)
        case .subscribed(let filter, let qos): .subscribed(filter: filter, qos: qos)
        case .subscriptionRefused(let filter, let reason): .subscriptionRefused(filter: filter, reason)
        case .subscriptionLeftOut(let filter, let omission): .subscriptionLeftOut(filter: filter, omission)
        case .subscriptionRestored(let filter): .subscriptionRestored(filter: filter)
        case .message(let message): .message(message)
        case .acknowledged(let mark): take([mark]).first.map { .acknowledged($0) }
        case .rejected(let mark, let topic, let failure):
            .rejected(mark.flatMap { take([$0]).first }, topic: topic, failure)
        case .refused(let end): .refused(resolve(end))
        case .disconnected(let end): .disconnected(resolve(end))
        case .stopped(let undelivered): .stopped(undelivered: take(undelivered))
        }
    }

    private func resolve(_ end: MQTTDisconnection<MessageMark>) -> MQTTDisconnection<Token> {
        MQTTDisconnection(
            broker: end.broker, failure: end.failure, wasConnected: end.wasConnected,
            undelivered: take(end.undelivered), retryAfter: end.retryAfter)
    }

    private func take(_ marks: [MessageMark]) -> [Token] {
        // Most connections end with no message in flight.
        if marks.isEmpty { return [] }
        return state.withLock { state in marks.compactMap { state.tokens.removeValue(forKey: $0.number) } }
    }
}
