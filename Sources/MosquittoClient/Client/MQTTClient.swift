internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// A client of an MQTT broker that reconnects whenever its connection is lost, until `stop`.
///
/// A separate network thread does all the work that may block. No call here waits for the network except `stop`, which
/// waits no longer than its limit. Messages are accepted only while there is a connection; storing them until then is
/// left to the publisher, who knows which are worth keeping. Every token accepted by `publish` is reported exactly
/// once, in `acknowledged`, `rejected`, `disconnected` or `stopped` (unless the thread had to be detached). The
/// publisher chooses the token's type, so that each part of a program recognises its own messages. A client without
/// tokens is an `MQTTClient<Never>`.
package final class MQTTClient<Token: Hashable & Sendable>: Sendable {
    private enum Phase: ~Copyable {
        case idle
        case running(NetworkThread)
        case ended
    }

    private let core: ClientCore
    private let tokens = TokenTable<Token>()
    private let phase = Mutex(Phase.idle)

    /// Creates a client. It does not connect before `start`.
    ///
    /// - Parameters:
    ///   - options: the connection settings.
    ///   - handler: receives the events, on the network thread. While it runs, nothing is sent or received.
    /// - Throws: `invalidOption` or another validation error; `system` if there are no descriptors left.
    package init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent<Token>) -> Void) throws(MQTTError) {
        try options.validate()
        core = try ClientCore(options: options) { [tokens] event in
            if let event = tokens.resolve(event) { handler(event) }
        }
    }

    deinit {
        core.requestStop(ClientCore.StopRequest(deadline: .now, farewell: nil))
        phase.withLock { phase in
            if case .running(let thread) = exchange(&phase, with: .ended) { thread.detach() }
        }
    }

    /// Starts the network thread, which connects immediately.
    ///
    /// - Throws: `alreadyStarted`, `stopped`, or `system` if the thread cannot be created.
    package func start() throws(MQTTError) {
        let failure: MQTTError? = phase.withLock { phase in
            switch phase {
            case .running: return .alreadyStarted
            case .ended: return .stopped
            case .idle: break
            }
            do throws(MQTTError) {
                phase = .running(try NetworkThread(core: core))
                return nil
            } catch {
                return error
            }
        }
        if let failure { throw failure }
    }

    /// Passes a message to the network thread.
    ///
    /// - Parameters:
    ///   - message: what to publish; its payload is copied.
    ///   - token: identifies the message when its outcome is reported. Without a token, it is not reported.
    /// - Throws: `notConnected`, `queueFull`, `stopped`, or the fault in the message.
    package func publish(_ message: MQTTMessage, token: Token? = nil) throws(MQTTError) {
        try message.validate(maximumSize: core.options.maximumPacketSize)
        let mark = token.map { tokens.add($0) }
        do throws(MQTTError) {
            try core.publish(Outgoing(message: message, mark: mark))
        } catch {
            if let mark { tokens.remove(mark) }
            throw error
        }
    }

    /// Subscribes, now and on every later connection. A second call for the same filter changes its quality of service,
    /// and the broker sends the retained messages again.
    ///
    /// If the broker ends a connection instead of answering the request for an optional filter, the next connection does
    /// without it, and `subscriptionLeftOut` is reported. The filter is requested once more when the connection is stable.
    ///
    /// When a retained message is published during the subscription, the broker delivers it without the retain flag.
    /// Only MQTT 5 brokers can be asked to keep the flag (`keepsRetainFlag`).
    /// - Throws: `invalidTopic`.
    package func subscribe(
        to filter: String, qos: MQTTQoS, keepsRetainFlag: Bool = false, isOptional: Bool = false
    ) throws(MQTTError) {
        try MQTTTopic.validate(filter: filter)
        let subscription = MQTTSubscription(qos: qos, keepsRetainFlag: keepsRetainFlag, isOptional: isOptional)
        core.change(.subscribe(filter, subscription))
    }

    /// Ends a subscription.
    package func unsubscribe(from filter: String) {
        core.change(.unsubscribe(filter))
    }

    /// Gives way to another client with the same id: whenever the connection ends from now on, the next attempt waits for
    /// at least `delay`. Otherwise, the broker would disconnect the two in turn, as fast as they can connect. `nil` if there
    /// is no such client any more.
    package func giveWay(for delay: Duration?) { core.giveWay(for: delay) }

    /// The client's counters and state.
    package var statistics: MQTTStatistics { core.statistics }

    /// Ends the client gracefully, as far as the time allows: sends the accepted messages, then the farewell, then a
    /// DISCONNECT, so that the broker does not publish the will.
    ///
    /// If the farewell is not acknowledged in time, the connection is dropped instead, and the broker publishes the
    /// will.
    /// - Parameters:
    ///   - limit: the total time limit. Four fifths of it are for acknowledgements.
    ///   - farewell: a last message, published after all others.
    /// - Returns: whether the thread ended, and how many messages are unacknowledged.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) -> MQTTStopResult {
        let start = ContinuousClock.now
        // The first caller takes over the thread.
        let result: MQTTStopResult? = phase.withLock { phase in
            switch exchange(&phase, with: .ended) {
            case .idle: return .notStarted
            case .ended: return .stopping
            case .running(let thread):
                if thread.isCurrent {
                    thread.detach()
                    return .stopping
                }
                phase = .running(thread)
                return nil
            }
        }
        core.requestStop(ClientCore.StopRequest(deadline: start + limit * 0.8, farewell: farewell))
        if let result { return result }

        let hasEnded = core.finished.isSignalled(by: start + limit)
        return phase.withLock { phase in
            guard case .running(let thread) = exchange(&phase, with: .ended) else { return .stopping }
            if hasEnded {
                thread.join()
                return .stopped(undelivered: core.undeliveredAtStop)
            }
            core.abandon()
            thread.detach()
            return .detached
        }
    }
}

