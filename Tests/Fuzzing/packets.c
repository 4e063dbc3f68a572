// The libFuzzer target of the limit on packets (Sources/CMosquittoGuard/packet_limit.c): in whichever parts the bytes
// arrive, the first packet that is too long is found, and no other.
#define _GNU_SOURCE
#include <stdint.h>
#include <stdlib.h>

// The functions that it replaces in a program keep their place in this one.
#define read read_of_program
#define SSL_read ssl_read_of_program
#include "../../Sources/CMosquittoGuard/packet_limit.c"

// The end of the header of the first packet above the limit; SIZE_MAX if there is none.
static size_t first_oversized(const uint8_t *bytes, size_t size, uint32_t limit) {
    for (size_t at = 0; at < size;) {
        size_t index = at + 1;
        uint64_t length = 0;
        unsigned digits = 0;
        for (;;) {
            if (index >= size) { return SIZE_MAX; }
            length |= (uint64_t)(bytes[index] & 0x7F) << 7 * digits;
            digits += 1;
            if (bytes[index++] < 0x80 || digits == 4) { break; }
        }
        if (1 + digits + length > limit) { return index; }
        at = index + length;
    }
    return SIZE_MAX;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) { return 0; }
    struct mosquitto_packet_limit limit = {.limit = 16u + data[0] * 64u};
    const size_t part = 1 + data[1] % 64;
    const uint8_t *bytes = data + 2;
    size -= 2;
    const size_t expected = first_oversized(bytes, size, limit.limit);
    size_t done = 0;
    while (done < size) {
        const size_t count = size - done < part ? size - done : part;
        if (!follow(&limit, bytes + done, count)) {
            // The header ends in this part.
            if (expected == SIZE_MAX || expected <= done || expected > done + count) { abort(); }
            return 0;
        }
        done += count;
    }
    if (expected != SIZE_MAX) { abort(); }
    return 0;
}
