// Performs only the ioctls of a program that reads an MPU-6050 at 1 kHz: the cost of the fake adapter, of sleeping and
// of the kernel, whatever language the reader is written in. usage: ioctls_alone /dev/i2c-N SECONDS
#include <fcntl.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESS = 0x68, FRAME = 14 };

static int bus;

static void put(uint8_t reg, uint8_t value) {
    uint8_t bytes[2] = {reg, value};
    struct i2c_msg message = {.addr = ADDRESS, .len = 2, .buf = bytes};
    struct i2c_rdwr_ioctl_data request = {&message, 1};
    if (ioctl(bus, I2C_RDWR, &request) < 0) exit(1);
}

static void get(uint8_t reg, uint8_t *buffer, uint16_t count) {
    struct i2c_msg messages[2] = {
        {.addr = ADDRESS, .len = 1, .buf = &reg}, {.addr = ADDRESS, .flags = I2C_M_RD, .len = count, .buf = buffer}};
    struct i2c_rdwr_ioctl_data request = {messages, 2};
    if (ioctl(bus, I2C_RDWR, &request) < 0) exit(1);
}

static double processor_time(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           1e-6 * (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
}

int main(int count, char **words) {
    if (count != 3 || (bus = open(words[1], O_RDWR)) < 0) return 64;
    static const uint8_t set_up[][2] = {{0x6B, 0x01}, {0x19, 0},    {0x1A, 2},    {0x1B, 0x18},
                                        {0x1C, 0x10}, {0x23, 0xF8}, {0x6A, 0x04}, {0x6A, 0x40}};
    for (unsigned i = 0; i < sizeof set_up / sizeof *set_up; i++) put(set_up[i][0], set_up[i][1]);
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    double before = processor_time();
    long samples = 0;
    for (long polls = (long)(atof(words[2]) / 0.02); polls > 0; polls--) {
        due.tv_nsec += 20000000;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        uint8_t bytes[1024];
        get(0x72, bytes, 2);
        long frames = (bytes[0] << 8 | bytes[1]) / FRAME;
        if (frames > 0) get(0x74, bytes, (uint16_t)(frames * FRAME));
        samples += frames;
    }
    if (samples == 0) return 1;
    printf("{\"samples\": %ld, \"us_per_sample\": %.3f}\n", samples, 1e6 * (processor_time() - before) / (double)samples);
}
