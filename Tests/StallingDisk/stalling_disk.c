// Replaces the C library's fsync, write, rename and related calls: see stalling_disk.h.
#define _GNU_SOURCE
#include "stalling_disk.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

static bool is_below(const char *path) {
    const char *root = getenv("STALLING_DISK");
    return root && path && strncmp(path, root, strlen(root)) == 0;
}

static bool is_stalled(void) {
    const char *flag = getenv("STALLING_DISK_SWITCH");
    return flag && access(flag, F_OK) == 0;
}

static void wait_for_path(const char *path) {
    if (!is_below(path)) return;
    while (is_stalled()) nanosleep(&(struct timespec){.tv_nsec = 10000000}, NULL);
}

static void wait_for_file(int descriptor) {
    if (!getenv("STALLING_DISK") || !is_stalled()) return;
    char link[64], path[PATH_MAX];
    snprintf(link, sizeof link, "/proc/self/fd/%d", descriptor);
    ssize_t length = readlink(link, path, sizeof path - 1);
    if (length <= 0) return;
    path[length] = 0;
    wait_for_path(path);
}

// Defines a function that waits before it calls the C library's.
#define WAITING(result, name, parameters, arguments, wait)                                    \
    result name parameters {                                                                  \
        static result(*real) parameters;                                                      \
        if (!real) real = (result(*) parameters)dlsym(RTLD_NEXT, #name);                      \
        wait;                                                                                 \
        return real arguments;                                                                \
    }

WAITING(int, fsync, (int file), (file), wait_for_file(file))
WAITING(int, fdatasync, (int file), (file), wait_for_file(file))
WAITING(int, ftruncate, (int file, off_t length), (file, length), wait_for_file(file))
WAITING(int, ftruncate64, (int file, off64_t length), (file, length), wait_for_file(file))
WAITING(ssize_t, write, (int file, const void *bytes, size_t count), (file, bytes, count), wait_for_file(file))
WAITING(
    ssize_t, pwrite, (int file, const void *bytes, size_t count, off_t offset), (file, bytes, count, offset),
    wait_for_file(file))
WAITING(
    ssize_t, pwrite64, (int file, const void *bytes, size_t count, off64_t offset), (file, bytes, count, offset),
    wait_for_file(file))
WAITING(int, rename, (const char *from, const char *to), (from, to), wait_for_path(to))
WAITING(int, unlink, (const char *path), (path), wait_for_path(path))

// Opening a file to create or change it waits too.
#define OPENING(name)                                                                         \
    int name(const char *path, int flags, ...) {                                              \
        static int (*real)(const char *, int, ...);                                           \
        if (!real) real = (int (*)(const char *, int, ...))dlsym(RTLD_NEXT, #name);           \
        mode_t mode = 0;                                                                      \
        if (flags & O_CREAT || (flags & O_TMPFILE) == O_TMPFILE) {                            \
            va_list arguments;                                                                \
            va_start(arguments, flags);                                                       \
            mode = va_arg(arguments, mode_t);                                                 \
            va_end(arguments);                                                                \
        }                                                                                     \
        if (flags & (O_CREAT | O_TRUNC)) wait_for_path(path);                                 \
        return real(path, flags, mode);                                                       \
    }

OPENING(open)
OPENING(open64)
