#define _GNU_SOURCE
#include "gpiochip.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/gpio.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { MOST_EVENTS = 1024 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static char path[128];
static fake_gpio_settings settings;
static int chip_descriptor = -1;
// The pipe of the requested line: the program's end for reading, and our end.
static int line_descriptor = -1, event_descriptor = -1;
static fake_gpio_request last_request;
static uint32_t line_seqno;

fake_gpio_settings fake_gpio_default_settings(void) {
    return (fake_gpio_settings){.lines = 54, .wired_line = -1, .busy_line = -1};
}

bool fake_gpio_attach(const char *new_path, const fake_gpio_settings *new_settings) {
    pthread_mutex_lock(&mutex);
    bool room = path[0] == '\0' && strlen(new_path) < sizeof path;
    if (room) {
        strcpy(path, new_path);
        settings = *new_settings;
        memset(&last_request, 0, sizeof last_request);
    }
    pthread_mutex_unlock(&mutex);
    return room;
}

void fake_gpio_detach(void) {
    pthread_mutex_lock(&mutex);
    path[0] = '\0';
    pthread_mutex_unlock(&mutex);
}

fake_gpio_request fake_gpio_last_request(void) {
    pthread_mutex_lock(&mutex);
    fake_gpio_request request = last_request;
    pthread_mutex_unlock(&mutex);
    return request;
}

bool fake_gpio_is_requested(void) {
    pthread_mutex_lock(&mutex);
    bool requested = line_descriptor >= 0;
    pthread_mutex_unlock(&mutex);
    return requested;
}

// MARK: descriptors

bool gpiochip_is_at(const char *wanted) {
    pthread_mutex_lock(&mutex);
    bool is_here = path[0] != '\0' && strcmp(path, wanted) == 0;
    pthread_mutex_unlock(&mutex);
    return is_here;
}

int gpiochip_open_error(void) { return settings.open_error; }

bool gpiochip_own(int descriptor) {
    pthread_mutex_lock(&mutex);
    chip_descriptor = descriptor;
    pthread_mutex_unlock(&mutex);
    return true;
}

void gpiochip_disown(int descriptor) {
    int ours = -1;
    pthread_mutex_lock(&mutex);
    if (descriptor >= 0 && descriptor == chip_descriptor) chip_descriptor = -1;
    if (descriptor >= 0 && descriptor == line_descriptor) {
        line_descriptor = -1;
        ours = event_descriptor;
        event_descriptor = -1;
    }
    pthread_mutex_unlock(&mutex);
    if (ours >= 0) close(ours);
}

bool gpiochip_owns(int descriptor) { return descriptor >= 0 && descriptor == chip_descriptor; }

// MARK: gpiolib

static int chip_info(struct gpiochip_info *info) {
    memset(info, 0, sizeof *info);
    strcpy(info->name, strrchr(path, '/') ? strrchr(path, '/') + 1 : path);
    strcpy(info->label, "fake");
    info->lines = settings.lines;
    return 0;
}

static int line_info(struct gpio_v2_line_info *info) {
    unsigned offset = info->offset;
    if (offset >= settings.lines) return -EINVAL;
    for (unsigned i = 0; i < sizeof info->padding / sizeof *info->padding; i++) {
        if (info->padding[i] != 0) return -EINVAL;
    }
    memset(info, 0, sizeof *info);
    info->offset = offset;
    snprintf(info->name, sizeof info->name, "GPIO%u", offset);
    info->flags = GPIO_V2_LINE_FLAG_INPUT;
    if ((int)offset == settings.busy_line) {
        info->flags |= GPIO_V2_LINE_FLAG_USED;
        strcpy(info->consumer, settings.busy_consumer);
    }
    return 0;
}

