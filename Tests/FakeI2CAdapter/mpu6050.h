// A simple MPU-6050 at register level, as RM-MPU-6000A-00 r4.2 and PS-MPU-6000A-00 r3.4 describe it: what the chip
// does when it is asked, not how a driver asks. It makes its samples by the time that it is shown.
//
// Not modelled: the auxiliary bus, the motion processor, cycle mode, self-test, and interrupts on a pin.
#ifndef MPU6050_H
#define MPU6050_H

#include <stdbool.h>
#include <stdint.h>

enum { MPU6050_FIFO_SIZE = 1024 };

// A sinusoidal shake along x, in seconds since the chip was made.
typedef struct {
    double from_s, until_s, every_s, m_s2, hz;
} mpu6050_shake;

typedef struct {
    uint8_t identity;
    double clock_error_ppm;
    mpu6050_shake shake;

    uint8_t registers[128];
    uint8_t pointer;

    uint8_t fifo[MPU6050_FIFO_SIZE];
    unsigned fifo_head, fifo_count;
    uint8_t fifo_last;

    int64_t made_ns;
    int64_t now_ns;
    int64_t reset_until_ns;
    double next_sample_ns;
    uint32_t noise;
} mpu6050;

// Powers a chip up at an instant.
void mpu6050_init(mpu6050 *chip, uint8_t identity, double clock_error_ppm, mpu6050_shake shake, int64_t now_ns);

// Lets time pass to an instant.
void mpu6050_advance(mpu6050 *chip, int64_t now_ns);

// The register that the next byte is read from or written to.
void mpu6050_point(mpu6050 *chip, uint8_t address);

// Reads the next byte of a burst.
uint8_t mpu6050_read(mpu6050 *chip);

// Writes the next byte of a burst.
void mpu6050_write(mpu6050 *chip, uint8_t value);

#endif
