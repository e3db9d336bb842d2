// poll, select and epoll.
#include "play.h"
#include <sys/epoll.h>
#include <sys/select.h>
#include <time.h>

static const short wanted[] = { POLLIN, POLLOUT, POLLIN | POLLOUT, POLLIN | POLLRDHUP, POLLIN | POLLOUT | POLLRDHUP | POLLPRI, 0 };

// Has a signal wait for this thread, if it is to. Returns the mask that lets it in.
static const sigset_t *signal_waits(const struct order *order, sigset_t *before) {
    sigset_t blocked;
    if (!(order->x & P_SIGNAL)) return NULL;
    sigemptyset(&blocked);
    sigaddset(&blocked, SIGUSR1);
    pthread_sigmask(SIG_BLOCK, &blocked, before);
    pthread_kill(pthread_self(), SIGUSR1);
    return before;
}

// Lets the signal in that the call did not let in.
static void signal_comes(const sigset_t *mask, struct answer *answer) {
    int during = interrupts;
    if (!mask) return;
    pthread_sigmask(SIG_SETMASK, mask, NULL);
    say(answer, " signals %d and %d", during, (int)interrupts - during);
}

static void do_select(const struct order *order, int fd, const sigset_t *mask, bool with_mask, struct answer *answer) {
    fd_set reads, writes, errors;
    FD_ZERO(&reads);
    FD_ZERO(&writes);
    FD_ZERO(&errors);
    short events = wanted[order->x % 6];
    if (events & POLLIN) FD_SET(fd, &reads);
    if (events & POLLOUT) FD_SET(fd, &writes);
    FD_SET(fd, &errors);
    struct timeval time = { order->timeout / 1000, order->timeout % 1000 * 1000 };
    struct timespec precise = { order->timeout / 1000, order->timeout % 1000 * 1000000 };
    int ready = with_mask ? pselect(fd + 1, &reads, &writes, &errors, &precise, mask) : select(fd + 1, &reads, &writes, &errors, &time);
    say_result(answer, "select", ready);
    if (ready > 0) say(answer, " %d%d%d", !!FD_ISSET(fd, &reads), !!FD_ISSET(fd, &writes), !!FD_ISSET(fd, &errors));
}

static void do_fresh_epoll(const struct order *order, int fd, struct answer *answer) {
    int outer = epoll_create1(EPOLL_CLOEXEC), inner = epoll_create1(0);
    struct epoll_event event = { .events = (uint32_t)wanted[order->x % 6] }, in = { .events = EPOLLIN }, got;
    int added = epoll_ctl(inner, EPOLL_CTL_ADD, fd, &event);
    say_result(answer, "add", added);
    epoll_ctl(outer, EPOLL_CTL_ADD, inner, &in);
    // The outer first, since it must know by itself.
    int ready = epoll_wait(outer, &got, 1, order->timeout);
    say_result(answer, "outer", ready);
    ready = epoll_wait(inner, &got, 1, 0);
    say_result(answer, "inner", ready);
    if (ready > 0) say(answer, " %x", got.events);
    close(outer), close(inner);
}

void do_poll(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias];
    struct pollfd ready = { .fd = fd, .events = wanted[order->x % 6] };
    struct timespec time = { order->timeout / 1000, order->timeout % 1000 * 1000000 };
    sigset_t before;
    // The other calls have no mask.
    int way = order->v % 5, without = order->x & P_SIGNAL ? 0 : order->timeout;
    const sigset_t *mask = way == 1 || way == 3 ? signal_waits(order, &before) : NULL;
    struct order brief = *order;
    brief.timeout = way == 3 ? order->timeout : without;
    switch (way) {
    case 0: say_result(answer, "poll", poll(&ready, 1, without)); break;
    case 1: say_result(answer, "poll", ppoll(&ready, 1, &time, mask)); break;
    case 2:
    case 3: do_select(&brief, fd, mask, way == 3, answer); break;
    default: do_fresh_epoll(&brief, fd, answer); return;
    }
    if (way < 2) say(answer, " %x", (unsigned)ready.revents);
    signal_comes(mask, answer);
}

