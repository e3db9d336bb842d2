/* What the programs have in common. */
#ifndef CHECK_H
#define CHECK_H

#include <bertha.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends the program unless a call returns this code. */
#define CODE(wanted, call)                                                                                             \
    do {                                                                                                               \
        int code_ = (call);                                                                                            \
        if (code_ != (wanted)) {                                                                                       \
            fprintf(stderr, "%s:%d: %s: %s (%s), not %s\n", __FILE__, __LINE__, #call, bertha_code_name(code_),        \
                    bertha_error_message(), bertha_code_name(wanted));                                                 \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

#define OK(call) CODE(BERTHA_OK, call)

/* Ends the program unless this is true. */
#define CHECK(condition)                                                                                               \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #condition);                                        \
            exit(1);                                                                                                   \
        }                                                                                                              \
    } while (0)

/* The time of a call that should not take long, in milliseconds. */
#define SOON 30000

static inline uint64_t listen_at(const char *datapath, const char *address, const char *stack, uint64_t options, char *at,
                                 size_t capacity) {
    uint64_t listener = 0;
    size_t length = 0;
    OK(bertha_listen(datapath, address, stack, options, &listener));
    OK(bertha_listener_address(listener, at, capacity, &length));
    CHECK(strlen(at) == length);
    return listener;
}

/* Returns the number of descriptors of this process. */
static inline int descriptors(void) {
    int number = 0;
    DIR *folder = opendir("/proc/self/fd");
    CHECK(folder);
    while (readdir(folder)) number++;
    closedir(folder);
    return number;
}

#endif
