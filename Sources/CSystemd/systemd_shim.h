// libsystemd's readiness and watchdog notification.
#ifndef JOSTLE_SYSTEMD_SHIM_H
#define JOSTLE_SYSTEMD_SHIM_H

#include <systemd/sd-daemon.h>

#endif
