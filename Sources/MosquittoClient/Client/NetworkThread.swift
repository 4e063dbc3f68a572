internal import Glibc
internal import LinuxSystem

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
