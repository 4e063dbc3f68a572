/// The filters of a client, and the order in which they are requested on a connection. A value type without a network.
///
/// Each filter has a SUBSCRIBE of its own, so that one that is refused takes no other with it, and all are requested at
/// once. But some brokers end the connection instead of refusing a subscription (RabbitMQ). If the broker ends a
/// connection while optional filters are unanswered, the next connection requests those alone, one after another, when
/// everything else is answered. One that is then the only unanswered filter at the end of a connection is left out.
///
/// The broker may have ended the connection for another reason: a restart, for example. So a filter that was left out is
/// requested once more as soon as a connection is stable. If that ends the connection too, the filter stays left out
/// until the end of a stable connection.
///
/// In the same way, every filter is left out that matches the topic of a message that was too large: a retained one
/// would end every connection as soon as it is subscribed. It is requested again and again, ever later, until it has been
/// answered and the connection has lasted since then.
///
/// If no filter matches, or the topic is not known, the filter is left out that was requested last. If that could be
/// several, the next connection requests all filters alone, with a pause after each.
struct SubscriptionPlan {
    typealias Instant = ContinuousClock.Instant

    /// How long a connection must last to be stable.
    let stableAfter: Duration

    /// How long to wait for the retained messages of a filter after its answer.
    private var settlingTime: Duration { min(.seconds(1), stableAfter) }

    private var subscriptions: [String: MQTTSubscription] = [:]
    private var isConnected = false

    /// The changes to request now, and the filters to request alone after them.
    private var changes: [SubscriptionChange] = []
    private var alone: [String] = []

    /// Unanswered requests for a filter.
    private struct Request {
        var count = 0
        var isOptional: Bool
    }

    private var open: [String: Request] = [:]

    /// The optional filters that were unanswered, with others, when the broker ended a connection.
    private var suspects: Set<String> = []

    /// How many connections ended while the filter was the only unanswered one, without an answer since. At most 2.
    private var ends: [String: Int] = [:]

    /// The filters that are not requested on this connection, also if they were unsubscribed since.
    private(set) var leftOut: Set<String> = []
    private var unreported: [String] = []

    /// A message that was too large: its topic, and in how many connections since the filter was last of use.
    private struct Excess {
        var topic: String?
        var count: Int
    }

    /// The filters that matched such a message.
    private var excesses: [String: Excess] = [:]

    /// Those that are requested by the next subscription, because they were left out for long enough.
    private var due: Set<String> = []

    /// Those that were answered on this connection, and when.
    private var trials: [String: Instant] = [:]
    private var restored: [String] = []

    /// The filters that were requested on this connection, also if they were unsubscribed since, and when each was last
    /// answered.
    private var requested: [String: Instant?] = [:]

    /// Whether all filters are requested alone, to find the one with a message that is too large.
    private var isSearching = false

    /// The filter that was requested last in that way, or as one that was left out; and when it was answered.
    private struct Candidate {
        let filter: String
        var answered: Instant?
    }

    private var candidate: Candidate?

    /// Creates an empty plan.
    init(stableAfter: Duration = .seconds(10)) {
        self.stableAfter = stableAfter
    }

    // The getters that are called at each step are mutating: a caller would copy the whole plan for another one.

    /// Whether `takeChanges` would return any.
    var hasChanges: Bool { mutating get { !changes.isEmpty || canRequestAlone } }

    private var canRequestAlone: Bool { open.isEmpty && !alone.isEmpty && candidate == nil }

    /// When `handleDeadline` is due; `nil` if it is not.
    var nextDeadline: Instant? {
        mutating get {
            // Most of the time there is none.
            if candidate == nil, trials.isEmpty { return nil }
            let settled = candidate?.answered.map { $0 + settlingTime }
            let proven = trials.values.min().map { $0 + stableAfter }
            return [settled, proven].compactMap { $0 }.min()
        }
    }

    /// No message that is too large has come since a filter was answered.
    mutating func handleDeadline(at now: Instant) {
        if let answered = candidate?.answered, now >= answered + settlingTime {
            candidate = nil
            if alone.isEmpty, open.isEmpty { isSearching = false }
        }
        for (filter, answered) in trials.sorted(by: { $0.key < $1.key }) where now >= answered + stableAfter {
            trials[filter] = nil
            excesses[filter] = nil
            restored.append(filter)
        }
    }

    /// Takes the filters that are of use again.
    mutating func takeRestored() -> [String] {
        defer { restored = [] }
        return restored
    }

    /// How long this connection must last until a filter that was left out is requested again, in multiples of the time
    /// after which a connection is stable; `nil` if there is none to request.
    var nextRequest: Int? { mutating get { leftOut.isEmpty ? nil : leftOut.compactMap(requestTime).min() } }

    private func requestTime(of filter: String) -> Int? {
        if ends[filter] == 2 { return nil }
        return switch excesses[filter]?.count ?? 1 {
        case 1: 1
        case 2: 6
        case 3: 36
        default: 360
        }
    }

