// i2c-dev's ioctl interface, locks on its device files, and libi2c's SMBus calls.
//
// ioctl and fcntl are variadic, so Swift cannot call them: every request that is used has a function here. The functions
// return the kernel's result or -errno. The caller does not read errno, because Swift's runtime may have changed it.
#ifndef JOSTLE_LINUX_I2C_H
#define JOSTLE_LINUX_I2C_H

#include <errno.h>
#include <fcntl.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <sys/ioctl.h>

#include <i2c/smbus.h>

// The C library declares these for _GNU_SOURCE only.
#ifndef F_OFD_SETLK
#define F_OFD_GETLK 36
#define F_OFD_SETLK 37
#endif

// open(2) of an adapter's device file. Returns the descriptor.
static inline int linux_i2c_open(const char *path) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

// I2C_FUNCS: the adapter's capabilities.
static inline int linux_i2c_functionality(int descriptor, unsigned long *functionality) {
    return ioctl(descriptor, I2C_FUNCS, functionality) < 0 ? -errno : 0;
}

// I2C_SLAVE: sets the address for SMBus calls on this descriptor. EBUSY if a kernel driver is bound to the chip.
static inline int linux_i2c_select(int descriptor, unsigned long address) {
    return ioctl(descriptor, I2C_SLAVE, address) < 0 ? -errno : 0;
}

// I2C_RDWR: messages with repeated starts between them and one stop at the end. Returns the number of completed
// messages.
static inline int linux_i2c_transfer(int descriptor, struct i2c_msg *messages, unsigned count) {
    struct i2c_rdwr_ioctl_data request = {.msgs = messages, .nmsgs = count};
    int done = ioctl(descriptor, I2C_RDWR, &request);
    return done < 0 ? -errno : done;
}

// F_OFD_SETLK: locks one byte of a file for the open file behind this descriptor, without waiting. EAGAIN if another open
// file or a process has locked it.
static inline int linux_i2c_lock(int descriptor, unsigned char offset) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    return fcntl(descriptor, F_OFD_SETLK, &lock) < 0 ? -errno : 0;
}

// F_OFD_GETLK: whether another open file or a process has locked a byte: 1 or 0. `process` is that process, or -1 for a
// lock of linux_i2c_lock.
static inline int linux_i2c_is_locked(int descriptor, unsigned char offset, pid_t *process) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = offset, .l_len = 1};
    if (fcntl(descriptor, F_OFD_GETLK, &lock) < 0) return -errno;
    *process = lock.l_pid;
    return lock.l_type != F_UNLCK;
}

#endif
