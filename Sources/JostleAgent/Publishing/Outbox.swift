public import MosquittoClient

/// Events on their way to the broker: kept in order until the broker has acknowledged them.
///
/// Bounded: where it is full the oldest go first, and are counted. It does no I/O; its owner sends what it hands out
/// and tells it of acknowledgements and lost connections.
public struct Outbox: Sendable {
    private struct Entry: Sendable {
        let token: MQTTToken
        let message: MQTTMessage
        var isUnderWay = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var lastToken: UInt64

    /// Events that were given up: there was no room, or the broker would never take them.
    public private(set) var dropped: UInt64 = 0

    /// Makes an outbox for at most `capacity` events, which the client knows by the number `firstToken` and those that
    /// follow.
    public init(capacity: Int, firstToken: UInt64 = 1) {
        self.capacity = max(1, capacity)
        lastToken = firstToken &- 1
    }

    /// Events that the broker has not acknowledged.
    public var count: Int { entries.count }

    /// Puts an event at the end.
    public mutating func append(_ message: MQTTMessage) {
        if entries.count >= capacity {
            entries.removeFirst()
            dropped += 1
        }
        lastToken &+= 1
        entries.append(Entry(token: MQTTToken(rawValue: lastToken), message: message))
    }

    /// Hands every event that is not under way to `send`, oldest first, until that returns false: it could not.
    public mutating func send(_ send: (MQTTMessage, MQTTToken) -> Bool) {
        for index in entries.indices where !entries[index].isUnderWay {
            guard send(entries[index].message, entries[index].token) else { return }
            entries[index].isUnderWay = true
        }
    }

    /// The broker has the event of `token`.
    public mutating func acknowledge(_ token: MQTTToken) {
        entries.removeAll { $0.token == token }
    }

    /// The event of `token` will never be taken.
    public mutating func giveUp(_ token: MQTTToken) {
        let before = entries.count
        entries.removeAll { $0.token == token }
        dropped += UInt64(before - entries.count)
    }

    /// The connection is lost: whatever was under way is to be sent again.
    public mutating func connectionLost() {
        for index in entries.indices { entries[index].isUnderWay = false }
    }
}
