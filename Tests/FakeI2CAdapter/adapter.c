#define _GNU_SOURCE
#include "adapter.h"

#include <errno.h>
#include <linux/i2c-dev.h>
#include <linux/i2c.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "mpu6050.h"

enum { ADAPTERS = 64, DESCRIPTORS = 1024, FAULTS = 16, LONGEST_MESSAGE = 8192 };

// Waking from a sleep takes longer than transferring a few bytes, so short waits are added to the next one.
enum { SHORTEST_HOLD_NS = 500000 };

typedef struct {
    uint64_t first, count;
    int error;
    unsigned hold_ms;
} fault;

struct adapter {
    pthread_mutex_t mutex; // serialises transactions on the bus
    bool attached;
    bool absent;
    bool pulled_out;   // by a test, in addition to the settings
    unsigned removals; // number of removals
    bool was_there;
    char path[128];
    int memory_file; // opened in place of the path, -1 for none
    fake_i2c_settings settings;
    mpu6050 *chip;
    int64_t attached_ns;
    bool was_unplugged, was_browned_out;
    fault faults[FAULTS];
    unsigned fault_count;
    uint64_t transactions;
    int64_t owed_ns; // duration of past transactions that has not been slept yet
    fake_i2c_transfer last;
    unsigned rude_requests;
    unsigned descriptors;
};

static pthread_mutex_t table_mutex = PTHREAD_MUTEX_INITIALIZER;
static adapter adapters[ADAPTERS];
static _Atomic(adapter *) owners[DESCRIPTORS];
static _Atomic(uint8_t) selected[DESCRIPTORS];
static _Atomic(unsigned) opened_after[DESCRIPTORS]; // the number of removals when it was opened

static int64_t monotonic_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void hold_ns(int64_t duration) {
    struct timespec left = {.tv_sec = duration / 1000000000, .tv_nsec = duration % 1000000000};
    while (duration > 0 && nanosleep(&left, &left) != 0 && errno == EINTR) {
    }
}

// MARK: the table

fake_i2c_settings fake_i2c_default_settings(void) {
    return (fake_i2c_settings){
        .functionality = I2C_FUNC_I2C | I2C_FUNC_SMBUS_EMUL,
        .absent_error = EREMOTEIO,
        .gone_error = ENODEV,
        .address = 0x68,
        .identity = 0x68,
    };
}

int fake_i2c_attach(const char *path, const fake_i2c_settings *settings) {
    int handle = -1;
    pthread_mutex_lock(&table_mutex);
    for (int i = 0; i < ADAPTERS && handle < 0; i++) {
        adapter *candidate = &adapters[i];
        if (candidate->attached || candidate->descriptors > 0 || strlen(path) >= sizeof candidate->path) continue;
        mpu6050_free(candidate->chip);
        memset(candidate, 0, sizeof *candidate);
        pthread_mutex_init(&candidate->mutex, NULL);
        strcpy(candidate->path, path);
        candidate->memory_file = -1;
        candidate->settings = *settings;
        candidate->attached_ns = monotonic_ns();
        mpu6050_shake shake = {
            settings->shake_from_s, settings->shake_until_s, settings->shake_every_s, settings->shake_m_s2,
            settings->shake_hz,
        };
        candidate->chip =
            mpu6050_new(settings->identity, settings->clock_error_ppm, shake, monotonic_ns());
        if (!candidate->chip) break;
        candidate->memory_file = memfd_create("i2c", MFD_CLOEXEC);
        if (candidate->memory_file < 0) break;
        if (settings->factory_trim) mpu6050_set_factory_trim(candidate->chip, settings->self_test_error_percent);
        candidate->attached = candidate->was_there = true;
        handle = i;
    }
    pthread_mutex_unlock(&table_mutex);
    return handle;
}

void fake_i2c_detach(int handle) {
    pthread_mutex_lock(&table_mutex);
    adapters[handle].attached = false;
    int memory_file = adapters[handle].memory_file;
    pthread_mutex_unlock(&table_mutex);
    close(memory_file);
}

// Whether the adapter is plugged in; records removals since the last call. The caller holds its mutex.
static bool is_plugged_in(adapter *adapter) {
    double now_s = (double)(monotonic_ns() - adapter->attached_ns) / 1e9;
    const fake_i2c_settings *settings = &adapter->settings;
    bool is_there = !adapter->pulled_out && (now_s < settings->gone_from_s || now_s >= settings->gone_until_s);
    bool was_there = adapter->was_there;
    adapter->was_there = is_there;
    if (was_there && !is_there) {
        adapter->removals++;
        mpu6050_power_cycle(adapter->chip);
    }
    return is_there;
}

