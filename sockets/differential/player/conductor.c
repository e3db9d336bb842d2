// The conductor: what is known of the connections, which decides if a step has a sure outcome. All other steps are left out, so every
// list of steps is a program, and so is every part of it.
#include "play.h"
#include <sys/syscall.h>

// The bytes that may lie unread, and in how many pieces: less than any buffer of the kernel's.
enum { ROOM = 30000, PIECES = 24 };

struct end {
    bool aliases[ALIASES];
    int fds[ALIASES];
    int holders, queued, pieces, timeout;
    uint64_t sent, got;
    bool no_more_in, read_shut, write_shut, reset, nonblocking, lingers, epolled;
};

static struct end ends[CONNECTIONS][2];
static bool exists[CONNECTIONS];
static struct actor *actors;
static bool threads;
static struct answer answer;

static struct order blank(int op, int c, int e) {
    return (struct order){ .op = op, .c = c, .e = e, .read_at = ends[c][e].got, .write_at = ends[c][e].sent };
}

static void ask(struct order order) {
    send_order(&actors[order.e], &order);
    take_answer(&actors[order.e], &answer);
}

static int aliases_of(const struct end *end) {
    int count = 0;
    for (int alias = 0; alias < ALIASES; alias++) count += end->aliases[alias];
    return count;
}

static bool is_open(const struct end *end) { return aliases_of(end) + end->holders > 0; }

static int pick_alias(const struct end *end, int which) {
    int count = aliases_of(end);
    for (int alias = 0; alias < ALIASES; alias++) {
        if (end->aliases[alias] && which % count-- == 0) return alias;
    }
    return -1;
}

// Waits until what was done has arrived.
static void settle(void) {
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

static void wrote(int c, int e, long count) {
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

static void has_read(int c, int e, long count) {
    struct end *end = &ends[c][e];
    end->got += (uint64_t)count;
    end->queued -= (int)count;
    if (end->queued <= 0) end->queued = end->pieces = 0;
}

// What the last close of an end does to its peer.
static void ended(int c, int e) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    if (is_open(end)) return;
    if (!is_open(peer)) {
        exists[c] = false;
    } else if (end->queued > 0 || end->lingers) {
        peer->reset = true;
    }
    peer->no_more_in = true;
}

static bool can_read(const struct end *end, int n, int x) {
    if (end->nonblocking || x & X_DONTWAIT || end->no_more_in || end->reset || end->read_shut || end->timeout) return true;
    return end->queued >= (x & X_WAITALL ? n : 1);
}

static bool can_write(int c, int e, int n) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    if (end->write_shut || end->reset || !is_open(peer)) return true;
    return peer->queued + n <= ROOM && peer->pieces < PIECES;
}

static bool flows(int c, int e) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    return aliases_of(end) && aliases_of(peer) && !end->write_shut && !end->reset && !peer->reset && !peer->read_shut;
}

