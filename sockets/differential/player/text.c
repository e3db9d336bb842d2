// Lines of the log.
#include "play.h"

static const char *const names[OPS] = {
    "open", "read", "write", "poll", "close", "shutdown", "dup", "option", "flags", "bulk", "pingpong", "fill", "epoll_ctl",
    "epoll_wait", "child", "hold", "release", "await", "await_room", "names", "strange", "pause", "stdio", "splice", "oob",
};

const char *name_of_op(int op) { return names[op]; }

int op_of_name(const char *name) {
    for (int op = 0; op < OPS; op++) {
        if (strcmp(names[op], name) == 0) return op;
    }
    return -1;
}

const char *name_of_errno(int error) {
    const char *name = strerrorname_np(error);
    return name ? name : "?";
}

void say(struct answer *to, const char *format, ...) {
    size_t used = strlen(to->text);
    va_list rest;
    va_start(rest, format);
    vsnprintf(to->text + used, sizeof to->text - used, format, rest);
    va_end(rest);
}

void say_result(struct answer *to, const char *call, long ret) {
    int error = errno;
    to->ret = ret;
    to->error = ret < 0 ? error : 0;
    if (ret < 0) {
        say(to, "%s%s=%s", *to->text ? " " : "", call, name_of_errno(error));
    } else {
        say(to, "%s%s=%ld", *to->text ? " " : "", call, ret);
    }
}
