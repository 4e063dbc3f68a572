// A simple MPU-6050 at register level, as RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4 describe it: what the chip
// does when it is asked, not how a driver asks. It makes its samples by the time that it is shown.
//
// Not modelled: the auxiliary bus, the motion processor and cycle mode. Its INT pin leads to the fake GPIO chip.
#ifndef MPU6050_H
#define MPU6050_H

#include <stdint.h>

typedef struct mpu6050 mpu6050;

// A sinusoidal shake along x, in seconds since the chip was powered; repeated after `every_s`, unless that is zero.
typedef struct {
    double from_s, until_s, every_s, m_s2, hz;
} mpu6050_shake;

// Powers a chip up at an instant. NULL where there is no memory.
mpu6050 *mpu6050_new(uint8_t identity, double clock_error_ppm, mpu6050_shake shake, int64_t now_ns);

// Has the factory note what the self-test does, and lets it do that with an error. Without, it noted and does nothing.
void mpu6050_set_factory_trim(mpu6050 *chip, double error_percent);

// Its supply is gone for a moment: everything is as after power-on.
void mpu6050_power_cycle(mpu6050 *chip);

// Takes it away.
void mpu6050_free(mpu6050 *chip);

// Lets time pass to an instant.
void mpu6050_advance(mpu6050 *chip, int64_t now_ns);

// The register that the next byte is read from or written to.
void mpu6050_point(mpu6050 *chip, uint8_t address);

// Reads the next byte of a burst.
uint8_t mpu6050_read(mpu6050 *chip);

// Reads the next bytes of a burst.
void mpu6050_read_burst(mpu6050 *chip, uint8_t *bytes, unsigned count);

// Writes the next byte of a burst.
void mpu6050_write(mpu6050 *chip, uint8_t value);

#endif
