/*
 * A simulated HID sensor hub with an accelerometer and a gyroscope: the kernel's hid-sensor-accel-3d and
 * hid-sensor-gyro-3d drive it as any other, through /dev/uhid (Documentation/hid/uhid.rst). Scripts/test-on-kernel
 * builds it and runs it in a virtual machine.
 *
 * usage: hid_motion_sensor
 *
 * Apart from a little noise, both readings are constant: 0.1 g, -0.2 g, 0.97 g and 10 °/s, -20 °/s, 30 °/s. On
 * SIGUSR1 the hub is unplugged for two seconds. Usage numbers are from the HID Usage Tables 1.12,
 * chapter 20 (sensors).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/uhid.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SENSOR_PAGE 0x05, 0x20
#define SENSOR(usage) 0x09, usage
#define USAGE(usage) 0x0A, (usage) & 0xFF, (usage) >> 8
#define COLLECTION(kind) 0xA1, kind
#define END 0xC0
#define REPORT(id) 0x85, id
#define LOGICAL16(low, high) 0x16, (low) & 0xFF, ((low) >> 8) & 0xFF, 0x26, (high) & 0xFF, ((high) >> 8) & 0xFF
#define LOGICAL8(low, high) 0x15, low, 0x25, high
#define EXPONENT(e) 0x55, (e) & 0x0F
#define SIZE(bits) 0x75, bits, 0x95, 1
#define FEATURE 0xB1, 0x02
#define INPUT 0x81, 0x02

/* Power state, reporting state and interval in milliseconds: four bytes after the report number. */
#define PROPERTIES \
    USAGE(0x0319), LOGICAL8(0, 5), SIZE(8), EXPONENT(0), FEATURE, \
    USAGE(0x0316), LOGICAL8(0, 5), SIZE(8), FEATURE, \
    USAGE(0x030E), LOGICAL16(0, 0x7FFF), SIZE(16), FEATURE

#define AXIS(usage, exponent) USAGE(usage), LOGICAL16(-32767, 32767), SIZE(16), EXPONENT(exponent), INPUT

static const unsigned char descriptor[] = {
    SENSOR_PAGE, SENSOR(0x01), COLLECTION(1),
    /* Without a unit item the unit is g; here in thousandths. */
    REPORT(1), SENSOR(0x73), COLLECTION(0), PROPERTIES,
    AXIS(0x0453, -3), AXIS(0x0454, -3), AXIS(0x0455, -3), END,
    /* Without a unit item the unit is degrees per second; here in tenths. */
    REPORT(2), SENSOR(0x76), COLLECTION(0), PROPERTIES,
    AXIS(0x0457, -1), AXIS(0x0458, -1), AXIS(0x0459, -1), END,
    END,
};

static const short rest[2][3] = {{100, -200, 970}, {100, -200, 300}};

static volatile sig_atomic_t unplug;
static int descriptor_file = -1;
/* The feature reports of the two sensors: power, reporting, interval. */
static unsigned char features[2][4] = {{2, 1, 20, 0}, {2, 1, 20, 0}};

static void on_signal(int number)
{
    (void)number;
    unplug = 1;
}

static void send_event(const struct uhid_event *event)
{
    if (write(descriptor_file, event, sizeof *event) < 0 && errno != ENODEV) perror("uhid");
}

static void create(void)
{
    struct uhid_event event;
    memset(&event, 0, sizeof event);
    event.type = UHID_CREATE2;
    strcpy((char *)event.u.create2.name, "Motion sensor made of code");
    event.u.create2.bus = 3;
    event.u.create2.vendor = 0x1209;
    event.u.create2.product = 0x0001;
    event.u.create2.rd_size = sizeof descriptor;
    memcpy(event.u.create2.rd_data, descriptor, sizeof descriptor);
    send_event(&event);
}

static void destroy(void)
{
    struct uhid_event event;
    memset(&event, 0, sizeof event);
    event.type = UHID_DESTROY;
    send_event(&event);
}

static int sample(int sensor, unsigned char *data)
{
    data[0] = (unsigned char)(sensor + 1);
    for (int axis = 0; axis < 3; axis++) {
        int value = rest[sensor][axis] + rand() % 3 - 1;
        data[1 + 2 * axis] = (unsigned char)value;
        data[2 + 2 * axis] = (unsigned char)(value >> 8);
    }
    return 7;
}

static void measure(int sensor)
{
    struct uhid_event event;
    memset(&event, 0, sizeof event);
    event.type = UHID_INPUT2;
    event.u.input2.size = (__u16)sample(sensor, event.u.input2.data);
    send_event(&event);
}

static void handle_request(const struct uhid_event *question)
{
    struct uhid_event reply;
    memset(&reply, 0, sizeof reply);
    if (question->type == UHID_GET_REPORT) {
        int number = question->u.get_report.rnum;
        int is_known = number == 1 || number == 2;
        reply.type = UHID_GET_REPORT_REPLY;
        reply.u.get_report_reply.id = question->u.get_report.id;
        reply.u.get_report_reply.err = is_known ? 0 : EIO;
        if (is_known && question->u.get_report.rtype == UHID_FEATURE_REPORT) {
            reply.u.get_report_reply.size = 5;
            reply.u.get_report_reply.data[0] = (unsigned char)number;
            memcpy(reply.u.get_report_reply.data + 1, features[number - 1], 4);
        } else if (is_known) {
            reply.u.get_report_reply.size = (__u16)sample(number - 1, reply.u.get_report_reply.data);
        }
    } else {
        int number = question->u.set_report.rnum;
        reply.type = UHID_SET_REPORT_REPLY;
        reply.u.set_report_reply.id = question->u.set_report.id;
        if ((number == 1 || number == 2) && question->u.set_report.size >= 5)
            memcpy(features[number - 1], question->u.set_report.data + 1, 4);
    }
    send_event(&reply);
}

static long long now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

int main(void)
{
    descriptor_file = open("/dev/uhid", O_RDWR | O_CLOEXEC);
    if (descriptor_file < 0) {
        perror("/dev/uhid");
        return 1;
    }
    signal(SIGUSR1, on_signal);
    create();
    long long next[2] = {now(), now()};
    for (;;) {
        if (unplug) {
            unplug = 0;
            destroy();
            sleep(2);
            create();
        }
        struct pollfd wait = {descriptor_file, POLLIN, 0};
        if (poll(&wait, 1, 1) > 0) {
            struct uhid_event event;
            if (read(descriptor_file, &event, sizeof event) > 0
                && (event.type == UHID_GET_REPORT || event.type == UHID_SET_REPORT))
                handle_request(&event);
        }
        for (int sensor = 0; sensor < 2; sensor++) {
            long long period = (features[sensor][2] | features[sensor][3] << 8) * 1000000LL;
            if (period == 0 || now() < next[sensor]) continue;
            measure(sensor);
            next[sensor] += period;
            if (next[sensor] < now()) next[sensor] = now();
        }
    }
}
