// An actor: takes orders, makes the calls, answers.
#include "play.h"
#include <sys/syscall.h>

static void whole(ssize_t (*call)(int, void *, size_t), int fd, void *at, size_t count) {
    for (unsigned char *bytes = at; count > 0;) {
        ssize_t done = call(fd, bytes, count);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(3);
        bytes += done, count -= (size_t)done;
    }
}

static ssize_t write_part(int fd, void *at, size_t count) { return write(fd, at, count); }

static ssize_t read_part(int fd, void *at, size_t count) { return read(fd, at, count); }

void send_order(struct actor *actor, const struct order *order) {
    struct order copy = *order;
    whole(write_part, actor->orders[1], &copy, sizeof copy);
}

bool has_answered(struct actor *actor, int milliseconds) {
    struct pollfd answers = { .fd = actor->answers[0], .events = POLLIN };
    int ready;
    do {
        ready = poll(&answers, 1, milliseconds);
    } while (ready < 0 && errno == EINTR);
    return ready == 1;
}

// No step takes longer than a few seconds: an actor that does not answer hangs in a call.
void take_answer(struct actor *actor, struct answer *answer) {
    if (!has_answered(actor, 10000)) {
        printf("  no answer of %c\n", 'a' + actor->number);
        exit(9);
    }
    whole(read_part, actor->answers[0], answer, sizeof *answer);
}

static void do_shutdown(struct actor *actor, const struct order *order, struct answer *answer) {
    say_result(answer, "shutdown", shutdown(actor->fds[order->c][order->alias], order->v));
}

void *act(void *of) {
    static void (*const calls[])(struct actor *, const struct order *, struct answer *) = {
        [READ] = do_read, [WRITE] = do_write, [POLL] = do_poll, [CLOSE] = do_close, [SHUTDOWN] = do_shutdown, [DUP] = do_dup,
        [OPTION] = do_option, [FLAGS] = do_flags, [PINGPONG] = do_pingpong, [FILL] = do_fill, [EPOLL_CTL] = do_epoll_ctl,
        [EPOLL_WAIT] = do_epoll_wait, [CHILD] = do_child, [HOLD] = do_hold, [RELEASE] = do_release, [NAMES] = do_names,
        [STRANGE] = do_strange, [STDIO] = do_stdio, [SPLICE] = do_splice, [LISTEN] = do_listen, [CONNECT] = do_connect,
        [ACCEPT] = do_accept, [SETTLE] = do_settle, [BULK_READ] = do_bulk_read, [BULK_WRITE] = do_bulk_write,
        [WRITABLE] = do_writable, [OOB_SEND] = do_oob_send, [OOB_READ] = do_oob_read,
    };
    struct actor *actor = of;
    struct answer answer;
    actor->buffer = malloc(BUFFER);
    memset(&answer, 0, sizeof answer);
    answer.ret = (long)syscall(SYS_gettid);
    whole(write_part, actor->answers[1], &answer, sizeof answer);
    for (;;) {
        struct order order;
        whole(read_part, actor->orders[0], &order, sizeof order);
        memset(&answer, 0, sizeof answer);
        pipes = interrupts = 0;
        if (order.op == QUIT) break;
        calls[order.op](actor, &order, &answer);
        if (pipes) say(&answer, " SIGPIPE*%d", (int)pipes);
        whole(write_part, actor->answers[1], &answer, sizeof answer);
    }
    free(actor->buffer);
    return NULL;
}
