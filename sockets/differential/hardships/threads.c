// Threads and signals in the midst of calls.
#include "hardship.h"
#include <sys/epoll.h>
#include <sys/time.h>

static int shared;
static volatile long by_handler, handled;

static void on_alarm(int signal) {
    (void)signal;
    int error = errno;
    ssize_t put = write(shared, "hhhhhhhhhh", 10);
    if (put > 0) by_handler += put;
    handled++;
    errno = error;
}

static void *count_all(void *fd) {
    unsigned char buffer[4096];
    static long count;
    for (ssize_t got; (got = read(*(int *)fd, buffer, sizeof buffer)) > 0;) count += got;
    return &count;
}

// A handler writes to the socket that the interrupted call writes to.
void write_in_handler(void) {
    int ends[2];
    pthread_t reader;
    long put = 0, *got;
    warm_pair(ends);
    shared = ends[0];
    // The reader never runs the handler: it would wait there for room that it alone makes.
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &before);
    pthread_create(&reader, NULL, count_all, &ends[1]);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    struct sigaction action = { .sa_handler = on_alarm, .sa_flags = SA_RESTART };
    struct itimerval often = { { 0, 300 }, { 0, 300 } }, never = { { 0, 0 }, { 0, 0 } };
    sigaction(SIGALRM, &action, NULL);
    setitimer(ITIMER_REAL, &often, NULL);
    char bytes[3000];
    memset(bytes, 'm', sizeof bytes);
    while (handled < 2000) {
        ssize_t part = write(ends[0], bytes, sizeof bytes);
        if (part > 0) put += part;
        else if (errno != EINTR) break;
    }
    setitimer(ITIMER_REAL, &never, NULL);
    shutdown(ends[0], SHUT_WR);
    pthread_join(reader, (void **)&got);
    check(put + by_handler == *got, "bytes of both writers");
}

static void *wait_for_bytes(void *fd) {
    char buffer[100];
    while (read(*(int *)fd, buffer, sizeof buffer) > 0) {}
    return NULL;
}

static void *read_ten(void *fd) {
    static char buffer[10];
    return recv(*(int *)fd, buffer, sizeof buffer, MSG_WAITALL) == sizeof buffer ? buffer : NULL;
}

// The last descriptor is closed while a thread reads: it still has the socket, whose peer sees the end behind the read.
static bool read_goes_on(void) {
    bool right = true;
    for (int turn = 0; turn < 20; turn++) {
        int ends[2];
        pthread_t reader;
        char *got, byte;
        warm_pair(ends);
        int number = ends[1];
        pthread_create(&reader, NULL, read_ten, &number);
        usleep(50000);
        close(number);
        struct pollfd end = { .fd = ends[0], .events = POLLIN };
        right &= poll(&end, 1, 0) == 0;
        right &= write(ends[0], "01234", 5) == 5 && write(ends[0], "56789", 5) == 5;
        pthread_join(reader, (void **)&got);
        right &= got && memcmp(got, "0123456789", 10) == 0;
        right &= read(ends[0], &byte, 1) == 0;
        close(ends[0]);
    }
    return right;
}

// A thread closes the descriptor that another reads from. The read goes on until its peer ends the stream.
void close_during_read(void) {
    for (int turn = 0; turn < 200; turn++) {
        int ends[2];
        pthread_t reader;
        if (turn % 4 == 0) warm_pair(ends);
        else new_pair(ends);
        int copy = dup(ends[1]);
        pthread_create(&reader, NULL, wait_for_bytes, &ends[1]);
        usleep(turn % 7 * 100);
        close(ends[1]);
        if (write(ends[0], "x", 1) != 1) check(false, "write to a copy");
        close(ends[0]);
        pthread_join(reader, NULL);
        close(copy);
    }
    check(true, "every thread ends");
    check(read_goes_on(), "bytes behind the last close");
}

static int cancelled_call;

static void close_it(void *fd) { close((int)(intptr_t)fd); }

static void *wait_in_call(void *fd) {
    int socket = *(int *)fd;
    char byte;
    struct pollfd ready = { .fd = socket, .events = POLLIN };
    if (cancelled_call == 0) read(socket, &byte, 1);
    if (cancelled_call == 1) recv(socket, &byte, 1, MSG_PEEK);
    if (cancelled_call == 2) poll(&ready, 1, 10000);
    if (cancelled_call == 3) {
        struct epoll_event event = { .events = EPOLLIN }, got;
        int epoll = epoll_create1(0);
        epoll_ctl(epoll, EPOLL_CTL_ADD, socket, &event);
        pthread_cleanup_push(close_it, (void *)(intptr_t)epoll);
        epoll_wait(epoll, &got, 1, 10000);
        pthread_cleanup_pop(1);
    }
    return NULL;
}

// Threads are cancelled in a call that waits, and the socket works on: no lock stays taken.
void cancelled_threads(void) {
    int ends[2];
    bool cancelled = true, works = true;
    warm_pair(ends);
    for (int turn = 0; turn < 200; turn++) {
        pthread_t thread;
        void *how;
        cancelled_call = turn % 4;
        pthread_create(&thread, NULL, wait_in_call, &ends[1]);
        usleep(500);
        pthread_cancel(thread);
        pthread_join(thread, &how);
        cancelled &= how == PTHREAD_CANCELED;
        works &= pass_bytes(ends[0], ends[1], 3000) && pass_bytes(ends[1], ends[0], 3000);
    }
    check(cancelled, "threads are cancelled");
    check(works, "bytes afterwards");
}

enum { RECORD = 64, RECORDS = 20000, WRITERS = 4 };

static int common[2];
static long sums[256];

static void *write_records(void *number) {
    char record[RECORD];
    memset(record, 'a' + (int)(intptr_t)number, sizeof record);
    for (int at = 0; at < RECORDS; at++) {
        for (size_t done = 0; done < RECORD;) {
            ssize_t put = write(common[0], record + done, RECORD - done);
            if (put <= 0) return NULL;
            done += (size_t)put;
        }
    }
    return NULL;
}

static void *read_records(void *nothing) {
    unsigned char buffer[1000];
    for (ssize_t got; (got = read(common[1], buffer, sizeof buffer)) > 0;) {
        for (ssize_t at = 0; at < got; at++) __atomic_add_fetch(&sums[buffer[at]], 1, __ATOMIC_RELAXED);
    }
    return nothing;
}

// Four threads write to one end, and four read from the other.
void threads_of_one_socket(void) {
    pthread_t writers[WRITERS], readers[WRITERS];
    bool right = true;
    warm_pair(common);
    for (intptr_t at = 0; at < WRITERS; at++) {
        pthread_create(&writers[at], NULL, write_records, (void *)at);
        pthread_create(&readers[at], NULL, read_records, NULL);
    }
    for (int at = 0; at < WRITERS; at++) pthread_join(writers[at], NULL);
    shutdown(common[0], SHUT_WR);
    for (int at = 0; at < WRITERS; at++) pthread_join(readers[at], NULL);
    for (int at = 0; at < WRITERS; at++) right &= sums['a' + at] == (long)RECORD * RECORDS;
    check(right, "bytes of each thread");
}
