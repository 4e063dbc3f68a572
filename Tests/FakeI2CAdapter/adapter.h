// The fake adapters of a process: what i2c-dev does with a request, and which descriptors are whose.
#ifndef ADAPTER_H
#define ADAPTER_H

#include "FakeI2CAdapter.h"

// Not for the program that the library is loaded into.
#pragma GCC visibility push(hidden)

typedef struct adapter adapter;

// The adapter at a path, or NULL.
adapter *adapter_at(const char *path);

// errno that opening it is answered with, 0 where it opens.
int adapter_open_error(adapter *adapter);

// Hands a descriptor over to an adapter. False where its number is too large.
bool adapter_own(adapter *adapter, int descriptor);

// Gives it back; nothing where it is no adapter's.
void adapter_disown(int descriptor);

// Whether a descriptor is an adapter's.
bool adapter_owns(int descriptor);

// Does what an ioctl on such a descriptor asks. Answers as the kernel does: a number, or -errno.
int adapter_request(int descriptor, unsigned long request, void *argument);

// Attaches the adapter that the environment describes, if it does; once.
void adapter_attach_from_environment(void);

#pragma GCC visibility pop

#endif
