// The fake GPIO chip as the interposed calls see it.
#ifndef GPIOCHIP_H
#define GPIOCHIP_H

#include "FakeGPIOChip.h"

#pragma GCC visibility push(hidden)

// Whether a path is the chip's, and errno that opening it is answered with, 0 where it opens.
bool gpiochip_is_at(const char *path);
int gpiochip_open_error(void);

// Hands a descriptor over to the chip, and takes it back; nothing where it is none of the chip's.
bool gpiochip_own(int descriptor);
void gpiochip_disown(int descriptor);
bool gpiochip_owns(int descriptor);

// Does what an ioctl asks. Answers as the kernel does: a number, or -errno.
int gpiochip_request(int descriptor, unsigned long request, void *argument);

// The fake adapter's chip raises its INT pin.
void gpiochip_raise_wired(int64_t instant_ns);

// Attaches the chip that the environment describes, if it does.
void gpiochip_attach_from_environment(void);

#pragma GCC visibility pop

#endif
