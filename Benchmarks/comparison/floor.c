// The least that an agent can cost: reads the FIFO of an MPU-6050 every 20 ms through i2c-dev, computes the attitude with
// Mahony's filter, and publishes it ten times a second with libmosquitto. No checks, no true clock, no gestures.
// usage: floor /dev/i2c-N RATE PORT
#include <fcntl.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <math.h>
#include <mosquitto.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

enum { ADDRESS = 0x68, FRAME = 14, CAPACITY = 1024, INTERVAL_NS = 20000000, POLLS_PER_MESSAGE = 5 };

typedef struct {
    double x, y, z;
} vector;

typedef struct {
    double w;
    vector v;
    vector bias;
} filter;

static int bus;

static void transfer(struct i2c_msg *messages, unsigned count) {
    struct i2c_rdwr_ioctl_data request = {.msgs = messages, .nmsgs = count};
    if (ioctl(bus, I2C_RDWR, &request) < 0) {
        perror("I2C_RDWR");
        exit(74);
    }
}

static void write_register(uint8_t address, uint8_t value) {
    uint8_t bytes[] = {address, value};
    transfer(&(struct i2c_msg){.addr = ADDRESS, .len = sizeof bytes, .buf = bytes}, 1);
}

static void read_registers(uint8_t first, uint8_t *bytes, unsigned count) {
    struct i2c_msg messages[] = {
        {.addr = ADDRESS, .len = 1, .buf = &first},
        {.addr = ADDRESS, .flags = I2C_M_RD, .len = (uint16_t)count, .buf = bytes},
    };
    transfer(messages, 2);
}

static void empty_fifo(void) {
    write_register(0x6A, 0x04);
    write_register(0x6A, 0x40);
}

static void set_up(int rate) {
    write_register(0x6B, 0x80);
    usleep(100000);
    write_register(0x6B, 0x01);                      // the gyroscope's clock
    write_register(0x19, (uint8_t)(1000 / rate - 1)); // the rate
    write_register(0x1A, 0x02);                      // low-pass of 94 Hz
    write_register(0x1B, 0x18);                      // ±2000 °/s
    write_register(0x1C, 0x10);                      // ±8 g
    write_register(0x23, 0xF8);                      // all sensors into the FIFO
    empty_fifo();
}

static vector cross(vector a, vector b) {
    return (vector){a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x};
}

// Mahony's complementary filter with a proportional gain of 1 and an integral gain of 0.05.
static void update(filter *f, vector force, vector rate, double dt) {
    double length = sqrt(force.x * force.x + force.y * force.y + force.z * force.z);
    if (length > 0) {
        vector up = {2 * (f->v.x * f->v.z - f->w * f->v.y), 2 * (f->w * f->v.x + f->v.y * f->v.z),
                     f->w * f->w - f->v.x * f->v.x - f->v.y * f->v.y + f->v.z * f->v.z};
        vector error = cross((vector){force.x / length, force.y / length, force.z / length}, up);
        f->bias.x += 0.05 * error.x * dt;
        f->bias.y += 0.05 * error.y * dt;
        f->bias.z += 0.05 * error.z * dt;
        rate.x += error.x + f->bias.x;
        rate.y += error.y + f->bias.y;
        rate.z += error.z + f->bias.z;
    }
    double half = 0.5 * dt, w = f->w;
    vector v = f->v, turned = cross(v, rate);
    f->w -= half * (v.x * rate.x + v.y * rate.y + v.z * rate.z);
    f->v.x += half * (w * rate.x + turned.x);
    f->v.y += half * (w * rate.y + turned.y);
    f->v.z += half * (w * rate.z + turned.z);
    double scale = 1 / sqrt(f->w * f->w + f->v.x * f->v.x + f->v.y * f->v.y + f->v.z * f->v.z);
    f->w *= scale;
    f->v.x *= scale;
    f->v.y *= scale;
    f->v.z *= scale;
}

static double word(const uint8_t *bytes) { return (int16_t)(bytes[0] << 8 | bytes[1]); }

static void publish(struct mosquitto *client, const filter *f) {
    const double degrees = 180 / M_PI;
    vector v = f->v;
    char text[256];
    int length = snprintf(
        text, sizeof text, "{\"roll\":%.2f,\"pitch\":%.2f,\"yaw\":%.2f,\"quaternion\":[%.4f,%.4f,%.4f,%.4f]}",
        degrees * atan2(2 * (f->w * v.x + v.y * v.z), 1 - 2 * (v.x * v.x + v.y * v.y)),
        degrees * asin(fmax(-1, fmin(1, 2 * (f->w * v.y - v.z * v.x)))),
        degrees * atan2(2 * (f->w * v.z + v.x * v.y), 1 - 2 * (v.y * v.y + v.z * v.z)), f->w, v.x, v.y, v.z);
    mosquitto_publish(client, NULL, "floor/attitude", length, text, 0, false);
}

int main(int count, char **words) {
    if (count < 4 || (bus = open(words[1], O_RDWR)) < 0) return 64;
    int rate = atoi(words[2]);
    mosquitto_lib_init();
    struct mosquitto *client = mosquitto_new(NULL, true, NULL);
    if (!client || mosquitto_connect(client, "127.0.0.1", atoi(words[3]), 60) != MOSQ_ERR_SUCCESS) return 69;
    if (mosquitto_loop_start(client) != MOSQ_ERR_SUCCESS) return 71;
    set_up(rate);
    filter state = {.w = 1};
    struct timespec due;
    clock_gettime(CLOCK_MONOTONIC, &due);
    for (unsigned poll = 1;; poll++) {
        due.tv_nsec += INTERVAL_NS;
        if (due.tv_nsec >= 1000000000) {
            due.tv_nsec -= 1000000000;
            due.tv_sec++;
        }
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &due, NULL);
        uint8_t bytes[CAPACITY];
        read_registers(0x72, bytes, 2);
        unsigned filled = (unsigned)(bytes[0] << 8 | bytes[1]);
        if (filled > CAPACITY - FRAME) {
            empty_fifo();
            continue;
        }
        unsigned frames = filled / FRAME;
        if (frames > 0) read_registers(0x74, bytes, frames * FRAME);
        for (const uint8_t *frame = bytes; frame < bytes + frames * FRAME; frame += FRAME) {
            const double force = 9.80665 / 4096, turn = M_PI / 180 / 16.384;
            update(&state, (vector){force * word(frame), force * word(frame + 2), force * word(frame + 4)},
                   (vector){turn * word(frame + 8), turn * word(frame + 10), turn * word(frame + 12)}, 1.0 / rate);
        }
        if (poll % POLLS_PER_MESSAGE == 0) publish(client, &state);
    }
}
