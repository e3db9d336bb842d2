// Streams that have to go back to the kernel while the other end is gone, or does something else.
#include "hardship.h"
#include <sys/epoll.h>
#include <sys/ioctl.h>

enum { WORD = 849 };

// Gives the second end to a child, which writes and then calls nothing any more.
static pid_t busy_child(int ends[2]) {
    warm_pair(ends);
    pid_t child = fork();
    if (child == 0) {
        unsigned char word[WORD];
        for (uint64_t at = 0; at < WORD; at++) word[at] = byte_at(at);
        close(ends[0]);
        if (write(ends[1], word, WORD) != WORD) _exit(1);
        for (;;) pause();
    }
    close(ends[1]);
    // What was written has come, and a reader that looks for it is awake.
    for (int queued = 0; queued < WORD;) ioctl(ends[0], FIONREAD, &queued);
    struct pollfd ready = { .fd = ends[0], .events = POLLIN };
    poll(&ready, 1, 0);
    return child;
}

static void end_child(pid_t child) {
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static bool is_word(const unsigned char *bytes) {
    for (uint64_t at = 0; at < WORD; at++) {
        if (bytes[at] != byte_at(at)) return false;
    }
    return true;
}

static bool reads_word(int fd) {
    unsigned char bytes[WORD];
    return recv(fd, bytes, WORD, MSG_WAITALL) == WORD && is_word(bytes);
}

// A set within another, for which the kernel alone waits. Returns what the two say.
static int nest(int fd, int sets[2]) {
    struct epoll_event event = { .events = EPOLLIN }, got;
    for (int set = 0; set < 2; set++) sets[set] = epoll_create1(0);
    epoll_ctl(sets[0], EPOLL_CTL_ADD, fd, &event);
    epoll_ctl(sets[1], EPOLL_CTL_ADD, sets[0], &event);
    int outer = epoll_wait(sets[1], &got, 1, 1000);
    return outer + 2 * epoll_wait(sets[0], &got, 1, 1000);
}

static bool is_quiet(int sets[2]) {
    struct epoll_event got;
    return epoll_wait(sets[1], &got, 1, 0) == 0 && epoll_wait(sets[0], &got, 1, 0) == 0;
}

static void close_sets(int sets[2]) { close(sets[0]), close(sets[1]); }

static void watch_busy(void) {
    int ends[2], sets[2];
    pid_t child = busy_child(ends);
    check(nest(ends[0], sets) == 3, "a set within a set knows of bytes");
    check(reads_word(ends[0]), "bytes of an end that does something else");
    check(is_quiet(sets), "a set within a set knows that there are none");
    end_child(child);
    close_sets(sets), close(ends[0]);
}

static void watch_gone(void) {
    int ends[2], sets[2];
    unsigned char word[WORD];
    for (uint64_t at = 0; at < WORD; at++) word[at] = byte_at(at);
    warm_pair(ends);
    if (write(ends[1], word, WORD) != WORD) exit(3);
    close(ends[1]);
    check(nest(ends[0], sets) == 3, "a set within a set knows of an end");
    check(reads_word(ends[0]) && read(ends[0], word, 1) == 0, "bytes before the end");
    // A reset comes behind the first bytes to an end that has gone, and not before.
    check(write(ends[0], "x", 1) == 1, "bytes after the end");
    close_sets(sets), close(ends[0]);
}

static void watch_killed(void) {
    int ends[2], sets[2];
    pid_t child = busy_child(ends);
    nest(ends[0], sets);
    end_child(child);
    check(reads_word(ends[0]), "bytes of an end that was killed");
    close_sets(sets), close(ends[0]);
}

// What TCP shows behind the reset of an end that was killed with bytes unread.
static void write_to_killed(void) {
    int ends[2];
    char byte;
    pid_t child = busy_child(ends);
    if (write(ends[0], "unread", 6) != 6) exit(3);
    end_child(child);
    check(reads_word(ends[0]) && read(ends[0], &byte, 1) < 0 && errno == ECONNRESET, "a reset behind the bytes");
    check(write(ends[0], "x", 1) < 0 && errno == EPIPE, "behind the reset of a killed end");
    close(ends[0]);
}

static void stream_busy(void) {
    int ends[2];
    unsigned char bytes[WORD];
    pid_t child = busy_child(ends);
    FILE *stream = fdopen(dup(ends[0]), "r");
    check(stream && fileno(stream) != ends[0] && fileno(stream) > 2, "a stream of stdio");
    check(stream && fread(bytes, 1, WORD, stream) == WORD && is_word(bytes), "bytes of a stream of stdio");
    check(stream && fclose(stream) == 0, "its end");
    end_child(child);
    close(ends[0]);
}

// A descriptor is passed on with all of its bytes, or stays.
static void pass_busy(void) {
    int ends[2], pair[2], passed = -1;
    char byte = 'x', space[CMSG_SPACE(sizeof passed)] = { 0 };
    pid_t child = busy_child(ends);
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) exit(2);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof passed);
    memcpy(CMSG_DATA(header), &ends[0], sizeof passed);
    ssize_t sent = sendmsg(pair[0], &message, 0);
    if (sent == 1 && recvmsg(pair[1], &message, 0) == 1) memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
    check(sent == 1 ? reads_word(passed) : errno == EAGAIN && reads_word(ends[0]), "bytes of a descriptor that is passed on");
    end_child(child);
    close(passed), close(pair[0]), close(pair[1]), close(ends[0]);
}

// What TCP shows who writes to an end that has gone with bytes unread.
static void write_to_gone(void) {
    int ends[2], sets[2];
    warm_pair(ends);
    if (write(ends[0], "x", 1) != 1) exit(3);
    close(ends[1]);
    struct pollfd gone = { .fd = ends[0], .events = POLLIN };
    poll(&gone, 1, 1000);
    nest(ends[0], sets);
    check(write(ends[0], "x", 1) < 0 && errno == ECONNRESET, "a reset");
    check(write(ends[0], "x", 1) < 0 && errno == EPIPE, "behind a reset");
    close_sets(sets), close(ends[0]);
}

// A descriptor is watched, passed on, or used by stdio, while bytes lie unread that the other end does not send again.
void returns_without_answer(void) {
    for (int turn = 0; turn < 5; turn++) {
        watch_busy();
        watch_gone();
        watch_killed();
        write_to_killed();
        write_to_gone();
    }
    stream_busy();
    pass_busy();
}
