// Streams of known bytes while something happens that a ring of shared memory cannot bear, and many sockets at once.
#include "hardship.h"
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>

enum { LENGTH = 3000000, STREAMS = 40 };

static void *put_stream(void *fd) {
    unsigned char bytes[3001];
    for (uint64_t at = 0; at < LENGTH;) {
        // Sizes of all kinds, so that moves come at every place of a call.
        size_t part = 1 + (at * 31 + at / 7) % sizeof bytes, left = LENGTH - (size_t)at;
        if (part > left) part = left;
        for (size_t place = 0; place < part; place++) bytes[place] = byte_at(at + place);
        ssize_t put = send(*(int *)fd, bytes, part, MSG_NOSIGNAL);
        if (put <= 0) return NULL;
        at += (uint64_t)put;
    }
    shutdown(*(int *)fd, SHUT_WR);
    return NULL;
}

static void *take_stream(void *fd) {
    static const char right[] = "right";
    unsigned char bytes[5003];
    uint64_t at = 0;
    for (;;) {
        ssize_t got = read(*(int *)fd, bytes, 1 + (at * 17 + at / 5) % sizeof bytes);
        if (got <= 0) return got == 0 && at == LENGTH ? (void *)right : NULL;
        for (ssize_t place = 0; place < got; place++) {
            if (bytes[place] != byte_at(at + (uint64_t)place)) return NULL;
        }
        at += (uint64_t)got;
    }
}

// Sends a descriptor to this process, and closes what arrives.
static void pass_descriptor(int fd) {
    int pair[2];
    char byte = 'x', space[CMSG_SPACE(sizeof fd)] = { 0 };
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return;
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (sendmsg(pair[0], &message, 0) == 1 && recvmsg(pair[1], &message, 0) == 1 && CMSG_FIRSTHDR(&message)) {
        memcpy(&fd, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof fd);
        close(fd);
    }
    close(pair[0]), close(pair[1]);
}

static void disturb(int fd, int way) {
    int status, queued;
    if (way == 0) pass_descriptor(fd);
    if (way == 1) {
        FILE *file = fdopen(dup(fd), "r");
        if (file) fclose(file);
    }
    if (way == 2 || way == 3) {
        pid_t child = fork();
        if (child == 0 && way == 2) execl("/bin/true", "true", NULL);
        if (child == 0) _exit(0);
        waitpid(child, &status, 0);
    }
    if (way == 4) close(dup(fd));
    if (way == 5) ioctl(fd, FIONREAD, &queued);
}

// Both directions flow at once while one end is disturbed at some moment, again and again.
void disturbed_streams(void) {
    bool all = true;
    for (int stream = 0; stream < STREAMS; stream++) {
        int ends[2];
        pthread_t threads[4];
        void *first, *second;
        // Half of the time all threads find at once that the connection is worth a ring.
        if (stream % 2) new_pair(ends);
        else warm_pair(ends);
        pthread_create(&threads[0], NULL, put_stream, &ends[0]);
        pthread_create(&threads[1], NULL, put_stream, &ends[1]);
        pthread_create(&threads[2], NULL, take_stream, &ends[0]);
        pthread_create(&threads[3], NULL, take_stream, &ends[1]);
        for (int turn = 0; turn < 6; turn++) {
            usleep((stream * 37 + turn * 211) % 1500);
            disturb(ends[turn % 2], (stream + turn) % 6);
        }
        pthread_join(threads[0], NULL), pthread_join(threads[1], NULL);
        pthread_join(threads[2], &first), pthread_join(threads[3], &second);
        all &= first != NULL && second != NULL;
        close(ends[0]), close(ends[1]);
    }
    check(all, "bytes of both directions");
}

enum { SOCKETS = 1000 };

