internal import JostleMessages
internal import LinuxSystem
internal import MotionCore
internal import Synchronization

/// The thread on which the outbox lives: a disk that stalls costs no sample and holds up neither telemetry nor the
/// connection.
///
/// Orders are taken from any thread and carried out in the order in which they came.
final class OutboxCourier: Sendable {
    /// Messages that may wait for the disk: beyond them the newest are dropped, and counted.
    private static let capacity = 10_000

    private struct Mailbox {
        var orders: [OutboxKeeper.Order] = []
        var waiting = 0
        var refused: UInt64 = 0
        /// Whether somebody works at orders that were taken out.
        var isWorking = false
        var thread: WorkerThread?
        var isEnding = false
        var figures = OutboxKeeper.Figures()
    }

    private let keeper: OutboxKeeper
    private let mailbox: Mutex<Mailbox>
    private let wake: WakeSignal
    private let rest: WakeSignal

    /// Makes a courier that works only when it is told to, until `start`; `nil` where the system has no descriptor left.
    init?(_ keeper: OutboxKeeper) {
        guard let wake = WakeSignal(), let rest = WakeSignal() else { return nil }
        self.wake = wake
        self.rest = rest
        self.keeper = keeper
        mailbox = Mutex(Mailbox(figures: keeper.figures))
    }

    /// Gestures that were open when the last run was cut off.
    var interrupted: [OpenGesture] { keeper.interrupted }

    /// How the outbox stands.
    var figures: OutboxKeeper.Figures {
        mailbox.withLock { mailbox in
            var figures = mailbox.figures
            figures.count += mailbox.waiting
            figures.dropped += mailbox.refused
            return figures
        }
    }

    /// Takes orders that belong together: they are written down together. Never waits for the disk.
    func post(_ orders: OutboxKeeper.Order...) {
        mailbox.withLock { mailbox in
            for order in orders {
                if case .add = order {
                    guard mailbox.waiting < OutboxCourier.capacity else {
                        mailbox.refused += 1
                        continue
                    }
                    mailbox.waiting += 1
                }
                mailbox.orders.append(order)
            }
        }
        wake.ring()
    }

    /// Carries out what was ordered so far, on the caller's thread. For who has not started it.
    ///
    /// - Returns: when there is something to do again, without an order.
    @discardableResult
    func workOff() -> Timestamp? {
        let orders = mailbox.withLock { mailbox in
            defer {
                mailbox.orders = []
                mailbox.isWorking = true
            }
            return mailbox.orders
        }
        let next = keeper.work(orders)
        mailbox.withLock { mailbox in
            mailbox.isWorking = false
            mailbox.figures = keeper.figures
            mailbox.waiting = mailbox.orders.count { if case .add = $0 { true } else { false } }
        }
        rest.ring()
        return next
    }

    // MARK: The thread

    /// Begins to work by itself.
    ///
    /// - Returns: whether the system had a thread for it.
    func start() -> Bool {
        let thread = WorkerThread(name: "jostle-outbox") { [self] in
            while true {
                let next = workOff()
                let isEnding = mailbox.withLock { $0.isEnding && $0.orders.isEmpty }
                if isEnding { break }
                wake.wait(seconds: next.map { $0.seconds(since: WallClock.monotonic) })
            }
            keeper.close()
        }
        mailbox.withLock { $0.thread = thread }
        return thread != nil
    }

    /// Waits until everything that was ordered is carried out, `seconds` at most.
    func settle(within seconds: Double) {
        let deadline = WallClock.monotonic.advanced(bySeconds: seconds)
        while mailbox.withLock({ !$0.orders.isEmpty || $0.isWorking }) {
            let left = deadline.seconds(since: WallClock.monotonic)
            guard left > 0 else { return }
            wake.ring()
            rest.wait(seconds: left)
        }
    }

    /// Carries out what was ordered, closes the file and ends the thread; one that is stuck in a write is left behind.
    func stop(within seconds: Double) {
        let thread = mailbox.withLock { mailbox in
            defer { mailbox.thread = nil }
            mailbox.isEnding = true
            return mailbox.thread
        }
        wake.ring()
        guard let thread else { return }
        thread.join(within: seconds)
    }
}
