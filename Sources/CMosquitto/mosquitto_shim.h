// libmosquitto, the MQTT client library, and the MQTT 5 property identifiers that come with it.
#ifndef JOSTLE_MOSQUITTO_SHIM_H
#define JOSTLE_MOSQUITTO_SHIM_H

#include <mosquitto.h>
#include <mqtt_protocol.h>

#endif
