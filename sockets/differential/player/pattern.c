// The known bytes of every stream: a table, entered at another place for each stream, so that a byte that is lost, comes twice, or belongs
// to another stream shows.
#include "play.h"
#include <sys/mman.h>

unsigned char table[2 * PERIOD];
int table_file = -1;

void make_pattern(void) {
    uint32_t state = 0x9e3779b9;
    for (int at = 0; at < PERIOD; at++) {
        state = state * 1664525 + 1013904223;
        table[at] = table[at + PERIOD] = (unsigned char)(state >> 24);
    }
    // sendfile takes bytes from here, beyond the first period too.
    table_file = memfd_create("pattern", MFD_CLOEXEC);
    for (int copy = 0; copy < 20; copy++) {
        if (write(table_file, table, PERIOD) != PERIOD) abort();
    }
}

off_t table_offset(int stream, uint64_t at) { return (off_t)((at + (uint64_t)stream * 7919) % PERIOD); }

void put_pattern(unsigned char *into, int stream, uint64_t at, size_t count) {
    while (count > 0) {
        size_t part = count < PERIOD ? count : PERIOD;
        memcpy(into, table + table_offset(stream, at), part);
        into += part, at += part, count -= part;
    }
}

// Returns the place of the first wrong byte, or -1.
long pattern_differs(const unsigned char *bytes, int stream, uint64_t at, size_t count) {
    for (size_t place = 0; place < count; place++) {
        if (bytes[place] != table[table_offset(stream, at + place)]) return (long)place;
    }
    return -1;
}
