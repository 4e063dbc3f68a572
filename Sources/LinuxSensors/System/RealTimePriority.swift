internal import Glibc

/// The right of way before every ordinary thread of the machine, for a thread that sleeps nearly always.
///
/// Between a batch's instant and its reading nothing else then gets the processor, so that a chip's FIFO is emptied in time
/// however busy the board is. What keeps such a thread from holding up the board if it ever spins: the kernel leaves 5 % to
/// the others (sched_rt_runtime_us), and the service is ended and started again (LimitRTTIME= in its unit).
package enum RealTimePriority {
    /// The lowest there is: above all ordinary threads, below every thread of the kernel that handles interrupts (50).
    static let lowest: Int32 = 1

    /// So that threads and processes that the thread starts are ordinary ones (linux/sched.h; Glibc has it for _GNU_SOURCE only).
    static let resetOnFork: Int32 = 0x4000_0000

    /// Asks for the calling thread (`sched_setscheduler`, SCHED_FIFO); a thread that has a real-time policy keeps it.
    ///
    /// - Returns: whether the thread has it. A process has no right to it by default: it takes CAP_SYS_NICE or RLIMIT_RTPRIO.
    @discardableResult
    package static func claim() -> Bool {
        let policy = sched_getscheduler(0)
        if policy >= 0, [SCHED_FIFO, SCHED_RR].contains(policy & ~resetOnFork) { return true }
        var parameters = sched_param()
        parameters.sched_priority = lowest
        return sched_setscheduler(0, SCHED_FIFO | resetOnFork, &parameters) == 0
    }
}
