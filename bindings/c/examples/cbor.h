/* The part of CBOR (RFC 8949) that the example of a service needs: numbers, texts, arrays and maps, with their lengths in front. */
#ifndef CBOR_H
#define CBOR_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum cbor_kind { CBOR_NUMBER = 0, CBOR_TEXT = 3, CBOR_ARRAY = 4, CBOR_MAP = 5 };

#define CBOR_NULL 0xf6

/* What is written. */
struct cbor {
    uint8_t bytes[2048];
    size_t length;
};

/* What is still to be read. */
struct cbor_input {
    const uint8_t *bytes;
    size_t length;
};

/* Writes a number, or what precedes this many bytes, items or pairs. */
static inline void cbor_put(struct cbor *to, enum cbor_kind kind, uint64_t number) {
    int bytes = number < 24 ? 0 : number < 0x100 ? 1 : number < 0x10000 ? 2 : number < 0x100000000 ? 4 : 8;
    if (sizeof to->bytes - to->length < 9) return;
    uint8_t small = bytes == 0 ? (uint8_t)number : bytes == 1 ? 24 : bytes == 2 ? 25 : bytes == 4 ? 26 : 27;
    to->bytes[to->length++] = (uint8_t)(kind << 5 | small);
    while (bytes--) to->bytes[to->length++] = (uint8_t)(number >> 8 * bytes);
}

static inline void cbor_put_text(struct cbor *to, const char *text, size_t length) {
    cbor_put(to, CBOR_TEXT, length);
    if (sizeof to->bytes - to->length < length) return;
    memcpy(to->bytes + to->length, text, length);
    to->length += length;
}

/* Reads a number, or how many bytes, items or pairs follow. Returns false if something else is there. */
static inline bool cbor_take(struct cbor_input *from, enum cbor_kind kind, uint64_t *number) {
    if (from->length == 0 || from->bytes[0] >> 5 != kind) return false;
    uint8_t small = from->bytes[0] & 31;
    size_t bytes = small < 24 ? 0 : (size_t)1 << (small - 24);
    if (small > 27 || from->length <= bytes) return false;
    *number = bytes == 0 ? small : 0;
    for (size_t place = 1; place <= bytes; place++) *number = *number << 8 | from->bytes[place];
    from->bytes += 1 + bytes;
    from->length -= 1 + bytes;
    return true;
}

static inline bool cbor_take_text(struct cbor_input *from, const char **text, size_t *length) {
    uint64_t number;
    if (!cbor_take(from, CBOR_TEXT, &number) || number > from->length) return false;
    *text = (const char *)from->bytes;
    *length = (size_t)number;
    from->bytes += number;
    from->length -= (size_t)number;
    return true;
}

#endif
