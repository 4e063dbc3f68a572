internal import Glibc

/// Which connections must end: those that do not complete a request in time, and the oldest of them if there are many.
///
/// libmicrohttpd ends connections on which nothing moves. It has no limit for one that sends or reads a byte now and then.
struct ConnectionDeadlines {
    /// What a connection does.
    enum Activity: Equatable {
        /// It has not completed a request since then.
        case requesting
        /// It gets an answer.
        case answering
        /// It gets a stream, which has no end. Whether that moves is libmicrohttpd's concern.
        case streaming
    }

    private struct Entry {
        var descriptor: Int32
        var activity: Activity
        var since: Double
    }

    private let limits: HTTPLimits
    private var entries: [Int: Entry] = [:]
    private var nextNumber = 1

    init(_ limits: HTTPLimits) {
        self.limits = limits
    }

    /// Adds a connection. Returns its number, and the connection to end because there are too many.
    mutating func begin(_ descriptor: Int32, at now: Double) -> (number: Int, surplus: Int32?) {
        let waiting = entries.filter { $0.value.activity == .requesting }
        var surplus: Int32?
        if waiting.count >= limits.requesting, let oldest = waiting.min(by: { $0.value.since < $1.value.since }) {
            surplus = oldest.value.descriptor
            // Counted no more, so that the next connection ends another one.
            entries[oldest.key] = nil
        }
        let number = nextNumber
        nextNumber += 1
        entries[number] = Entry(descriptor: descriptor, activity: .requesting, since: now)
        return (number, surplus)
    }

    /// A connection goes on to something else.
    mutating func change(_ number: Int, to activity: Activity, at now: Double) {
        entries[number]?.activity = activity
        entries[number]?.since = now
    }

    mutating func end(_ number: Int) { entries[number] = nil }

    /// The connections that must end now, each once.
    mutating func due(at now: Double) -> [Int32] {
        let late = entries.filter { entry in deadline(entry.value).map { $0 <= now } ?? false }
        for number in late.keys { entries[number] = nil }
        return late.values.map(\.descriptor)
    }

    /// Whether a connection gets an answer that is no stream.
    var isAnswering: Bool { entries.values.contains { $0.activity == .answering } }

    /// When the next connection must end.
    var nextDeadline: Double? { entries.values.compactMap(deadline).min() }

    private func deadline(_ entry: Entry) -> Double? {
        switch entry.activity {
        case .requesting: entry.since + limits.request
        case .answering: entry.since + limits.answer
        case .streaming: nil
        }
    }
}
