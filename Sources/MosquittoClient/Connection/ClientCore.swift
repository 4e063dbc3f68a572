internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// What callers and the network thread share; both keep it alive, so that either may outlive the other.
///
/// The lock is only held to move values, never while libmosquitto, the network or a handler is at work.
final class ClientCore: Sendable {
    typealias Instant = ContinuousClock.Instant

    /// A message with its owner's mark.
    struct Outgoing {
        var message: MQTTMessage
        var token: MessageMark?
    }

    /// How a filter is subscribed to.
    struct Subscription: Equatable {
        var qos: MQTTQoS
        var keepsRetainFlag = false
    }

    enum SubscriptionChange {
        case subscribe(String, Subscription)
        case unsubscribe(String)
    }

    struct StopRequest {
        /// When to stop waiting for acknowledgements.
        var deadline: Instant
        /// What to say last.
        var farewell: MQTTMessage?
    }

    /// What the network thread has to do.
    struct Work {
        var messages: [Outgoing] = []
        var subscriptions: [SubscriptionChange] = []
        /// Messages that still wait.
        var remaining = 0
        /// When the first of them may be sent, where it is kept apart from the one before.
        var nextMessage: Instant?
        var stop: StopRequest?
    }

    private struct State {
        var queue: BoundedQueue<Outgoing>
        var pacer: TopicPacer
        var queuedBytes = 0
        var subscriptions: [String: Subscription] = [:]
        var changes: [SubscriptionChange] = []
        var stop: StopRequest?
        /// Whether the thread was signalled since it last looked.
        var isSignalled = false
        var undeliveredAtStop = 0
        var statistics = MQTTStatistics()
    }

    /// The state behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around the state itself.
    private final class Shared: @unchecked Sendable {
        var value: State

        init(_ value: State) {
            self.value = value
        }
    }

    let options: MQTTOptions
    private let handler: @Sendable (MQTTEvent<MessageMark>) -> Void
    private let state: Mutex<Shared>
    private let isAbandoned = Atomic(false)

    /// Signalled for the network thread when there is work.
    let wake: WakeSignal

    /// Signalled by the network thread when it is done.
    let finished: WakeSignal

    init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent<MessageMark>) -> Void) throws(MQTTError) {
        guard let wake = WakeSignal(), let finished = WakeSignal() else { throw .system("eventfd", code: errno) }
        self.wake = wake
        self.finished = finished
        self.options = options
        self.handler = handler
        state = Mutex(
            Shared(
                State(queue: BoundedQueue(capacity: options.queueCapacity), pacer: TopicPacer(options.spacing))))
    }

    private func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0.value) }
    }

    // MARK: Callers

    func publish(_ outgoing: Outgoing) throws(MQTTError) {
        let size = outgoing.message.payload.count
        let limit = options.queueBytes
        let result: Result<Bool, MQTTError> = withState { state in
            if state.stop != nil { return .failure(.stopped) }
            if state.statistics.connection == nil { return .failure(.notConnected) }
            // A message larger than the limit may still go alone.
            if state.queuedBytes > 0, state.queuedBytes + size > limit { return .failure(.queueFull) }
            guard state.queue.append(outgoing) else { return .failure(.queueFull) }
            state.queuedBytes += size
            state.statistics.published += 1
            return .success(Self.mustSignal(&state))
        }
        if try result.get() { wake.ring() }
    }

    func change(_ change: SubscriptionChange) {
        let mustSignal = withState { state in
            switch change {
            case .subscribe(let filter, let subscription): state.subscriptions[filter] = subscription
            case .unsubscribe(let filter): state.subscriptions[filter] = nil
            }
            // Without a connection there is nothing to change: the next one begins with all of them.
            guard state.statistics.connection != nil else { return false }
            state.changes.append(change)
            return Self.mustSignal(&state)
        }
        if mustSignal { wake.ring() }
    }

    /// Asks the thread to end; the first request counts.
    func requestStop(_ request: StopRequest) {
        withState { state in
            if state.stop == nil { state.stop = request }
        }
        wake.ring()
    }

    /// Silences a thread that is left behind.
    func abandon() {
        isAbandoned.store(true, ordering: .releasing)
    }

    var statistics: MQTTStatistics {
        withState { state in
            var statistics = state.statistics
            statistics.queued = state.queue.count
            return statistics
        }
    }

    /// Messages that were open when `stop` ended the connection.
    var undeliveredAtStop: Int { withState { $0.undeliveredAtStop } }

    private static func mustSignal(_ state: inout State) -> Bool {
        defer { state.isSignalled = true }
        return !state.isSignalled
    }

    // MARK: The network thread

    /// Waits for a request to stop; nil where `deadline` came first.
    func waitForStop(until deadline: Instant) -> StopRequest? {
        while true {
            let stop = takeWork(limit: 0).stop
            if stop != nil { return stop }
            if !wake.isRung(by: deadline) { return nil }
        }
    }

    /// Takes up to `limit` messages and all else there is to do, and arms `wake` for what comes later.
    func takeWork(limit: Int) -> Work {
        wake.silence()
        return withState { state in
            state.isSignalled = false
            var work = Work(stop: state.stop)
            while work.messages.count < limit, let next = state.queue.first?.message {
                // At the end there is no time for it.
                if next.isSpaced, state.stop == nil {
                    work.nextMessage = state.pacer.delay(of: next.topic, at: .now)
                }
                guard work.nextMessage == nil, let outgoing = state.queue.popFirst() else { break }
                state.queuedBytes -= outgoing.message.payload.count
                work.messages.append(outgoing)
            }
            swap(&work.subscriptions, &state.changes)
            work.remaining = state.queue.count
            return work
        }
    }

    /// Opens the queue for a connection, and returns what to subscribe to.
    func connectionOpened(_ connection: MQTTConnection) -> [String: Subscription] {
        withState { state in
            state.statistics.connection = connection
            state.statistics.connects += 1
            return state.subscriptions
        }
    }

    /// Closes the queue, and returns the tokens that were in it.
    func connectionClosed(_ failure: MQTTFailure, inFlight: Int) -> [MessageMark] {
        withState { state in
            state.statistics.connection = nil
            state.statistics.lastFailure = failure
            state.statistics.inFlight = 0
            let undelivered = inFlight + state.queue.count
            state.statistics.undelivered += UInt64(undelivered)
            if failure == .stopped { state.undeliveredAtStop = undelivered }
            state.changes.removeAll()
            state.queuedBytes = 0
            var tokens: [MessageMark] = []
            while let outgoing = state.queue.popFirst() {
                if let token = outgoing.token { tokens.append(token) }
            }
            return tokens
        }
    }

    /// Changes the counters.
    func count(_ change: (inout MQTTStatistics) -> Void) {
        withState { change(&$0.statistics) }
    }

    /// Tells the owner; never called with a lock held.
    func emit(_ event: MQTTEvent<MessageMark>) {
        if !isAbandoned.load(ordering: .acquiring) { handler(event) }
    }
}
