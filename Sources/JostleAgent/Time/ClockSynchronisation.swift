internal import JostleMessages
internal import LinuxSystem
internal import Synchronization

/// Whether a program keeps the system clock synchronised.
///
/// The kernel knows, but the sandbox of the service forbids to ask it, because the same system call sets the clock. Then
/// systemd's time service is asked, on a thread of its own: seldom, since the question starts that service.
final class ClockSynchronisation: Sendable {
    /// The questions, which tests replace.
    struct Sources: Sendable {
        /// The kernel's answer, or the mark of timesyncd; `nil` if neither is available.
        var quick: @Sendable () -> Bool? = { WallClock.synchronisation }
        /// The answer of the time service, which may block; `nil` if there is none.
        var slow: @Sendable () -> Bool? = { TimeService.isClockSynchronised() }
        /// Runs work that may block; false if that is not possible now.
        var run: @Sendable (@escaping @Sendable () -> Void) -> Bool = { work in
            guard let thread = WorkerThread(name: "time service", work) else { return false }
            // Nobody waits for it, not even at the end of the program.
            thread.join(within: 0)
            return true
        }
    }

    /// What is known from the time service.
    private struct Knowledge {
        var isSynchronised = false
        var isAsking = false
        /// When it is asked next, and how long after that again.
        var due: BootTime?
        var pause = ClockSynchronisation.shortestPause
        /// Wall-clock time without the time since boot, ms, at the last call.
        var offset: Int64?
    }

    /// Seconds between two questions while the clock is not synchronised: first short, then longer.
    private static let shortestPause = 5.0
    private static let longestPause = 300.0
    /// Seconds between two questions while it is.
    private static let confirmationPause = 3600.0
    /// The change of the offset that is a step of the clock, ms.
    private static let step: Int64 = 1000

    private let sources: Sources
    private let knowledge = Mutex(Knowledge())

    init(_ sources: Sources = Sources()) {
        self.sources = sources
    }

    /// Whether the clock is synchronised, as far as it is known. Does not block.
    ///
    /// A step of the clock is a reason to ask soon: a time service sets the clock when it has got the time.
    func isSynchronised(sinceBoot now: BootTime, wall: Int64) -> Bool {
        if let answer = sources.quick() { return answer }
        let offset = wall - now.nanoseconds / 1_000_000
        let (answer, mustAsk) = knowledge.withLock { knowledge -> (Bool, Bool) in
            if let old = knowledge.offset, abs(old - offset) > Self.step {
                knowledge.pause = Self.shortestPause
                knowledge.due = now.advanced(bySeconds: Self.shortestPause)
            }
            knowledge.offset = offset
            guard !knowledge.isAsking, knowledge.due.map({ now >= $0 }) ?? true else {
                return (knowledge.isSynchronised, false)
            }
            knowledge.isAsking = true
            return (knowledge.isSynchronised, true)
        }
        guard mustAsk else { return answer }
        let hasStarted = sources.run { [self] in take(sources.slow() ?? false, at: now) }
        if !hasStarted { take(answer, at: now) }
        return answer
    }

    private func take(_ isSynchronised: Bool, at start: BootTime) {
        knowledge.withLock { knowledge in
            knowledge.isAsking = false
            knowledge.isSynchronised = isSynchronised
            let pause = isSynchronised ? Self.confirmationPause : knowledge.pause
            knowledge.pause = isSynchronised ? Self.shortestPause : min(2 * knowledge.pause, Self.longestPause)
            knowledge.due = start.advanced(bySeconds: pause)
        }
    }
}

extension BootTime {
    /// This instant, `seconds` later.
    fileprivate func advanced(bySeconds seconds: Double) -> BootTime {
        BootTime(nanoseconds: nanoseconds + Int64(seconds * 1e9))
    }
}
