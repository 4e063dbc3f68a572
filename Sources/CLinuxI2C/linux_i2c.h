// i2c-dev's ioctl interface and libi2c's SMBus calls.
#ifndef JOSTLE_LINUX_I2C_H
#define JOSTLE_LINUX_I2C_H

#include <linux/i2c.h>
#include <linux/i2c-dev.h>
#include <i2c/smbus.h>

#endif
