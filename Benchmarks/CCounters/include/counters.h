// Counters for benchmarks: heap allocations of this program, instructions of this thread.
#ifndef JOSTLE_COUNTERS_H
#define JOSTLE_COUNTERS_H

#include <stdint.h>

/// Heap allocations of the whole program so far: calls of malloc, calloc, realloc, aligned_alloc, posix_memalign and
/// the older variants. All calls in a program that links this target are counted.
uint64_t counters_allocations(void);

/// Starts counting this thread's instructions in user mode (perf_event_open(2)).
///
/// Returns a descriptor, which the caller must close, or -1 if the kernel or the CPU does not support it.
int counters_open_instructions(void);

/// The instructions since `descriptor` was opened; 0 if they cannot be read.
uint64_t counters_instructions(int descriptor);

/// Makes the optimiser assume that `memory` points to, and all other memory, is read and written here.
static inline void counters_touch(void *memory) {
    __asm__ volatile("" : : "r"(memory) : "memory");
}

#endif
