// SPDX-License-Identifier: GPL-2.0-only
/*
 * A simulated MPU-6050 at 0x68 on an I2C bus of its own, with its INT line: the kernel's inv_mpu6050 drives it as any
 * other. Scripts/test-on-kernel builds this module and loads it in a virtual machine.
 *
 * The board is at rest. Apart from a little noise, the readings are constant: 0.1 g, -0.2 g, 0.9747 g (together 1 g),
 * 10 °/s, -20 °/s, 30 °/s and 25 °C. Registers are those of the MPU-6000 and MPU-6050 Register Map, revision 4.2.
 */
#include <linux/hrtimer.h>
#include <linux/i2c.h>
#include <linux/interrupt.h>
#include <linux/irq.h>
#include <linux/ktime.h>
#include <linux/math64.h>
#include <linux/module.h>
#include <linux/spinlock.h>
#include <linux/version.h>

static int deviation = 10000;
module_param(deviation, int, 0644);
MODULE_PARM_DESC(deviation, "How much longer the chip's period is than the nominal one, ppm");

static bool wired = true;
module_param(wired, bool, 0644);
MODULE_PARM_DESC(wired, "Whether the INT pin is connected");

static bool genuine = true;
module_param(genuine, bool, 0644);
MODULE_PARM_DESC(genuine, "Whether register 0 has OTP_BNK_VLD after a reset, unlike that of some copies");

static int noise = 4;
module_param(noise, int, 0644);
MODULE_PARM_DESC(noise, "The largest deviation of a reading, raw units");

#define ADDRESS 0x68
#define REGISTERS 128
#define FIFO_SIZE 1024

enum {
    XG_OFFS_TC = 0x00,
    SMPLRT_DIV = 0x19,
    CONFIG = 0x1a,
    GYRO_CONFIG = 0x1b,
    ACCEL_CONFIG = 0x1c,
    FIFO_EN = 0x23,
    INT_ENABLE = 0x38,
    INT_STATUS = 0x3a,
    ACCEL_XOUT_H = 0x3b,
    TEMP_OUT_H = 0x41,
    GYRO_XOUT_H = 0x43,
    USER_CTRL = 0x6a,
    PWR_MGMT_1 = 0x6b,
    FIFO_COUNTH = 0x72,
    FIFO_COUNTL = 0x73,
    FIFO_R_W = 0x74,
    WHO_AM_I = 0x75,
};

/* "The memory with the factory's values is valid." */
#define OTP_BNK_VLD 0x01
#define ACCEL_FIFO_EN 0x08
#define TEMP_FIFO_EN 0x80
#define GYRO_X_FIFO_EN 0x40
#define DATA_READY 0x01
#define FIFO_OVERFLOW 0x10
#define FIFO_ENABLE 0x40
#define FIFO_RESET 0x04
#define DEVICE_RESET 0x80
#define SLEEP 0x40

/* At ±2 g and at ±250 °/s. */
static const int acceleration[3] = {1638, -3277, 15970};
static const int rotation_rate[3] = {1310, -2621, 3931};
/* 25 °C = raw / 340 + 36.53. */
static const int temperature = -3920;

static struct {
    struct i2c_adapter adapter;
    struct i2c_client *client;
    int irq;
    struct hrtimer clock;
    /* Protects what follows. The clock ticks in the context of an interrupt. */
    spinlock_t lock;
    u8 registers[REGISTERS];
    u8 pointer;
    u8 fifo[FIFO_SIZE];
    unsigned int oldest, filled;
    u32 random;
} chip;

static int reading(int value, int shift)
{
    chip.random = chip.random * 1664525 + 1013904223;
    return (value >> shift) + (noise > 0 ? (int)(chip.random >> 16) % (2 * noise + 1) - noise : 0);
}

static void set_word(u8 number, int value)
{
    chip.registers[number] = value >> 8;
    chip.registers[number + 1] = value;
}

/* A full FIFO loses its oldest bytes. */
static void push(u8 number, int count)
{
    while (count-- > 0) {
        chip.fifo[(chip.oldest + chip.filled) % FIFO_SIZE] = chip.registers[number++];
        if (chip.filled < FIFO_SIZE) {
            chip.filled++;
        } else {
            chip.oldest = (chip.oldest + 1) % FIFO_SIZE;
            chip.registers[INT_STATUS] |= FIFO_OVERFLOW;
        }
    }
}

