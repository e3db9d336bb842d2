// What is known of the connections, and what a step changes in it.
#include "knowledge.h"

struct end ends[CONNECTIONS][2];
bool exists[CONNECTIONS];
struct actor *actors;
bool threads;
struct answer answer;

struct order blank(int op, int c, int e) {
    return (struct order){ .op = op, .c = c, .e = e, .read_at = ends[c][e].got, .write_at = ends[c][e].sent };
}

void ask(struct order order) {
    send_order(&actors[order.e], &order);
    take_answer(&actors[order.e], &answer);
}

int aliases_of(const struct end *end) {
    int count = 0;
    for (int alias = 0; alias < ALIASES; alias++) count += end->aliases[alias];
    return count;
}

bool is_open(const struct end *end) { return aliases_of(end) + end->holders > 0; }

int pick_alias(const struct end *end, int which) {
    int count = aliases_of(end);
    for (int alias = 0; alias < ALIASES; alias++) {
        if (end->aliases[alias] && which % count-- == 0) return alias;
    }
    return -1;
}

// Waits until what was done has arrived.
void settle(void) {
    for (int c = 0; c < CONNECTIONS; c++) {
        for (int e = 0; e < 2 && exists[c]; e++) {
            struct end *end = &ends[c][e];
            if (aliases_of(end) == 0) continue;
            struct order order = blank(SETTLE, c, e);
            order.alias = pick_alias(end, 0);
            order.queued = end->reset ? -1 : end->queued;
            order.x = (end->no_more_in && !end->read_shut ? S_END : 0) | (end->reset ? S_RESET : 0);
            ask(order);
            if (*answer.text) printf("  c%d%c: %s\n", c, 'a' + e, answer.text);
        }
    }
}

void wrote(int c, int e, long count) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    if (count <= 0) return;
    end->sent += (uint64_t)count;
    if (end->reset) return;
    if (!is_open(peer)) {
        end->reset = true;
    } else if (peer->read_shut && peer->write_shut) {
        end->reset = peer->reset = true;
    } else {
        peer->queued += (int)count;
        peer->pieces++;
    }
}

void has_read(int c, int e, long count) {
    struct end *end = &ends[c][e];
    end->got += (uint64_t)count;
    end->queued -= (int)count;
    if (end->queued <= 0) end->queued = end->pieces = 0;
}

// What the last close of an end does to its peer.
void ended(int c, int e) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    if (is_open(end)) return;
    if (!is_open(peer)) {
        exists[c] = false;
    } else if (end->queued > 0 || end->lingers) {
        peer->reset = true;
    }
    peer->no_more_in = true;
}

bool can_read(const struct end *end, int n, int x) {
    if (end->nonblocking || x & X_DONTWAIT || end->no_more_in || end->reset || end->read_shut || end->timeout) return true;
    return end->queued >= (x & X_WAITALL && n > 1 ? n : 1);
}

bool can_write(int c, int e, int n) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    if (end->write_shut || end->reset || !is_open(peer)) return true;
    return peer->queued + n <= ROOM && peer->pieces < PIECES;
}

bool flows(int c, int e) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    return aliases_of(end) && aliases_of(peer) && !end->write_shut && !end->reset && !peer->reset && !peer->read_shut;
}

void close_alias(int c, int e, int alias, int x) {
    struct order order = blank(CLOSE, c, e);
    order.alias = alias, order.x = x;
    ask(order);
    ends[c][e].aliases[alias] = false;
    ended(c, e);
}

void shut(int c, int e, int how) {
    struct end *end = &ends[c][e];
    if (how != SHUT_WR) end->read_shut = true;
    if (how != SHUT_RD) end->write_shut = ends[c][1 - e].no_more_in = true;
}
