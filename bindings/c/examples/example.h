/* What the examples have in common. */
#ifndef EXAMPLE_H
#define EXAMPLE_H

#include <bertha.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The time of a call that does not take long, in milliseconds. */
#define SOON 30000

/* Ends the program with the text of an error. */
static inline void check(int code) {
    if (code == BERTHA_OK) return;
    fprintf(stderr, "%s: %s\n", bertha_code_name(code), bertha_error_message());
    exit(1);
}

/* Ends the program with what its arguments are. */
static inline int usage(const char *arguments) {
    fprintf(stderr, "%s\n", arguments);
    return 2;
}

/* Makes options of names and values, up to a null. */
static inline uint64_t options_of(const char *const *names_and_values) {
    uint64_t options;
    check(bertha_options_create(&options));
    for (; *names_and_values; names_and_values += 2) {
        check(bertha_options_set(options, names_and_values[0], names_and_values[1]));
    }
    return options;
}

/* Listens, prints the address, and answers each client in a thread of its own, which gets the connection as its argument. */
static inline void serve(const char *datapath, const char *address, const char *stack, uint64_t options, void *(*answer)(void *)) {
    uint64_t listener, client;
    char text[256];
    size_t length;
    check(bertha_listen(datapath, address, stack, options, &listener));
    check(bertha_listener_address(listener, text, sizeof text, &length));
    puts(text);
    fflush(stdout);
    for (;;) {
        pthread_t thread;
        check(bertha_accept(listener, -1, &client));
        if (pthread_create(&thread, NULL, answer, (void *)(uintptr_t)client) != 0) exit(1);
        pthread_detach(thread);
    }
}

/* Sends each message back, until the client closes. */
static inline void *echo(void *client) {
    uint64_t connection = (uintptr_t)client;
    struct bertha_buffer message;
    while (bertha_receive_buffer(connection, &message, -1) == BERTHA_OK) check(bertha_send_buffer(connection, &message, -1));
    bertha_close(connection, SOON);
    bertha_release(connection);
    return NULL;
}

/* Closes a connection, whose peer then has all messages. */
static inline void leave(uint64_t connection) {
    check(bertha_close(connection, SOON));
    check(bertha_release(connection));
}

#endif
