/// A client without a thread and without a wait, whose messages have marks instead of tokens: what `MQTTPolledClient` and
/// the thread of `MQTTClient` drive.
///
/// Connections come and go in it as `ConnectionStateMachine` says; while there is one it has a `Session`.
final class PolledConnection {
    typealias Instant = ContinuousClock.Instant
    private typealias Machine = ConnectionStateMachine<SystemRandomNumberGenerator>

    /// How the client is to end.
    struct StopRequest {
        /// When to stop waiting for acknowledgements.
        var deadline: Instant
        /// What to publish last.
        var farewell: MQTTMessage?
    }

    private let options: MQTTOptions
    private var machine: Machine
    /// The attempt that was announced and is begun with the next step: beginning may block.
    private var pending: Machine.Attempt?
    private var current: (attempt: Machine.Attempt, session: Session)?
    private var wake: Instant
    /// Whether there is something to do at once.
    private var isDue = true
    private var lastStep: Instant

    private var queue: BoundedQueue<Outgoing>
    private var pacer: TopicPacer
    private var nextMessage: Instant?
    private var subscriptions: [String: MQTTSubscription] = [:]
    private var changes: [SubscriptionChange] = []
    private var stop: StopRequest?
    private var farewell: Int32?
    private var events: [MQTTEvent<MessageMark>] = []
    private var counters = MQTTStatistics()

    /// Bytes of the payloads that wait.
    private(set) var queuedBytes = 0

    /// Whether the client came to its end.
    private(set) var isFinished = false

    /// Messages that were open when `stop` ended the connection.
    private(set) var undeliveredAtStop = 0

    /// Makes a client of options that are valid.
    init(options: MQTTOptions) {
        self.options = options
        machine = ConnectionStateMachine(
            brokerCount: options.brokers.count, versions: options.versions, backoff: options.backoff,
            generator: SystemRandomNumberGenerator())
        queue = BoundedQueue(capacity: options.queueCapacity)
        pacer = TopicPacer(options.spacing)
        lastStep = .now
        wake = lastStep
    }

    /// Counters, and how the client stands.
    var statistics: MQTTStatistics {
        var statistics = counters
        statistics.queued = queue.count
        statistics.inFlight = current?.session.inFlightCount ?? 0
        return statistics
    }

    // MARK: What it waits for

    /// What the present connection waits for; `nil` while there is none.
    var interest: MQTTInterest? { current?.session.interest }

    /// When the next step is due whatever the socket does; `nil` after the end.
    var deadline: Instant? {
        if isFinished { return nil }
        if isDue { return lastStep }
        guard let session = current?.session else { return wake }
        var deadline = session.deadline
        // Later the end of the connection has a deadline of its own.
        if let stop, !session.isLeaving { deadline = min(deadline, stop.deadline) }
        if let nextMessage { deadline = min(deadline, nextMessage) }
        return deadline
    }

    // MARK: The owner's wishes

    /// Takes a valid message, or says why not.
    func publish(_ outgoing: Outgoing) throws(MQTTError) {
        if stop != nil || isFinished { throw .stopped }
        if counters.connection == nil { throw .notConnected }
        let size = outgoing.message.payload.count
        // A message larger than the limit may still go alone.
        if queuedBytes > 0, queuedBytes + size > options.queueBytes { throw .queueFull }
        guard queue.append(outgoing) else { throw .queueFull }
        queuedBytes += size
        counters.published += 1
        isDue = true
    }

    /// Takes a message that was accepted before, when there was a connection and room.
    func take(_ outgoing: Outgoing) {
        do throws(MQTTError) {
            try publish(outgoing)
        } catch {
            // Its publisher learns at least that it is not under way.
            counters.rejected += 1
            events.append(.rejected(outgoing.mark, topic: outgoing.message.topic, .closed))
        }
    }

    /// Changes what is listened to, now and on later connections.
    func change(_ change: SubscriptionChange) {
        switch change {
        case .subscribe(let filter, let subscription): subscriptions[filter] = subscription
        case .unsubscribe(let filter): subscriptions[filter] = nil
        }
        // Without a connection there is nothing to change: the next one begins with all of them.
        guard counters.connection != nil else { return }
        changes.append(change)
        isDue = true
    }

    /// Begins the end; the first request counts.
    func stop(_ request: StopRequest) {
        if stop == nil { stop = request }
        isDue = true
    }

    // MARK: Steps

    /// Does what is due, and returns what happened.
    func advance(_ readiness: MQTTReadiness, now: Instant) -> [MQTTEvent<MessageMark>] {
        lastStep = now
        if !isFinished { withoutBrokenPipeSignal { step(readiness, now: now) } }
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
        do throws(MQTTFailure) {
            let session = try Session.begin(
                options: options, broker: options.brokers[attempt.broker], version: attempt.version,
                forcesIPv4: attempt.forcesIPv4, isFirst: counters.connects == 0)
            current = (attempt, session)
        } catch {
            ended(attempt, nil, error)
        }
    }

