// Counters for benchmarks: heap allocations of this program, instructions of this thread.
#ifndef JOSTLE_COUNTERS_H
#define JOSTLE_COUNTERS_H

#include <stdint.h>

/// Heap allocations of the whole program so far: calls of malloc, calloc, realloc, aligned_alloc, posix_memalign and
/// their elder relatives. A program that links this target has all of them counted.
uint64_t counters_allocations(void);

/// Begins to count this thread's instructions in user mode (perf_event_open(2)).
///
/// Returns a descriptor, to be closed by the caller, or -1 where the kernel or the processor does not count.
int counters_open_instructions(void);

/// The instructions since `descriptor` was opened, or 0 where they cannot be read.
uint64_t counters_instructions(int descriptor);

/// Pretends to the optimiser that what `memory` points to, and all it knows to be in memory, is read and written here.
static inline void counters_touch(void *memory) {
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
