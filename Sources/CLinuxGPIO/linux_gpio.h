// The GPIO character device's ioctl interface, version 2 (Linux 5.10).
//
// ioctl is variadic and its requests are macros that Swift cannot import, so every request that is used has a function
// here. The functions return the kernel's result or -errno. The caller does not read errno, because Swift's runtime may
// have changed it.
#ifndef JOSTLE_LINUX_GPIO_H
#define JOSTLE_LINUX_GPIO_H

#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

// open(2) of a GPIO chip's device file. Returns the descriptor.
static inline int linux_gpio_open(const char *path) {
    int descriptor = open(path, O_RDWR | O_CLOEXEC);
    return descriptor < 0 ? -errno : descriptor;
}

// GPIO_GET_CHIPINFO_IOCTL: name, label and number of lines.
static inline int linux_gpio_chip_info(int chip, struct gpiochip_info *info) {
    return ioctl(chip, GPIO_GET_CHIPINFO_IOCTL, info) < 0 ? -errno : 0;
}

// GPIO_V2_GET_LINEINFO_IOCTL: a line's name, flags and consumer.
static inline int linux_gpio_line_info(int chip, __u32 offset, struct gpio_v2_line_info *info) {
    memset(info, 0, sizeof *info);
    info->offset = offset;
    return ioctl(chip, GPIO_V2_GET_LINEINFO_IOCTL, info) < 0 ? -errno : 0;
}

// GPIO_V2_LINE_FLAG_USED.
static inline int linux_gpio_is_used(const struct gpio_v2_line_info *info) {
    return (info->flags & GPIO_V2_LINE_FLAG_USED) != 0;
}

// GPIO_V2_GET_LINE_IOCTL for the rising edges of one line, timestamped on CLOCK_MONOTONIC, which is the default.
// Reading the returned descriptor does not block.
static inline int linux_gpio_rising_edges(int chip, __u32 offset, const char *consumer, __u32 events) {
    struct gpio_v2_line_request request;
    memset(&request, 0, sizeof request);
    request.offsets[0] = offset;
    request.num_lines = 1;
    strncpy(request.consumer, consumer, sizeof request.consumer - 1);
    request.config.flags = GPIO_V2_LINE_FLAG_INPUT | GPIO_V2_LINE_FLAG_EDGE_RISING;
    request.event_buffer_size = events;
    if (ioctl(chip, GPIO_V2_GET_LINE_IOCTL, &request) < 0) return -errno;
    int flags = fcntl(request.fd, F_GETFL);
    if (flags < 0 || fcntl(request.fd, F_SETFL, flags | O_NONBLOCK) < 0) {
        int error = errno;
        close(request.fd);
        return -error;
    }
    return request.fd;
}

// read(2) of events. Returns their number, 0 if there are none now.
static inline int linux_gpio_read(int line, struct gpio_v2_line_event *events, unsigned count) {
    ssize_t bytes = read(line, events, count * sizeof *events);
    if (bytes < 0) return errno == EAGAIN || errno == EINTR ? 0 : -errno;
    return (int)((size_t)bytes / sizeof *events);
}

#endif
