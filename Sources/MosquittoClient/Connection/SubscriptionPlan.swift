/// The filters of a client, and the order in which they are requested on a connection. A value type without a network.
///
/// Each filter has a SUBSCRIBE of its own, so that one that is refused takes no other with it. Optional filters follow
/// when all others have been answered, one at a time: some brokers close the connection instead of refusing a
/// subscription (RabbitMQ). In that case the filter is known, and the next connections do without it until one of them
/// has been stable.
struct SubscriptionPlan {
    private var subscriptions: [String: MQTTSubscription] = [:]
    private var isConnected = false

    /// The changes to request on this connection, and the optional filters that follow them.
    private var changes: [SubscriptionChange] = []
    private var optional: [String] = []

    /// The number of unanswered requests for each filter.
    private var open: [String: Int] = [:]

    /// The optional filter that was requested last, until it is answered.
    private var attempted: String?

    /// The optional filters that ended a connection, also if they were unsubscribed since. They are refused on behalf of
    /// the broker.
    private(set) var leftOut: Set<String> = []
    private var refused: [String] = []

    /// Whether `takeChanges` would return any.
    var hasChanges: Bool { !changes.isEmpty || canAttempt }

    private var canAttempt: Bool { open.isEmpty && !optional.isEmpty }

    /// Changes the subscriptions, now and on later connections. A filter that is subscribed already is requested again,
    /// so that the broker sends its retained messages again.
    mutating func change(_ change: SubscriptionChange) {
        switch change {
        case .subscribe(let filter, let subscription):
            subscriptions[filter] = subscription
            optional.removeAll { $0 == filter }
            // Without a connection nothing needs to be sent: the next one starts with all subscriptions.
            guard isConnected else { return }
            if subscription.isOptional { request(optional: filter) } else { changes.append(change) }
        case .unsubscribe(let filter):
            subscriptions[filter] = nil
            optional.removeAll { $0 == filter }
            if isConnected { changes.append(change) }
        }
    }

    /// A connection was established: all subscriptions are requested again.
    mutating func connected() {
        clear()
        isConnected = true
        for (filter, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            if subscription.isOptional {
                request(optional: filter)
            } else {
                changes.append(.subscribe(filter, subscription))
            }
        }
    }

    private mutating func request(optional filter: String) {
        if leftOut.contains(filter) { refused.append(filter) } else { optional.append(filter) }
    }

    /// Takes the filters that were requested but are left out on this connection.
    mutating func takeRefused() -> [String] {
        defer { refused = [] }
        return refused
    }

    /// Takes the changes to send now.
    mutating func takeChanges() -> [SubscriptionChange] {
        var taken = changes
        changes = []
        for case .subscribe(let filter, _) in taken { open[filter, default: 0] += 1 }
        if canAttempt {
            let filter = optional.removeFirst()
            if let subscription = subscriptions[filter] {
                open[filter] = 1
                attempted = filter
                taken.append(.subscribe(filter, subscription))
            }
        }
        return taken
    }

    /// The broker granted or refused a filter, or the request could not be sent.
    mutating func answered(_ filter: String) {
        guard let count = open[filter] else { return }
        open[filter] = count > 1 ? count - 1 : nil
        if attempted == filter { attempted = nil }
    }

    /// The connection ended.
    ///
    /// - Parameters:
    ///   - isByBroker: whether the broker ended the connection, or did not answer the subscription.
    ///   - wasStable: whether the connection had lasted, so that what was left out may be tried again.
    /// - Returns: the optional filter that the broker answered by ending the connection, if there is one.
    mutating func ended(isByBroker: Bool, wasStable: Bool) -> String? {
        defer { clear() }
        guard isByBroker, let attempted, open.count == 1, open[attempted] != nil else {
            if wasStable { leftOut = [] }
            return nil
        }
        leftOut.insert(attempted)
        return attempted
    }

    private mutating func clear() {
        isConnected = false
        changes = []
        optional = []
        refused = []
        open = [:]
        attempted = nil
    }
}
