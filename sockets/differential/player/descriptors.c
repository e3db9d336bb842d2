// Calls that make, describe, copy and close descriptors.
#include "play.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/stat.h>
#include <sys/time.h>

static int unused_alias(struct actor *actor, int c) {
    for (int alias = 0; alias < ALIASES; alias++) {
        if (actor->fds[c][alias] < 0) return alias;
    }
    return -1;
}

// Loopback of IPv4, of IPv6, or of IPv4 as an address of IPv6.
static socklen_t loopback(int v, int port, struct sockaddr_storage *to) {
    memset(to, 0, sizeof *to);
    if (v % 3 == 0) {
        struct sockaddr_in *plain = (struct sockaddr_in *)to;
        plain->sin_family = AF_INET, plain->sin_port = htons((uint16_t)port), plain->sin_addr.s_addr = htonl(INADDR_LOOPBACK);
        return sizeof *plain;
    }
    struct sockaddr_in6 *wide = (struct sockaddr_in6 *)to;
    wide->sin6_family = AF_INET6, wide->sin6_port = htons((uint16_t)port), wide->sin6_addr = in6addr_loopback;
    if (v % 3 == 2) inet_pton(AF_INET6, "::ffff:127.0.0.1", &wide->sin6_addr);
    return sizeof *wide;
}

void do_listen(struct actor *actor, const struct order *order, struct answer *answer) {
    struct sockaddr_storage at;
    socklen_t length = loopback(order->v, 0, &at);
    actor->listener = socket(at.ss_family, SOCK_STREAM | SOCK_CLOEXEC | (order->x & 1 ? SOCK_NONBLOCK : 0), 0);
    say_result(answer, "bind", bind(actor->listener, (struct sockaddr *)&at, length));
    say_result(answer, "listen", listen(actor->listener, 8));
    if (order->x & 1) say_result(answer, "accept", accept(actor->listener, NULL, NULL));
    getsockname(actor->listener, (struct sockaddr *)&at, &length);
    // The port lies at the same place in both kinds of address.
    answer->fd = ntohs(((struct sockaddr_in *)&at)->sin_port);
}

void do_connect(struct actor *actor, const struct order *order, struct answer *answer) {
    struct sockaddr_storage to;
    socklen_t length = loopback(order->v, order->n, &to);
    int fd = socket(to.ss_family, SOCK_STREAM | (order->x & 2 ? SOCK_NONBLOCK : 0) | (order->x & 4 ? SOCK_CLOEXEC : 0), IPPROTO_TCP);
    int one = 1, error = -1;
    socklen_t size = sizeof error;
    if (!(order->x & 8)) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    if (order->x & 16) {
        char byte;
        say_result(answer, "early-read", recv(fd, &byte, 1, 0));
        say_result(answer, "early-write", send(fd, &byte, 1, MSG_NOSIGNAL));
    }
    int connected = connect(fd, (struct sockaddr *)&to, length);
    say_result(answer, "connect", connected);
    if (connected < 0 && errno == EINPROGRESS) {
        struct pollfd ready = { .fd = fd, .events = POLLOUT };
        poll(&ready, 1, 3000);
        getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size);
        say(answer, " revents=%x error=%d", (unsigned)ready.revents, error);
    }
    if (order->x & 32) say_result(answer, "again", connect(fd, (struct sockaddr *)&to, length));
    answer->fd = actor->fds[order->c][0] = fd;
}

void do_accept(struct actor *actor, const struct order *order, struct answer *answer) {
    struct pollfd ready = { .fd = actor->listener, .events = POLLIN };
    struct sockaddr_storage from;
    socklen_t length = sizeof from;
    int one = 1;
    say_result(answer, "ready", poll(&ready, 1, 3000));
    int fd = order->x & 1 ? accept4(actor->listener, (struct sockaddr *)&from, &length, SOCK_NONBLOCK | SOCK_CLOEXEC)
                          : accept(actor->listener, (struct sockaddr *)&from, &length);
    if (!(order->x & 8)) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    say(answer, " accepts=%d family=%d flags=%d,%d", fd >= 0, from.ss_family, fcntl(fd, F_GETFL), fcntl(fd, F_GETFD));
    say_result(answer, "close", close(actor->listener));
    actor->listener = -1;
    answer->fd = actor->fds[order->c][0] = fd;
}

