/* Jumps out of calls that wait, by a handler of a signal. Prints a line at each step, and waits for one after each but the last. */
#include <arpa/inet.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

static sigjmp_buf before;
static volatile sig_atomic_t is_armed;

static void jump(int signal) {
    (void)signal;
    if (is_armed) siglongjmp(before, 1);
}

static void fail(const char *what) {
    printf("%s\n", what);
    exit(1);
}

static void step(const char *line) {
    char none[8];
    printf("%s\n", line);
    fflush(stdout);
    if (!fgets(none, sizeof none, stdin)) exit(1);
}

static void echo(int connection) {
    char bytes[64];
    ssize_t count;
    while ((count = read(connection, bytes, sizeof bytes)) > 0)
        if (write(connection, bytes, count) != count) _exit(2);
    _exit(count == 0 ? 0 : 3);
}

static void talk(int connection, int rounds) {
    while (rounds-- > 0) {
        char sent[64], seen[64];
        memset(sent, rounds, sizeof sent);
        if (write(connection, sent, sizeof sent) != sizeof sent) fail("a write failed");
        for (size_t got = 0; got < sizeof seen;) {
            ssize_t count = read(connection, seen + got, sizeof seen - got);
            if (count <= 0) fail("a read failed");
            got += count;
        }
        if (memcmp(sent, seen, sizeof sent)) fail("other bytes came back");
    }
}

/* Waits by one of five calls for bytes that do not come. */
static void await(int connection, int set, int kind) {
    char bytes[8];
    fd_set sockets;
    struct pollfd one = {connection, POLLIN, 0};
    struct epoll_event event;
    FD_ZERO(&sockets);
    FD_SET(connection, &sockets);
    switch (kind) {
        case 0: read(connection, bytes, sizeof bytes); break;
        case 1: recv(connection, bytes, sizeof bytes, 0); break;
        case 2: poll(&one, 1, 5000); break;
        case 3: select(connection + 1, &sockets, NULL, NULL, NULL); break;
        default: epoll_wait(set, &event, 1, 5000); break;
    }
}

int main(void) {
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t len = sizeof at;
    int listener = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (void *)&at, len) || listen(listener, 1)) fail("nothing listens");
    getsockname(listener, (void *)&at, &len);
    pid_t child = fork();
    if (child == 0) echo(accept(listener, NULL, NULL));
    /* A socket that a child has had, too, gets no ring. */
    int connection = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(connection, (void *)&at, len)) fail("nothing connects");
    talk(connection, 10);
    step("begun");
    talk(connection, 100);
    step("in a ring");
    int set = epoll_create1(0);
    struct epoll_event readable = {.events = EPOLLIN};
    if (epoll_ctl(set, EPOLL_CTL_ADD, connection, &readable)) fail("nothing watches");
    struct sigaction jumps = {.sa_handler = jump, .sa_flags = SA_NODEFER};
    sigaction(SIGALRM, &jumps, NULL);
    for (volatile int round = 0; round < 5000; round++) {
        if (sigsetjmp(before, 1) == 0) {
            /* Before a call, in the midst of it, and once in a while when it has parked. */
            struct itimerval soon = {{0, 0}, {0, round % 100 == 0 ? 500 : 3 + round / 5 % 50}};
            is_armed = 1;
            setitimer(ITIMER_REAL, &soon, NULL);
            await(connection, set, round % 5);
            is_armed = 0;
            fail("a call came back without bytes");
        }
        is_armed = 0;
        if (round % 50 == 0) talk(connection, 1);
    }
    talk(connection, 100);
    close(connection);
    int status = -1;
    alarm(20);
    if (waitpid(child, &status, 0) != child || status != 0) fail("the other end saw no end");
    printf("ended\n");
    return 0;
}
