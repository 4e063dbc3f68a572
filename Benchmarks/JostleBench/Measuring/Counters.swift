internal import CCounters
internal import Glibc

/// Heap allocations of the whole program so far.
func heapAllocations() -> UInt64 { counters_allocations() }

/// Nanoseconds of processor time that this thread has used so far: other programs on the machine do not add to it, but
/// for what they do to the caches (`clock_gettime`).
func processorTime() -> UInt64 {
    var time = timespec()
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return UInt64(time.tv_sec) * 1_000_000_000 + UInt64(time.tv_nsec)
}

/// The processor's count of this thread's instructions in user mode (`perf_event_open`).
struct InstructionCounter: ~Copyable {
    private let descriptor: Int32

    /// Begins to count; `nil` where the kernel does not let this user, or the processor (a virtual one) cannot.
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
