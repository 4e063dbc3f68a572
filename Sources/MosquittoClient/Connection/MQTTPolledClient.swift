/// A client of an MQTT broker that has no thread and never waits. Its owner polls its socket and advances it. The thread
/// of `MQTTClient` is such an owner.
///
/// One thread can drive any number of them. A round is: wait with `poll` or `epoll` until the descriptor in `interest`
/// is ready or `deadline` has passed, then call `advance`, which returns the events. Both properties change with every
/// call of `advance`, `publish`, `subscribe`, `unsubscribe` and `stop`. When a connection ends, its descriptor is
/// already closed. During a graceful disconnect, the descriptor is a duplicate of the connection's, so `epoll` must be
/// updated. As in `MQTTClient`, a lost connection is re-established until `stop`, messages are accepted only while
/// there is a connection, and every token accepted by `publish` is reported exactly once.
///
/// An `advance` that follows `MQTTEvent.connecting` may block: libmosquitto resolves the broker's name with
/// `getaddrinfo`, for which it has no alternative. With a numeric address it does not block.
///
/// It is not `Sendable`: all calls must come from one thread, one at a time.
///
/// `ConnectionStateMachine` decides when to connect. While there is a connection, it has a `Session`.
package final class MQTTPolledClient: MQTTPublisher {
    package typealias Instant = ContinuousClock.Instant
    private typealias Machine = ConnectionStateMachine<SystemRandomNumberGenerator>

    /// How to end the client. A class, because every step looks at it, and hardly ever there is one.
    final class StopRequest: Sendable {
        /// When to stop waiting for acknowledgements.
        let deadline: Instant
        /// The last message to publish.
        let farewell: MQTTMessage?

        init(deadline: Instant, farewell: MQTTMessage?) {
            self.deadline = deadline
            self.farewell = farewell
        }
    }

    /// The attempt that is being made or has led to a connection.
    private struct Current {
        let attempt: Machine.Attempt
        let session: Session
    }

    package let options: MQTTOptions
    private var machine: Machine
    /// The attempt that was announced. It starts with the next step, because it may block.
    private var pending: Machine.Attempt?
    private var current: Current?
    private var wake: Instant
    /// Whether the next step is due immediately.
    private var isDue = true
    private var lastStep: Instant

    private var queue: BoundedQueue<Outgoing>
    private var pacer: TopicPacer
    private var nextMessage: Instant?
    private var subscriptions: SubscriptionPlan
    /// When they are due, as of the last step.
    private var subscriptionsDue: Instant?
    /// Whether the next connection begins without the session that the broker has kept.
    private var needsCleanStart: Bool
    private var stop: StopRequest?
    private var farewell: Int32?
    private var events: [MQTTEvent] = []
    private var counters = MQTTStatistics()

    /// Bytes of the queued payloads.
    private(set) var queuedBytes = 0

    /// Whether `stopped` has been returned. No events follow it.
    package private(set) var isFinished = false

    /// Messages without a known outcome when `stop` ended the connection.
    private(set) var undeliveredAtStop = 0

    /// Creates a client. It is due immediately and connects in the first `advance`.
    ///
    /// - Throws: `invalidOption` or another validation error.
    package convenience init(options: MQTTOptions) throws(MQTTError) {
        try options.validate()
        self.init(valid: options)
    }

    init(valid options: MQTTOptions) {
        self.options = options
        needsCleanStart = options.cleanStart
        subscriptions = SubscriptionPlan(stableAfter: options.backoff.stableAfter)
        machine = ConnectionStateMachine(
            brokerCount: options.brokers.count, versions: options.versions,
            hasTrials: options.trialTimeout != nil, backoff: options.backoff, generator: SystemRandomNumberGenerator())
        queue = BoundedQueue(capacity: options.queueCapacity)
        pacer = TopicPacer(options.spacing)
        lastStep = .now
        wake = lastStep
    }

    package var maximumPacketSize: Int { options.maximumPacketSize }

    package var statistics: MQTTStatistics {
        var statistics = counters
        statistics.queued = queue.count
        statistics.inFlight = current?.session.inFlightCount ?? 0
        return statistics
    }

    /// Whether a broker has accepted the connection.
    var isConnected: Bool { counters.connection != nil }

    // MARK: Readiness and deadline

    /// The socket of the present connection and the readiness to wait for; `nil` if there is none.
    package var interest: MQTTInterest? { current?.session.interest }

    /// When to call `advance` even if the socket is not ready; may be in the past. `nil` once the client has ended.
    package var deadline: Instant? {
        if isFinished { return nil }
        if isDue { return lastStep }
        guard let session = current?.session else { return wake }
        var deadline = session.deadline
        // Once the session is disconnecting, it has a deadline of its own.
        if let stop, !session.isDisconnecting { deadline = min(deadline, stop.deadline) }
        if let nextMessage { deadline = min(deadline, nextMessage) }
        if let subscriptionsDue { deadline = min(deadline, subscriptionsDue) }
        return deadline
    }

    // MARK: Requests

    /// Accepts a valid message, which the next `advance` sends.
    package func accept(_ outgoing: Outgoing) throws(MQTTError) {
        if stop != nil || isFinished { throw .stopped }
        if counters.connection == nil { throw .notConnected }
        let size = outgoing.message.payload.count
        // A message larger than the limit may still be sent alone.
        if queuedBytes > 0, queuedBytes + size > options.queueBytes { throw .queueFull }
        guard queue.append(outgoing) else { throw .queueFull }
        queuedBytes += size
        counters.published += 1
        isDue = true
    }

    /// Queues a message that was accepted earlier, when there were a connection and room.
    func take(_ outgoing: Outgoing) {
        do {
            try accept(outgoing)
        } catch {
            // The publisher at least learns that the message was not sent.
            counters.rejected += 1
            events.append(.rejected(outgoing.token, topic: outgoing.message.topic, .closed))
        }
    }

    package func change(_ change: SubscriptionChange) {
        subscriptions.change(change)
        reportLeftOut()
        if subscriptions.hasChanges || !events.isEmpty { isDue = true }
    }

    private func reportLeftOut() {
        for (filter, reason) in subscriptions.takeLeftOut() {
            events.append(.subscriptionLeftOut(filter: filter, reason))
        }
    }

    /// Whether this host's network may be the reason why there is no connection. If so, call `networkReturned` when an
    /// interface or an address of this host comes back (`NetworkMonitor`).
    package var awaitsNetwork: Bool {
        !isFinished && stop == nil && !(current?.session.isAccepted ?? false) && machine.awaitsNetwork
    }

    /// This host's network came back: the next attempt is due within `MQTTBackoff.networkReturn`. An attempt that nobody
    /// has answered for a second is given up, because its next packet may be seconds away. Otherwise, it has no effect.
    package func networkReturned(now: Instant = .now) {
        guard awaitsNetwork else { return }
        if let session = current?.session {
            guard session.isUnanswered(for: .seconds(1), at: now) else { return }
            session.finish(.timedOut)
            handleReports(of: session, now: now)
        }
        if let until = machine.networkReturned(now: now) { wake = until }
        isDue = true
    }

    package func giveWay(for delay: Duration?) { machine.givingWay = delay }

    /// Starts to end the client gracefully: sends the accepted messages, then the farewell, then a DISCONNECT, so that
    /// the broker does not publish the will. `stopped` is the last event.
    ///
    /// If the farewell is not acknowledged in time, the connection is dropped instead, and the broker publishes the
    /// will.
    /// - Parameters:
    ///   - limit: how long to wait for acknowledgements. The broker gets up to 150 ms more to close.
    ///   - farewell: a last message, published after all others.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) {
        stop(StopRequest(deadline: .now + limit, farewell: farewell))
    }

    /// Starts to end the client. Only the first request counts.
    func stop(_ request: StopRequest) {
        if stop == nil { stop = request }
        isDue = true
    }

    // MARK: Steps

    /// Performs the due work: connects, reads, writes, checks timeouts.
    ///
    /// - Parameters:
    ///   - readiness: the socket's readiness; empty if the deadline has passed.
    ///   - now: the current time.
    /// - Returns: the events, in order.
    package func advance(_ readiness: MQTTReadiness = [], now: Instant = .now) -> [MQTTEvent] {
        lastStep = now
        if !isFinished { ignoringBrokenPipe { step(readiness, now: now) } }
        defer { events.removeAll() }
        return events
    }

    private func step(_ readiness: MQTTReadiness, now: Instant) {
        isDue = false
        if let current {
            drive(current.session, readiness, now: now)
        } else if stop != nil {
            finish(undelivered: [])
        } else if let attempt = pending {
            pending = nil
            begin(attempt)
        } else {
            perform(machine.state == .idle ? machine.start() : machine.timerFired(now: now))
        }
    }

    private func perform(_ action: Machine.Action) {
        switch action {
        case .connect(let attempt):
            counters.attempts += 1
            events.append(.connecting(options.brokers[attempt.broker], attempt.version))
            pending = attempt
            isDue = true
        case .wait(let until):
            wake = until
        case .finish:
            finish(undelivered: [])
        }
    }

    private func begin(_ attempt: Machine.Attempt) {
        do {
            let session = try Session.begin(
                options: options, broker: options.brokers[attempt.broker], version: attempt.version,
                forcesIPv4: attempt.forcesIPv4, limits: attempt.limits, isTrial: attempt.isTrial,
                cleanStart: needsCleanStart)
            current = Current(attempt: attempt, session: session)
        } catch {
            ended(attempt, nil, error)
        }
    }

    private func drive(_ session: Session, _ readiness: MQTTReadiness, now: Instant) {
        session.receive(readiness, now: now)
        handleReports(of: session, now: now)
        guard current != nil else { return }
        sendPending(to: session, now: now)
        session.transmit(now: now)
        handleReports(of: session, now: now)
        if let stop, current != nil {
            endIfDone(of: session, stop, now: now)
            handleReports(of: session, now: now)
        }
        // The write may have opened the window, and possibly no other event triggers another step.
        if current != nil, session.window > 0, hasMessage { isDue = true }
        if current != nil, session.isAccepted, !session.isDisconnecting, subscriptions.hasChanges { isDue = true }
        subscriptionsDue = subscriptions.nextDeadline
        if let time = nextRequest?.time { subscriptionsDue = min(subscriptionsDue ?? time, time) }
    }

    /// When filters that were left out are requested again, also in multiples of the time after which a connection is
    /// stable.
    private var nextRequest: (time: Instant, multiple: Int)? {
        guard let multiple = subscriptions.nextRequest, let time = machine.time(ofLasting: multiple) else { return nil }
        return (time, multiple)
    }

    /// Whether a message may be sent now.
    private var hasMessage: Bool {
        queue.isEmpty ? stop?.farewell != nil && farewell == nil : nextMessage == nil
    }

    /// Passes subscription changes and messages to libmosquitto, as far as the window allows.
    private func sendPending(to session: Session, now: Instant) {
        guard session.isAccepted else { return }
        if let subscriptionsDue, now >= subscriptionsDue {
            if let nextRequest, now >= nextRequest.time { subscriptions.connectionHasLasted(nextRequest.multiple) }
            subscriptions.handleDeadline(at: now)
            for filter in subscriptions.takeRestored() { events.append(.subscriptionRestored(filter: filter)) }
        }
        if subscriptions.hasChanges { for change in subscriptions.takeChanges() { session.change(change) } }
        nextMessage = nil
        while session.window > 0, let next = queue.first?.message {
            // While stopping, spacing is not applied.
            if next.isSpaced, stop == nil { nextMessage = pacer.delay(of: next.topic, at: now) }
            guard nextMessage == nil, let outgoing = queue.popFirst() else { break }
            queuedBytes -= outgoing.message.payload.count
            session.publish(outgoing)
        }
        if let message = stop?.farewell, farewell == nil, queue.isEmpty, session.window > 0 {
            farewell = session.publish(Outgoing(message: message, token: .farewell))
        }
    }

    private func endIfDone(of session: Session, _ stop: StopRequest, now: Instant) {
        guard session.isAccepted else { return session.finish(.stopped) }
        guard now >= stop.deadline || stop.farewell == nil && queue.isEmpty && session.isDrained else { return }
        // If the farewell was not acknowledged, the connection is dropped without a DISCONNECT, so that the broker
        // publishes the will.
        if stop.farewell == nil {
            session.disconnect(now: now)
            session.transmit(now: now)
        } else {
            session.finish(.stopped)
        }
    }

    // MARK: Results

    private func handleReports(of session: Session, now: Instant) {
        for report in session.takeReports() {
            switch report {
            case .accepted(let sessionPresent, let limits):
                accepted(session, sessionPresent: sessionPresent, limits, now: now)
            case .subscribed(let filter, let qos):
                subscriptions.answered(filter, at: now)
                events.append(.subscribed(filter: filter, qos: qos))
            case .subscriptionRefused(let filter, let reason):
                subscriptions.answered(filter, isGranted: false, at: now)
                events.append(.subscriptionRefused(filter: filter, reason))
            case .message(let message):
                counters.received += 1
                events.append(.message(message))
            case .acknowledged(let token, let isUnmatched):
                counters.acknowledged += 1
                if isUnmatched { counters.unmatched += 1 }
                if token == .farewell {
                    stop = stop.map { StopRequest(deadline: $0.deadline, farewell: nil) }
                } else if let token {
                    events.append(.acknowledged(token))
                }
            case .rejected(let token, let topic, let failure):
                counters.rejected += 1
                events.append(.rejected(token == .farewell ? nil : token, topic: topic, failure))
            case .ended(let failure):
                if let attempt = current?.attempt { ended(attempt, session, failure) }
            }
        }
    }

    private func accepted(_ session: Session, sessionPresent: Bool, _ limits: MQTTLimits, now: Instant) {
        guard let attempt = current?.attempt else { return }
        guard machine.accepted(limits: limits, will: options.will, now: now) else {
            return session.disconnect(.willOutdated, now: now)
        }
        let connection = MQTTConnection(
            broker: options.brokers[attempt.broker], version: attempt.version, sessionPresent: sessionPresent,
            withoutV5: attempt.withoutV5, limits: limits)
        counters.connection = connection
        counters.connects += 1
        needsCleanStart = false
        events.append(.connected(connection))
        subscriptions.connected()
        reportLeftOut()
    }

    /// A connection ended or could not be started.
    private func ended(_ attempt: Machine.Attempt, _ session: Session?, _ failure: MQTTFailure) {
        current = nil
        let wasConnected = counters.connection != nil
        let (tokens, count) = closeQueue(open: session?.open ?? ([], 0))
        counters.connection = nil
        counters.lastFailure = failure
        counters.undelivered += UInt64(count)
        if failure == .unreadable { counters.unreadable += 1 }
        guard failure != .stopped else {
            undeliveredAtStop = count
            return finish(undelivered: tokens)
        }
        // The attempt may have blocked, so the time is read again.
        let now = ContinuousClock.now
        let wasStable = machine.isStable(at: now)
        if case .packetTooLarge(let topic) = failure {
            // A session that the broker has kept would still have the subscription, and maybe the message.
            needsCleanStart = true
            subscriptions.receivedTooLarge(topic: topic, at: now)
        }
        if let filter = subscriptions.ended(isByBroker: failure.isByBroker, wasStable: wasStable) {
            events.append(.subscriptionLeftOut(filter: filter, .noAnswer))
        }
        let action = machine.failed(
            failure, hasReached: session?.hasReached ?? false, overIPv6: session?.isOverIPv6 ?? false,
            wasIdle: session?.isIdle ?? true, now: now)
        var retryAfter = Duration.zero
        if case .wait(let until) = action { retryAfter = now.duration(to: until) }
        let disconnection = MQTTDisconnection(
            broker: options.brokers[attempt.broker], failure: failure, wasConnected: wasConnected,
            undelivered: tokens, retryAfter: retryAfter, triesMore: machine.triesMore, takeovers: machine.takeovers)
        events.append(.disconnected(disconnection))
        perform(action)
    }

    /// Discards the state of a connection. Returns the tokens and the number of all its undelivered messages.
    private func closeQueue(open: (tokens: [MQTTToken], count: Int)) -> (tokens: [MQTTToken], count: Int) {
        var tokens = open.tokens.filter { $0 != .farewell }
        let count = open.count + queue.count
        while let outgoing = queue.popFirst() {
            if let token = outgoing.token { tokens.append(token) }
        }
        queuedBytes = 0
        nextMessage = nil
        subscriptionsDue = nil
        farewell = nil
        return (tokens, count)
    }

    private func finish(undelivered: [MQTTToken]) {
        _ = machine.stop()
        isFinished = true
        events.append(.stopped(undelivered: undelivered))
    }
}

