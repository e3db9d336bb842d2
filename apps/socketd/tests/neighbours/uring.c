/* Reads a connection by an io_uring that it makes by HOW: LIBC, INLINE (an instruction with the number of the call), or HIDDEN (one without).
   WHEN is BEFORE the connection has carried anything, AFTER, or GONE: with bytes in its ring whose sender has closed it. Prints a line at each step, and waits for one after each but the last. */
#include <arpa/inet.h>
#include <errno.h>
#include <linux/io_uring.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define LIBC 1
#define INLINE 2
#define HIDDEN 3
#define BEFORE 1
#define AFTER 2
#define GONE 3
#define BYTES 64

static void fail(const char *what) {
    printf("%s: %s\n", what, strerror(errno));
    exit(1);
}

static void step(const char *line) {
    char none[8];
    printf("%s\n", line);
    fflush(stdout);
    if (!fgets(none, sizeof none, stdin)) exit(1);
}

/* A call by an instruction, of which the library hears nothing. */
static inline __attribute__((always_inline)) long call(long number, long a, long b, long c, long d) {
    long done;
    register long fourth __asm__("r10") = d;
    register long fifth __asm__("r8") = 0;
    register long sixth __asm__("r9") = 0;
    __asm__ volatile("syscall" : "=a"(done) : "a"(number), "D"(a), "S"(b), "d"(c), "r"(fourth), "r"(fifth), "r"(sixth) : "rcx", "r11", "memory");
    return done;
}

static long make(struct io_uring_params *params) {
#if HOW == LIBC
    return syscall(SYS_io_uring_setup, 4, params);
#elif HOW == INLINE
    return call(425, 4, (long)params, 0, 0);
#else
    volatile long half = 212;
    return call(half * 2 + 1, 4, (long)params, 0, 0);
#endif
}

static int ring = -1;
static struct io_uring_params params;
static char *rings;
static struct io_uring_sqe *entry;

static void set_up(void) {
    ring = make(&params);
    if (ring < 0) {
        printf("no io_uring: %s\n", strerror(HOW == LIBC ? errno : -ring));
        exit(1);
    }
    rings = mmap(NULL, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQ_RING);
    entry = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, ring, IORING_OFF_SQES);
    if (rings == MAP_FAILED || entry == MAP_FAILED) fail("no memory of an io_uring");
}

static unsigned *at(unsigned offset) {
    return (unsigned *)(rings + offset);
}

/* Reads or writes by the io_uring. Returns what the call would. */
static int do_one(int operation, int connection, void *bytes, unsigned count) {
    unsigned tail = *at(params.sq_off.tail), place = tail & *at(params.sq_off.ring_mask);
    entry[place] = (struct io_uring_sqe){.opcode = operation, .fd = connection, .addr = (unsigned long)bytes, .len = count};
    at(params.sq_off.array)[place] = place;
    __atomic_store_n(at(params.sq_off.tail), tail + 1, __ATOMIC_RELEASE);
    if (call(SYS_io_uring_enter, ring, 1, 1, IORING_ENTER_GETEVENTS) != 1) fail("the io_uring takes nothing");
    unsigned head = *at(params.cq_off.head);
    struct io_uring_cqe *done = (void *)(rings + params.cq_off.cqes);
    int result = done[head & *at(params.cq_off.ring_mask)].res;
    __atomic_store_n(at(params.cq_off.head), head + 1, __ATOMIC_RELEASE);
    return result;
}

static void echo(int connection) {
    char bytes[BYTES];
    ssize_t count;
    while ((count = read(connection, bytes, sizeof bytes)) > 0) {
        if (write(connection, bytes, count) != count) _exit(2);
        if (bytes[0] == '!') _exit(0);
    }
    _exit(count == 0 ? 0 : 3);
}

static void talk(int connection, int rounds, int by_ring) {
    for (int round = 0; round < rounds; round++) {
        char sent[BYTES], seen[BYTES];
        for (int at = 0; at < BYTES; at++) sent[at] = round * 7 + at;
        /* Both ways in turn, as a program does that knows of no library. */
        ssize_t wrote = by_ring && round % 2 ? do_one(IORING_OP_SEND, connection, sent, BYTES) : write(connection, sent, BYTES);
        if (wrote != BYTES) fail("a write failed");
        for (int got = 0; got < BYTES;) {
            int count = by_ring ? do_one(IORING_OP_RECV, connection, seen + got, BYTES - got) : read(connection, seen + got, BYTES - got);
            if (count <= 0) fail("a read failed");
            got += count;
        }
        if (memcmp(sent, seen, BYTES)) fail("other bytes came back");
    }
}

int main(void) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&address, len) || listen(listener, 1)) fail("nothing listens");
    getsockname(listener, (void *)&address, &len);
    pid_t child = fork();
    if (child == 0) echo(accept(listener, NULL, NULL));
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (void *)&address, len)) fail("nothing connects");
    if (WHEN == BEFORE) set_up();
    talk(connection, 20, 0);
    step("begun");
    talk(connection, 100, 0);
    step("talked");
    if (WHEN == GONE) {
        char last[BYTES], seen[BYTES];
        memset(last, '!', BYTES);
        if (write(connection, last, BYTES) != BYTES) fail("a write failed");
        usleep(300000);
        set_up();
        if (do_one(IORING_OP_RECV, connection, seen, BYTES) != BYTES || memcmp(last, seen, BYTES)) fail("other bytes came last");
        if (do_one(IORING_OP_RECV, connection, seen, BYTES)) fail("no end came");
    } else {
        if (WHEN == AFTER) set_up();
        talk(connection, 100, 1);
    }
    step("read");
    close(connection);
    int status = -1;
    alarm(20);
    if (waitpid(child, &status, 0) != child || status != 0) fail("the other end saw no end");
    printf("ended\n");
    return 0;
}
