// A fake of /dev/gpiochipN at the level of the C library, like the fake adapter: open, ioctl and close behave as the
// kernel's gpiolib. A requested line is a pipe, so that reads and polls are the kernel's own.
//
// If it is loaded into a program, the environment configures it:
//
//     FAKE_GPIO=/dev/gpiochip7
//     FAKE_GPIO_OPTIONS=lines=54,wire=17,busy=4:spi0
//
//     lines=N            number of lines; 54 by default, named GPIO0 and so on
//     wire=N             connects the INT pin of the fake adapter's chip to this line
//     busy=N:NAME        this line is in use by NAME
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

// A line request as received by the chip.
typedef struct {
    unsigned offset;
    uint64_t flags;
    uint32_t event_buffer_size;
    char consumer[32];
} fake_gpio_request;

// 54 lines, all free.
fake_gpio_settings fake_gpio_default_settings(void);

// Attaches the chip at a path. Only one can exist; returns false if there is one.
bool fake_gpio_attach(const char *path, const fake_gpio_settings *settings);
void fake_gpio_detach(void);

// The last requested line.
fake_gpio_request fake_gpio_last_request(void);

// Whether the last requested line is still held.
bool fake_gpio_is_requested(void);

// Raises the requested line at a time of CLOCK_MONOTONIC. If the queue is full, the oldest event is lost.
void fake_gpio_raise(int64_t instant_ns);

#endif