static const uint32_t kinds[] = { 0, EPOLLET, EPOLLONESHOT, EPOLLET | EPOLLONESHOT };

void do_epoll_ctl(struct actor *actor, const struct order *order, struct answer *answer) {
    static const int controls[] = { EPOLL_CTL_ADD, EPOLL_CTL_MOD, EPOLL_CTL_DEL, EPOLL_CTL_ADD };
    if (actor->epoll < 0) {
        struct epoll_event in = { .events = EPOLLIN };
        actor->epoll = epoll_create1(EPOLL_CLOEXEC);
        actor->nest = epoll_create1(EPOLL_CLOEXEC);
        epoll_ctl(actor->nest, EPOLL_CTL_ADD, actor->epoll, &in);
    }
    struct epoll_event event = {
        .events = (uint32_t)wanted[order->x % 6] | kinds[order->x / 8 % 4],
        .data.u64 = (uint64_t)(order->c * 10 + order->alias),
    };
    int fd = actor->fds[order->c][order->alias];
    say_result(answer, "epoll_ctl", epoll_ctl(actor->epoll, controls[order->v % 4], fd, &event));
}

void do_epoll_wait(struct actor *actor, const struct order *order, struct answer *answer) {
    struct epoll_event got[16];
    struct timespec time = { order->timeout / 1000, order->timeout % 1000 * 1000000 };
    struct pollfd readable = { .fd = actor->epoll, .events = POLLIN };
    sigset_t before;
    // The other calls have no mask.
    int without = order->x & P_SIGNAL ? 0 : order->timeout;
    if (order->v % 8 == 6) {
        say_result(answer, "outer", epoll_wait(actor->nest, got, 1, without));
        return;
    }
    if (order->v % 8 == 7) {
        say_result(answer, "poll-epoll", poll(&readable, 1, without));
        return;
    }
    int ready;
    const sigset_t *mask = order->v % 3 ? signal_waits(order, &before) : NULL;
    switch (order->v % 3) {
    case 0: ready = epoll_wait(actor->epoll, got, 16, without); break;
    case 1: ready = epoll_pwait(actor->epoll, got, 16, order->timeout, mask); break;
    default: ready = epoll_pwait2(actor->epoll, got, 16, &time, mask); break;
    }
    say_result(answer, "epoll_wait", ready);
    // In the order of descriptors: the kernel's is that of arrival.
    for (int which = 0; which < CONNECTIONS * 10; which++) {
        for (int at = 0; at < ready; at++) {
            if (got[at].data.u64 == (uint64_t)which) say(answer, " %d:%x", which, got[at].events);
        }
    }
    signal_comes(mask, answer);
}

// Waits until the bytes that were written have arrived, and the end of the stream or its reset.
void do_settle(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], queued = -1;
    struct pollfd ready = { .fd = fd, .events = POLLIN | POLLRDHUP };
    for (int turn = 0; turn < 2000; turn++) {
        ioctl(fd, FIONREAD, &queued);
        poll(&ready, 1, 0);
        bool bytes = queued == order->queued || order->queued < 0;
        bool end = !(order->x & S_END) || (ready.revents & (POLLRDHUP | POLLHUP));
        bool reset = !(order->x & S_RESET) || (ready.revents & POLLHUP);
        if (bytes && end && reset) return;
        usleep(turn < 20 ? 50 : 1000);
    }
    say(answer, "NOT SETTLED: %d bytes instead of %d, revents %x", queued, order->queued, (unsigned)ready.revents);
}

void do_writable(struct actor *actor, const struct order *order, struct answer *answer) {
    struct pollfd ready = { .fd = actor->fds[order->c][order->alias], .events = POLLOUT };
    say_result(answer, "writable", poll(&ready, 1, 3000));
    say(answer, " %x", (unsigned)ready.revents);
}