// Many sockets in one epoll, of which a few are ready: these and no others are told.
void many_sockets(void) {
    static int ends[SOCKETS][2];
    struct rlimit limit;
    bool told = true, once = true;
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_max < 4096 ? limit.rlim_max : 4096;
    setrlimit(RLIMIT_NOFILE, &limit);
    int epoll = epoll_create1(0);
    for (int at = 0; at < SOCKETS; at++) {
        // A tenth is worth a ring.
        if (at % 10 == 0) warm_pair(ends[at]);
        else new_pair(ends[at]);
        struct epoll_event event = { .events = EPOLLIN | (at % 2 ? EPOLLET : 0), .data.u32 = (uint32_t)at };
        epoll_ctl(epoll, EPOLL_CTL_ADD, ends[at][1], &event);
    }
    for (int round = 0; round < 200; round++) {
        struct epoll_event got[64];
        int expected = 1 + round % 20, seen = 0;
        char byte;
        for (int at = 0; at < expected; at++) told &= write(ends[(round * 13 + at * 50) % SOCKETS][0], "x", 1) == 1;
        while (seen < expected) {
            int ready = epoll_wait(epoll, got, 64, 2000);
            if (ready <= 0) break;
            for (int at = 0; at < ready; at++) seen += read(ends[got[at].data.u32][1], &byte, 1) == 1;
        }
        told &= seen == expected;
        once &= epoll_wait(epoll, got, 64, 0) == 0;
    }
    check(told, "ready sockets");
    check(once, "no others");
}

// Makes a copy of a set in some way.
static int copy_of(int epoll, int way) {
    if (way == 0) return dup(epoll);
    if (way == 1) return fcntl(epoll, F_DUPFD_CLOEXEC, 200);
    return dup2(epoll, 300);
}

// A set is waited for and changed by copies of its descriptor, of which the first is closed now and then.
void copied_sets(void) {
    bool told = true, once = true;
    for (int turn = 0; turn < 24; turn++) {
        int ends[2], first = epoll_create1(0), early = copy_of(first, turn % 3);
        char byte;
        struct epoll_event event = { .events = EPOLLIN | (turn % 2 ? EPOLLET : 0), .data.u32 = 7 }, got;
        if (turn % 4 == 0) new_pair(ends);
        else warm_pair(ends);
        epoll_ctl(turn % 8 < 4 ? first : early, EPOLL_CTL_ADD, ends[1], &event);
        int late = dup(turn % 5 == 0 ? early : first);
        if (turn % 3 == 0) close(first);
        if (turn % 6 == 0) close(early);
        int waits[] = { late, turn % 6 ? early : late, turn % 3 ? first : late };
        for (int round = 0; round < 30; round++) {
            int set = waits[round % 3];
            told &= epoll_wait(set, &got, 1, 0) == 0;
            told &= write(ends[0], "x", 1) == 1 && epoll_wait(set, &got, 1, -1) == 1;
            told &= got.data.u32 == 7 && got.events == EPOLLIN && read(ends[1], &byte, 1) == 1;
            once &= epoll_wait(waits[(round + 1) % 3], &got, 1, 0) == 0;
        }
        close(late), close(ends[0]), close(ends[1]);
        if (turn % 3) close(first);
        if (turn % 6) close(early);
    }
    check(told, "events by copies");
    check(once, "no others");
}

static void *write_later(void *fd) {
    usleep(20000);
    return write(*(int *)fd, "x", 1) == 1 ? fd : NULL;
}

// A program reads before it waits, as PostgreSQL does: the set tells of the next bytes, and not of those that were read.
void read_before_wait(void) {
    bool told = true;
    for (int turn = 0; turn < 20; turn++) {
        int ends[2], epoll = epoll_create1(0);
        char bytes[8];
        pthread_t writer;
        struct epoll_event event = { .events = EPOLLIN | (turn % 2 ? EPOLLET : 0) }, got;
        warm_pair(ends);
        fcntl(ends[1], F_SETFL, O_NONBLOCK);
        epoll_ctl(epoll, EPOLL_CTL_ADD, ends[1], &event);
        told &= epoll_wait(epoll, &got, 1, 1) == 0;
        told &= write(ends[0], "x", 1) == 1 && read(ends[1], bytes, sizeof bytes) == 1;
        told &= turn % 4 < 2 || read(ends[1], bytes, sizeof bytes) < 0;
        // What a wait tells of bytes that were read already is an event of the kernel as well.
        if (turn % 4 < 2) epoll_wait(epoll, &got, 1, 0);
        pthread_create(&writer, NULL, write_later, &ends[0]);
        told &= epoll_wait(epoll, &got, 1, 5000) == 1 && read(ends[1], bytes, sizeof bytes) == 1;
        pthread_join(writer, NULL);
        close(epoll), close(ends[0]), close(ends[1]);
    }
    check(told, "bytes behind a read");
}