void do_close(struct actor *actor, const struct order *order, struct answer *answer) {
    int *fd = &actor->fds[order->c][order->alias];
    say_result(answer, "close", close(*fd));
    if (order->x % 4 == 1) {
        // The number is no descriptor any more.
        char byte;
        say_result(answer, "read", read(*fd, &byte, 1));
        say_result(answer, "again", close(*fd));
    }
    *fd = -1;
}

// Sends a descriptor to this process itself.
static int pass(int fd) {
    int pair[2], passed = -1;
    char byte = 'x', space[CMSG_SPACE(sizeof fd)];
    struct iovec part = { &byte, 1 };
    struct msghdr message = { .msg_iov = &part, .msg_iovlen = 1, .msg_control = space, .msg_controllen = sizeof space };
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair) < 0) return -1;
    memset(space, 0, sizeof space);
    struct cmsghdr *header = CMSG_FIRSTHDR(&message);
    header->cmsg_level = SOL_SOCKET, header->cmsg_type = SCM_RIGHTS, header->cmsg_len = CMSG_LEN(sizeof fd);
    memcpy(CMSG_DATA(header), &fd, sizeof fd);
    if (sendmsg(pair[0], &message, 0) == 1) {
        memset(space, 0, sizeof space);
        message.msg_controllen = sizeof space;
        if (recvmsg(pair[1], &message, 0) == 1 && CMSG_FIRSTHDR(&message)) memcpy(&passed, CMSG_DATA(CMSG_FIRSTHDR(&message)), sizeof passed);
    }
    close(pair[0]), close(pair[1]);
    return passed;
}

void do_dup(struct actor *actor, const struct order *order, struct answer *answer) {
    int from = actor->fds[order->c][order->alias], alias = unused_alias(actor, order->c), high = 200 + order->c * 20 + order->e * 10 + alias;
    int fd = -1;
    answer->moved = alias;
    if (alias < 0) {
        // There is a copy already, which this replaces by itself.
        fd = dup2(from, actor->fds[order->c][order->n % ALIASES]);
        say(answer, "over=%d", fd >= 0);
        return;
    }
    switch (order->v % 8) {
    case 0: fd = dup(from); break;
    case 1: fd = dup2(from, high); break;
    case 2: fd = dup3(from, high, O_CLOEXEC); break;
    case 3: fd = fcntl(from, F_DUPFD, 100); break;
    case 4: fd = fcntl(from, F_DUPFD_CLOEXEC, 100); break;
    case 5: fd = pass(from); break;
    case 6: {
        // Over another file, which is closed thereby.
        int other = open("/dev/null", O_RDONLY);
        fd = dup2(from, other);
        break;
    }
    default:
        say_result(answer, "dup2-itself", dup2(from, from) == from ? 0 : -1);
        fd = dup(from);
    }
    say(answer, "dup=%d cloexec=%d", fd >= 0, fcntl(fd, F_GETFD));
    answer->fd = actor->fds[order->c][alias] = fd;
}

void do_flags(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], on = order->n & 1, flags = fcntl(fd, F_GETFL);
    if (order->v % 2 == 0) {
        say_result(answer, "setfl", fcntl(fd, F_SETFL, on ? flags | O_NONBLOCK : flags & ~O_NONBLOCK));
    } else {
        say_result(answer, "fionbio", ioctl(fd, FIONBIO, &on));
    }
    say(answer, " flags=%d", fcntl(fd, F_GETFL));
    answer->moved = on;
}

static void say_option(struct answer *answer, int fd, int level, int option, const char *name) {
    int value = -1;
    socklen_t size = sizeof value;
    int got = getsockopt(fd, level, option, &value, &size);
    if (got < 0) {
        say_result(answer, name, got);
    } else {
        say(answer, " %s=%d/%d", name, value, (int)size);
    }
}

