// Parts of the C library and the kernel's interface that Swift's Glibc module lacks: epoll, eventfd, signalfd, statvfs,
// adjtimex, extended attributes, rtnetlink, GNU extensions of POSIX threads and poll, and `stdout`.
#ifndef JOSTLE_LINUX_SYSTEM_H
#define JOSTLE_LINUX_SYSTEM_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <sys/xattr.h>
#include <time.h>

// The headers declare these only if _GNU_SOURCE is defined before the first of them, which a module cannot do.
extern pid_t gettid(void);
extern int pipe2(int[2], int);
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);

// Swift 6 does not let a program name the variable `stdout`. Returns whether everything was written to it.
static inline int jostle_standard_output_is_written(void) {
    return fflush(stdout) == 0 && !ferror(stdout);
}

#endif