static void measure(void)
{
    const int accel_shift = chip.registers[ACCEL_CONFIG] >> 3 & 3;
    const int gyro_shift = chip.registers[GYRO_CONFIG] >> 3 & 3;
    int axis;

    for (axis = 0; axis < 3; axis++) {
        set_word(ACCEL_XOUT_H + 2 * axis, reading(acceleration[axis], accel_shift));
        set_word(GYRO_XOUT_H + 2 * axis, reading(rotation_rate[axis], gyro_shift));
    }
    set_word(TEMP_OUT_H, reading(temperature, 0));
    if (chip.registers[USER_CTRL] & FIFO_ENABLE) {
        const u8 parts = chip.registers[FIFO_EN];

        if (parts & ACCEL_FIFO_EN)
            push(ACCEL_XOUT_H, 6);
        if (parts & TEMP_FIFO_EN)
            push(TEMP_OUT_H, 2);
        for (axis = 0; axis < 3; axis++)
            if (parts & GYRO_X_FIFO_EN >> axis)
                push(GYRO_XOUT_H + 2 * axis, 2);
    }
    chip.registers[INT_STATUS] |= DATA_READY;
}

/* The period of the samples, in nanoseconds. */
static s64 period(void)
{
    const u8 filter = chip.registers[CONFIG] & 7;
    const s64 nominal = filter == 0 || filter == 7 ? 125000 : 1000000;

    return div_s64(nominal * (1 + chip.registers[SMPLRT_DIV]) * (1000000 + deviation), 1000000);
}

static enum hrtimer_restart tick(struct hrtimer *timer)
{
    unsigned long flags;
    u64 count;
    bool is_ready;

    spin_lock_irqsave(&chip.lock, flags);
    if (chip.registers[PWR_MGMT_1] & SLEEP) {
        spin_unlock_irqrestore(&chip.lock, flags);
        return HRTIMER_NORESTART;
    }
    /* The virtual machine may have been late. */
    count = hrtimer_forward_now(timer, ns_to_ktime(period()));
    for (count = min_t(u64, count, FIFO_SIZE); count > 0; count--)
        measure();
    is_ready = chip.registers[INT_ENABLE] & DATA_READY;
    spin_unlock_irqrestore(&chip.lock, flags);
    if (is_ready && READ_ONCE(wired))
        generic_handle_irq(chip.irq);
    return HRTIMER_RESTART;
}

static void reset(void)
{
    memset(chip.registers, 0, sizeof(chip.registers));
    /*
     * The driver of Linux 6.1 knows no INT_STATUS of this chip, reads register 0 instead, and takes OTP_BNK_VLD for
     * DATA_READY. That of 6.12 does not.
     */
    chip.registers[XG_OFFS_TC] = genuine ? OTP_BNK_VLD : 0;
    chip.registers[PWR_MGMT_1] = SLEEP;
    chip.registers[WHO_AM_I] = ADDRESS;
    chip.oldest = chip.filled = 0;
}

/* Returns whether the chip was woken. */
static bool write_register(u8 number, u8 value)
{
    const bool slept = chip.registers[PWR_MGMT_1] & SLEEP;

    switch (number) {
    case PWR_MGMT_1:
        if (value & DEVICE_RESET)
            reset();
        else
            chip.registers[number] = value;
        return slept && !(chip.registers[PWR_MGMT_1] & SLEEP);
    case USER_CTRL:
        if (value & FIFO_RESET)
            chip.oldest = chip.filled = 0;
        /* The reset bits clear themselves. */
        chip.registers[number] = value & ~0x07;
        return false;
    case INT_STATUS:
    case FIFO_COUNTH:
    case FIFO_COUNTL:
    case FIFO_R_W:
    case WHO_AM_I:
        return false;
    default:
        if (number < ACCEL_XOUT_H || number >= GYRO_XOUT_H + 6)
            chip.registers[number] = value;
        return false;
    }
}

