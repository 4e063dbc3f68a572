// A limit on the packets that libmosquitto reads.
//
// The library allocates and reads a packet of any length up to 256 MB. MQTT 5 lets a client tell the broker its limit,
// but 3.1.1 does not, and a broker may ignore it. The program therefore defines read() and SSL_read() in place of the C
// library's and OpenSSL's. While libmosquitto reads a connection, they follow the packets in its bytes, and fail at the
// header of one that is too long, before the library allocates memory for it. Every other call is passed on unchanged.
#ifndef JOSTLE_PACKET_LIMIT_H
#define JOSTLE_PACKET_LIMIT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// What is known of the packets of one connection. Initially zero, apart from the limit.
struct mosquitto_packet_limit {
    // The longest packet to read, bytes.
    uint32_t limit;
    // Whether a longer packet has begun. Nothing is read any more.
    bool is_exceeded;
    // The topic of that packet, without a terminator, to be freed; its size is 0 if it is not known.
    uint8_t *topic;
    size_t topic_size;
    // The bytes of all packets so far.
    uint64_t bytes;

    // The present packet: its first byte, its length as far as it is known, and its unread bytes.
    enum { PACKET_TYPE, PACKET_LENGTH, PACKET_BODY } expected;
    uint8_t type;
    uint32_t length;
    unsigned shift;
};

struct mosquitto;

// Applies a limit to what this thread reads from the client's connection, until mosquitto_limit_end.
void mosquitto_limit_begin(struct mosquitto *client, struct mosquitto_packet_limit *limit);
void mosquitto_limit_end(void);

// Whether the program's read() and SSL_read() were linked and exported.
bool mosquitto_limit_works(void);

// Whether the TLS handshake of the client's connection is complete. False without TLS.
bool mosquitto_is_encrypted(struct mosquitto *client);

// Whether a TCP socket is or was connected: whether its peer has acknowledged the SYN (TCP_INFO). Unlike SO_ERROR, this
// does not depend on what read the socket before.
bool mosquitto_was_connected(int socket);

#endif
