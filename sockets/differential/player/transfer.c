// Calls that move bytes.
#include "play.h"
#include <sys/sendfile.h>
#include <sys/uio.h>

static int message_flags(int x) {
    return (x & X_PEEK ? MSG_PEEK : 0) | (x & X_WAITALL ? MSG_WAITALL : 0) | (x & X_DONTWAIT ? MSG_DONTWAIT : 0)
        | (x & X_TRUNC ? MSG_TRUNC : 0) | (x & X_NOSIGNAL ? MSG_NOSIGNAL : 0);
}

// Three parts of uneven length, the second of which may be empty.
static void split(struct iovec parts[3], unsigned char *at, size_t count) {
    size_t first = count / 5, second = count % 3 ? count / 2 : 0;
    parts[0] = (struct iovec){ at, first };
    parts[1] = (struct iovec){ at + first, second };
    parts[2] = (struct iovec){ at + first + second, count - first - second };
}

// Three messages with a part each.
static void messages_of(struct mmsghdr messages[3], struct iovec parts[3]) {
    memset(messages, 0, 3 * sizeof *messages);
    for (int at = 0; at < 3; at++) {
        messages[at].msg_hdr.msg_iov = &parts[at];
        messages[at].msg_hdr.msg_iovlen = 1;
    }
}

// The number of messages of the last call that had several.
static _Thread_local int messages_of_call;

// The bytes of the first messages.
static long bytes_of(const struct mmsghdr messages[3], int count) {
    long bytes = count < 0 ? count : 0;
    messages_of_call = count;
    for (int at = 0; at < count; at++) bytes += messages[at].msg_len;
    return bytes;
}

// Several messages in one call, of which only the first waits. With MSG_PEEK each has the same bytes, so there is one.
static long read_messages(int fd, struct iovec parts[3], int flags) {
    struct mmsghdr messages[3];
    messages_of(messages, parts);
    if (flags & MSG_PEEK) {
        messages[0].msg_hdr.msg_iovlen = 3;
        return bytes_of(messages, recvmmsg(fd, messages, 1, flags, NULL));
    }
    long bytes = bytes_of(messages, recvmmsg(fd, messages, 3, flags | MSG_WAITFORONE, NULL));
    // Bytes that came meanwhile may have gone into the next message before this one was full.
    unsigned char *end = parts[0].iov_base;
    for (int at = 0; at < messages_of_call; at++) {
        memmove(end, parts[at].iov_base, messages[at].msg_len);
        end += messages[at].msg_len;
    }
    return bytes;
}

static long write_messages(int fd, struct iovec parts[3], int flags) {
    struct mmsghdr messages[3];
    messages_of(messages, parts);
    return bytes_of(messages, sendmmsg(fd, messages, 3, flags));
}

long read_once(int fd, unsigned char *into, size_t count, int v, int flags) {
    struct iovec parts[3];
    struct mmsghdr message = { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 3 } };
    split(parts, into, count);
    switch (v % 6) {
    case 0: return flags ? recv(fd, into, count, flags) : read(fd, into, count);
    case 1: return recv(fd, into, count, flags);
    case 2: return flags ? recvmsg(fd, &message.msg_hdr, flags) : readv(fd, parts, 3);
    case 3: return recvmsg(fd, &message.msg_hdr, flags);
    case 4: {
        struct sockaddr_storage from;
        socklen_t length = sizeof from;
        return recvfrom(fd, into, count, flags, (struct sockaddr *)&from, &length);
    }
    default: return read_messages(fd, parts, flags);
    }
}

long write_once(int fd, int stream, uint64_t at, unsigned char *scratch, size_t count, int v, int flags) {
    struct iovec parts[3];
    struct mmsghdr message = { .msg_hdr = { .msg_iov = parts, .msg_iovlen = 3 } };
    if (count > BUFFER) count = BUFFER;
    put_pattern(scratch, stream, at, count);
    split(parts, scratch, count);
    switch (v % 7) {
    case 0: return flags ? send(fd, scratch, count, flags) : write(fd, scratch, count);
    case 1: return send(fd, scratch, count, flags);
    case 2: return flags ? sendmsg(fd, &message.msg_hdr, flags) : writev(fd, parts, 3);
    case 3: return sendmsg(fd, &message.msg_hdr, flags);
    case 4: return sendto(fd, scratch, count, flags, NULL, 0);
    case 5: return write_messages(fd, parts, flags);
    default: {
        off_t offset = table_offset(stream, at);
        return flags ? send(fd, scratch, count, flags) : sendfile(fd, table_file, &offset, count);
    }
    }
}

void do_read(struct actor *actor, const struct order *order, struct answer *answer) {
    size_t count = (size_t)(order->n > BUFFER ? BUFFER : order->n);
    // Bytes that a call must not touch.
    memset(actor->buffer, 0xee, count);
    long got = read_once(actor->fds[order->c][order->alias], actor->buffer, count, order->v, message_flags(order->x));
    say_result(answer, "read", got);
    if (order->v % 6 == 5) say(answer, " in %d", messages_of_call);
    if (got <= 0) return;
    if (!(order->x & X_PEEK)) answer->moved = got;
    // The kernel drops bytes that are read with MSG_TRUNC.
    if (order->x & X_TRUNC) return;
    long wrong = pattern_differs(actor->buffer, order->c * 2 + 1 - order->e, order->read_at, (size_t)got);
    if (wrong >= 0) say(answer, " WRONG BYTE %ld at %llu", wrong, (unsigned long long)order->read_at);
}

