// Replaces the C library's open, open64, ioctl and close. Definitions in a program, or in a library in LD_PRELOAD, take
// precedence over those of all other libraries, also for calls from libi2c.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <sys/types.h>
#include <unistd.h>

#include "adapter.h"
#include "gpiochip.h"

typedef int (*open_function)(const char *, int, ...);
typedef int (*ioctl_function)(int, unsigned long, ...);
typedef int (*close_function)(int);

// The C library's function, looked up at its first use, which may come before any constructor runs.
static void *next(_Atomic(void *) *known, const char *name) {
    void *function = atomic_load_explicit(known, memory_order_relaxed);
    if (!function) {
        function = dlsym(RTLD_NEXT, name);
        atomic_store_explicit(known, function, memory_order_relaxed);
    }
    return function;
}

static int next_close(int descriptor) {
    static _Atomic(void *) known;
    return ((close_function)next(&known, "close"))(descriptor);
}

static int open_or_fake(open_function real, const char *path, int flags, mode_t mode) {
    adapter_attach_from_environment();
    gpiochip_attach_from_environment();
    if (path && gpiochip_is_at(path)) {
        errno = gpiochip_open_error();
        if (errno != 0) return -1;
        int descriptor = real("/dev/null", flags & (O_ACCMODE | O_CLOEXEC));
        if (descriptor >= 0) gpiochip_own(descriptor);
        return descriptor;
    }
    adapter *adapter = path ? adapter_at(path) : NULL;
    if (!adapter) return real(path, flags, mode);
    errno = adapter_open_error(adapter);
    if (errno != 0) return -1;
    // A real descriptor, so that everything else about it works, and a file of its own, so that locks do.
    char file[160];
    adapter_file(adapter, file, sizeof file);
    int descriptor = real(file, flags & (O_ACCMODE | O_CLOEXEC));
    if (descriptor >= 0 && !adapter_own(adapter, descriptor)) {
        next_close(descriptor);
        errno = EMFILE;
        return -1;
    }
    return descriptor;
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE ? va_arg(arguments, mode_t) : 0;
}

int open(const char *path, int flags, ...) {
    static _Atomic(void *) known;
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_or_fake((open_function)next(&known, "open"), path, flags, mode);
}

int open64(const char *path, int flags, ...) {
    static _Atomic(void *) known;
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = mode_of(flags, arguments);
    va_end(arguments);
    return open_or_fake((open_function)next(&known, "open64"), path, flags, mode);
}

int ioctl(int descriptor, unsigned long request, ...) {
    static _Atomic(void *) known;
    va_list arguments;
    va_start(arguments, request);
    void *argument = va_arg(arguments, void *);
    va_end(arguments);
    bool is_chip = gpiochip_owns(descriptor);
    if (!is_chip && !adapter_owns(descriptor)) {
        return ((ioctl_function)next(&known, "ioctl"))(descriptor, request, argument);
    }
    int answer = is_chip ? gpiochip_request(descriptor, request, argument)
                         : adapter_request(descriptor, request, argument);
    if (answer >= 0) return answer;
    errno = -answer;
    return -1;
}

int close(int descriptor) {
    // First, because the number may be reused as soon as it is closed.
    unsigned pause = adapter_disown(descriptor);
    gpiochip_disown(descriptor);
    int answer = next_close(descriptor);
    if (pause > 0) usleep(1000 * pause);
    return answer;
}
