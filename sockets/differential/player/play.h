// The interpreter of programs of socket calls: what its files share.
//
// The main thread, the conductor, reads the steps, knows from the results so far which of them have a sure outcome, and has an actor for
// each end of the connections make the calls. Actors are threads, or the second is a process. Orders and answers go through pipes, which
// no library that takes over sockets touches.
#ifndef PLAY_H
#define PLAY_H

#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

enum { CONNECTIONS = 3, ALIASES = 4, PERIOD = 65536, BUFFER = 1 << 16 };

// What an actor is told to do. Steps of a program have the same numbers as far as they go.
enum op {
    OPEN, READ, WRITE, POLL, CLOSE, SHUTDOWN, DUP, OPTION, FLAGS, BULK, PINGPONG, FILL, EPOLL_CTL, EPOLL_WAIT, CHILD, HOLD, RELEASE,
    AWAIT, AWAIT_ROOM, NAMES, STRANGE, PAUSE, STDIO, SPLICE, OOB, OPS,
    // Orders only.
    LISTEN, CONNECT, ACCEPT, SETTLE, BULK_READ, BULK_WRITE, WRITABLE, OOB_SEND, OOB_READ, QUIT,
};

// Flags of READ and WRITE, in `x`.
enum { X_PEEK = 1, X_WAITALL = 2, X_DONTWAIT = 4, X_TRUNC = 8, X_NOSIGNAL = 16 };

// A signal for POLL and EPOLL_WAIT that is there already and that their mask lets in, and a time that they would wait, in `x`.
enum { P_WAITS = 16, P_SIGNAL = 32 };

// What SETTLE waits for, in `x`.
enum { S_END = 1, S_RESET = 2 };

struct order {
    int op, c, e, alias, v, n, x;
    int timeout;   // of POLL and EPOLL_WAIT, in milliseconds
    int queued;    // bytes that SETTLE waits for
    uint64_t read_at, write_at;
};

struct answer {
    long ret;
    int error;
    long moved;    // bytes of the stream that went through, as the pattern confirms
    int fd;
    char text[600];
};

struct actor {
    int number;
    int orders[2], answers[2];
    pthread_t thread;
    pid_t tid, pid;
    int fds[CONNECTIONS][ALIASES];
    int listener, epoll, nest;
    pid_t holders[CONNECTIONS];
    unsigned char *buffer;
};

extern unsigned char table[2 * PERIOD];
extern int table_file;
extern const char *self;
extern _Thread_local volatile sig_atomic_t pipes, interrupts;

// pattern.c
void make_pattern(void);
void put_pattern(unsigned char *into, int stream, uint64_t at, size_t count);
long pattern_differs(const unsigned char *bytes, int stream, uint64_t at, size_t count);
off_t table_offset(int stream, uint64_t at);

// text.c
const char *name_of_errno(int error);
void say(struct answer *to, const char *format, ...) __attribute__((format(printf, 2, 3)));
void say_result(struct answer *to, const char *call, long ret);
const char *name_of_op(int op);
int op_of_name(const char *name);

// transfer.c
void do_read(struct actor *, const struct order *, struct answer *);
void do_write(struct actor *, const struct order *, struct answer *);
void do_bulk_read(struct actor *, const struct order *, struct answer *);
void do_bulk_write(struct actor *, const struct order *, struct answer *);
void do_pingpong(struct actor *, const struct order *, struct answer *);
void do_oob_send(struct actor *, const struct order *, struct answer *);
void do_oob_read(struct actor *, const struct order *, struct answer *);
void do_fill(struct actor *, const struct order *, struct answer *);
long read_once(int fd, unsigned char *into, size_t count, int v, int flags);
long write_once(int fd, int stream, uint64_t at, unsigned char *scratch, size_t count, int v, int flags);

// readiness.c
void do_poll(struct actor *, const struct order *, struct answer *);
void do_epoll_ctl(struct actor *, const struct order *, struct answer *);
void do_epoll_wait(struct actor *, const struct order *, struct answer *);
void do_settle(struct actor *, const struct order *, struct answer *);
void do_writable(struct actor *, const struct order *, struct answer *);

// descriptors.c
void do_listen(struct actor *, const struct order *, struct answer *);
void do_connect(struct actor *, const struct order *, struct answer *);
void do_accept(struct actor *, const struct order *, struct answer *);
void do_close(struct actor *, const struct order *, struct answer *);
void do_dup(struct actor *, const struct order *, struct answer *);
void do_option(struct actor *, const struct order *, struct answer *);
void do_flags(struct actor *, const struct order *, struct answer *);
void do_names(struct actor *, const struct order *, struct answer *);
void do_strange(struct actor *, const struct order *, struct answer *);

// children.c
void do_child(struct actor *, const struct order *, struct answer *);
void do_hold(struct actor *, const struct order *, struct answer *);
void do_release(struct actor *, const struct order *, struct answer *);
void do_stdio(struct actor *, const struct order *, struct answer *);
void do_splice(struct actor *, const struct order *, struct answer *);
int be_child(char **arguments);

// actor.c
void *act(void *actor);
void send_order(struct actor *, const struct order *);
bool has_answered(struct actor *, int milliseconds);
void take_answer(struct actor *, struct answer *);

// conductor.c
void conduct(FILE *program, struct actor *actors, bool threads);

#endif
