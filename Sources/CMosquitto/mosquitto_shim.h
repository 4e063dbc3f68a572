// libmosquitto, the MQTT client library, and the MQTT 5 property identifiers that come with it; and eventfd, by which
// its network thread is woken: Swift's Glibc module leaves it out.
#ifndef JOSTLE_MOSQUITTO_SHIM_H
#define JOSTLE_MOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>
#include <sys/eventfd.h>

#endif
