// What of the C library Swift's Glibc module leaves out: eventfd, signalfd, statvfs, adjtimex, and GNU's additions to POSIX threads and poll.
#ifndef JOSTLE_LINUX_SYSTEM_H
#define JOSTLE_LINUX_SYSTEM_H

#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <time.h>

// Declared by the headers only where _GNU_SOURCE was defined before the first of them, which a module cannot do.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);

#endif
