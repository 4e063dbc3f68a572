#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adapter.h"

enum { LONGEST_OPTIONS = 1024 };

static const struct {
    const char *name;
    int number;
} errors[] = {
    {"EACCES", EACCES}, {"EAGAIN", EAGAIN},         {"EBUSY", EBUSY},         {"EINTR", EINTR},
    {"EINVAL", EINVAL}, {"EIO", EIO},               {"ENODEV", ENODEV},       {"ENOENT", ENOENT},
    {"ENXIO", ENXIO},   {"EOPNOTSUPP", EOPNOTSUPP}, {"EPERM", EPERM},         {"EPROTO", EPROTO},
    {"EREMOTEIO", EREMOTEIO}, {"ETIMEDOUT", ETIMEDOUT},
};

static void refuse(const char *option) {
    fprintf(stderr, "fake I2C adapter: FAKE_I2C_OPTIONS: cannot understand '%s'\n", option);
    _Exit(64);
}

static bool parse_error(const char *text, int *error) {
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        if (strcmp(text, errors[i].name) == 0) {
            *error = errors[i].number;
            return true;
        }
    }
    return false;
}

static bool parse_number(const char *text, double *number) {
    char *end;
    *number = strtod(text, &end);
    return end != text && *end == '\0';
}

static bool parse_integer(const char *text, unsigned long *number) {
    char *end;
    *number = strtoul(text, &end, 0);
    return end != text && *end == '\0';
}

// A-B:ERRNO
static bool parse_outage(const char *value, double *from_s, double *until_s, int *number) {
    char error[16] = "";
    int end = 0;
    return sscanf(value, "%lf-%lf:%15[A-Z]%n", from_s, until_s, error, &end) == 3 && value[end] == '\0' &&
           parse_error(error, number);
}

static bool parse_setting(fake_i2c_settings *settings, const char *name, const char *value) {
    unsigned long integer = 0;
    if (strcmp(name, "bcm2835") == 0) {
        settings->single_read_message = true;
        return *value == '\0';
    }
    if (strcmp(name, "busy") == 0) {
        settings->kernel_driver = true;
        return *value == '\0';
    }
    if (strcmp(name, "open") == 0) return parse_error(value, &settings->open_error);
    if (strcmp(name, "nak") == 0) return parse_error(value, &settings->absent_error);
    if (strcmp(name, "ppm") == 0) return parse_number(value, &settings->clock_error_ppm);
    if (strcmp(name, "selftest") == 0) {
        settings->factory_trim = true;
        return parse_number(value, &settings->self_test_error_percent);
    }
    if (strcmp(name, "brownout") == 0) return parse_number(value, &settings->brown_out_s);
    if (strcmp(name, "unplug") == 0) {
        int end = 0;
        return sscanf(value, "%lf-%lf%n", &settings->unplugged_from_s, &settings->unplugged_until_s, &end) == 2 &&
               value[end] == '\0';
    }
    if (strcmp(name, "moves") == 0) {
        unsigned address = 0;
        int end = 0;
        bool is_valid = sscanf(
                            value, "%lf-%lf:%i%n", &settings->moved_from_s, &settings->moved_until_s, (int *)&address,
                            &end) == 3 &&
                        value[end] == '\0' && address <= 0x7F;
        settings->moved_address = (uint8_t)address;
        return is_valid;
    }
    if (strcmp(name, "down") == 0) {
        return parse_outage(value, &settings->down_from_s, &settings->down_until_s, &settings->down_error);
    }
    if (strcmp(name, "gone") == 0) {
        return parse_outage(value, &settings->gone_from_s, &settings->gone_until_s, &settings->gone_error);
    }
    if (strcmp(name, "every") == 0) return parse_number(value, &settings->shake_every_s);
    if (strcmp(name, "shake") == 0) {
        int end = 0;
        return sscanf(
                   value, "%lf-%lf:%lf:%lf%n", &settings->shake_from_s, &settings->shake_until_s,
                   &settings->shake_m_s2, &settings->shake_hz, &end) == 4 &&
               value[end] == '\0';
    }
    if (!parse_integer(value, &integer)) return false;
    if (strcmp(name, "funcs") == 0) {
        settings->functionality = integer;
    } else if (strcmp(name, "longest") == 0 && integer <= 8192) {
        settings->longest_read = (uint32_t)integer;
    } else if (strcmp(name, "clock") == 0 && integer <= 5000000) {
        settings->clock_hz = (uint32_t)integer;
    } else if (strcmp(name, "address") == 0 && integer <= 0x7F) {
        settings->address = (uint8_t)integer;
    } else if (strcmp(name, "who") == 0 && integer <= 0xFF) {
        settings->identity = (uint8_t)integer;
    } else {
        return false;
    }
    return true;
}

// N[xCOUNT]:ERRNO[:MS]
static bool parse_fault(int adapter, const char *value) {
    unsigned long long first = 0, count = 1;
    unsigned hold_ms = 0;
    char name[16] = "";
    int end = 0, error = 0;
    if (sscanf(value, "%llu%n", &first, &end) != 1) return false;
    value += end;
    if (*value == 'x') {
        if (sscanf(value, "x%llu%n", &count, &end) != 1) return false;
        value += end;
    }
    if (sscanf(value, ":%15[A-Z]%n", name, &end) != 1) return false;
    value += end;
    if (*value == ':') {
        if (sscanf(value, ":%u%n", &hold_ms, &end) != 1) return false;
        value += end;
    }
    return *value == '\0' && parse_error(name, &error) && fake_i2c_fail(adapter, first, count, error, hold_ms);
}

// Without an adapter, reads the settings; with one, applies the faults to it.
static void each_option(const char *options, int adapter, fake_i2c_settings *settings) {
    char copy[LONGEST_OPTIONS];
    if (strlen(options) >= sizeof copy) refuse("so many options");
    strcpy(copy, options);
    char *rest = copy;
    for (char *option; (option = strtok_r(rest, ",", &rest));) {
        char whole[LONGEST_OPTIONS];
        strcpy(whole, option);
        char *value = strchr(option, '=');
        if (value) *value++ = '\0';
        bool is_fault = strcmp(option, "fail") == 0 && value;
        bool understood = true;
        if (is_fault && adapter >= 0) understood = parse_fault(adapter, value);
        if (!is_fault && adapter < 0) understood = parse_setting(settings, option, value ? value : "");
        if (!understood) refuse(whole);
    }
}

static void attach(void) {
    const char *path = getenv("FAKE_I2C");
    const char *options = getenv("FAKE_I2C_OPTIONS");
    if (!path || !*path) return;
    fake_i2c_settings settings = fake_i2c_default_settings();
    if (options) each_option(options, -1, &settings);
    int adapter = fake_i2c_attach(path, &settings);
    if (adapter < 0) refuse(path);
    if (options) each_option(options, adapter, &settings);
}

void adapter_attach_from_environment(void) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, attach);
}