adapter *adapter_at(const char *path) {
    adapter *found = NULL;
    pthread_mutex_lock(&table_mutex);
    for (int i = 0; i < ADAPTERS && !found; i++) {
        if (adapters[i].attached && strcmp(adapters[i].path, path) == 0) found = &adapters[i];
    }
    pthread_mutex_unlock(&table_mutex);
    return found;
}

int adapter_open_error(adapter *adapter) {
    pthread_mutex_lock(&adapter->mutex);
    int error = is_plugged_in(adapter) ? adapter->settings.open_error : ENOENT;
    pthread_mutex_unlock(&adapter->mutex);
    return error;
}

void adapter_file(adapter *adapter, char *path, size_t size) {
    struct stat status;
    if (stat(adapter->path, &status) == 0 && S_ISREG(status.st_mode)) {
        snprintf(path, size, "%s", adapter->path);
    } else {
        snprintf(path, size, "/proc/self/fd/%d", adapter->memory_file);
    }
}

bool adapter_own(adapter *adapter, int descriptor) {
    if (descriptor >= DESCRIPTORS) return false;
    pthread_mutex_lock(&table_mutex);
    adapter->descriptors++;
    pthread_mutex_unlock(&table_mutex);
    atomic_store(&selected[descriptor], 0);
    atomic_store(&opened_after[descriptor], adapter->removals);
    atomic_store(&owners[descriptor], adapter);
    return true;
}

unsigned adapter_disown(int descriptor) {
    if (descriptor < 0 || descriptor >= DESCRIPTORS) return 0;
    adapter *owner = atomic_exchange(&owners[descriptor], NULL);
    if (!owner) return 0;
    pthread_mutex_lock(&table_mutex);
    owner->descriptors--;
    unsigned pause = owner->settings.close_ms;
    pthread_mutex_unlock(&table_mutex);
    return pause;
}

bool adapter_owns(int descriptor) {
    return descriptor >= 0 && descriptor < DESCRIPTORS && atomic_load(&owners[descriptor]);
}

// MARK: queries of tests

bool fake_i2c_fail(int handle, uint64_t first, uint64_t count, int error, unsigned hold_ms) {
    adapter *adapter = &adapters[handle];
    pthread_mutex_lock(&adapter->mutex);
    bool room = adapter->fault_count < FAULTS;
    if (room) adapter->faults[adapter->fault_count++] = (fault){first, count, error, hold_ms};
    pthread_mutex_unlock(&adapter->mutex);
    return room;
}

uint64_t fake_i2c_transactions(int handle) {
    pthread_mutex_lock(&adapters[handle].mutex);
    uint64_t transactions = adapters[handle].transactions;
    pthread_mutex_unlock(&adapters[handle].mutex);
    return transactions;
}

fake_i2c_transfer fake_i2c_last_transfer(int handle) {
    pthread_mutex_lock(&adapters[handle].mutex);
    fake_i2c_transfer last = adapters[handle].last;
    pthread_mutex_unlock(&adapters[handle].mutex);
    return last;
}

unsigned fake_i2c_rude_requests(int handle) {
    pthread_mutex_lock(&adapters[handle].mutex);
    unsigned requests = adapters[handle].rude_requests;
    pthread_mutex_unlock(&adapters[handle].mutex);
    return requests;
}

unsigned fake_i2c_open_descriptors(int handle) {
    pthread_mutex_lock(&table_mutex);
    unsigned descriptors = adapters[handle].descriptors;
    pthread_mutex_unlock(&table_mutex);
    return descriptors;
}

void fake_i2c_set_absent(int handle, bool absent) {
    pthread_mutex_lock(&adapters[handle].mutex);
    adapters[handle].absent = absent;
    pthread_mutex_unlock(&adapters[handle].mutex);
}

void fake_i2c_set_pulled_out(int handle, bool pulled_out) {
    pthread_mutex_lock(&adapters[handle].mutex);
    adapters[handle].pulled_out = pulled_out;
    is_plugged_in(&adapters[handle]);
    pthread_mutex_unlock(&adapters[handle].mutex);
}

// MARK: the bus

static void take_down(adapter *adapter, int smbus_size, const struct i2c_msg *messages, unsigned count) {
    adapter->last = (fake_i2c_transfer){.smbus_size = smbus_size, .count = (int)count};
    for (unsigned i = 0; i < count && i < 4; i++) {
        fake_i2c_message *message = &adapter->last.messages[i];
        *message = (fake_i2c_message){messages[i].addr, messages[i].flags, messages[i].len, {0}};
        for (unsigned j = 0; j < messages[i].len && j < 4; j++) message->bytes[j] = messages[i].buf[j];
    }
}

