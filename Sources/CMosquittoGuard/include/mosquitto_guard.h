// Calls into libmosquitto that survive the library's own assertions.
//
// libmosquitto 2.0.11 ends the process with assert() over a property that it does not know (property_mosq.c logs it
// for no client, and logging_mosq.c asserts that there is one); 2.0.21 does not. assert() calls __assert_fail, which
// the program defines in place of the C library's: an assertion of libmosquitto's that fails within one of the calls
// below leaves the library with siglongjmp, and the call returns MOSQUITTO_GUARD_LEFT. Any other assertion ends the
// process as before.
//
// A client that was left so may hold locks and be half changed: it must not be used again, and not be destroyed.
// A child process a connection would contain more, but costs a board memory and every message two copies.
#ifndef JOSTLE_MOSQUITTO_GUARD_H
#define JOSTLE_MOSQUITTO_GUARD_H

#include <stdbool.h>

struct mosquitto;
struct mqtt5__property;

// What a call returns whose assertion failed; no MOSQ_ERR_.
#define MOSQUITTO_GUARD_LEFT (-10000)

// Finds out which code is libmosquitto's. To be called once, before the calls below.
void mosquitto_guard_prepare(void);

// Whether libmosquitto's assertions get here: whether the program's __assert_fail was linked and exported.
bool mosquitto_guard_works(void);

// Takes the guard off while libmosquitto calls back, for none but C functions may be jumped over, and puts it on again.
void *mosquitto_guard_suspend(void);
void mosquitto_guard_resume(void *suspended);

// The library's functions of these names.
int mosquitto_guard_loop_read(struct mosquitto *client, int packets);
int mosquitto_guard_loop_write(struct mosquitto *client, int packets);
int mosquitto_guard_loop_misc(struct mosquitto *client);
int mosquitto_guard_publish_v5(
    struct mosquitto *client, int *id, const char *topic, int size, const void *payload, int qos, bool retain,
    const struct mqtt5__property *properties);
int mosquitto_guard_subscribe_v5(
    struct mosquitto *client, int *id, const char *filter, int qos, int options,
    const struct mqtt5__property *properties);
int mosquitto_guard_unsubscribe(struct mosquitto *client, int *id, const char *filter);
int mosquitto_guard_disconnect_v5(struct mosquitto *client, int reason, const struct mqtt5__property *properties);

#endif
