// The conductor: reads the steps, and leaves out those that have no sure outcome. So every list of steps is a program, and so is every part
// of it.
#include "knowledge.h"

// The time of a call that does not wait, as it is ready or has a signal, or as its time is zero.
static int signal_time(int x) { return x & P_SIGNAL && x & P_WAITS ? 3000 : 0; }

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
        order.v = v, order.x = x % 64;
        order.timeout = signal_time(order.x);
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
    case AWAIT_ROOM: return await_room(c, e, v, x);
    case OOB: return oob(c, e, n);
    case POLL:
        order.timeout = signal_time(order.x);
        ask(order);
        return true;
    default: ask(order); return true;
    }
}

// The number of regions of memory that a file without a name stands behind, as rings would be.
static int shared_regions(void) {
    char line[600];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && fgets(line, sizeof line, maps)) count += strstr(line, "memfd:") || strstr(line, "/dev/shm/");
    if (maps) fclose(maps);
    return count;
}

// Tells in a file that bytes went through more than sockets. It is not among the lines, which must not depend on it.
static void tell_of_rings(void) {
    const char *path = getenv("PLAY_RINGS");
    int file = path ? open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600) : -1;
    if (file >= 0 && write(file, "r", 1) == 1) close(file);
}

void conduct(FILE *program, struct actor *both, bool are_threads) {
    char name[32];
    int c, e, v, n, x, regions = -1;
    bool has_rings = false;
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
        // What is there after the first connection may belong to the process.
        if (regions < 0 && exists[0]) regions = shared_regions();
        if (op == BULK || op == PINGPONG || op == PAUSE) has_rings |= regions >= 0 && shared_regions() > regions;
    }
    if (has_rings) tell_of_rings();
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