    private func drive(_ session: Session, _ readiness: MQTTReadiness, now: Instant) {
        session.receive(readiness, now: now)
        handleReports(of: session, now: now)
        guard current != nil else { return }
        handOver(to: session, now: now)
        session.transmit(now: now)
        handleReports(of: session, now: now)
        if let stop, current != nil {
            approachEnd(of: session, stop, now: now)
            handleReports(of: session, now: now)
        }
        // What was written may have opened the window, and nothing else may come that leads to another step.
        if current != nil, session.window > 0, hasMessage { isDue = true }
    }

    /// Whether there is a message that may be handed over now.
    private var hasMessage: Bool {
        queue.isEmpty ? stop?.farewell != nil && farewell == nil : nextMessage == nil
    }

    /// Hands over to libmosquitto what the owner wants, as far as the window is open.
    private func handOver(to session: Session, now: Instant) {
        guard session.isAccepted else { return }
        for change in changes { session.change(change) }
        changes.removeAll()
        nextMessage = nil
        while session.window > 0, let next = queue.first?.message {
            // At the end there is no time for it.
            if next.isSpaced, stop == nil { nextMessage = pacer.delay(of: next.topic, at: now) }
            guard nextMessage == nil, let outgoing = queue.popFirst() else { break }
            queuedBytes -= outgoing.message.payload.count
            session.publish(outgoing)
        }
        if let message = stop?.farewell, farewell == nil, queue.isEmpty, session.window > 0 {
            farewell = session.publish(Outgoing(message: message, mark: MessageMark.farewell))
        }
    }

    private func approachEnd(of session: Session, _ stop: StopRequest, now: Instant) {
        guard session.isAccepted else { return session.finish(.stopped) }
        guard now >= stop.deadline || stop.farewell == nil && queue.isEmpty && session.isDrained else { return }
        // If the farewell did not get through, the connection is dropped without a DISCONNECT: the will speaks for it.
        if stop.farewell == nil {
            session.leave(now: now)
            session.transmit(now: now)
        } else {
            session.finish(.stopped)
        }
    }

    // MARK: What came of it

    private func handleReports(of session: Session, now: Instant) {
        for report in session.takeReports() {
            switch report {
            case .accepted(let sessionPresent):
                accepted(session, sessionPresent: sessionPresent, now: now)
            case .subscribed(let filter, let qos):
                events.append(.subscribed(filter: filter, qos: qos))
            case .subscriptionRefused(let filter, let reason):
                events.append(.subscriptionRefused(filter: filter, reason))
            case .message(let message):
                counters.received += 1
                events.append(.message(message))
            case .acknowledged(let mark):
                counters.acknowledged += 1
                if mark == .farewell { stop?.farewell = nil } else if let mark { events.append(.acknowledged(mark)) }
            case .rejected(let mark, let topic, let failure):
                counters.rejected += 1
                events.append(.rejected(mark == .farewell ? nil : mark, topic: topic, failure))
            case .ended(let failure):
                if let attempt = current?.attempt { ended(attempt, session, failure) }
            }
        }
    }

    private func accepted(_ session: Session, sessionPresent: Bool, now: Instant) {
        guard let attempt = current?.attempt else { return }
        machine.accepted(now: now)
        let connection = MQTTConnection(
            broker: options.brokers[attempt.broker], version: attempt.version, sessionPresent: sessionPresent)
        counters.connection = connection
        counters.connects += 1
        events.append(.connected(connection))
        for (filter, subscription) in subscriptions.sorted(by: { $0.key < $1.key }) {
            session.change(.subscribe(filter, subscription))
        }
    }

    /// A connection ended, or could not be begun.
    private func ended(_ attempt: Machine.Attempt, _ session: Session?, _ failure: MQTTFailure) {
        current = nil
        let (marks, count) = closeQueue(open: session?.open ?? ([], 0))
        counters.connection = nil
        counters.lastFailure = failure
        counters.undelivered += UInt64(count)
        if failure == .unreadable { counters.unreadable += 1 }
        guard failure != .stopped else {
            undeliveredAtStop = count
            return finish(undelivered: marks)
        }
        // Beginning may have taken its time.
        let now = ContinuousClock.now
        let action = machine.failed(failure, overIPv6: session?.isOverIPv6 ?? false, now: now)
        var retryAfter = Duration.zero
        if case .wait(let until) = action { retryAfter = now.duration(to: until) }
        let disconnection = MQTTDisconnection(
            broker: options.brokers[attempt.broker], failure: failure, wasConnected: session?.isAccepted ?? false,
            undelivered: marks, retryAfter: retryAfter)
        if case .refused = failure {
            events.append(.refused(disconnection))
        } else {
            events.append(.disconnected(disconnection))
        }
        perform(action)
    }

    /// Forgets what belongs to a connection, and returns the marks of all messages that it leaves undelivered.
    private func closeQueue(open: (marks: [MessageMark], count: Int)) -> (marks: [MessageMark], count: Int) {
        var marks = open.marks.filter { $0 != .farewell }
        let count = open.count + queue.count
        while let outgoing = queue.popFirst() {
            if let mark = outgoing.mark { marks.append(mark) }
        }
        queuedBytes = 0
        changes.removeAll()
        nextMessage = nil
        farewell = nil
        return (marks, count)
    }

    private func finish(undelivered: [MessageMark]) {
        _ = machine.stop()
        isFinished = true
        events.append(.stopped(undelivered: undelivered))
    }
}
