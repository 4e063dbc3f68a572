// Calls into libmosquitto that survive failed assertions in the library.
//
// libmosquitto 2.0.11 terminates the process with assert() when it receives an unknown property (property_mosq.c logs
// it for no client, and logging_mosq.c asserts that there is one); 2.0.21 does not. assert() calls __assert_fail, which
// the program defines in place of the C library's. If an assertion in libmosquitto fails during one of the calls below,
// that function leaves the library with siglongjmp, and the call returns MOSQUITTO_GUARD_ASSERTION_FAILED. Any other
// assertion terminates the process as before.
//
// After a failed assertion the client may hold locks and be in an inconsistent state, so it must be neither used again
// nor destroyed. A child process per connection would isolate more, but it costs memory and two copies of every
// message.
#ifndef JOSTLE_MOSQUITTO_GUARD_H
#define JOSTLE_MOSQUITTO_GUARD_H

#include <stdbool.h>

struct mosquitto;
struct mosquitto_packet_limit;
struct mqtt5__property;

// Returned by a call whose assertion failed; not one of the MOSQ_ERR_ codes.
#define MOSQUITTO_GUARD_ASSERTION_FAILED (-10000)

// Determines which code belongs to libmosquitto. Must be called once, before the calls below.
void mosquitto_guard_prepare(void);

// Whether libmosquitto's assertions are caught: whether the program's __assert_fail was linked and exported.
bool mosquitto_guard_works(void);

// Suspends the guard while libmosquitto calls back, because siglongjmp must only skip C functions; then restores it.
void *mosquitto_guard_suspend(void);
void mosquitto_guard_resume(void *suspended);

// The library's functions of the same names; the first one applies a limit to what it reads.
int mosquitto_guard_loop_read(struct mosquitto *client, int packets, struct mosquitto_packet_limit *limit);
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