/// A first-in, first-out queue of a limited capacity. It takes memory only as it fills, because most queues never do,
/// and one program may have thousands.
struct BoundedQueue<Element> {
    /// The number of slots at first.
    private static var firstSlots: Int { 8 }

    private let capacity: Int
    private var slots: [Element?]
    private var head = 0

    /// The number of elements.
    private(set) var count = 0

    /// Creates an empty queue for up to `capacity` elements.
    init(capacity: Int) {
        self.capacity = max(capacity, 1)
        slots = Array(repeating: nil, count: min(self.capacity, BoundedQueue.firstSlots))
    }

    /// Whether the queue is empty.
    var isEmpty: Bool { count == 0 }

    /// The oldest element, without removing it.
    var first: Element? { slots[head] }

    /// Appends an element. Returns `false` if the queue is full.
    mutating func append(_ element: Element) -> Bool {
        guard count < capacity else { return false }
        if count == slots.count { grow() }
        slots[(head + count) % slots.count] = element
        count += 1
        return true
    }

    /// Removes and returns the oldest element.
    mutating func popFirst() -> Element? {
        guard count > 0 else { return nil }
        let element = slots[head].take()
        head = (head + 1) % slots.count
        count -= 1
        return element
    }

    /// Doubles the number of slots, up to the capacity. The oldest element comes first again.
    private mutating func grow() {
        let size = min(2 * slots.count, capacity)
        // In steps: Swift 6.0.3 cannot type-check the sum of the parts.
        var grown = Array(slots[head...])
        grown.append(contentsOf: slots[..<head])
        grown.append(contentsOf: repeatElement(nil, count: size - slots.count))
        slots = grown
        head = 0
    }
}