static bool open_connection(int c, int v, int x) {
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

static void close_alias(int c, int e, int alias, int x) {
    struct order order = blank(CLOSE, c, e);
    order.alias = alias, order.x = x;
    ask(order);
    ends[c][e].aliases[alias] = false;
    ended(c, e);
}

static void shut(int c, int e, int how) {
    struct end *end = &ends[c][e];
    if (how != SHUT_WR) end->read_shut = true;
    if (how != SHUT_RD) end->write_shut = ends[c][1 - e].no_more_in = true;
}

// Bytes through a connection, as many as make it worth a ring.
static bool bulk(int c, int e, int v, int n, int x) {
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

static bool pingpong(int c, int e, int v, int n) {
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

static bool fill(int c, int e, int v, int n, int x) {
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

// A call that waits, and what ends the wait.
static bool await(int c, int e, int v, int n, int x) {
    struct end *end = &ends[c][e], *peer = &ends[c][1 - e];
    int event = x / 8 % 7, kind = v % 3;
    if (end->queued || end->no_more_in || end->reset || end->read_shut || peer->write_shut || aliases_of(end) == 0 || aliases_of(peer) == 0
        || peer->reset || peer->holders || end->timeout || n < 1)
        return false;
    if (kind == 0 && end->nonblocking) return false;
    struct order order = blank(kind == 0 ? READ : kind == 1 ? POLL : EPOLL_WAIT, c, e);
    order.alias = pick_alias(end, x), order.v = v / 3, order.n = n, order.timeout = 4000;
    if (order.op == POLL) order.x = x & 1 ? 0 : 3;
    if (order.op == EPOLL_WAIT) order.op = POLL, order.v = 4, order.x = 3;
    // A byte at a time waits for all of them only in one piece.
    if (order.op == READ && x & 1) order.x = X_WAITALL;
    if (event >= 3 && event < 4 && e == 1 && !threads) return false;
    if (kind != 0 && event == 5) return false;
    // A piece of a message larger than a segment may come alone.
    if (n > 1000) n = order.n = 1000;
    send_order(&actors[e], &order);
    if (has_answered(&actors[e], 4)) {
        take_answer(&actors[e], &answer);
        printf("  does not wait\n");
        return true;
    }
    struct order cause = blank(WRITE, c, 1 - e);
    cause.alias = pick_alias(peer, 0), cause.n = n, cause.x = X_NOSIGNAL, cause.v = v;
    struct answer of_cause = { 0 };
    switch (event) {
    case 1:
        cause.op = SHUTDOWN, cause.v = SHUT_WR;
        ask(cause);
        shut(c, 1 - e, SHUT_WR);
        break;
    case 2:
        for (int alias = 0; alias < ALIASES; alias++) {
            if (peer->aliases[alias]) close_alias(c, 1 - e, alias, 0);
        }
        break;
    case 3:
        shutdown(end->fds[order.alias], SHUT_RD);
        shut(c, e, SHUT_RD);
        break;
    case 4: syscall(SYS_tgkill, actors[e].pid, actors[e].tid, SIGUSR1); break;
    case 5:
        syscall(SYS_tgkill, actors[e].pid, actors[e].tid, SIGUSR2);
        usleep(2000);
        // The call goes on.
        __attribute__((fallthrough));
    default:
        ask(cause);
        of_cause = answer;
        wrote(c, 1 - e, answer.moved);
    }
    if (*of_cause.text) printf("  %s\n", of_cause.text);
    take_answer(&actors[e], &answer);
    if (order.op == READ && answer.moved > 0) has_read(c, e, answer.moved);
    return true;
}

static bool play(int op, int c, int e, int v, int n, int x) {
    struct end *end = &ends[c][e];
    struct order order = blank(op, c, e);
    if (op == PAUSE) {
        usleep((useconds_t)(n % 20) * 1000);
        strcpy(answer.text, "pause");
        return true;
    }
    if (op == OPEN) return open_connection(c, v, x);
    if (op == EPOLL_WAIT) {
        if (!end->epolled) return false;
        order.v = v;
        ask(order);
        return true;
    }
    if (!exists[c]) return false;
    if (op == RELEASE) {
        if (!end->holders) return false;
        ask(order);
        end->holders = 0;
        struct answer kept = answer;
        ended(c, e);
        answer = kept;
        return true;
    }
    if (aliases_of(end) == 0) return false;
    order.alias = pick_alias(end, x / 64), order.v = v, order.n = n, order.x = x % 64;
    switch (op) {
    case READ:
        if (!can_read(end, n, order.x)) return false;
        // The kernel does not say how many bytes it dropped after a reset.
        if (end->reset) order.x &= ~X_TRUNC;
        ask(order);
        has_read(c, e, answer.moved);
        return true;
    case WRITE:
        if (!can_write(c, e, n)) return false;
        ask(order);
        wrote(c, e, answer.moved);
        return true;
    case CHILD:
        if (order.x & 1 ? !can_write(c, e, n) : !can_read(end, n, 0)) return false;
        // A child has no handler of SIGPIPE after exec, as it should be.
        ask(order);
        if (order.x & 1) wrote(c, e, answer.moved);
        else has_read(c, e, answer.moved);
        return true;
    case STDIO:
        if (n < 1 || (order.x & 1 ? !can_write(c, e, n) : end->queued < n)) return false;
        if (order.x & 1 && (end->write_shut || end->reset)) return false;
        ask(order);
        if (order.x & 1) wrote(c, e, answer.moved);
        else has_read(c, e, answer.moved);
        return true;
    case SPLICE:
        if (n < 1 || end->queued < n) return false;
        ask(order);
        has_read(c, e, answer.moved);
        return true;
    case CLOSE: close_alias(c, e, order.alias, x); return true;
    case SHUTDOWN:
        order.v = v % 3;
        ask(order);
        if (answer.ret == 0) shut(c, e, order.v);
        return true;
    case DUP:
        ask(order);
        if (answer.moved >= 0 && answer.fd > 0) end->aliases[answer.moved] = true, end->fds[answer.moved] = answer.fd;
        return true;
    case FLAGS:
        ask(order);
        end->nonblocking = answer.moved;
        return true;
    case OPTION:
        ask(order);
        if (v % 10 == 2) end->timeout = (int)answer.moved;
        if (v % 10 == 6) end->lingers = answer.moved;
        return true;
    case HOLD:
        if (end->holders) return false;
        ask(order);
        end->holders = 1;
        return true;
    case EPOLL_CTL:
        end->epolled = ends[(c + 1) % 3][e].epolled = ends[(c + 2) % 3][e].epolled = true;
        ask(order);
        return true;
    case BULK: return bulk(c, e, v, n, x);
    case PINGPONG: return pingpong(c, e, v, n);
    case FILL: return fill(c, e, v, n, x);
    case AWAIT: return await(c, e, v, n, x);
    default: ask(order); return true;
    }
}

void conduct(FILE *program, struct actor *both, bool are_threads) {
    char name[32];
    int c, e, v, n, x;
    actors = both, threads = are_threads;
    setvbuf(stdout, NULL, _IOLBF, 0);
    for (int number = 0; fscanf(program, "%31s %d %d %d %d %d", name, &c, &e, &v, &n, &x) == 6; number++) {
        int op = op_of_name(name);
        if (op < 0 || c < 0 || c >= CONNECTIONS || e < 0 || e > 1) continue;
        settle();
        memset(&answer, 0, sizeof answer);
        printf("%d %s c%d%c %d %d %d\n", number, name, c, 'a' + e, v, n, x);
        if (!play(op, c, e, v, n, x)) printf("  left out\n");
        else if (*answer.text) printf("  %s\n", answer.text);
    }
    settle();
    for (c = 0; c < CONNECTIONS; c++) {
        for (e = 0; e < 2; e++) {
            if (actors[e].number == e && ends[c][e].holders) play(RELEASE, c, e, 0, 0, 0);
        }
    }
    struct order quit = { .op = QUIT };
    for (e = 0; e < 2; e++) send_order(&actors[e], &quit);
    printf("end\n");
}
