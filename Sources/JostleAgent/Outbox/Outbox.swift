internal import MosquittoClient

/// How much waits for the broker at most.
public struct OutboxLimits: Equatable, Sendable {
    /// Messages. Default 10,000.
    public var count = 10_000

    /// Bytes of topics and payloads. Default 4 MiB.
    public var bytes = 4 << 20

    /// Seconds. Default a week.
    public var age = 7 * 86_400.0

    /// Makes the default limits.
    public init() {}
}

/// Events, and the messages of actions, on their way to the broker: kept in order until the broker has acknowledged them.
///
/// Bounded: where it is full the oldest go first, and are counted. What has an age limit is dropped where it could not be
/// sent before: a lamp that toggles an hour late is worse than one that does not. It does no I/O and has no clock; its owner
/// sends what it hands out, tells it of acknowledgements and lost connections, and writes down what came and went.
struct Outbox: Sendable {
    private struct Entry: Sendable {
        let token: UInt64
        var message: OutgoingMessage
        var isUnderWay = false
        var isGone = false
    }

    private let limits: OutboxLimits

    /// In the order of their tokens; those before `first` are gone.
    private var entries: [Entry] = []
    private var first = 0
    /// No entry before this one is to be sent.
    private var next = 0
    private var lastToken: UInt64 = 0

    /// Messages that the broker has not acknowledged, and their bytes.
    private(set) var count = 0
    private(set) var bytes = 0

    /// Messages that were given up: there was no room, or the broker would never take them.
    private(set) var dropped: UInt64 = 0

    /// Messages that grew too old before they could be sent.
    private(set) var expired: UInt64 = 0

    /// The tokens of messages that left since somebody took note of it.
    private(set) var departed: [UInt64] = []

    /// Makes an empty outbox; `dropped` and `expired` count on from an earlier run.
    init(limits: OutboxLimits, dropped: UInt64 = 0, expired: UInt64 = 0) {
        self.limits = limits
        self.dropped = dropped
        self.expired = expired
    }

    /// Puts a message at the end.
    ///
    /// - Returns: by what it is known from now on.
    @discardableResult
    mutating func append(_ message: OutgoingMessage) -> UInt64 {
        restore(message, token: lastToken + 1)
        return lastToken
    }

    /// Puts a message of an earlier run at the end under its old token, which is larger than all before it.
    mutating func restore(_ message: OutgoingMessage, token: UInt64) {
        while count > 0, count >= limits.count || bytes + message.size > limits.bytes { dropOldest() }
        compact()
        lastToken = max(lastToken + 1, token)
        entries.append(Entry(token: lastToken, message: message))
        count += 1
        bytes += message.size
    }

    /// The message of a token, where it is still there.
    func message(of token: UInt64) -> OutgoingMessage? { index(of: token).map { entries[$0].message } }

    /// Every message, in order.
    var messages: [(token: UInt64, message: OutgoingMessage)] {
        entries[first...].filter { !$0.isGone }.map { ($0.token, $0.message) }
    }

    /// Hands every message that is not under way and may go to `send`, oldest first, until that returns false: it could not.
    mutating func send(
        at clocks: ClockReading, eventExpiry: Double? = nil, mayGo: (UInt64) -> Bool = { _ in true },
        _ send: (MQTTMessage, MQTTToken) -> Bool
    ) {
        while next < entries.count {
            let entry = entries[next]
            if !entry.isGone, !entry.isUnderWay {
                guard mayGo(entry.token) else { return }
                let message = entry.message.message(at: clocks, eventExpiry: eventExpiry)
                guard send(message, MQTTToken(rawValue: entry.token)) else { return }
                entries[next].isUnderWay = true
            }
            next += 1
        }
    }

    /// Drops what grew too old, except where it is under way: the broker may have it.
    mutating func dropExpired(at clocks: ClockReading) {
        for index in next..<entries.count where !entries[index].isGone && !entries[index].isUnderWay {
            guard entries[index].message.isExpired(at: clocks, maximumAge: limits.age) else { continue }
            remove(index)
            expired += 1
        }
        compact()
    }

    /// The broker has the message of `token`.
    mutating func acknowledge(_ token: UInt64) {
        guard let index = index(of: token) else { return }
        remove(index)
        compact()
    }

    /// The message of `token` will never be taken.
    mutating func giveUp(_ token: UInt64) {
        guard let index = index(of: token) else { return }
        remove(index)
        dropped += 1
        compact()
    }

    /// These came back unacknowledged: they are to be sent again, except what is sent once at most.
    mutating func takeBack(_ tokens: [UInt64]) {
        for token in tokens {
            guard let index = index(of: token) else { continue }
            if entries[index].message.qos == .atMostOnce {
                remove(index)
            } else {
                entries[index].isUnderWay = false
                next = min(next, index)
            }
        }
        compact()
    }

    /// Tells the times anew of what was measured in this boot before the clock was set.
    ///
    /// - Returns: the tokens of what has another time now.
    mutating func correctTimes(_ clocks: ClockReading) -> [UInt64] {
        guard clocks.isSet else { return [] }
        var corrected: [UInt64] = []
        for index in first..<entries.count where !entries[index].isGone {
            let time = entries[index].message.time
            guard !time.isClockSet, time.boot == clocks.boot else { continue }
            entries[index].message.time = time.corrected(clocks)
            corrected.append(entries[index].token)
        }
        return corrected
    }

    /// The tokens of messages that left since the last call.
    mutating func takeDeparted() -> [UInt64] {
        defer { departed = [] }
        return departed
    }

    // MARK: Places

    private mutating func dropOldest() {
        remove(first)
        dropped += 1
    }

    private mutating func remove(_ index: Int) {
        entries[index].isGone = true
        count -= 1
        bytes -= entries[index].message.size
        departed.append(entries[index].token)
        while first < entries.count, entries[first].isGone { first += 1 }
    }

    /// Gives the places of what is gone back, now and then, so that each costs the same in the end.
    private mutating func compact() {
        guard first > 64, first > entries.count / 2 else { return }
        entries.removeFirst(first)
        next = max(0, next - first)
        first = 0
    }

    /// Where the message of a token is; `nil` where it is gone.
    private func index(of token: UInt64) -> Int? {
        var low = first
        var high = entries.count
        while low < high {
            let middle = (low + high) / 2
            if entries[middle].token < token { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].token == token && !entries[low].isGone ? low : nil
    }
}
