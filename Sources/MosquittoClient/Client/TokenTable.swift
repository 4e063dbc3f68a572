internal import Synchronization

/// The tokens of the messages whose outcome is unknown, by mark.
final class TokenTable<Token: Hashable & Sendable>: Sendable {
    private struct State {
        var last: UInt64 = 0
        var tokens: [UInt64: Token] = [:]
    }

    private let state = Mutex(State())

    /// Stores a token under a new mark.
    func add(_ token: Token) -> MessageMark {
        state.withLock { state in
            state.last += 1
            state.tokens[state.last] = token
            return MessageMark(number: state.last)
        }
    }

    /// Removes the mark of a message that was not accepted.
    func remove(_ mark: MessageMark) {
        state.withLock { $0.tokens[mark.number] = nil }
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
