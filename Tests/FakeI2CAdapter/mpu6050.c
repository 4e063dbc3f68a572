#include "mpu6050.h"

#include "gpiochip.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

enum { FIFO_SIZE = 1024 };

struct mpu6050 {
    uint8_t identity;
    double clock_error_ppm;
    mpu6050_shake shake;
    bool has_trim;
    double self_test_gain;

    uint8_t registers[128];
    uint8_t pointer;

    uint8_t fifo[FIFO_SIZE];
    unsigned fifo_head, fifo_count;
    uint8_t fifo_last;

    int64_t made_ns;
    int64_t now_ns;
    int64_t reset_until_ns;
    double next_sample_ns;
    uint32_t noise;
};

// Registers (RM section 3).
enum {
    SELF_TEST_X = 0x0D,
    SMPLRT_DIV = 0x19,
    CONFIG = 0x1A,
    GYRO_CONFIG = 0x1B,
    ACCEL_CONFIG = 0x1C,
    FIFO_EN = 0x23,
    INT_PIN_CFG = 0x37,
    INT_ENABLE = 0x38,
    INT_STATUS = 0x3A,
    ACCEL_XOUT_H = 0x3B,
    GYRO_ZOUT_L = 0x48,
    SIGNAL_PATH_RESET = 0x68,
    USER_CTRL = 0x6A,
    PWR_MGMT_1 = 0x6B,
    FIFO_COUNT_H = 0x72,
    FIFO_COUNT_L = 0x73,
    FIFO_R_W = 0x74,
    WHO_AM_I = 0x75,
};

enum {
    DEVICE_RESET = 0x80, // PWR_MGMT_1
    SLEEP = 0x40,
    USER_FIFO_EN = 0x40, // USER_CTRL
    FIFO_RESET = 0x04,
    SELF_CLEARING = 0x07, // FIFO_RESET, I2C_MST_RESET, SIG_COND_RESET
    FIFO_OFLOW = 0x10,    // INT_STATUS
    DATA_RDY = 0x01,
};

static const double standard_gravity = 9.80665;
static const double nanoseconds = 1e9;
// PS section 6.1: 30 ms from sleep until the gyroscope measures.
static const double start_up_ns = 30e6;
// The manuals do not specify the duration of a reset; libdriver's register test relies on less than 10 ms.
static const int64_t reset_ns = 5000000;

// The readings of this chip at rest: within the zero-rate and zero-g tolerances of PS sections 6.1 and 6.2, and
// different on each axis so that axes cannot be confused.
static const double zero_g_offset_g[3] = {0.021, -0.034, 0.047};
static const double zero_rate_offset_dps[3] = {1.3, -2.1, 0.7};
static const double noise_g = 0.004;
static const double noise_dps = 0.08;
static const double temperature_c = 24.5;

// The factory's self-test codes 15, 17, 13 and 16, 18, 14, packed as in RM section 4.1, and the responses that its
// formulas give for them.
static const uint8_t factory_trim[4] = {0x8F, 0x91, 0x6D, 0x0A};
static const double trim_dps[3] = {46.9228, -51.3389, 42.8865};
static const double trim_g[3] = {0.559285, 0.597660, 0.523375};

static void load_defaults(mpu6050 *chip) {
    memset(chip->registers, 0, sizeof chip->registers);
    // RM section 3: all zero except these two.
    chip->registers[PWR_MGMT_1] = SLEEP;
    chip->registers[WHO_AM_I] = chip->identity;
    if (chip->has_trim) memcpy(&chip->registers[SELF_TEST_X], factory_trim, sizeof factory_trim);
    chip->fifo_head = chip->fifo_count = 0;
}

mpu6050 *mpu6050_new(uint8_t identity, double clock_error_ppm, mpu6050_shake shake, int64_t now_ns) {
    mpu6050 *chip = calloc(1, sizeof *chip);
    if (!chip) return NULL;
    chip->identity = identity;
    chip->clock_error_ppm = clock_error_ppm;
    chip->shake = shake;
    chip->made_ns = chip->now_ns = now_ns;
    chip->noise = 0x6050u;
    load_defaults(chip);
    return chip;
}

void mpu6050_set_factory_trim(mpu6050 *chip, double error_percent) {
    chip->has_trim = true;
    chip->self_test_gain = 1 + error_percent / 100;
    memcpy(&chip->registers[SELF_TEST_X], factory_trim, sizeof factory_trim);
}

void mpu6050_power_cycle(mpu6050 *chip) {
    load_defaults(chip);
}

void mpu6050_free(mpu6050 *chip) {
    free(chip);
}

// -1 to 1, the same sequence for every chip (Marsaglia's xorshift32).
static double noise(mpu6050 *chip) {
    chip->noise ^= chip->noise << 13;
    chip->noise ^= chip->noise >> 17;
    chip->noise ^= chip->noise << 5;
    return (double)chip->noise / 2147483648.0 - 1.0;
}

