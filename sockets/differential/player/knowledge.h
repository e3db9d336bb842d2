// What is known of the connections, from the results so far.
#ifndef KNOWLEDGE_H
#define KNOWLEDGE_H

#include "play.h"

// The bytes that may lie unread, and in how many pieces: less than any buffer of the kernel's.
enum { ROOM = 30000, PIECES = 24 };

struct end {
    bool aliases[ALIASES];
    int fds[ALIASES];
    int holders, queued, pieces, timeout;
    uint64_t sent, got;
    bool no_more_in, read_shut, write_shut, reset, nonblocking, lingers, epolled;
};

extern struct end ends[CONNECTIONS][2];
extern bool exists[CONNECTIONS];
extern struct actor *actors;
extern bool threads;
// The last answer of an actor.
extern struct answer answer;

// knowledge.c
struct order blank(int op, int c, int e);
void ask(struct order order);
int aliases_of(const struct end *end);
bool is_open(const struct end *end);
int pick_alias(const struct end *end, int which);
void settle(void);
void wrote(int c, int e, long count);
void has_read(int c, int e, long count);
void ended(int c, int e);
bool can_read(const struct end *end, int n, int x);
bool can_write(int c, int e, int n);
bool flows(int c, int e);
void close_alias(int c, int e, int alias, int x);
void shut(int c, int e, int how);

// scenes.c
bool open_connection(int c, int v, int x);
bool bulk(int c, int e, int v, int n, int x);
bool pingpong(int c, int e, int v, int n);
bool fill(int c, int e, int v, int n, int x);
bool await(int c, int e, int v, int n, int x);
bool await_room(int c, int e, int v, int x);
bool oob(int c, int e, int n);

#endif
