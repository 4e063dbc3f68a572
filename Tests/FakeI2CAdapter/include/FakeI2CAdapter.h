// A fake of /dev/i2c-N with an MPU-6050 on it, at the level of the C library: open, ioctl and close on its path behave
// as i2c-dev and an adapter's driver. Calls for other paths go to the C library unchanged.
//
// If it is linked into a test, the functions below configure it. If it is loaded into a program with LD_PRELOAD, the
// environment does:
//
//     FAKE_I2C=/dev/i2c-7
//     FAKE_I2C_OPTIONS=bcm2835,clock=400000,ppm=12000,shake=2-4:20:3,fail=120x5:ETIMEDOUT:35
//
//     bcm2835            at most one read message per transfer, and last, as on a Raspberry Pi up to 4
//     busy               a kernel driver is bound to the chip: I2C_SLAVE returns EBUSY
//     open=ERRNO         the device file cannot be opened
//     funcs=MASK         the result of I2C_FUNCS; by default that of a plain I2C adapter that also emulates SMBus
//     longest=BYTES      a longer read message returns EOPNOTSUPP, as with some USB adapters
//     nak=ERRNO          the error for an address without a chip; EREMOTEIO by default
//     clock=HZ           transactions take the time that they would at this bus clock; waits below 0.5 ms are added to
//                        the next one; none by default
//     address=N who=N    the chip's address and identity; both 0x68 by default
//     ppm=N              the chip's oscillator is fast by this
//     shake=A-B:ACC:HZ   from A to B seconds after the start, ±ACC m/s² along x, HZ times a second
//     every=SECONDS      the shake repeats
//     unplug=A-B         from A to B seconds after the start the chip is disconnected from bus and supply
//     moves=A-B:N        from A to B seconds after the start the chip's address is N: its address pin floats
//     brownout=SECONDS   the chip's supply dips this long after the start: its registers are as after power-on
//     down=A-B:ERRNO     from A to B seconds after the start every transaction fails
//     gone=A-B:ERRNO     from A to B seconds after the start the adapter is unplugged: there is no device file, and
//                        descriptors opened before return ERRNO from then on
//     selftest=PERCENT   the factory recorded self-test responses, from which the chip now deviates by this much;
//                        without this option, it recorded none
//     fail=N[xCOUNT]:ERRNO[:MS]  transactions from the Nth on fail after MS milliseconds; may be repeated
//
// As a product of the package, the library brings Swift's runtime with it. For measuring a program that has its own,
// build it with:
//
//     cc -shared -fPIC -O2 -I Tests/FakeI2CAdapter/include Tests/FakeI2CAdapter/*.c -lm -o libFakeI2CAdapter.so
//
// Each program has an adapter and a chip of its own, even at the same path. If there is a regular file at the path, they
// share the locks on that file; otherwise they share nothing. An unknown option ends the program with status 64, so that
// no test passes because of a typing error.
#ifndef FAKE_I2C_ADAPTER_H
#define FAKE_I2C_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "FakeGPIOChip.h"
#include "mpu6050.h"

// The properties of an adapter and its chip. An error of 0 means success; `functionality_error` is that of I2C_FUNCS.
// close returns `close_ms` after it has released the locks.
typedef struct {
    unsigned long functionality;
    bool kernel_driver;
    bool single_read_message;
    int open_error;
    int functionality_error;
    uint32_t close_ms;
    int absent_error;
    uint32_t longest_read;
    uint32_t clock_hz;
    uint8_t address;
    uint8_t identity;
    double clock_error_ppm;
    double shake_from_s;
    double shake_until_s;
    double shake_every_s;
    double shake_m_s2;
    double shake_hz;
    bool factory_trim;
    double self_test_error_percent;
    double unplugged_from_s;
    double unplugged_until_s;
    double moved_from_s;
    double moved_until_s;
    uint8_t moved_address;
    double brown_out_s;
    double down_from_s;
    double down_until_s;
    int down_error;
    double gone_from_s;
    double gone_until_s;
    int gone_error;
} fake_i2c_settings;

// One message as received by the adapter, with its first bytes.
typedef struct {
    uint16_t address;
    uint16_t flags;
    uint16_t length;
    uint8_t bytes[4];
} fake_i2c_message;

// One transfer as received by the adapter. `smbus_size` is the call's I2C_SMBUS_… code, -1 for I2C_RDWR.
typedef struct {
    int smbus_size;
    int count;
    fake_i2c_message messages[4];
} fake_i2c_transfer;

// An adapter like a Raspberry Pi 4's, with a healthy chip at rest.
fake_i2c_settings fake_i2c_default_settings(void);

// Attaches an adapter at a path. Returns its handle, -1 if there are too many.
int fake_i2c_attach(const char *path, const fake_i2c_settings *settings);

// Detaches it. Descriptors that are still open keep it until they are closed.
void fake_i2c_detach(int adapter);

// Makes `count` transactions from the `first` on (1 is the very first) fail with `error` after `hold_ms`.
bool fake_i2c_fail(int adapter, uint64_t first, uint64_t count, int error, unsigned hold_ms);

// Transactions that reached the adapter, including failed ones.
uint64_t fake_i2c_transactions(int adapter);

// The last transfer.
fake_i2c_transfer fake_i2c_last_transfer(int adapter);

// Requests that no well-behaved program makes: I2C_SLAVE_FORCE, I2C_TIMEOUT, I2C_RETRIES.
unsigned fake_i2c_rude_requests(int adapter);

// Open descriptors of the adapter.
unsigned fake_i2c_open_descriptors(int adapter);

// Unplugs the adapter's chip, or plugs it in again.
void fake_i2c_set_absent(int adapter, bool absent);

// Unplugs the adapter with its chip, or plugs it in again. Older descriptors stay useless.
void fake_i2c_set_pulled_out(int adapter, bool pulled_out);

#endif