// RM section 4.2: 8 kHz without a low-pass, otherwise 1 kHz, divided by 1 + SMPLRT_DIV.
static double period_ns(const mpu6050 *chip) {
    uint8_t low_pass = chip->registers[CONFIG] & 0x07;
    double base_hz = low_pass == 0 || low_pass == 7 ? 8000 : 1000;
    double rate_hz = base_hz / (1 + chip->registers[SMPLRT_DIV]);
    return nanoseconds / (rate_hz * (1 + chip->clock_error_ppm * 1e-6));
}

static double shake_m_s2(const mpu6050 *chip, double at_ns) {
    const mpu6050_shake *shake = &chip->shake;
    if (shake->m_s2 == 0) return 0;
    double t = (at_ns - (double)chip->made_ns) / nanoseconds;
    if (shake->every_s > 0) t = fmod(t, shake->every_s);
    if (t < shake->from_s || t >= shake->until_s) return 0;
    return shake->m_s2 * sin(2 * M_PI * shake->hz * (t - shake->from_s));
}

// RM sections 4.4, 4.5: bits 7, 6 and 5 switch the forces on x, y and z on. Without the factory's codes there are none.
static double self_test(const mpu6050 *chip, unsigned address, unsigned axis, const double response[3]) {
    bool enabled = chip->registers[address] & 0x80 >> axis;
    return enabled && chip->has_trim ? response[axis] * chip->self_test_gain : 0;
}

static void put_word(mpu6050 *chip, unsigned address, double value) {
    if (value > INT16_MAX) value = INT16_MAX;
    if (value < INT16_MIN) value = INT16_MIN;
    // Rounds to the nearest without a function call; the value is never negative.
    uint16_t word = (uint16_t)((int32_t)(value - INT16_MIN + 0.5) + INT16_MIN);
    chip->registers[address] = (uint8_t)(word >> 8);
    chip->registers[address + 1] = (uint8_t)(word & 0xFF);
}

// Measures, into registers 0x3B to 0x48.
static void measure(mpu6050 *chip, double at_ns) {
    // PS sections 6.1 and 6.2: 16384 LSB/g and 131 LSB/(°/s) at the smallest range, half of that at each larger one.
    double lsb_per_g = 16384 >> (chip->registers[ACCEL_CONFIG] >> 3 & 3);
    double lsb_per_dps = 131.072 / (1 << (chip->registers[GYRO_CONFIG] >> 3 & 3));
    double acceleration_g[3] = {shake_m_s2(chip, at_ns) / standard_gravity, 0, 1};
    for (unsigned axis = 0; axis < 3; axis++) {
        double g = acceleration_g[axis] + zero_g_offset_g[axis] + noise_g * noise(chip);
        g += self_test(chip, ACCEL_CONFIG, axis, trim_g);
        put_word(chip, ACCEL_XOUT_H + 2 * axis, g * lsb_per_g);
    }
    // RM section 4.18.
    put_word(chip, ACCEL_XOUT_H + 6, (temperature_c - 36.53) * 340);
    for (unsigned axis = 0; axis < 3; axis++) {
        double dps = zero_rate_offset_dps[axis] + noise_dps * noise(chip);
        dps += self_test(chip, GYRO_CONFIG, axis, trim_dps);
        put_word(chip, ACCEL_XOUT_H + 8 + 2 * axis, dps * lsb_per_dps);
    }
}

static unsigned at_most(unsigned count, unsigned limit) {
    return count < limit ? count : limit;
}

static void drop(mpu6050 *chip, unsigned count) {
    chip->fifo_head = (chip->fifo_head + count) % FIFO_SIZE;
    chip->fifo_count -= count;
}

// RM section 4.31: without room, the oldest bytes are lost.
static void push(mpu6050 *chip, const uint8_t *bytes, unsigned count) {
    if (chip->fifo_count + count > FIFO_SIZE) {
        drop(chip, chip->fifo_count + count - FIFO_SIZE);
        chip->registers[INT_STATUS] |= FIFO_OFLOW;
    }
    unsigned tail = (chip->fifo_head + chip->fifo_count) % FIFO_SIZE;
    unsigned before_end = at_most(count, FIFO_SIZE - tail);
    memcpy(&chip->fifo[tail], bytes, before_end);
    memcpy(chip->fifo, bytes + before_end, count - before_end);
    chip->fifo_count += count;
}

// RM section 4.31: an empty FIFO repeats its last byte.
static void pop(mpu6050 *chip, uint8_t *bytes, unsigned count) {
    unsigned held = at_most(count, chip->fifo_count);
    unsigned before_end = at_most(held, FIFO_SIZE - chip->fifo_head);
    memcpy(bytes, &chip->fifo[chip->fifo_head], before_end);
    memcpy(bytes + before_end, chip->fifo, held - before_end);
    if (held > 0) chip->fifo_last = bytes[held - 1];
    drop(chip, held);
    memset(bytes + held, chip->fifo_last, count - held);
}

