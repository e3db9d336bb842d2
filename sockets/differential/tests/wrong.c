// A wrong socket: every third call of recv gets a byte less than there is, and drops it.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <sys/socket.h>
#include <sys/types.h>

static int calls;

static ssize_t less(ssize_t got, int flags) {
    if (flags & MSG_PEEK || got < 2) return got;
    return __atomic_add_fetch(&calls, 1, __ATOMIC_RELAXED) % 3 == 0 ? got - 1 : got;
}

ssize_t recv(int fd, void *into, size_t count, int flags) {
    ssize_t (*original)(int, void *, size_t, int) = (ssize_t (*)(int, void *, size_t, int))dlsym(RTLD_NEXT, "recv");
    return less(original(fd, into, count, flags), flags);
}

ssize_t __recv_chk(int fd, void *into, size_t count, size_t room, int flags) {
    (void)room;
    return recv(fd, into, count, flags);
}
