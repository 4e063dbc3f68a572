internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// What callers and the network thread share; both keep it alive, so that either may outlive the other.
///
/// The lock is only held to move values, never while libmosquitto, the network or a handler is at work.
final class ClientCore: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias StopRequest = PolledConnection.StopRequest

    /// What callers want of the network thread.
    struct Work {
        var messages: [Outgoing] = []
        var changes: [SubscriptionChange] = []
        var stop: StopRequest?
    }

    private struct State {
        /// What the network thread has not taken yet.
        var work = Work()
        /// Bytes of the payloads in it.
        var bytes = 0
        /// Messages and bytes that the network thread has taken and not handed to libmosquitto.
        var taken = 0
        var takenBytes = 0
        /// Whether callers asked for the end.
        var isStopping = false
        /// Whether the thread was signalled since it last looked.
        var isSignalled = false
        var undeliveredAtStop = 0
        /// The network thread's, as of its last step.
        var statistics = MQTTStatistics()
        /// Messages taken from callers, and those of them that never reached the network thread's own queue.
        var published: UInt64 = 0
        var dropped: UInt64 = 0
        var connection: MQTTConnection?
    }

    /// The state behind a reference, touched under the lock only: Swift 6.0.3 crashes on a mutex around the state itself.
    private final class Shared: @unchecked Sendable {
        var value = State()
    }

    let options: MQTTOptions
    private let handler: @Sendable (MQTTEvent<MessageMark>) -> Void
    private let state = Mutex(Shared())
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
            // A message larger than the limit may still go alone.
            let bytes = state.bytes + state.takenBytes
            if bytes > 0, bytes + size > options.queueBytes { return .failure(.queueFull) }
            if state.work.messages.count + state.taken >= options.queueCapacity { return .failure(.queueFull) }
            state.work.messages.append(outgoing)
            state.bytes += size
            state.published += 1
            return .success(Self.mustSignal(&state))
        }
        if try result.get() { wake.ring() }
    }

    func change(_ change: SubscriptionChange) {
        let mustSignal = withState { state in
            state.work.changes.append(change)
            return Self.mustSignal(&state)
        }
        if mustSignal { wake.ring() }
    }

    /// Asks the thread to end; the first request counts.
    func requestStop(_ request: StopRequest) {
        withState { state in
            if !state.isStopping { state.work.stop = request }
            state.isStopping = true
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
            statistics.connection = state.connection
            statistics.published = state.published
            statistics.undelivered += state.dropped
            statistics.queued = state.work.messages.count + state.taken
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

    /// Takes all that there is to do, and arms `wake` for what comes later.
    func takeWork() -> Work {
        wake.silence()
        return withState { state in
            state.isSignalled = false
            var work = Work()
            swap(&work, &state.work)
            // It counts until the thread's next step says what became of it.
            state.taken += work.messages.count
            state.takenBytes += state.bytes
            state.bytes = 0
            return work
        }
    }

    /// Takes the figures of a step over, and reports its events; never called with a lock held.
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
            let event = keepUp(with: event)
            if !isAbandoned.load(ordering: .acquiring) { handler(event) }
        }
    }

    /// Opens and closes the way for messages; those that came too late go back with the end of the connection.
    private func keepUp(with event: MQTTEvent<MessageMark>) -> MQTTEvent<MessageMark> {
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
