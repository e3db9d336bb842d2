// A wrong socket, which shows a byte less than there is when it is peeked at.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>

ssize_t recv(int fd, void *into, size_t count, int flags) {
    ssize_t (*original)(int, void *, size_t, int) = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    ssize_t got = original(fd, into, count, flags);
    return flags & MSG_PEEK && got > 1 ? got - 1 : got;
}

ssize_t __recv_chk(int fd, void *into, size_t count, size_t room, int flags) {
    (void)room;
    return recv(fd, into, count, flags);
}