/// The thread that performs a client's network I/O.
///
/// It owns all of the client's libmosquitto state. A thread stuck in a blocking call can be detached, because it
/// retains everything that it shares.
struct NetworkThread: ~Copyable {
    private let thread: pthread_t

    /// Starts the thread (`pthread_create`) with all signals blocked, because signals are delivered to the main thread
    /// only.
    init(core: ClientCore) throws(MQTTError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        // Enough for getaddrinfo, OpenSSL and a handler. The default of 8 MiB would be too much for a swarm of clients.
        pthread_attr_setstacksize(&attributes, 1 << 20)

        var all = sigset_t()
        var previous = sigset_t()
        sigfillset(&all)
        pthread_sigmask(SIG_SETMASK, &all, &previous)
        defer { pthread_sigmask(SIG_SETMASK, &previous, nil) }

        let context = Unmanaged.passRetained(core)
        var thread = pthread_t()
        let code = pthread_create(&thread, &attributes, Self.main, context.toOpaque())
        guard code == 0 else {
            context.release()
            throw .system("pthread_create", code: code)
        }
        self.thread = thread
    }

    /// Whether the caller runs on this thread.
    var isCurrent: Bool { pthread_equal(thread, pthread_self()) != 0 }

    /// Waits for the thread to end, which must be imminent.
    consuming func join() {
        pthread_join(thread, nil)
    }

    /// Detaches the thread, which then ends on its own.
    consuming func detach() {
        pthread_detach(thread)
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        let core = Unmanaged<ClientCore>.fromOpaque(context).takeRetainedValue()
        run(core)
        core.finished.signal()
        return nil
    }

    /// Drives a connection until its end.
    private static func run(_ core: ClientCore) {
        let connection = PolledConnection(options: core.options)
        var readiness: MQTTReadiness = []
        var monitor: NetworkMonitor?
        var canMonitor = core.options.watchesNetwork
        while true {
            let work = core.takeWork()
            for change in work.changes { connection.change(change) }
            for outgoing in work.messages { connection.take(outgoing) }
            if let delay = work.givingWay { connection.giveWay(for: delay) }
            if let stop = work.stop { connection.stop(stop) }
            if let monitor, monitor.networkReturned() { connection.networkReturned(now: .now) }
            let events = connection.advance(readiness, now: .now)
            core.finishStep(of: connection, events)
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
            readiness = wait(for: connection.interest, core.wake, monitor, until: deadline)
        }
    }

    /// Waits until the socket is ready, a caller has a request, the host's network changes, or the deadline has passed.
    /// Returns the socket's readiness.
    private static func wait(
        for interest: MQTTInterest?, _ wake: WakeSignal, _ monitor: NetworkMonitor?,
        until deadline: ContinuousClock.Instant
    ) -> MQTTReadiness {
        // A negative descriptor is ignored.
        var entries = [
            pollfd(fd: interest?.descriptor ?? -1, events: interest?.readiness.pollEvents ?? 0, revents: 0),
            pollfd(fd: wake.descriptor, events: Int16(POLLIN), revents: 0),
            pollfd(fd: monitor?.descriptor ?? -1, events: Int16(POLLIN), revents: 0),
        ]
        let timeout = ContinuousClock.now.duration(to: deadline).pollMilliseconds
        guard poll(&entries, nfds_t(entries.count), timeout) > 0 else { return [] }
        return MQTTReadiness(pollEvents: entries[0].revents)
    }
}
