#define _GNU_SOURCE
#include "packet_limit.h"

#include <dlfcn.h>
#include <errno.h>
#include <linux/tcp.h>
#include <mosquitto.h>
#include <netinet/in.h>
#include <openssl/ssl.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

// The connection that libmosquitto reads on this thread; without a limit, none.
static _Thread_local struct {
    struct mosquitto_packet_limit *limit;
    int socket;
    SSL *ssl;
} reading = {.socket = -1};

typedef ssize_t read_function(int, void *, size_t);
typedef int ssl_read_function(SSL *, void *, int);

// Looked up at the first call. Two threads that look up at once find the same.
static _Atomic(read_function *) system_read;
static _Atomic(ssl_read_function *) system_ssl_read;

void mosquitto_limit_begin(struct mosquitto *client, struct mosquitto_packet_limit *limit) {
    reading.limit = limit;
    reading.socket = mosquitto_socket(client);
    reading.ssl = mosquitto_ssl_get(client);
}

void mosquitto_limit_end(void) { reading.limit = NULL; }

static void *base_of(const void *address) {
    Dl_info info;
    return address != NULL && dladdr(address, &info) != 0 ? info.dli_fbase : NULL;
}

bool mosquitto_limit_works(void) {
    void *program = base_of((void *)mosquitto_limit_works);
    return base_of(dlsym(RTLD_DEFAULT, "read")) == program && base_of(dlsym(RTLD_DEFAULT, "SSL_read")) == program;
}

bool mosquitto_is_encrypted(struct mosquitto *client) {
    SSL *ssl = mosquitto_ssl_get(client);
    return ssl != NULL && SSL_is_init_finished(ssl);
}

bool mosquitto_was_connected(int socket) {
    struct tcp_info info = {0};
    socklen_t size = sizeof info;
    if (getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &size) != 0) { return false; }
    // The count includes the SYN.
    if (size >= offsetof(struct tcp_info, tcpi_bytes_acked) + sizeof info.tcpi_bytes_acked) {
        return info.tcpi_bytes_acked > 0;
    }
    // qemu-user, which runs programs and containers of another architecture, returns only the first four bytes, with the
    // state. The numbers are those of the kernel's include/net/tcp_states.h.
    enum { STATE_SYN_SENT = 2, STATE_CLOSE = 7 };
    return info.tcpi_state != STATE_SYN_SENT && info.tcpi_state != STATE_CLOSE;
}

// Takes the next bytes of the connection, from which the library reads nothing more. Returns their number, or less than 1.
static ssize_t take(void *buffer, size_t size) {
    if (reading.ssl == NULL) { return recv(reading.socket, buffer, size, MSG_DONTWAIT); }
    ssl_read_function *original = atomic_load_explicit(&system_ssl_read, memory_order_relaxed);
    return original != NULL ? original(reading.ssl, buffer, (int)size) : -1;
}

// Takes that many bytes. Those that are still on their way are waited for, as long as there are attempts.
static bool take_all(uint8_t *buffer, size_t size, int *attempts) {
    for (size_t count = 0; count < size;) {
        const ssize_t part = take(buffer + count, size - count);
        if (part > 0) {
            count += (size_t)part;
        } else if (--*attempts > 0) {
            nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        } else {
            return false;
        }
    }
    return true;
}

// Takes the topic of the packet whose header was just read, if it is a PUBLISH. The rest of the topic may still be on
// its way: it is waited for, for at most a tenth of a second.
static void find_topic(struct mosquitto_packet_limit *limit) {
    if ((limit->type & 0xF0) != 0x30) { return; }
    int attempts = 50;
    uint8_t length[2];
    if (!take_all(length, sizeof length, &attempts)) { return; }
    const size_t size = (size_t)length[0] << 8 | length[1];
    limit->topic = malloc(size);
    if (limit->topic != NULL && take_all(limit->topic, size, &attempts)) { limit->topic_size = size; }
}

// Follows the packets in these bytes. Returns false at the header of one that is too long.
static bool follow(struct mosquitto_packet_limit *limit, const uint8_t *bytes, size_t count) {
    limit->bytes += count;
    for (size_t index = 0; index < count;) {
        const uint8_t byte = bytes[index];
        switch (limit->expected) {
        case PACKET_TYPE:
            limit->type = byte;
            limit->length = 0;
            limit->shift = 0;
            limit->expected = PACKET_LENGTH;
            index += 1;
            break;
        case PACKET_LENGTH:
            limit->length |= (uint32_t)(byte & 0x7F) << limit->shift;
            limit->shift += 7;
            index += 1;
            // A fifth byte is a protocol error, which the library reports.
            if (byte >= 0x80 && limit->shift < 28) { break; }
            if (1 + limit->shift / 7 + limit->length > limit->limit) { return false; }
            limit->expected = limit->length > 0 ? PACKET_BODY : PACKET_TYPE;
            break;
        case PACKET_BODY: {
            const size_t rest = count - index;
            const uint32_t part = rest < limit->length ? (uint32_t)rest : limit->length;
            limit->length -= part;
            index += part;
            if (limit->length == 0) { limit->expected = PACKET_TYPE; }
            break;
        }
        }
    }
    return true;
}

// The result of a read, after the packets in it were checked.
static ssize_t checked(void *buffer, ssize_t count) {
    struct mosquitto_packet_limit *limit = reading.limit;
    if (count <= 0 || limit == NULL) { return count; }
    if (!limit->is_exceeded) {
        if (follow(limit, buffer, (size_t)count)) { return count; }
        limit->is_exceeded = true;
        find_topic(limit);
    }
    errno = EMSGSIZE;
    return -1;
}

// Replace the functions of the same names. The linker exports them because libmosquitto, which is linked in, calls them.

__attribute__((visibility("default"), used)) ssize_t read(int descriptor, void *buffer, size_t size) {
    read_function *original = atomic_load_explicit(&system_read, memory_order_relaxed);
    if (original == NULL) {
        original = (read_function *)dlsym(RTLD_NEXT, "read");
        atomic_store_explicit(&system_read, original, memory_order_relaxed);
    }
    const ssize_t count = original(descriptor, buffer, size);
    // With TLS, these are encrypted bytes.
    return reading.limit != NULL && reading.ssl == NULL && descriptor == reading.socket ? checked(buffer, count) : count;
}

__attribute__((visibility("default"), used)) int SSL_read(SSL *ssl, void *buffer, int size) {
    ssl_read_function *original = atomic_load_explicit(&system_ssl_read, memory_order_relaxed);
    if (original == NULL) {
        original = (ssl_read_function *)dlsym(RTLD_NEXT, "SSL_read");
        atomic_store_explicit(&system_ssl_read, original, memory_order_relaxed);
    }
    const int count = original(ssl, buffer, size);
    return reading.limit != NULL && ssl == reading.ssl ? (int)checked(buffer, count) : count;
}