// Nine clocks per byte with its acknowledgement, including the address, and one each for start and stop (UM10204).
static int64_t duration_ns(const adapter *adapter, const struct i2c_msg *messages, unsigned count) {
    if (adapter->settings.clock_hz == 0) return 0;
    int64_t clocks = 1;
    for (unsigned i = 0; i < count; i++) clocks += 1 + 9 * (1 + (int64_t)messages[i].len);
    return clocks * 1000000000 / adapter->settings.clock_hz;
}

// Waits for the duration of a transaction.
static void hold_wires(adapter *adapter, int64_t duration) {
    adapter->owed_ns += duration;
    if (adapter->owed_ns < SHORTEST_HOLD_NS) return;
    hold_ns(adapter->owed_ns);
    adapter->owed_ns = 0;
}

// Applies scheduled faults to the chip. Returns whether it is plugged in.
static bool live_through(adapter *adapter, int64_t now_ns) {
    const fake_i2c_settings *settings = &adapter->settings;
    double now_s = (double)(now_ns - adapter->attached_ns) / 1e9;
    mpu6050_advance(adapter->chip, now_ns);
    if (settings->brown_out_s > 0 && now_s >= settings->brown_out_s && !adapter->was_browned_out) {
        adapter->was_browned_out = true;
        mpu6050_power_cycle(adapter->chip);
    }
    if (settings->unplugged_until_s <= settings->unplugged_from_s || now_s < settings->unplugged_from_s) return true;
    if (!adapter->was_unplugged) {
        adapter->was_unplugged = true;
        mpu6050_power_cycle(adapter->chip);
    }
    return now_s >= settings->unplugged_until_s;
}

// The adapter driver's work. Returns the number of messages or -errno.
static int transfer(adapter *adapter, int smbus_size, struct i2c_msg *messages, unsigned count) {
    adapter->transactions++;
    for (unsigned i = 0; i < adapter->fault_count; i++) {
        const fault *fault = &adapter->faults[i];
        // Compared as a difference, because the end of an endless fault would overflow.
        if (adapter->transactions < fault->first || adapter->transactions - fault->first >= fault->count) continue;
        take_down(adapter, smbus_size, messages, count);
        hold_ns((int64_t)fault->hold_ms * 1000000);
        return -fault->error;
    }
    const fake_i2c_settings *settings = &adapter->settings;
    double now_s = (double)(monotonic_ns() - adapter->attached_ns) / 1e9;
    if (now_s >= settings->down_from_s && now_s < settings->down_until_s) {
        take_down(adapter, smbus_size, messages, count);
        return -settings->down_error;
    }
    for (unsigned i = 0; i < count; i++) {
        bool reads = messages[i].flags & I2C_M_RD;
        // i2c-bcm2835.c refuses a read that is not the last message.
        if (reads && adapter->settings.single_read_message && i + 1 != count) return -EOPNOTSUPP;
        if (reads && adapter->settings.longest_read && messages[i].len > adapter->settings.longest_read) {
            return -EOPNOTSUPP;
        }
    }
    hold_wires(adapter, duration_ns(adapter, messages, count));
    bool is_there = live_through(adapter, monotonic_ns()) && !adapter->absent;
    bool has_moved = settings->moved_address && now_s >= settings->moved_from_s && now_s < settings->moved_until_s;
    uint8_t address = has_moved ? settings->moved_address : settings->address;
    for (unsigned i = 0; i < count; i++) {
        const struct i2c_msg *message = &messages[i];
        if (!is_there || message->addr != address) {
            take_down(adapter, smbus_size, messages, count);
            return -adapter->settings.absent_error;
        }
        if (message->flags & I2C_M_RD) {
            mpu6050_read_burst(adapter->chip, message->buf, message->len);
            continue;
        }
        for (unsigned j = 0; j < message->len; j++) {
            if (j == 0) {
                mpu6050_point(adapter->chip, message->buf[0]);
            } else {
                mpu6050_write(adapter->chip, message->buf[j]);
            }
        }
    }
    take_down(adapter, smbus_size, messages, count);
    return (int)count;
}

// MARK: i2c-dev

static int combined(adapter *adapter, const struct i2c_rdwr_ioctl_data *request) {
    if (!request->msgs || request->nmsgs == 0 || request->nmsgs > I2C_RDWR_IOCTL_MAX_MSGS) return -EINVAL;
    for (unsigned i = 0; i < request->nmsgs; i++) {
        if (request->msgs[i].len > LONGEST_MESSAGE) return -EINVAL;
        if (request->msgs[i].len > 0 && !request->msgs[i].buf) return -EFAULT;
    }
    if (!(adapter->settings.functionality & I2C_FUNC_I2C)) return -EOPNOTSUPP;
    return transfer(adapter, -1, request->msgs, request->nmsgs);
}

