// Steps in which several actors take part. Each returns false if it is left out.
#include "knowledge.h"
#include <sys/syscall.h>

bool open_connection(int c, int v, int x) {
    if (exists[c]) return false;
    memset(ends[c], 0, sizeof ends[c]);
    struct order order = blank(LISTEN, c, 1);
    order.v = v, order.x = x;
    ask(order);
    printf("  %s\n", answer.text);
    order = blank(CONNECT, c, 0);
    order.v = v, order.x = x, order.n = answer.fd;
    ask(order);
    printf("  %s\n", answer.text);
    ends[c][0].fds[0] = answer.fd;
    ends[c][0].nonblocking = x & 2;
    order = blank(ACCEPT, c, 1);
    order.x = x;
    ask(order);
    ends[c][1].fds[0] = answer.fd;
    ends[c][1].nonblocking = x & 1;
    ends[c][0].aliases[0] = ends[c][1].aliases[0] = exists[c] = true;
    return true;
}

// Bytes through a connection, as many as make it worth a ring.
bool bulk(int c, int e, int v, int n, int x) {
    if (!flows(c, e)) return false;
    struct order in = blank(BULK_READ, c, 1 - e), out = blank(BULK_WRITE, c, e);
    in.alias = pick_alias(&ends[c][1 - e], x), out.alias = pick_alias(&ends[c][e], x);
    in.n = ends[c][1 - e].queued + n, in.v = v / 10, in.x = x, out.n = n, out.v = v % 10;
    send_order(&actors[1 - e], &in);
    ask(out);
    wrote(c, e, answer.moved);
    printf("  %s\n", answer.text);
    take_answer(&actors[1 - e], &answer);
    has_read(c, 1 - e, answer.moved);
    return true;
}

bool pingpong(int c, int e, int v, int n) {
    if (!flows(c, e) || !flows(c, 1 - e) || ends[c][0].queued || ends[c][1].queued) return false;
    struct order first = blank(PINGPONG, c, e), second = blank(PINGPONG, c, 1 - e);
    first.v = second.v = v, first.n = second.n = n, first.x = 1;
    first.alias = pick_alias(&ends[c][e], 0), second.alias = pick_alias(&ends[c][1 - e], 0);
    send_order(&actors[1 - e], &second);
    ask(first);
    long there = answer.moved;
    printf("  %s\n", answer.text);
    take_answer(&actors[1 - e], &answer);
    ends[c][e].sent += (uint64_t)there, ends[c][1 - e].got += (uint64_t)there;
    ends[c][1 - e].sent += (uint64_t)answer.moved, ends[c][e].got += (uint64_t)answer.moved;
    return true;
}

bool fill(int c, int e, int v, int n, int x) {
    if (!flows(c, e) || n < 500) return false;
    struct order order = blank(FILL, c, e);
    order.alias = pick_alias(&ends[c][e], x), order.v = v, order.n = n;
    ask(order);
    printf("  %s\n", answer.text);
    wrote(c, e, answer.moved);
    order = blank(BULK_READ, c, 1 - e);
    order.alias = pick_alias(&ends[c][1 - e], x), order.v = v, order.n = ends[c][1 - e].queued;
    ask(order);
    // The amount depends on the sizes of buffers.
    bool whole = answer.moved == order.n;
    has_read(c, 1 - e, answer.moved);
    printf("  %s\n", whole ? "drained" : answer.text);
    order = blank(WRITABLE, c, e);
    order.alias = pick_alias(&ends[c][e], x);
    ask(order);
    return true;
}

static void drain(int c, int e) {
    struct order order = blank(BULK_READ, c, e);
    order.alias = pick_alias(&ends[c][e], 0), order.n = ends[c][e].queued;
    ask(order);
    has_read(c, e, answer.moved);
}

// What ends the wait of a call, in `x`.
enum { BYTES, HALF_CLOSE, PEER_CLOSES, SELF_SHUTS, SIGNAL, RESTARTING_SIGNAL, SELF_CLOSES };

