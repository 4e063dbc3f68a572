// Parts of the C library and the kernel's interface that Swift's Glibc module lacks: epoll, eventfd, signalfd, statvfs,
// adjtimex, rtnetlink, and GNU extensions of POSIX threads and poll.
#ifndef JOSTLE_LINUX_SYSTEM_H
#define JOSTLE_LINUX_SYSTEM_H

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/timex.h>
#include <time.h>

// The headers declare these only if _GNU_SOURCE is defined before the first of them, which a module cannot do.
extern int ppoll(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *);
extern int pthread_setname_np(pthread_t, const char *);

#endif
