public import MosquittoClient
public import MotionCore

/// Events, and the messages of actions, on their way to the broker: kept in order until the broker has acknowledged them.
///
/// Bounded: where it is full the oldest go first, and are counted. What has an age limit is dropped where it could not be
/// sent before: a lamp that toggles an hour late is worse than one that does not. It does no I/O and has no clock; its owner
/// sends what it hands out and tells it of acknowledgements and lost connections.
public struct Outbox: Sendable {
    private struct Entry: Sendable {
        let token: MQTTToken
        let message: MQTTMessage
        /// When it is too old to be sent; `nil` is never.
        let expiry: Timestamp?
        var isUnderWay = false
    }

    private let capacity: Int
    private var entries: [Entry] = []
    private var lastToken: UInt64

    /// Events that were given up: there was no room, or the broker would never take them.
    public private(set) var dropped: UInt64 = 0

    /// Messages that grew too old before they could be sent.
    public private(set) var expired: UInt64 = 0

    /// Makes an outbox for at most `capacity` events, which the client knows by the number `firstToken` and those that
    /// follow.
    public init(capacity: Int, firstToken: UInt64 = 1) {
        self.capacity = max(1, capacity)
        lastToken = firstToken &- 1
    }

    /// Events that the broker has not acknowledged.
    public var count: Int { entries.count }

    /// Puts a message at the end, which is too old to be sent from `expiry` on.
    public mutating func append(_ message: MQTTMessage, expiry: Timestamp? = nil) {
        if entries.count >= capacity {
            entries.removeFirst()
            dropped += 1
        }
        lastToken &+= 1
        entries.append(Entry(token: MQTTToken(rawValue: lastToken), message: message, expiry: expiry))
    }

    /// Hands every message that is not under way to `send`, oldest first, until that returns false: it could not. Those
    /// with an age limit tell the broker the time that is left of it.
    public mutating func send(at now: Timestamp, _ send: (MQTTMessage, MQTTToken) -> Bool) {
        dropExpired(at: now)
        for index in entries.indices where !entries[index].isUnderWay {
            var message = entries[index].message
            if let expiry = entries[index].expiry {
                message.properties.messageExpiry = UInt32(max(1, expiry.seconds(since: now).rounded(.up)))
            }
            guard send(message, entries[index].token) else { return }
            entries[index].isUnderWay = true
        }
    }

    /// Drops what grew too old, except where it is under way: the broker may have it.
    public mutating func dropExpired(at now: Timestamp) {
        let before = entries.count
        entries.removeAll { entry in !entry.isUnderWay && entry.expiry.map { $0 <= now } ?? false }
        expired += UInt64(before - entries.count)
    }

    /// The broker has the message of `token`.
    public mutating func acknowledge(_ token: MQTTToken) {
        entries.removeAll { $0.token == token }
    }

    /// The message of `token` will never be taken.
    public mutating func giveUp(_ token: MQTTToken) {
        let before = entries.count
        entries.removeAll { $0.token == token }
        dropped += UInt64(before - entries.count)
    }

    /// The connection is lost: whatever was under way is to be sent again, except what is sent once at most.
    public mutating func connectionLost() {
        entries.removeAll { $0.isUnderWay && $0.message.qos == .atMostOnce }
        for index in entries.indices { entries[index].isUnderWay = false }
    }
}
