// Children that use the descriptors of their parents, and calls that go past the C library's functions for sockets.
#include "play.h"
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>

extern char **environ;

// Reads or writes once, and reports as a line.
static void use(int fd, int write_it, int stream, uint64_t at, int count, int v, int report) {
    unsigned char *buffer = malloc(BUFFER);
    char line[200];
    long moved = write_it ? write_once(fd, stream, at, buffer, (size_t)count, v, 0) : read_once(fd, buffer, (size_t)count, v, 0);
    int error = errno;
    long wrong = !write_it && moved > 0 ? pattern_differs(buffer, stream, at, (size_t)moved) : -1;
    int length = snprintf(line, sizeof line, "%ld %d %ld", moved, moved < 0 ? error : 0, wrong);
    if (write(report, line, (size_t)length) != length) _exit(4);
    free(buffer);
}

int be_child(char **arguments) {
    make_pattern();
    use(atoi(arguments[0]), atoi(arguments[1]), atoi(arguments[2]), strtoull(arguments[3], NULL, 10), atoi(arguments[4]), atoi(arguments[5]),
        atoi(arguments[6]));
    return 0;
}

// `v`: the call in units, and the way to make the child in tens; `x`: it writes.
void do_child(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], report[2], way = order->v / 10 % 4;
    const int write_it = order->x & 1;
    const int stream = order->c * 2 + (write_it ? order->e : 1 - order->e);
    uint64_t at = write_it ? order->write_at : order->read_at;
    char words[7][24], line[200] = "";
    if (pipe(report) < 0) abort();
    snprintf(words[0], 24, "%d", fd), snprintf(words[1], 24, "%d", write_it), snprintf(words[2], 24, "%d", stream);
    snprintf(words[3], 24, "%llu", (unsigned long long)at), snprintf(words[4], 24, "%d", order->n);
    snprintf(words[5], 24, "%d", order->v % 10), snprintf(words[6], 24, "%d", report[1]);
    char *arguments[] = { (char *)self, "child", words[0], words[1], words[2], words[3], words[4], words[5], words[6], NULL };
    // A child by exec gets the descriptor only if it stays open.
    int flags = fcntl(fd, F_GETFD);
    if (way != 0) fcntl(fd, F_SETFD, 0);
    pid_t child = -1;
    if (way == 3) {
        if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0) child = -1;
    } else {
        child = way == 2 ? vfork() : fork();
        if (child == 0 && way == 0) {
            use(fd, write_it, stream, at, order->n, order->v % 10, report[1]);
            _exit(0);
        } else if (child == 0) {
            execv(self, arguments);
            _exit(5);
        }
    }
    if (way != 0) fcntl(fd, F_SETFD, flags);
    close(report[1]);
    int status = -1;
    size_t used = 0;
    ssize_t got;
    while ((got = read(report[0], line + used, sizeof line - 1 - used)) > 0) used += (size_t)got;
    close(report[0]);
    waitpid(child, &status, 0);
    long moved = -1, wrong = -1;
    int error = 0;
    sscanf(line, "%ld %d %ld", &moved, &error, &wrong);
    errno = error;
    say_result(answer, write_it ? "child-write" : "child-read", moved);
    if (moved > 0) answer->moved = moved;
    if (WIFSIGNALED(status)) {
        say(answer, " signal=%d", WTERMSIG(status));
    } else {
        say(answer, " status=%d", WEXITSTATUS(status));
    }
    if (wrong >= 0) say(answer, " WRONG BYTE %ld", wrong);
}

// A child that does nothing but keep the descriptor open.
void do_hold(struct actor *actor, const struct order *order, struct answer *answer) {
    int kept = actor->fds[order->c][order->alias];
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        // The others must end when their owners close them. Pipes stay: nothing waits for their end.
        for (int fd = 3; fd < 400; fd++) {
            if (fd != kept) close(fd);
        }
        for (;;) pause();
    }
    actor->holders[order->c] = child;
    // Until the child has closed the others, their ends are uncertain.
    usleep(20000);
    say(answer, "hold=%d", child > 0);
}

void do_release(struct actor *actor, const struct order *order, struct answer *answer) {
    int status;
    kill(actor->holders[order->c], SIGKILL);
    waitpid(actor->holders[order->c], &status, 0);
    actor->holders[order->c] = 0;
    say(answer, "release");
}

// stdio, whose own calls are inside the C library. It has a copy of the descriptor, which it closes.
void do_stdio(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = dup(actor->fds[order->c][order->alias]), stream = order->c * 2 + (order->x & 1 ? order->e : 1 - order->e);
    FILE *file = fdopen(fd, order->x & 1 ? "w" : "r");
    size_t count = (size_t)(order->n > BUFFER ? BUFFER : order->n), done;
    if (order->x & 1) {
        put_pattern(actor->buffer, stream, order->write_at, count);
        done = fwrite(actor->buffer, 1, count, file);
        say_result(answer, "flush", fflush(file));
        if (answer->ret < 0) done = 0;
    } else {
        setvbuf(file, NULL, _IONBF, 0);
        done = fread(actor->buffer, 1, count, file);
        if (pattern_differs(actor->buffer, stream, order->read_at, done) >= 0) say(answer, " WRONG BYTE");
    }
    answer->moved = (long)done;
    say(answer, " stdio=%zu", done);
    fclose(file);
}

// From the socket into a pipe and out of it.
void do_splice(struct actor *actor, const struct order *order, struct answer *answer) {
    int fd = actor->fds[order->c][order->alias], through[2], stream = order->c * 2 + 1 - order->e;
    if (pipe(through) < 0) abort();
    size_t count = (size_t)(order->n > 30000 ? 30000 : order->n);
    long moved = splice(fd, NULL, through[1], NULL, count, SPLICE_F_NONBLOCK);
    say_result(answer, "splice", moved);
    if (moved > 0) {
        long got = read(through[0], actor->buffer, (size_t)moved);
        if (got != moved || pattern_differs(actor->buffer, stream, order->read_at, (size_t)got) >= 0) say(answer, " WRONG BYTE");
        answer->moved = moved;
    }
    close(through[0]), close(through[1]);
}
