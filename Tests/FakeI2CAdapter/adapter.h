// The fake adapters of a process: i2c-dev's side of a request, and the ownership of descriptors.
#ifndef ADAPTER_H
#define ADAPTER_H

#include <stddef.h>

#include "FakeI2CAdapter.h"

// Hidden from the program that the library is loaded into.
#pragma GCC visibility push(hidden)

typedef struct adapter adapter;

// The adapter at a path, or NULL.
adapter *adapter_at(const char *path);

// The errno for opening it; 0 if it can be opened.
int adapter_open_error(adapter *adapter);

// The file to open for it, which programs can lock: the regular file at its path, or otherwise one of its own.
void adapter_file(adapter *adapter, char *path, size_t size);

// Assigns a descriptor to an adapter. Returns false if its number is too large.
bool adapter_own(adapter *adapter, int descriptor);

// Removes the assignment, if there is one. Returns for how many milliseconds close is to wait.
unsigned adapter_disown(int descriptor);

// Whether a descriptor belongs to an adapter.
bool adapter_owns(int descriptor);

// Performs an ioctl on such a descriptor. Returns a number or -errno, as the kernel does.
int adapter_request(int descriptor, unsigned long request, void *argument);

// Attaches the adapter described by the environment, if any; once.
void adapter_attach_from_environment(void);

#pragma GCC visibility pop

#endif