    /// Changes the subscriptions, now and on later connections. A filter that is subscribed already is requested again,
    /// so that the broker sends its retained messages again.
    mutating func change(_ change: SubscriptionChange) {
        switch change {
        case .subscribe(let filter, let subscription):
            subscriptions[filter] = subscription
            alone.removeAll { $0 == filter }
            // Without a connection nothing needs to be sent: the next one starts with all subscriptions.
            if isConnected { request(filter, subscription) }
        case .unsubscribe(let filter):
            subscriptions[filter] = nil
            alone.removeAll { $0 == filter }
            if isConnected { changes.append(change) }
        }
    }

    /// A connection was established: all subscriptions are requested again.
    mutating func connected() {
        clear()
        isConnected = true
        leftOut = Set(ends.keys).union(excesses.keys).subtracting(due)
        let sorted = subscriptions.sorted { $0.key < $1.key }
        for (filter, subscription) in sorted where !subscription.isOptional { request(filter, subscription) }
        for (filter, subscription) in sorted where subscription.isOptional { request(filter, subscription) }
    }

    private mutating func request(_ filter: String, _ subscription: MQTTSubscription) {
        if leftOut.contains(filter) {
            unreported.append(filter)
        } else if isSearching || excesses[filter] != nil
            || subscription.isOptional && (suspects.contains(filter) || ends[filter] != nil)
        {
            alone.append(filter)
        } else {
            changes.append(.subscribe(filter, subscription))
        }
    }

    /// The connection has lasted this long, in multiples of the time after which it is stable: filters that were left out
    /// are requested again.
    mutating func connectionHasLasted(_ time: Int) {
        for filter in leftOut.sorted() where requestTime(of: filter).map({ $0 <= time }) ?? false {
            leftOut.remove(filter)
            if excesses[filter] != nil { due.insert(filter) }
            if subscriptions[filter] != nil { alone.append(filter) }
        }
    }

    /// Takes the filters that were requested but are left out on this connection, and why.
    mutating func takeLeftOut() -> [(filter: String, reason: MQTTOmission)] {
        defer { unreported = [] }
        return unreported.map { filter in
            (filter, excesses[filter].map { .messageTooLarge(topic: $0.topic) } ?? .noAnswer)
        }
    }

    /// Takes the changes to send now.
    mutating func takeChanges() -> [SubscriptionChange] {
        var taken = changes
        changes = []
        for case .subscribe(let filter, let subscription) in taken { opened(filter, subscription) }
        if canRequestAlone {
            let filter = alone.removeFirst()
            if let subscription = subscriptions[filter] {
                opened(filter, subscription)
                if isSearching || excesses[filter] != nil { candidate = Candidate(filter: filter) }
                taken.append(.subscribe(filter, subscription))
            }
        }
        return taken
    }

    private mutating func opened(_ filter: String, _ subscription: MQTTSubscription) {
        due.remove(filter)
        open[filter, default: Request(isOptional: subscription.isOptional)].count += 1
        requested[filter] = .some(nil)
    }

    /// The broker granted or refused a filter, or the request could not be sent.
    mutating func answered(_ filter: String, isGranted: Bool = true, at now: Instant) {
        guard let request = open[filter] else { return }
        open[filter]?.count -= 1
        if request.count <= 1 { open[filter] = nil }
        suspects.remove(filter)
        ends[filter] = nil
        if candidate?.filter == filter { candidate?.answered = now }
        requested[filter] = now
        guard excesses[filter] != nil else { return }
        // No message comes to a filter that was refused.
        if isGranted { trials[filter] = now } else { excesses[filter] = nil }
    }

    /// A message was too large, so the connection ends. Every filter that matches its topic is left out on the next one;
    /// if none does, the one that was just requested. If there are several, the search for it begins.
    mutating func receivedTooLarge(topic: String?, at now: Instant) {
        var filters: Set<String> = []
        if let topic {
            filters = Set(requested.keys).union(subscriptions.keys).filter { MQTTTopic.matches(topic, filter: $0) }
        }
        if filters.isEmpty { filters = candidate.map { [$0.filter] } ?? justRequested(at: now) }
        isSearching = filters.isEmpty
        for filter in filters {
            due.remove(filter)
            excesses[filter] = Excess(topic: topic, count: (excesses[filter]?.count ?? 0) + 1)
        }
    }

    /// The filter whose retained messages may be arriving; empty if that could be several.
    private func justRequested(at now: Instant) -> Set<String> {
        let recent = requested.filter { _, answered in answered.map { now < $0 + settlingTime } ?? true }
        return recent.count == 1 ? Set(recent.keys) : []
    }

    /// The connection ended.
    ///
    /// - Parameters:
    ///   - isByBroker: whether the broker ended the connection, or did not answer the subscription.
    ///   - wasStable: whether the connection had lasted.
    /// - Returns: the optional filter that the broker answered by ending the connection, if there is one.
    mutating func ended(isByBroker: Bool, wasStable: Bool) -> String? {
        defer { clear() }
        if isByBroker, open.count == 1, let (filter, request) = open.first, request.isOptional {
            ends[filter] = min(ends[filter, default: 0] + 1, 2)
            return filter
        }
        if isByBroker { suspects.formUnion(open.filter(\.value.isOptional).keys) }
        if wasStable { ends = ends.mapValues { _ in 1 } }
        return nil
    }

    private mutating func clear() {
        isConnected = false
        changes = []
        alone = []
        unreported = []
        open = [:]
        trials = [:]
        requested = [:]
        candidate = nil
    }
}
