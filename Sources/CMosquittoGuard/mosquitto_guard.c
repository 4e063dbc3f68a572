#define _GNU_SOURCE
#include "mosquitto_guard.h"

#include "packet_limit.h"

#include <dlfcn.h>
#include <mosquitto.h>
#include <setjmp.h>
#include <stddef.h>
#include <stdlib.h>

// The return point of this thread's guarded call; null outside of one and within a callback.
static _Thread_local sigjmp_buf *guard;

// The base address of the loaded libmosquitto.
static void *library;

// Declared by assert.h only without NDEBUG.
__attribute__((noreturn)) void __assert_fail(
    const char *assertion, const char *file, unsigned int line, const char *function);

static void *base_of(const void *address) {
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

void mosquitto_guard_prepare(void) {
    // Not &mosquitto_lib_init, which may be a stub in the program.
    library = base_of(dlsym(RTLD_DEFAULT, "mosquitto_lib_init"));
}

bool mosquitto_guard_works(void) {
    return library != NULL && base_of(dlsym(RTLD_DEFAULT, "__assert_fail")) == base_of((void *)mosquitto_guard_prepare);
}

// Replaces the C library's function. The linker exports it because libmosquitto, which is linked in, calls it.
__attribute__((visibility("default"), used, noreturn)) void __assert_fail(
    const char *assertion, const char *file, unsigned int line, const char *function) {
    if (guard != NULL && library != NULL && base_of(__builtin_return_address(0)) == library) {
        siglongjmp(*guard, 1);
    }
    __typeof__(&__assert_fail) original = (__typeof__(&__assert_fail))dlsym(RTLD_NEXT, "__assert_fail");
    if (original != NULL) { original(assertion, file, line, function); }
    abort();
}

void *mosquitto_guard_suspend(void) {
    void *suspended = guard;
    guard = NULL;
    return suspended;
}

void mosquitto_guard_resume(void *suspended) { guard = suspended; }

// These functions have no local variables that change between sigsetjmp and siglongjmp.
#define RETURN_GUARDED(call)                                      \
    do {                                                          \
        sigjmp_buf place;                                         \
        if (sigsetjmp(place, 0) != 0) {                           \
            guard = NULL;                                         \
            return MOSQUITTO_GUARD_ASSERTION_FAILED;                          \
        }                                                         \
        guard = &place;                                           \
        const int code = (call);                                  \
        guard = NULL;                                             \
        return code;                                              \
    } while (0)

static int guarded_loop_read(struct mosquitto *client, int packets) {
    RETURN_GUARDED(mosquitto_loop_read(client, packets));
}

int mosquitto_guard_loop_read(struct mosquitto *client, int packets, struct mosquitto_packet_limit *limit) {
    mosquitto_limit_begin(client, limit);
    const int code = guarded_loop_read(client, packets);
    mosquitto_limit_end();
    return code;
}

int mosquitto_guard_loop_write(struct mosquitto *client, int packets) {
    RETURN_GUARDED(mosquitto_loop_write(client, packets));
}

int mosquitto_guard_loop_misc(struct mosquitto *client) {
    RETURN_GUARDED(mosquitto_loop_misc(client));
}

int mosquitto_guard_publish_v5(
    struct mosquitto *client, int *id, const char *topic, int size, const void *payload, int qos, bool retain,
    const struct mqtt5__property *properties) {
    RETURN_GUARDED(mosquitto_publish_v5(client, id, topic, size, payload, qos, retain, properties));
}

int mosquitto_guard_subscribe_v5(
    struct mosquitto *client, int *id, const char *filter, int qos, int options,
    const struct mqtt5__property *properties) {
    RETURN_GUARDED(mosquitto_subscribe_v5(client, id, filter, qos, options, properties));
}

int mosquitto_guard_unsubscribe(struct mosquitto *client, int *id, const char *filter) {
    RETURN_GUARDED(mosquitto_unsubscribe(client, id, filter));
}

int mosquitto_guard_disconnect_v5(struct mosquitto *client, int reason, const struct mqtt5__property *properties) {
    RETURN_GUARDED(mosquitto_disconnect_v5(client, reason, properties));
}
