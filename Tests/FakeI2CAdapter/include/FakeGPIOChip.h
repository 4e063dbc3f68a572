// A fake of /dev/gpiochipN, below the C library as the fake adapter is: open, ioctl and close answer as the kernel's
// gpiolib does. A requested line is a pipe, so that reading and polling it are the kernel's own.
//
// Loaded into a program, the environment tells what it is:
//
//     FAKE_GPIO=/dev/gpiochip7
//     FAKE_GPIO_OPTIONS=lines=54,wire=17,busy=4:spi0
//
//     lines=N            how many lines there are; 54 by default, named GPIO0 and so on
//     wire=N             the fake adapter's chip has its INT pin wired to this line
//     busy=N:NAME        this line belongs to NAME
//     open=EACCES        the device file cannot be opened
#ifndef FAKE_GPIO_CHIP_H
#define FAKE_GPIO_CHIP_H

#include <stdbool.h>
#include <stdint.h>

typedef struct {
    unsigned lines;
    int wired_line; // -1 for none
    int busy_line;  // -1 for none
    char busy_consumer[32];
    int open_error;
    int request_error;
} fake_gpio_settings;

// A request for a line as it reached the chip.
typedef struct {
    unsigned offset;
    uint64_t flags;
    uint32_t event_buffer_size;
    char consumer[32];
} fake_gpio_request;

// 54 lines, all free.
fake_gpio_settings fake_gpio_default_settings(void);

// Puts the chip at a path. There is one at a time, and none where it answers false.
bool fake_gpio_attach(const char *path, const fake_gpio_settings *settings);
void fake_gpio_detach(void);

// The line that was requested last.
fake_gpio_request fake_gpio_last_request(void);

// Whether the last requested line is still held.
bool fake_gpio_is_requested(void);

// Lets the requested line rise at an instant of CLOCK_MONOTONIC. The oldest event goes where there is no room.
void fake_gpio_raise(int64_t instant_ns);

#endif
