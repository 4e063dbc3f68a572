internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The state shared by callers and the network thread. Both retain it, so either may outlive the other.
///
/// The lock is held only to move values, never during calls to libmosquitto, the network or a handler.
final class ClientCore: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias StopRequest = PolledConnection.StopRequest

    /// Requests from callers to the network thread.
    struct Work {
        var messages: [Outgoing] = []
        var changes: [SubscriptionChange] = []
        /// A request to give way, or no longer to.
        var givingWay: Duration??
        var stop: StopRequest?
    }

    private struct State {
        /// Requests that the network thread has not taken yet.
        var work = Work()
        /// Their payload bytes.
        var bytes = 0
        /// Messages and bytes that the network thread has taken but not passed to libmosquitto.
        var taken = 0
        var takenBytes = 0
        /// Whether a caller has requested the end.
        var isStopping = false
        /// Whether the thread has been signalled since it last took work.
        var isSignalled = false
        var undeliveredAtStop = 0
        /// The network thread's counters as of its last step.
        var statistics = MQTTStatistics()
        /// Messages accepted from callers, and those that never reached the network thread's queue.
        var published: UInt64 = 0
        var dropped: UInt64 = 0
        var connection: MQTTConnection?
    }

    /// A class, accessed only under the lock: Swift 6.0.3 crashes on a mutex that holds the struct directly.
    private final class Shared: @unchecked Sendable {
        var value = State()
    }

    let options: MQTTOptions
    private let handler: @Sendable (MQTTEvent<MessageMark>) -> Void
    private let state = Mutex(Shared())
    private let isAbandoned = Atomic(false)

    /// Signals the network thread that there is work.
    let wake: WakeSignal

    /// Set by the network thread when it is done.
    let finished: WakeSignal

    init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent<MessageMark>) -> Void) throws(MQTTError) {
        guard let wake = WakeSignal(), let finished = WakeSignal() else { throw .system("eventfd", code: errno) }
        self.wake = wake
        self.finished = finished
        self.options = options
        self.handler = handler
    }

    private func withState<Result: Sendable>(_ body: (inout State) -> Result) -> Result {
        state.withLock { body(&$0.value) }
    }

    // MARK: Callers

    func publish(_ outgoing: Outgoing) throws(MQTTError) {
        let size = outgoing.message.payload.count
        let options = options
        let result: Result<Bool, MQTTError> = withState { state in
            if state.isStopping { return .failure(.stopped) }
            if state.connection == nil { return .failure(.notConnected) }
            // A message larger than the limit may still be sent alone.
            let bytes = state.bytes + state.takenBytes
            if bytes > 0, bytes + size > options.queueBytes { return .failure(.queueFull) }
            if state.work.messages.count + state.taken >= options.queueCapacity { return .failure(.queueFull) }
            state.work.messages.append(outgoing)
            state.bytes += size
            state.published += 1
            return .success(Self.mustSignal(&state))
        }
        if try result.get() { wake.signal() }
    }

    func change(_ change: SubscriptionChange) {
        let mustSignal = withState { state in
            state.work.changes.append(change)
            return Self.mustSignal(&state)
        }
        if mustSignal { wake.signal() }
    }

    func giveWay(for delay: Duration?) {
        let mustSignal = withState { state in
            state.work.givingWay = .some(delay)
            return Self.mustSignal(&state)
        }
        if mustSignal { wake.signal() }
    }

    /// Requests the end of the thread. Only the first request counts.
    func requestStop(_ request: StopRequest) {
        withState { state in
            if !state.isStopping { state.work.stop = request }
            state.isStopping = true
        }
        wake.signal()
    }

    /// Suppresses the events of a detached thread.
    func abandon() {
        isAbandoned.store(true, ordering: .releasing)
    }

    var statistics: MQTTStatistics {
        withState { state in
            var statistics = state.statistics
            statistics.connection = state.connection
            statistics.published = state.published
            statistics.undelivered += state.dropped
            statistics.queued = state.work.messages.count + state.taken
            return statistics
        }
    }

    /// Messages without a known outcome when `stop` ended the connection.
    var undeliveredAtStop: Int { withState { $0.undeliveredAtStop } }

    private static func mustSignal(_ state: inout State) -> Bool {
        defer { state.isSignalled = true }
        return !state.isSignalled
    }

    // MARK: The network thread

    /// Takes all waiting requests, and re-arms `wake` for later ones.
    func takeWork() -> Work {
        wake.clear()
        return withState { state in
            state.isSignalled = false
            var work = Work()
            swap(&work, &state.work)
            // These messages count as queued until the thread's next step reports the actual figures.
            state.taken += work.messages.count
            state.takenBytes += state.bytes
            state.bytes = 0
            return work
        }
    }

    /// Stores the counters of a step and delivers its events. Must be called without holding the lock.
    func finishStep(of connection: PolledConnection, _ events: [MQTTEvent<MessageMark>]) {
        let statistics = connection.statistics
        let bytes = connection.queuedBytes
        let undelivered = connection.undeliveredAtStop
        withState { state in
            state.statistics = statistics
            state.taken = statistics.queued
            state.takenBytes = bytes
            state.undeliveredAtStop = undelivered
        }
        for event in events {
            let event = update(for: event)
            if !isAbandoned.load(ordering: .acquiring) { handler(event) }
        }
    }

    /// Opens or closes the client for messages. Messages that came too late are added to the end-of-connection event.
    private func update(for event: MQTTEvent<MessageMark>) -> MQTTEvent<MessageMark> {
        switch event {
        case .connected(let connection):
            withState { $0.connection = connection }
            return event
        case .refused(var end):
            end.undelivered += connectionEnded()
            return .refused(end)
        case .disconnected(var end):
            end.undelivered += connectionEnded()
            return .disconnected(end)
        case .stopped(let undelivered):
            return .stopped(undelivered: undelivered + connectionEnded())
        default:
            return event
        }
    }

    private func connectionEnded() -> [MessageMark] {
        withState { state in
            state.connection = nil
            let messages = state.work.messages
            state.work.messages = []
            state.bytes = 0
            state.dropped += UInt64(messages.count)
            if state.isStopping { state.undeliveredAtStop += messages.count }
            return messages.compactMap(\.mark)
        }
    }
}