void do_write(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias];
    long put = write_once(
        fd, order->c * 2 + order->e, order->write_at, actor->buffer, (size_t)order->n, order->v, message_flags(order->x));
    say_result(answer, "write", put);
    if (order->v % 7 == 5) say(answer, " in %d", messages_of_call);
    if (put > 0) answer->moved = put;
}

static bool wait_for(int fd, short events) {
    struct pollfd ready = { .fd = fd, .events = events };
    return poll(&ready, 1, 5000) > 0;
}

void do_bulk_read(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], stream = order->c * 2 + 1 - order->e;
    uint64_t at = order->read_at, end = at + (uint64_t)order->n;
    for (int turn = 0; at < end; turn++) {
        size_t left = (size_t)(end - at), count = left < BUFFER ? left : BUFFER;
        // Calls of different sizes, so that they end at every place of a buffer.
        if (turn % 3 == 1 && count > 100) count = count / 3;
        long got = read_once(fd, actor->buffer, count, order->v, order->x & X_WAITALL ? MSG_WAITALL : 0);
        if (got < 0 && errno == EAGAIN && wait_for(fd, POLLIN)) continue;
        if (got <= 0) {
            say_result(answer, "bulk-read", got);
            say(answer, " after %llu of %d", (unsigned long long)(at - order->read_at), order->n);
            break;
        }
        long wrong = pattern_differs(actor->buffer, stream, at, (size_t)got);
        if (wrong >= 0) {
            say(answer, " WRONG BYTE at %llu", (unsigned long long)at + (unsigned long long)wrong);
            break;
        }
        at += (uint64_t)got;
    }
    answer->moved = (long)(at - order->read_at);
    answer->ret = answer->moved;
    if (at == end) say(answer, "bulk-read=%d", order->n);
}

void do_bulk_write(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], stream = order->c * 2 + order->e;
    uint64_t at = order->write_at, end = at + (uint64_t)order->n;
    for (int turn = 0; at < end; turn++) {
        size_t left = (size_t)(end - at), count = left < BUFFER ? left : BUFFER;
        if (turn % 4 == 1 && count > 100) count = count / 7;
        long put = write_once(fd, stream, at, actor->buffer, count, order->v, 0);
        if (put < 0 && errno == EAGAIN && wait_for(fd, POLLOUT)) continue;
        if (put < 0) {
            say_result(answer, "bulk-write", put);
            // How far it got depends on the sizes of buffers.
            break;
        }
        at += (uint64_t)put;
    }
    answer->moved = (long)(at - order->write_at);
    if (at == end) {
        answer->ret = order->n;
        say(answer, "bulk-write=%d", order->n);
    }
}

// `v` round trips of `n` bytes; `x` is set at the end that begins.
void do_pingpong(struct actor *actor, const struct order *order, struct answer *answer) {
    struct order part = *order;
    part.v = 1, part.x = 0;
    for (int turn = 0; turn < 2 * order->v; turn++) {
        answer->text[0] = 0;
        if ((turn % 2 == 0) == (order->x != 0)) {
            do_bulk_write(actor, &part, answer);
            part.write_at += (uint64_t)answer->moved;
        } else {
            do_bulk_read(actor, &part, answer);
            part.read_at += (uint64_t)answer->moved;
        }
        if (answer->moved != order->n) break;
    }
    answer->moved = (long)(part.write_at - order->write_at);
}

// Writes until there is no room, and stays so.
void do_fill(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], stream = order->c * 2 + order->e;
    uint64_t at = order->write_at;
    struct pollfd room = { .fd = fd, .events = POLLOUT };
    long put;
    do {
        do {
            put = write_once(fd, stream, at, actor->buffer, (size_t)order->n, 1 + order->v % 5, MSG_DONTWAIT | MSG_NOSIGNAL);
            if (put > 0) at += (uint64_t)put;
        } while (put > 0);
        int error = errno;
        usleep(5000);
        errno = error;
        if (put < 0 && error != EAGAIN) break;
    } while (poll(&room, 1, 0) > 0);
    if (put < 0 && at > order->write_at) errno = EAGAIN;
    say_result(answer, "fill", put);
    say(answer, " revents=%x", (unsigned)room.revents);
    answer->moved = (long)(at - order->write_at);
}

// A byte that is no part of the pattern.
void do_oob_send(struct actor *actor, const struct order *order, struct answer *answer) {
    say_result(answer, "send-oob", send(actor->fds[order->c][order->alias], "!", 1, MSG_OOB | MSG_NOSIGNAL));
}

void do_oob_read(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias];
    struct pollfd ready = { .fd = fd, .events = POLLPRI };
    char byte = '?';
    say_result(answer, "urgent", poll(&ready, 1, 3000));
    say(answer, " %x", (unsigned)ready.revents);
    say_result(answer, "read-oob", recv(fd, &byte, 1, MSG_OOB));
    say(answer, " %c", byte);
}
