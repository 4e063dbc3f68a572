internal import Glibc
internal import LinuxSystem
internal import Synchronization

/// A client of an MQTT broker that reconnects whenever its connection is lost, until `stop`.
///
/// A separate network thread does all the work that may block. No call here waits for the network except `stop`, which
/// waits no longer than its limit. Messages are accepted only while there is a connection; storing them until then is
/// left to the publisher, who knows which are worth keeping. Every token accepted by `publish` is reported exactly
/// once, in `acknowledged`, `rejected`, `disconnected` or `stopped` (unless the thread had to be detached).
package final class MQTTClient: MQTTPublisher, Sendable {
    private enum Phase {
        case idle
        case running(WorkerThread)
        case ended
    }

    private let core: ClientCore
    private let phase = Mutex(Phase.idle)

    /// Creates a client. It does not connect before `start`.
    ///
    /// - Parameters:
    ///   - options: the connection settings.
    ///   - handler: receives the events, on the network thread. While it runs, nothing is sent or received.
    /// - Throws: `invalidOption` or another validation error; `system` if there are no descriptors left.
    package init(options: MQTTOptions, handler: @escaping @Sendable (MQTTEvent) -> Void) throws(MQTTError) {
        try options.validate()
        core = try ClientCore(options: options, handler: handler)
    }

    deinit {
        core.requestStop(ClientCore.StopRequest(deadline: .now, farewell: nil))
        phase.withLock { phase in
            if case .running(let thread) = phase { thread.join(within: 0) }
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
            // The stack is enough for getaddrinfo, OpenSSL and a handler. The default of 8 MiB would be too much for a swarm of
            // clients.
            guard let thread = WorkerThread(name: "jostle-mqtt", stackSize: 1 << 20, { [core] in core.run() }) else {
                return .system("thread", code: errno)
            }
            phase = .running(thread)
            return nil
        }
        if let failure { throw failure }
    }

    package func accept(_ outgoing: Outgoing) throws(MQTTError) { try core.publish(outgoing) }

    package func change(_ change: SubscriptionChange) { core.change(change) }

    package func giveWay(for delay: Duration?) { core.giveWay(for: delay) }

    /// Reads no sooner than `pause` after the last read from now on, so that what arrives meanwhile is read together, unless it
    /// is so much that a broker may wait for acknowledgements; `nil` reads at once.
    package func pauseReading(for pause: Duration?) { core.pauseReading(for: pause) }

    package var maximumPacketSize: Int { core.options.maximumPacketSize }

    package var statistics: MQTTStatistics { core.statistics }

    /// Ends the client gracefully, as far as the time allows: sends the accepted messages, then the farewell, then a
    /// DISCONNECT, so that the broker does not publish the will.
    ///
    /// If the farewell is not acknowledged in time, the connection is dropped instead, and the broker publishes the
    /// will.
    /// - Parameters:
    ///   - limit: the total time limit. Four fifths of it are for acknowledgements.
    ///   - farewell: a last message, published after all others.
    /// - Returns: whether the thread ended, and how many messages are unacknowledged. A second call does not wait, and
    ///   returns `stopping`.
    package func stop(within limit: Duration = .seconds(1), farewell: MQTTMessage? = nil) -> MQTTStopResult {
        let deadline = ContinuousClock.now + limit * 0.8
        // The first caller takes over the thread.
        let last = phase.withLock { phase in
            defer { phase = .ended }
            return phase
        }
        core.requestStop(ClientCore.StopRequest(deadline: deadline, farewell: farewell))
        switch last {
        case .idle: return .notStarted
        case .ended: return .stopping
        case .running(let thread):
            let isOwn = thread.isCurrent
            if thread.join(within: limit / .seconds(1)) { return .stopped(undelivered: core.undeliveredAtStop) }
            if isOwn { return .stopping }
            core.abandon()
            return .detached
        }
    }
}
