#define _GNU_SOURCE
#include <linux/perf_event.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "counters.h"

int counters_open_instructions(void) {
    struct perf_event_attr attributes;
    memset(&attributes, 0, sizeof attributes);
    attributes.size = sizeof attributes;
    attributes.type = PERF_TYPE_HARDWARE;
    attributes.config = PERF_COUNT_HW_INSTRUCTIONS;
    // What kernels permit every user to count: perf_event_paranoid is 2 on most.
    attributes.exclude_kernel = 1;
    attributes.exclude_hv = 1;
    return (int)syscall(SYS_perf_event_open, &attributes, 0, -1, -1, PERF_FLAG_FD_CLOEXEC);
}

uint64_t counters_instructions(int descriptor) {
    uint64_t count = 0;
    return read(descriptor, &count, sizeof count) == (ssize_t)sizeof count ? count : 0;
}