// RM section 4.7: which registers a sample puts into the FIFO, in register order.
static void store(mpu6050 *chip) {
    if (!(chip->registers[USER_CTRL] & USER_FIFO_EN)) return;
    uint8_t enabled = chip->registers[FIFO_EN];
    const uint8_t *measured = &chip->registers[ACCEL_XOUT_H];
    // The accelerometer has one bit; the temperature and each of the gyroscope's axes have one each.
    if ((enabled & 0xF8) == 0xF8) return push(chip, measured, 14);
    if (enabled & 0x08) push(chip, measured, 6);
    for (unsigned word = 3; word < 7; word++) {
        if (enabled & 0x80 >> (word - 3)) push(chip, measured + 2 * word, 2);
    }
}

void mpu6050_advance(mpu6050 *chip, int64_t now_ns) {
    chip->now_ns = now_ns;
    if (chip->registers[PWR_MGMT_1] & DEVICE_RESET) {
        if (now_ns < chip->reset_until_ns) return;
        load_defaults(chip);
    }
    if (chip->registers[PWR_MGMT_1] & SLEEP) return;
    double period = period_ns(chip);
    // Samples that the FIFO would have lost again by now are skipped: all beyond its capacity, whatever the frame.
    double oldest = (double)now_ns - period * FIFO_SIZE;
    if (chip->next_sample_ns < oldest) {
        chip->next_sample_ns += period * ceil((oldest - chip->next_sample_ns) / period);
    }
    while (chip->next_sample_ns <= (double)now_ns) {
        measure(chip, chip->next_sample_ns);
        store(chip);
        if (chip->registers[INT_ENABLE] & DATA_RDY) {
            chip->registers[INT_STATUS] |= DATA_RDY;
            // RM section 4.14: zeros mean push-pull, active high, and a pulse.
            if ((chip->registers[INT_PIN_CFG] & 0xE0) == 0) gpiochip_raise_wired((int64_t)chip->next_sample_ns);
        }
        chip->next_sample_ns += period;
    }
}

void mpu6050_point(mpu6050 *chip, uint8_t address) {
    chip->pointer = address & 0x7F;
}

// RM section 9.3: the address advances after each byte, except for FIFO_R_W.
static void increment(mpu6050 *chip) {
    if (chip->pointer != FIFO_R_W) chip->pointer = (chip->pointer + 1) & 0x7F;
}

uint8_t mpu6050_read(mpu6050 *chip) {
    uint8_t address = chip->pointer;
    uint8_t value = chip->registers[address];
    if (address == FIFO_COUNT_H) {
        // RM section 4.30: reading the high byte latches both bytes.
        value = chip->registers[FIFO_COUNT_H] = (uint8_t)(chip->fifo_count >> 8);
        chip->registers[FIFO_COUNT_L] = (uint8_t)(chip->fifo_count & 0xFF);
    } else if (address == FIFO_R_W) {
        pop(chip, &value, 1);
    } else if (address == INT_STATUS) {
        chip->registers[INT_STATUS] = 0;
    }
    increment(chip);
    return value;
}

void mpu6050_read_burst(mpu6050 *chip, uint8_t *bytes, unsigned count) {
    if (chip->pointer == FIFO_R_W) return pop(chip, bytes, count);
    for (unsigned i = 0; i < count; i++) bytes[i] = mpu6050_read(chip);
}

static bool is_read_only(uint8_t address) {
    return (address >= INT_STATUS && address <= GYRO_ZOUT_L) || address == FIFO_COUNT_H || address == FIFO_COUNT_L ||
           address == WHO_AM_I;
}

static void write_register(mpu6050 *chip, uint8_t address, uint8_t value) {
    if (is_read_only(address)) return;
    switch (address) {
    case PWR_MGMT_1:
        if (value & DEVICE_RESET) chip->reset_until_ns = chip->now_ns + reset_ns;
        if (chip->registers[PWR_MGMT_1] & SLEEP && !(value & SLEEP)) {
            chip->next_sample_ns = (double)chip->now_ns + start_up_ns;
        }
        chip->registers[PWR_MGMT_1] = value;
        return;
    case USER_CTRL:
        // RM section 4.27: resets the FIFO while FIFO_EN is 0, also in the same write.
        if (value & FIFO_RESET && !(value & USER_FIFO_EN)) chip->fifo_head = chip->fifo_count = 0;
        chip->registers[USER_CTRL] = value & (uint8_t)~SELF_CLEARING;
        return;
    case SIGNAL_PATH_RESET:
        memset(&chip->registers[ACCEL_XOUT_H], 0, GYRO_ZOUT_L - ACCEL_XOUT_H + 1);
        return;
    case FIFO_R_W:
        push(chip, &value, 1);
        return;
    default:
        chip->registers[address] = value;
    }
}

void mpu6050_write(mpu6050 *chip, uint8_t value) {
    // During a reset, writes are ignored.
    if (!(chip->registers[PWR_MGMT_1] & DEVICE_RESET)) write_register(chip, chip->pointer, value);
    increment(chip);
}
