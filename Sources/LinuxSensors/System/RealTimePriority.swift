internal import Glibc

/// Real-time priority for a thread that sleeps nearly all the time.
///
/// No ordinary thread can then delay the read of a due batch, so a chip's FIFO is emptied in time however busy the
/// board is. If such a thread ever spins, two things keep the board responsive: the kernel reserves 5 % for other
/// threads (sched_rt_runtime_us), and systemd restarts the service (LimitRTTIME= in its unit).
package enum RealTimePriority {
    /// The lowest real-time priority: above all ordinary threads, below the kernel's interrupt threads (50).
    static let lowest: Int32 = 1

    /// Makes child threads and processes ordinary ones (linux/sched.h; Glibc declares it for _GNU_SOURCE only).
    static let resetOnFork: Int32 = 0x4000_0000

    /// Requests it for the calling thread (`sched_setscheduler`, SCHED_FIFO). A thread that already has a real-time
    /// policy keeps it.
    ///
    /// - Returns: whether the thread has it. By default a process has no right to it: it needs CAP_SYS_NICE or
    ///   RLIMIT_RTPRIO.
    @discardableResult
    package static func claim() -> Bool {
        let policy = sched_getscheduler(0)
        if policy >= 0, [SCHED_FIFO, SCHED_RR].contains(policy & ~resetOnFork) { return true }
        var parameters = sched_param()
        parameters.sched_priority = lowest
        return sched_setscheduler(0, SCHED_FIFO | resetOnFork, &parameters) == 0
    }
}