// The checks of linereq_create, with a pipe in place of its queue.
static int request_line(struct gpio_v2_line_request *request) {
    for (unsigned i = 0; i < sizeof request->padding / sizeof *request->padding; i++) {
        if (request->padding[i] != 0) return -EINVAL;
    }
    if (request->num_lines != 1 || request->config.num_attrs != 0) return -EINVAL;
    if (request->offsets[0] >= settings.lines) return -EINVAL;
    if (settings.request_error) return -settings.request_error;
    if ((int)request->offsets[0] == settings.busy_line || line_descriptor >= 0) return -EBUSY;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) return -errno;
    // Room for all the events that the kernel would queue, and non-blocking at our end.
    fcntl(ends[1], F_SETPIPE_SZ, 1 << 16);
    fcntl(ends[1], F_SETFL, O_NONBLOCK);
    last_request = (fake_gpio_request){
        .offset = request->offsets[0],
        .flags = request->config.flags,
        .event_buffer_size = request->event_buffer_size,
    };
    memcpy(last_request.consumer, request->consumer, sizeof last_request.consumer);
    line_descriptor = ends[0];
    event_descriptor = ends[1];
    line_seqno = 0;
    request->fd = ends[0];
    return 0;
}

int gpiochip_request(int descriptor, unsigned long request, void *argument) {
    (void)descriptor;
    int answer = -ENOTTY;
    pthread_mutex_lock(&mutex);
    switch (request) {
    case GPIO_GET_CHIPINFO_IOCTL: answer = chip_info(argument); break;
    case GPIO_V2_GET_LINEINFO_IOCTL: answer = line_info(argument); break;
    case GPIO_V2_GET_LINE_IOCTL: answer = request_line(argument); break;
    }
    pthread_mutex_unlock(&mutex);
    return answer;
}

static void raise_locked(int64_t instant_ns) {
    if (line_descriptor < 0) return;
    struct gpio_v2_line_event event = {
        .timestamp_ns = (uint64_t)instant_ns,
        .id = GPIO_V2_LINE_EVENT_RISING_EDGE,
        .offset = last_request.offset,
        .seqno = line_seqno + 1,
        .line_seqno = line_seqno + 1,
    };
    line_seqno++;
    unsigned most = last_request.event_buffer_size;
    if (most == 0) most = 16;
    if (most > MOST_EVENTS) most = MOST_EVENTS;
    int queued = 0;
    if (ioctl(line_descriptor, FIONREAD, &queued) == 0 && queued / sizeof event >= most) {
        struct gpio_v2_line_event oldest;
        if (read(line_descriptor, &oldest, sizeof oldest) < 0) return;
    }
    if (write(event_descriptor, &event, sizeof event) < 0) return;
}

void fake_gpio_raise(int64_t instant_ns) {
    pthread_mutex_lock(&mutex);
    raise_locked(instant_ns);
    pthread_mutex_unlock(&mutex);
}

void gpiochip_raise_wired(int64_t instant_ns) {
    pthread_mutex_lock(&mutex);
    if (settings.wired_line >= 0 && (int)last_request.offset == settings.wired_line) raise_locked(instant_ns);
    pthread_mutex_unlock(&mutex);
}

// MARK: the environment

static bool parse(char *option, fake_gpio_settings *settings) {
    int end = 0;
    if (sscanf(option, "lines=%u%n", &settings->lines, &end) == 1) return option[end] == '\0';
    if (sscanf(option, "wire=%d%n", &settings->wired_line, &end) == 1) return option[end] == '\0';
    if (sscanf(option, "busy=%d:%31[^,]%n", &settings->busy_line, settings->busy_consumer, &end) == 2) {
        return option[end] == '\0';
    }
    if (strcmp(option, "open=EACCES") == 0) return settings->open_error = EACCES;
    return false;
}

static void attach(void) {
    const char *place = getenv("FAKE_GPIO");
    const char *options = getenv("FAKE_GPIO_OPTIONS");
    if (!place || !*place) return;
    fake_gpio_settings wanted = fake_gpio_default_settings();
    char copy[256] = "";
    if (options) snprintf(copy, sizeof copy, "%s", options);
    char *rest = copy;
    for (char *option; (option = strtok_r(rest, ",", &rest));) {
        if (parse(option, &wanted)) continue;
        fprintf(stderr, "fake GPIO chip: does not understand %s\n", option);
        _exit(64);
    }
    fake_gpio_attach(place, &wanted);
}

void gpiochip_attach_from_environment(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}