static u8 read_register(u8 number)
{
    u8 value = chip.registers[number];

    switch (number) {
    case INT_STATUS:
        chip.registers[number] = 0;
        break;
    case FIFO_COUNTH:
        value = chip.filled >> 8;
        break;
    case FIFO_COUNTL:
        value = chip.filled;
        break;
    case FIFO_R_W:
        if (chip.filled == 0)
            break;
        value = chip.fifo[chip.oldest];
        chip.oldest = (chip.oldest + 1) % FIFO_SIZE;
        chip.filled--;
        break;
    }
    return value;
}

static void message(const struct i2c_msg *msg, bool *wakes)
{
    int i = 0;

    if (!(msg->flags & I2C_M_RD) && msg->len > 0)
        chip.pointer = msg->buf[i++] % REGISTERS;
    for (; i < msg->len; i++) {
        if (msg->flags & I2C_M_RD)
            msg->buf[i] = read_register(chip.pointer);
        else if (write_register(chip.pointer, msg->buf[i]))
            *wakes = true;
        if (chip.pointer != FIFO_R_W)
            chip.pointer = (chip.pointer + 1) % REGISTERS;
    }
}

static int transfer(struct i2c_adapter *adapter, struct i2c_msg *messages, int count)
{
    unsigned long flags;
    bool wakes = false;
    s64 first;
    int i;

    for (i = 0; i < count; i++)
        if (messages[i].addr != ADDRESS)
            return -ENXIO;
    spin_lock_irqsave(&chip.lock, flags);
    for (i = 0; i < count; i++)
        message(&messages[i], &wakes);
    first = period();
    spin_unlock_irqrestore(&chip.lock, flags);
    if (wakes)
        hrtimer_start(&chip.clock, ns_to_ktime(first), HRTIMER_MODE_REL_HARD);
    return count;
}

static u32 functionality(struct i2c_adapter *adapter)
{
    return I2C_FUNC_I2C | I2C_FUNC_SMBUS_EMUL;
}

static const struct i2c_algorithm algorithm = {
    .master_xfer = transfer,
    .functionality = functionality,
};

/* The line pulses, so there is nothing to mask or to acknowledge. */
static void nothing(struct irq_data *data)
{
}

static int accept_type(struct irq_data *data, unsigned int type)
{
    return 0;
}

static struct irq_chip line = {
    .name = "mpu6050_chip",
    .irq_ack = nothing,
    .irq_mask = nothing,
    .irq_unmask = nothing,
    .irq_set_type = accept_type,
};

static int __init start(void)
{
    struct i2c_board_info info = {I2C_BOARD_INFO("mpu6050", ADDRESS)};
    int failure;

    spin_lock_init(&chip.lock);
    reset();
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 13, 0)
    hrtimer_setup(&chip.clock, tick, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
#else
    hrtimer_init(&chip.clock, CLOCK_MONOTONIC, HRTIMER_MODE_REL_HARD);
    chip.clock.function = tick;
#endif
    chip.irq = irq_alloc_descs(-1, 0, 1, NUMA_NO_NODE);
    if (chip.irq < 0)
        return chip.irq;
    irq_set_chip_and_handler(chip.irq, &line, handle_simple_irq);
    irq_modify_status(chip.irq, IRQ_NOREQUEST | IRQ_NOAUTOEN, IRQ_NOPROBE);

    chip.adapter.owner = THIS_MODULE;
    chip.adapter.algo = &algorithm;
    strscpy(chip.adapter.name, "Bus of a simulated MPU-6050", sizeof(chip.adapter.name));
    failure = i2c_add_adapter(&chip.adapter);
    if (failure) {
        irq_free_descs(chip.irq, 1);
        return failure;
    }
    info.irq = chip.irq;
    chip.client = i2c_new_client_device(&chip.adapter, &info);
    if (IS_ERR(chip.client)) {
        i2c_del_adapter(&chip.adapter);
        irq_free_descs(chip.irq, 1);
        return PTR_ERR(chip.client);
    }
    return 0;
}

static void __exit stop(void)
{
    i2c_unregister_device(chip.client);
    i2c_del_adapter(&chip.adapter);
    hrtimer_cancel(&chip.clock);
    irq_free_descs(chip.irq, 1);
}

module_init(start);
module_exit(stop);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A simulated MPU-6050");
