internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// The state shared by callers and the network thread. Both retain it, so either may outlive the other: a thread stuck in a
/// blocking call can be detached.
///
/// The lock is held only to move values, never during calls to libmosquitto, the network or a handler.
final class ClientCore: Sendable {
    typealias Instant = ContinuousClock.Instant
    typealias StopRequest = MQTTPolledClient.StopRequest

    /// Requests from callers to the network thread.
    private struct Work {
        var messages: [Outgoing] = []
        var changes: [SubscriptionChange] = []
        /// A request to give way, or no longer to.
        var givingWay: Duration??
        /// A request to pause between two reads, or no longer to.
        var readingPause: Duration??
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

    let options: MQTTOptions
    private let handler: @Sendable (MQTTEvent) -> Void
    private let state = Locked(State())
    private let isAbandoned = Atomic(false)

    /// Signals the network thread that there is work.
    private let wake: WakeSignal

    init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent) -> Void) throws(MQTTError) {
        guard let wake = WakeSignal() else { throw .system("eventfd", code: errno) }
        self.wake = wake
        self.options = options
        self.handler = handler
    }

    // MARK: Callers

    func publish(_ outgoing: Outgoing) throws(MQTTError) {
        let size = outgoing.message.payload.count
        let (capacity, queueBytes) = (options.queueCapacity, options.queueBytes)
        let result: Result<Bool, MQTTError> = state.withLock { state in
            if state.isStopping { return .failure(.stopped) }
            if state.connection == nil { return .failure(.notConnected) }
            // A message larger than the limit may still be sent alone.
            let bytes = state.bytes + state.takenBytes
            if bytes > 0, bytes + size > queueBytes { return .failure(.queueFull) }
            if state.work.messages.count + state.taken >= capacity { return .failure(.queueFull) }
            state.work.messages.append(outgoing)
            state.bytes += size
            state.published += 1
            return .success(Self.mustSignal(&state))
        }
        if try result.get() { wake.signal() }
    }

    func change(_ change: SubscriptionChange) { request { $0.changes.append(change) } }

    func giveWay(for delay: Duration?) { request { $0.givingWay = .some(delay) } }

    func pauseReading(for pause: Duration?) { request { $0.readingPause = .some(pause) } }

    private func request(_ change: (inout Work) -> Void) {
        let mustSignal = state.withLock { state in
            change(&state.work)
            return Self.mustSignal(&state)
        }
        if mustSignal { wake.signal() }
    }

    /// Requests the end of the thread. Only the first request counts.
    func requestStop(_ request: StopRequest) {
        state.withLock { state in
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
        state.withLock { state in
            var statistics = state.statistics
            statistics.connection = state.connection
            statistics.published = state.published
            statistics.undelivered += state.dropped
            statistics.queued = state.work.messages.count + state.taken
            return statistics
        }
    }

    /// Messages without a known outcome when `stop` ended the connection.
    var undeliveredAtStop: Int { state.withLock { $0.undeliveredAtStop } }

    private static func mustSignal(_ state: inout State) -> Bool {
        defer { state.isSignalled = true }
        return !state.isSignalled
    }

    // MARK: The network thread

    // It owns all of the client's libmosquitto state.

    /// Drives a connection until its end.
    func run() {
        let connection = MQTTPolledClient(valid: options)
        var readiness: MQTTReadiness = []
        var readingPause: Duration?
        var lastRead: Instant?
        var pausesFrom = Instant.now
        var monitor: NetworkMonitor?
        var canMonitor = options.watchesNetwork
        while true {
            let work = takeWork()
            for change in work.changes { connection.change(change) }
            for outgoing in work.messages { connection.take(outgoing) }
            if let delay = work.givingWay { connection.giveWay(for: delay) }
            if let pause = work.readingPause { readingPause = pause }
            if let stop = work.stop {
                readingPause = nil
                connection.stop(stop)
            }
            if let monitor, monitor.networkReturned() { connection.networkReturned(now: .now) }
            let now = ContinuousClock.now
            if readiness.contains(.readable) { lastRead = now }
            let events = connection.advance(readiness, now: now)
            // A broker sends only so many messages before it has their acknowledgements. If that may have kept others waiting,
            // they are read as they come, for as long as they have waited.
            if let readingPause, 2 * events.count >= Int(options.maximumInFlight) { pausesFrom = now + readingPause }
            finishStep(of: connection, events)
            guard let deadline = connection.deadline else { return }
            if !connection.awaitsNetwork {
                monitor = nil
            } else if monitor == nil, canMonitor {
                // A service's sandbox may forbid it; the client then tries again after the usual delays.
                do throws(NetworkMonitor.Failure) {
                    monitor = try NetworkMonitor.open()
                } catch {
                    canMonitor = !error.isPermanent
                }
            }
            let interest = connection.interest
            if let readingPause, let lastRead, now >= pausesFrom, connection.isConnected,
                interest?.readiness == .readable
            {
                // What arrives meanwhile is read together.
                let end = min(deadline, lastRead + readingPause)
                if end > now, wait(for: nil, monitor, until: end) != nil {
                    readiness = []
                    continue
                }
            }
            readiness = wait(for: interest, monitor, until: deadline) ?? []
        }
    }

    /// Waits until the socket is ready, a caller has a request, the host's network changes, or the deadline has passed.
    /// Returns the socket's readiness; `nil` if nothing happened.
    private func wait(
        for interest: MQTTInterest?, _ monitor: NetworkMonitor?, until deadline: Instant
    ) -> MQTTReadiness? {
        withUnsafeTemporaryAllocation(of: pollfd.self, capacity: 3) { entries in
            // A negative descriptor is ignored.
            let socket = pollfd(
                fd: interest?.descriptor ?? -1, events: interest?.readiness.pollEvents ?? 0, revents: 0)
            entries.initializeElement(at: 0, to: socket)
            entries.initializeElement(at: 1, to: pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0))
            entries.initializeElement(
                at: 2, to: pollfd(fd: monitor?.descriptor ?? -1, events: Int16(POLLIN), revents: 0))
            let timeout = ContinuousClock.now.duration(to: deadline).pollMilliseconds
            guard poll(entries.baseAddress, 3, timeout) > 0 else { return nil }
            return MQTTReadiness(pollEvents: entries[0].revents)
        }
    }

    /// Takes all waiting requests, and re-arms `wake` for later ones.
    private func takeWork() -> Work {
        wake.clear()
        return state.withLock { state in
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
    private func finishStep(of connection: MQTTPolledClient, _ events: [MQTTEvent]) {
        let statistics = connection.statistics
        let bytes = connection.queuedBytes
        let undelivered = connection.undeliveredAtStop
        state.withLock { state in
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
    private func update(for event: MQTTEvent) -> MQTTEvent {
        switch event {
        case .connected(let connection):
            state.withLock { $0.connection = connection }
            return event
        case .disconnected(var end):
            end.undelivered += connectionEnded()
            return .disconnected(end)
        case .stopped(let undelivered):
            return .stopped(undelivered: undelivered + connectionEnded())
        default:
            return event
        }
    }

    private func connectionEnded() -> [MQTTToken] {
        state.withLock { state in
            state.connection = nil
            let messages = state.work.messages
            state.work.messages = []
            state.bytes = 0
            state.dropped += UInt64(messages.count)
            if state.isStopping { state.undeliveredAtStop += messages.count }
            return messages.compactMap(\.token)
        }
    }
}
