// A fake of /dev/i2c-N with an MPU-6050 on it, below the C library: open, ioctl and close of a path answer as i2c-dev
// and an adapter's driver would. Everything that is not its path goes to the C library as ever.
//
// Linked into a test, it is told what to be with the functions below. Loaded into any program with LD_PRELOAD, the
// environment tells it:
//
//     FAKE_I2C=/dev/i2c-7
//     FAKE_I2C_OPTIONS=bcm2835,clock=400000,ppm=12000,shake=2-4:20:3,fail=120x5:ETIMEDOUT:35
//
//     bcm2835            at most one read message in a transfer, and last, as on a Raspberry Pi up to 4
//     busy               a kernel driver is bound to the chip: I2C_SLAVE says EBUSY
//     open=ERRNO         the device file cannot be opened
//     funcs=MASK         what I2C_FUNCS says; a plain I2C adapter that also emulates SMBus by default
//     longest=BYTES      a longer read message says EOPNOTSUPP, as with some adapters on USB
//     nak=ERRNO          what an address says at which there is nothing; EREMOTEIO by default
//     clock=HZ           transactions take the time that they take at this bus clock, those below 0.5 ms together with
//                        the next; none by default
//     address=N who=N    the chip's address and identity; 0x68 both by default
//     ppm=N              the chip's oscillator is fast by this
//     shake=A-B:ACC:HZ   from A to B seconds after the start, ±ACC m/s² along x, HZ times a second
//     every=SECONDS      the shake repeats
//     unplug=A-B         from A to B seconds after the start the chip is off its wires, and off its supply
//     brownout=SECONDS   the chip's supply dips so long after the start: its registers are as after power-on
//     down=A-B:ERRNO     from A to B seconds after the start every transaction fails
//     gone=A-B:ERRNO     from A to B seconds after the start the adapter is pulled out: there is no device file, and what was
//                        opened before says ERRNO from then on
//     selftest=PERCENT   the factory noted responses to the self-test, which are now off by so much; without, it noted none
//     fail=N[xCOUNT]:ERRNO[:MS]  transactions from the Nth on fail, having taken MS milliseconds; may be repeated
//
// As a product of the package the library brings Swift's runtime with it. To measure a program that has its own, make
// it with: cc -shared -fPIC -O2 -I Tests/FakeI2CAdapter/include Tests/FakeI2CAdapter/*.c -lm -o libFakeI2CAdapter.so
//
// Programs that run at the same time want paths of their own, as the agent's lock on a chip is the machine's. An option
// that the fake does not know ends the program with status 64, so that no test passes by a typing error.
#ifndef FAKE_I2C_ADAPTER_H
#define FAKE_I2C_ADAPTER_H

#include <stdbool.h>
#include <stdint.h>

#include "FakeGPIOChip.h"
#include "mpu6050.h"

// What an adapter and its chip are. The errors are 0 where it works; `functionality_error` is that of I2C_FUNCS.
typedef struct {
    unsigned long functionality;
    bool kernel_driver;
    bool single_read_message;
    int open_error;
    int functionality_error;
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
    double brown_out_s;
    double down_from_s;
    double down_until_s;
    int down_error;
    double gone_from_s;
    double gone_until_s;
    int gone_error;
} fake_i2c_settings;

// One message as it reached the adapter, with its first bytes.
typedef struct {
    uint16_t address;
    uint16_t flags;
    uint16_t length;
    uint8_t bytes[4];
} fake_i2c_message;

// One transfer as it reached the adapter. `smbus_size` is I2C_SMBUS_…'s code of the call, -1 for I2C_RDWR.
typedef struct {
    int smbus_size;
    int count;
    fake_i2c_message messages[4];
} fake_i2c_transfer;

// An adapter like a Raspberry Pi 4's with a healthy chip at rest.
fake_i2c_settings fake_i2c_default_settings(void);

// Puts an adapter at a path. Answers its handle, -1 where there are too many.
int fake_i2c_attach(const char *path, const fake_i2c_settings *settings);

// Takes it away; descriptors that are still open keep it until they are closed.
void fake_i2c_detach(int adapter);

// Makes `count` transactions from the `first` on (1 is the first of all) fail with `error`, taking `hold_ms`.
bool fake_i2c_fail(int adapter, uint64_t first, uint64_t count, int error, unsigned hold_ms);

// Transactions that reached the adapter, failed ones too.
uint64_t fake_i2c_transactions(int adapter);

// The last of them.
fake_i2c_transfer fake_i2c_last_transfer(int adapter);

// Requests that no well-behaved program makes: I2C_SLAVE_FORCE, I2C_TIMEOUT, I2C_RETRIES.
unsigned fake_i2c_rude_requests(int adapter);

// Descriptors of the adapter that are open.
unsigned fake_i2c_open_descriptors(int adapter);

// The adapter's chip is unplugged, or plugged in again.
void fake_i2c_set_absent(int adapter, bool absent);

// The adapter is pulled out, its chip with it, or plugged in again; descriptors from before are of no use any more.
void fake_i2c_set_pulled_out(int adapter, bool pulled_out);

#endif
