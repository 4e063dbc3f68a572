internal import CCounters
internal import Glibc

/// Heap allocations of the whole program so far.
func heapAllocations() -> UInt64 { counters_allocations() }

/// Nanoseconds of CPU time used by this thread so far. Other programs affect it only through the caches
/// (`clock_gettime`).
func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The CPU's count of this thread's instructions in user mode (`perf_event_open`).
struct InstructionCounter: ~Copyable {
    private let descriptor: Int32

    /// Starts counting; `nil` if the kernel does not permit it, or the CPU (a virtual one) does not support it.
    init?() {
        let descriptor = counters_open_instructions()
        guard descriptor >= 0 else { return nil }
        self.descriptor = descriptor
    }

    deinit {
        close(descriptor)
    }

    /// The instructions so far.
    var count: UInt64 { counters_instructions(descriptor) }
}
