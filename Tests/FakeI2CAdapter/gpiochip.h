// The fake GPIO chip's interface for the interposed calls.
#ifndef GPIOCHIP_H
#define GPIOCHIP_H

#include "FakeGPIOChip.h"

#pragma GCC visibility push(hidden)

// Whether a path is the chip's, and the errno for opening it; 0 if it can be opened.
bool gpiochip_is_at(const char *path);
int gpiochip_open_error(void);

// Assigns a descriptor to the chip, and removes the assignment; the latter does nothing if there is none.
bool gpiochip_own(int descriptor);
void gpiochip_disown(int descriptor);
bool gpiochip_owns(int descriptor);

// Performs an ioctl. Returns a number or -errno, as the kernel does.
int gpiochip_request(int descriptor, unsigned long request, void *argument);

// The fake adapter's chip raises its INT pin.
void gpiochip_raise_wired(int64_t instant_ns);

// Attaches the chip described by the environment, if any.
void gpiochip_attach_from_environment(void);

#pragma GCC visibility pop

#endif
