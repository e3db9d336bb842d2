// Programs that are hard on sockets: what their files share. Each prints lines that do not depend on time.
#ifndef HARDSHIP_H
#define HARDSHIP_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// Two ends of a connection over loopback, which has carried enough to be worth a ring; and one that is new.
void warm_pair(int ends[2]);
void new_pair(int ends[2]);
// Passes bytes from one end to the other, and returns true if they are right.
bool pass_bytes(int from, int to, size_t count);
unsigned char byte_at(uint64_t at);
void check(bool right, const char *what);

void write_in_handler(void);
void close_during_read(void);
void cancelled_threads(void);
void no_more_descriptors(void);
void closed_at_start(void);
void killed_ends(void);
void short_connections(void);
void server_that_forks(void);
void threads_of_one_socket(void);
void exec_in_the_middle(void);
void exec_with_unread_bytes(void);
void killed_writer(void);
void copied_sets(void);
void read_before_wait(void);
void disturbed_streams(void);
void many_sockets(void);
void lists_of_arguments(void);
void returns_without_answer(void);
int be_executed(char **arguments);

#endif
