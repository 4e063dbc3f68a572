// A simple register-level model of the MPU-6050 after RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4. It models the
// chip's behaviour, independently of any driver, and produces samples according to the time passed in.
//
// Not modelled: the auxiliary bus, the motion processor and cycle mode. Its INT pin is connected to the fake GPIO chip.
#ifndef MPU6050_H
#define MPU6050_H

#include <stdint.h>

typedef struct mpu6050 mpu6050;

// A sinusoidal shake along x, in seconds since power-on; repeats every `every_s` seconds unless that is zero.
typedef struct {
    double from_s, until_s, every_s, m_s2, hz;
} mpu6050_shake;

// Powers a chip up at a given time. NULL if there is no memory.
mpu6050 *mpu6050_new(uint8_t identity, double clock_error_ppm, mpu6050_shake shake, int64_t now_ns);

// Gives the chip recorded self-test responses, and a deviation from them. Without this call it has none.
void mpu6050_set_factory_trim(mpu6050 *chip, double error_percent);

// A brown-out: the registers are as after power-on.
void mpu6050_power_cycle(mpu6050 *chip);

// Frees the chip.
void mpu6050_free(mpu6050 *chip);

// Advances the time.
void mpu6050_advance(mpu6050 *chip, int64_t now_ns);

// Sets the register for the next byte read or written.
void mpu6050_point(mpu6050 *chip, uint8_t address);

// Reads the next byte of a burst.
uint8_t mpu6050_read(mpu6050 *chip);

// Reads the next bytes of a burst.
void mpu6050_read_burst(mpu6050 *chip, uint8_t *bytes, unsigned count);

// Writes the next byte of a burst.
void mpu6050_write(mpu6050 *chip, uint8_t value);

#endif
