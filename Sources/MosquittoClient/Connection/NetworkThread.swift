internal import Glibc

/// The thread on which a client's network happens.
///
/// It owns all of libmosquitto that the client uses. Where it is stuck in a blocking call it can be left behind: what it
/// shares with others is kept alive by itself.
struct NetworkThread: ~Copyable {
    private let thread: pthread_t

    /// Starts the thread (`pthread_create`), with all signals blocked: they are the main thread's, and a write to a
    /// closed socket must not end the process.
    init(core: ClientCore) throws(MQTTError) {
        var attributes = pthread_attr_t()
        pthread_attr_init(&attributes)
        defer { pthread_attr_destroy(&attributes) }
        // Room for getaddrinfo, OpenSSL and a handler, but not the 8 MiB that a swarm of clients would reserve.
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

    /// Waits for its end, which must be near.
    consuming func join() {
        pthread_join(thread, nil)
    }

    /// Leaves it to itself.
    consuming func leaveBehind() {
        pthread_detach(thread)
    }

    private static let main: @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? = { context in
        guard let context else { return nil }
        let core = Unmanaged<ClientCore>.fromOpaque(context).takeRetainedValue()
        run(core)
        core.finished.ring()
        return nil
    }

    /// Does what the state machine says until it says that this is the end.
    private static func run(_ core: ClientCore) {
        let options = core.options
        var machine = ConnectionStateMachine(
            brokerCount: options.brokers.count, versions: options.versions, backoff: options.backoff,
            generator: SystemRandomNumberGenerator())
        var undelivered: [MessageMark] = []
        var action = machine.start()
        while true {
            switch action {
            case .connect(let attempt):
                action = connect(attempt, core, &machine, &undelivered)
            case .wait(let deadline):
                action = core.waitForStop(until: deadline) == nil ? machine.timerFired(now: .now) : machine.stop()
            case .finish:
                core.emit(.stopped(undelivered: undelivered))
                return
            }
        }
    }

    /// Lives through one connection, and returns what to do after it.
    private static func connect<Generator>(
        _ attempt: ConnectionStateMachine<Generator>.Attempt, _ core: ClientCore,
        _ machine: inout ConnectionStateMachine<Generator>, _ undelivered: inout [MessageMark]
    ) -> ConnectionStateMachine<Generator>.Action {
        let broker = core.options.brokers[attempt.broker]
        core.count { $0.attempts += 1 }
        core.emit(.connecting(broker, attempt.version))

        var wasConnected = false
        var isOverIPv6 = false
        var failure = MQTTFailure.closed
        var tokens: [MessageMark] = []
        var count = 0
        do throws(MQTTFailure) {
            var session = try Session.begin(
                core: core, broker: broker, version: attempt.version, forcesIPv4: attempt.forcesIPv4,
                isFirst: core.statistics.connects == 0)
            isOverIPv6 = session.isOverIPv6
            connection: while true {
                switch session.step() {
                case .working: continue
                case .accepted:
                    wasConnected = true
                    machine.accepted(now: .now)
                case .ended(let cause):
                    failure = cause
                    break connection
                }
            }
            (tokens, count) = session.finish()
        } catch {
            failure = error
        }
        tokens += core.connectionClosed(failure, inFlight: count)

        guard failure != .stopped else {
            undelivered = tokens
            return machine.stop()
        }
        let action = machine.failed(failure, overIPv6: isOverIPv6, now: .now)
        var retryAfter = Duration.zero
        if case .wait(let deadline) = action { retryAfter = ContinuousClock.now.duration(to: deadline) }
        let disconnection = MQTTDisconnection(
            broker: broker, failure: failure, wasConnected: wasConnected, undelivered: tokens, retryAfter: retryAfter)
        if case .refused = failure {
            core.emit(.refused(disconnection))
        } else {
            core.emit(.disconnected(disconnection))
        }
        return action
    }
}