// A call that waits, and what ends the wait.
bool await(int c, int e, int v, int n, int x) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    int event = x / 8 % 7, kind = v % 3;
    if (end->no_more_in || end->reset || end->read_shut || peer->write_shut || aliases_of(end) == 0 || aliases_of(peer) == 0 || peer->reset
        || peer->holders || n < 1)
        return false;
    if (end->queued) drain(c, e);
    if (kind == 0 && (end->nonblocking || end->timeout)) kind = 1;
    struct order order = blank(kind == 0 ? READ : POLL, c, e);
    order.alias = pick_alias(end, x), order.timeout = 4000, order.v = kind == 2 ? 4 : v / 3;
    // A larger message might come in pieces.
    order.n = n = n > 1000 ? 1000 : n;
    order.x = kind == 0 ? (x & 1 ? X_WAITALL : 0) : x & 1 ? 0 : 3;
    // The conductor has the descriptors of its own process only.
    bool own = e == 0 || threads, single = aliases_of(end) == 1 && !end->holders;
    if ((event == SELF_SHUTS || event == SELF_CLOSES) && !own) event = BYTES;
    if (event == SELF_CLOSES && (!single || kind != 0)) event = BYTES;
    if (event == RESTARTING_SIGNAL && kind != 0) event = BYTES;
    send_order(&actors[e], &order);
    if (has_answered(&actors[e], 4)) {
        take_answer(&actors[e], &answer);
        printf("  does not wait\n");
        return true;
    }
    struct order cause = blank(WRITE, c, 1 - e);
    cause.alias = pick_alias(peer, 0), cause.n = n, cause.x = X_NOSIGNAL;
    // Of several messages, the first might wake the reader alone.
    cause.v = v % 7 == 5 ? 0 : v;
    struct answer of_cause = { 0 };
    switch (event) {
    case HALF_CLOSE:
        cause.op = SHUTDOWN, cause.v = SHUT_WR;
        ask(cause);
        shut(c, 1 - e, SHUT_WR);
        break;
    case PEER_CLOSES:
        for (int alias = 0; alias < ALIASES; alias++) {
            if (peer->aliases[alias]) close_alias(c, 1 - e, alias, 0);
        }
        break;
    case SELF_SHUTS:
        shutdown(end->fds[order.alias], SHUT_RD);
        shut(c, e, SHUT_RD);
        break;
    case SIGNAL:
        // On a machine under load, a signal may come before the call has begun.
        for (int tries = 0; tries < 6; tries++) {
            syscall(SYS_tgkill, actors[e].pid, actors[e].tid, SIGUSR1);
            if (has_answered(&actors[e], 500)) break;
        }
        break;
    case RESTARTING_SIGNAL:
        syscall(SYS_tgkill, actors[e].pid, actors[e].tid, SIGUSR2);
        usleep(2000);
        // The call goes on.
        __attribute__((fallthrough));
    default:
        // A read goes on with a descriptor that another thread closes.
        if (event == SELF_CLOSES) close(end->fds[order.alias]);
        ask(cause);
        of_cause = answer;
        wrote(c, 1 - e, answer.moved);
    }
    if (*of_cause.text) printf("  %s\n", of_cause.text);
    take_answer(&actors[e], &answer);
    if (order.op == READ && answer.moved > 0) has_read(c, e, answer.moved);
    if (event == SELF_CLOSES) {
        struct answer kept = answer;
        printf("  %s\n", kept.text);
        // The number is free already; the actor still has to forget it.
        end->aliases[order.alias] = false;
        struct order forget = blank(CLOSE, c, e);
        forget.alias = order.alias;
        ask(forget);
        ended(c, e);
    }
    return true;
}

// A writer that waits for room, and what ends the wait.
bool await_room(int c, int e, int v, int x) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    int event = x / 8 % 3;
    if (!flows(c, e) || end->nonblocking || peer->holders) return false;
    struct order order = blank(BULK_WRITE, c, e);
    order.alias = pick_alias(end, x), order.v = v, order.n = 30000000;
    if (event == 2 && e == 1 && !threads) event = 0;
    send_order(&actors[e], &order);
    usleep(30000);
    if (has_answered(&actors[e], 0)) {
        take_answer(&actors[e], &answer);
        printf("  does not wait\n");
        return true;
    }
    struct order in = blank(BULK_READ, c, 1 - e);
    in.alias = pick_alias(peer, 0), in.v = v, in.n = peer->queued + order.n;
    if (event == 0) {
        ask(in);
        peer->got += (uint64_t)answer.moved;
        peer->queued = peer->pieces = 0;
        printf("  %s\n", answer.text);
        take_answer(&actors[e], &answer);
        end->sent += (uint64_t)answer.moved;
        return true;
    }
    if (event == 1) {
        // There is more unread than a ring holds.
        peer->queued += 1;
        for (int alias = 0; alias < ALIASES; alias++) {
            if (peer->aliases[alias]) close_alias(c, 1 - e, alias, 0);
        }
        take_answer(&actors[e], &answer);
        end->sent += (uint64_t)answer.moved;
        return true;
    }
    shutdown(end->fds[order.alias], SHUT_WR);
    take_answer(&actors[e], &answer);
    printf("  %s\n", answer.text);
    wrote(c, e, answer.moved);
    shut(c, e, SHUT_WR);
    // What the writer had put before the end arrives.
    in.n = peer->queued;
    ask(in);
    has_read(c, 1 - e, answer.moved);
    strcpy(answer.text, answer.moved == in.n ? "drained" : "NOT DRAINED");
    return true;
}

// An urgent byte, which is read apart, and bytes behind it.
bool oob(int c, int e, int n) {
    if (!flows(c, e) || n < 1) return false;
    if (ends[c][1 - e].queued) drain(c, 1 - e);
    struct order order = blank(OOB_SEND, c, e);
    order.alias = pick_alias(&ends[c][e], 0);
    ask(order);
    printf("  %s\n", answer.text);
    order = blank(OOB_READ, c, 1 - e);
    order.alias = pick_alias(&ends[c][1 - e], 0);
    ask(order);
    printf("  %s\n", answer.text);
    order = blank(BULK_WRITE, c, e);
    order.alias = pick_alias(&ends[c][e], 0), order.v = 1, order.n = n > 1000 ? 1000 : n;
    ask(order);
    wrote(c, e, answer.moved);
    // The mark is behind the reader only after this.
    drain(c, 1 - e);
    return true;
}
