// libsystemd's readiness and watchdog notification, its D-Bus client and its journal.
#ifndef JOSTLE_SYSTEMD_SHIM_H
#define JOSTLE_SYSTEMD_SHIM_H

#include <systemd/sd-bus.h>
#include <systemd/sd-daemon.h>

// The position in C code, which would be added to each entry.
#define SD_JOURNAL_SUPPRESS_LOCATION
#include <systemd/sd-journal.h>

#endif
