internal import MosquittoClient

/// Finds the message because of which the broker ends the connection. Some brokers do so instead of refusing it, on each
/// new connection again, and no other message gets through.
///
/// After two connections that the broker ended before it acknowledged a message, messages are sent one at a time. The
/// one that is alone on its way when further connections end is the cause.
struct ConnectionEnders {
    /// The number of connections after which messages are sent one at a time, and the number of further ones after which
    /// the cause is clear.
    static let suspicious = 2
    static let clear = 3

    /// Consecutive connections that the broker ended before it answered.
    private var fruitless = 0
    /// The message that was alone on its way when the last ones of them ended, and the number of these.
    private var suspect: (token: OutboxToken, count: Int)?

    /// The number of messages that may be on their way together; `nil` for no limit.
    var limit: Int? { fruitless >= ConnectionEnders.suspicious ? 1 : nil }

    /// The broker accepted or refused a message.
    mutating func answered() {
        fruitless = 0
        suspect = nil
    }

    /// A connection ended with these messages on their way. Returns the one that is the cause; `nil` if none is for
    /// certain.
    mutating func disconnected(undelivered: [OutboxToken], _ failure: MQTTFailure) -> OutboxToken? {
        guard failure.mayBeForMessage, let first = undelivered.first else { return nil }
        fruitless += 1
        guard fruitless > ConnectionEnders.suspicious, undelivered.count == 1 else { return nil }
        let count = suspect?.token == first ? (suspect?.count ?? 0) + 1 : 1
        suspect = (first, count)
        guard count >= ConnectionEnders.clear else { return nil }
        answered()
        return first
    }
}