static unsigned long needed_functionality(const struct i2c_smbus_ioctl_data *request) {
    bool reads = request->read_write == I2C_SMBUS_READ;
    switch (request->size) {
    case I2C_SMBUS_QUICK: return I2C_FUNC_SMBUS_QUICK;
    case I2C_SMBUS_BYTE: return reads ? I2C_FUNC_SMBUS_READ_BYTE : I2C_FUNC_SMBUS_WRITE_BYTE;
    case I2C_SMBUS_BYTE_DATA: return reads ? I2C_FUNC_SMBUS_READ_BYTE_DATA : I2C_FUNC_SMBUS_WRITE_BYTE_DATA;
    default: return reads ? I2C_FUNC_SMBUS_READ_I2C_BLOCK : I2C_FUNC_SMBUS_WRITE_I2C_BLOCK;
    }
}

// SMBus calls become messages, as the kernel emulates them for adapters that transfer messages.
static int smbus(adapter *adapter, uint8_t address, const struct i2c_smbus_ioctl_data *request) {
    bool reads = request->read_write == I2C_SMBUS_READ;
    bool quick = request->size == I2C_SMBUS_QUICK;
    bool byte = request->size == I2C_SMBUS_BYTE;
    bool block = request->size == I2C_SMBUS_I2C_BLOCK_DATA || request->size == I2C_SMBUS_I2C_BLOCK_BROKEN;
    if (!quick && !byte && !block && request->size != I2C_SMBUS_BYTE_DATA) return -EINVAL;
    if (request->read_write > I2C_SMBUS_READ) return -EINVAL;
    if (!(adapter->settings.functionality & needed_functionality(request))) return -EOPNOTSUPP;
    if (!request->data && !quick && !(byte && !reads)) return -EINVAL;

    uint16_t length = quick ? 0 : 1;
    uint8_t *data = request->data ? &request->data->byte : NULL;
    if (block) {
        // The broken variant predates the length parameter and always reads 32 bytes.
        if (request->size == I2C_SMBUS_I2C_BLOCK_BROKEN && reads) request->data->block[0] = I2C_SMBUS_BLOCK_MAX;
        length = request->data->block[0];
        if (length == 0 || length > I2C_SMBUS_BLOCK_MAX) return -EINVAL;
        data = &request->data->block[1];
    }
    uint8_t written[1 + I2C_SMBUS_BLOCK_MAX] = {request->command};
    struct i2c_msg messages[2] = {{.addr = address, .len = 1, .buf = written}};
    unsigned count = 1;
    if (quick || (byte && reads)) {
        messages[0] = (struct i2c_msg){.addr = address, .flags = reads ? I2C_M_RD : 0, .len = length, .buf = data};
    } else if (reads) {
        messages[count++] = (struct i2c_msg){.addr = address, .flags = I2C_M_RD, .len = length, .buf = data};
    } else if (!byte) {
        memcpy(&written[1], data, length);
        messages[0].len = (uint16_t)(1 + length);
    }
    int answer = transfer(adapter, (int)request->size, messages, count);
    return answer < 0 ? answer : 0;
}

int adapter_request(int descriptor, unsigned long request, void *argument) {
    adapter *adapter = atomic_load(&owners[descriptor]);
    uintptr_t number = (uintptr_t)argument;
    int answer = 0;
    pthread_mutex_lock(&adapter->mutex);
    // A descriptor opened before the adapter was unplugged stays useless.
    if (!is_plugged_in(adapter) || atomic_load(&opened_after[descriptor]) != adapter->removals) {
        int error = adapter->settings.gone_error;
        pthread_mutex_unlock(&adapter->mutex);
        return -error;
    }
    switch (request) {
    case I2C_FUNCS:
        answer = -adapter->settings.functionality_error;
        if (answer == 0) *(unsigned long *)argument = adapter->settings.functionality;
        break;
    case I2C_SLAVE:
        if (number > 0x7F) {
            answer = -EINVAL;
        } else if (adapter->settings.kernel_driver && number == adapter->settings.address) {
            answer = -EBUSY;
        } else {
            atomic_store(&selected[descriptor], (uint8_t)number);
        }
        break;
    case I2C_RDWR: answer = combined(adapter, argument); break;
    case I2C_SMBUS: answer = smbus(adapter, atomic_load(&selected[descriptor]), argument); break;
    case I2C_SLAVE_FORCE:
    case I2C_TIMEOUT:
    case I2C_RETRIES: adapter->rude_requests++; break;
    default: answer = -ENOTTY;
    }
    pthread_mutex_unlock(&adapter->mutex);
    return answer;
}