void do_option(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], n = order->n;
    struct timeval time = { 0, n % 30 * 1000 }, got;
    struct linger linger = { 1, 0 };
    socklen_t size = sizeof got;
    switch (order->v % 10) {
    case 0:
        n &= 1;
        say_result(answer, "nodelay", setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &n, sizeof n));
        say_option(answer, fd, IPPROTO_TCP, TCP_NODELAY, "nodelay");
        break;
    case 1:
        n &= 1;
        say_result(answer, "keepalive", setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &n, sizeof n));
        say_option(answer, fd, SOL_SOCKET, SO_KEEPALIVE, "keepalive");
        break;
    case 2:
        say_result(answer, "rcvtimeo", setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &time, sizeof time));
        getsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &got, &size);
        say(answer, " rcvtimeo=%ld/%d", (long)got.tv_usec, (int)size);
        answer->moved = time.tv_usec;
        break;
    case 3:
        say_result(answer, "sndtimeo", setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &time, sizeof time));
        break;
    case 4: say_option(answer, fd, SOL_SOCKET, SO_ERROR, "error"); break;
    case 5:
        say_option(answer, fd, SOL_SOCKET, SO_TYPE, "type");
        say_option(answer, fd, SOL_SOCKET, SO_DOMAIN, "domain");
        say_option(answer, fd, SOL_SOCKET, SO_PROTOCOL, "protocol");
        say_option(answer, fd, SOL_SOCKET, SO_ACCEPTCONN, "accepts");
        break;
    case 6:
        linger.l_onoff = answer->moved = n & 1;
        say_result(answer, "linger", setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof linger));
        break;
    case 7:
        n = 20000 + n % 1000;
        say_result(answer, "rcvbuf", setsockopt(fd, SOL_SOCKET, SO_RCVLOWAT, &(int){ 1 }, sizeof n));
        say_result(answer, "unknown", setsockopt(fd, SOL_SOCKET, 9999, &n, sizeof n));
        break;
    case 8: say_result(answer, "short", setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &n, 1)); break;
    default: {
        int queued = -1;
        say_result(answer, "fionread", ioctl(fd, FIONREAD, &queued));
        say(answer, " queued=%d", queued);
    }
    }
}

void do_names(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias];
    struct sockaddr_storage at;
    socklen_t length = sizeof at;
    say_result(answer, "getsockname", getsockname(fd, (struct sockaddr *)&at, &length));
    say(answer, " %d/%d", at.ss_family, (int)length);
    memset(&at, 0, sizeof at);
    length = order->n % 3 == 0 ? 4 : sizeof at;
    say_result(answer, "getpeername", getpeername(fd, (struct sockaddr *)&at, &length));
    say(answer, " %d/%d", answer->ret < 0 ? 0 : at.ss_family, answer->ret < 0 ? 0 : (int)length);
}

// Calls that no socket, or no connected socket, can do.
void do_strange(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias];
    struct stat about;
    char byte = 0, *volatile nowhere = (char *)8;
    switch (order->v % 11) {
    case 0: say_result(answer, "lseek", lseek(fd, 0, SEEK_CUR)); break;
    case 1: say_result(answer, "pread", pread(fd, &byte, 1, 0)); break;
    case 2: say_result(answer, "pwrite", pwrite(fd, &byte, 1, 0)); break;
    case 3:
        say_result(answer, "fstat", fstat(fd, &about));
        say(answer, " socket=%d", S_ISSOCK(about.st_mode));
        break;
    case 4: say_result(answer, "accept", accept(fd, NULL, NULL)); break;
    case 5: {
        struct sockaddr_storage to;
        socklen_t length = loopback(0, 1, &to);
        say_result(answer, "bind", bind(fd, (struct sockaddr *)&to, length));
        break;
    }
    case 6: say_result(answer, "shutdown", shutdown(fd, 77)); break;
    case 7: say_result(answer, "ftruncate", ftruncate(fd, 0)); break;
    case 8: say_result(answer, "nothing", send(fd, &byte, 0, MSG_NOSIGNAL)); break;
    // Memory that is not there: the kernel says so, and the bytes stay where they are.
    case 9: say_result(answer, "nowhere", recv(fd, nowhere, 10, MSG_DONTWAIT)); break;
    default: say_result(answer, "from-nowhere", send(fd, nowhere, 10, MSG_NOSIGNAL | MSG_DONTWAIT));
    }
}
