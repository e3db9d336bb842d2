/* A server and its clients in one thread, which waits in epoll alone: event_loop DATAPATH. */
#include "check.h"
#include <sys/epoll.h>

#define CLIENTS 20
#define MESSAGES 200

enum kind { LISTENER, CONNECTING, CLIENT, SERVED };

struct end {
    enum kind kind;
    uint64_t handle;
    unsigned sent, received;
    bool is_closing;
};

static int loop;
static unsigned alive;

static void watch(struct end *end) {
    int descriptor = 0;
    OK(bertha_descriptor(end->handle, &descriptor));
    struct epoll_event event = {.events = EPOLLIN, .data = {.ptr = end}};
    CHECK(epoll_ctl(loop, EPOLL_CTL_ADD, descriptor, &event) == 0);
}

static struct end *make(enum kind kind, uint64_t handle) {
    struct end *end = calloc(1, sizeof *end);
    CHECK(end);
    end->kind = kind;
    end->handle = handle;
    watch(end);
    return end;
}

static void finish(struct end *end) {
    OK(bertha_release(end->handle));
    free(end);
    alive--;
}

static void client_goes_on(struct end *end) {
    char message[64];
    size_t length = 0;
    while (!end->is_closing) {
        /* One message is on its way at a time, as UDP may lose more. */
        if (end->sent == end->received && end->sent < MESSAGES) {
            int code = bertha_send(end->handle, &end->sent, sizeof end->sent, 0);
            if (code != BERTHA_OK) {
                CHECK(code == BERTHA_WOULD_BLOCK);
                return;
            }
            end->sent++;
        }
        int code = bertha_receive(end->handle, message, sizeof message, &length, 0);
        if (code == BERTHA_WOULD_BLOCK) return;
        CHECK(code == BERTHA_OK && length == sizeof end->received && memcmp(message, &end->received, length) == 0);
        end->received++;
        end->is_closing = end->received == MESSAGES;
    }
    int code = bertha_close(end->handle, 0);
    if (code == BERTHA_WOULD_BLOCK) return;
    CHECK(code == BERTHA_OK);
    finish(end);
}

static void served_goes_on(struct end *end) {
    char message[64];
    size_t length = 0;
    for (;;) {
        int code = bertha_receive(end->handle, message, sizeof message, &length, 0);
        if (code == BERTHA_WOULD_BLOCK) return;
        if (code != BERTHA_OK) {
            CHECK(code == BERTHA_CLOSED);
            finish(end);
            return;
        }
        /* The message is taken even if the datapath has no room for it at once. */
        OK(bertha_send(end->handle, message, length, 0));
    }
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    char address[256];
    loop = epoll_create1(EPOLL_CLOEXEC);
    CHECK(loop >= 0);
    uint64_t listener = listen_at(arguments[1], "127.0.0.1:0", "", 0, address, sizeof address);
    make(LISTENER, listener);
    for (unsigned number = 0; number < CLIENTS; number++) {
        uint64_t connecting = 0;
        OK(bertha_connect_start(arguments[1], address, "", 0, &connecting));
        make(CONNECTING, connecting);
    }
    alive = 2 * CLIENTS;
    while (alive > 0) {
        struct epoll_event events[16];
        int ready = epoll_wait(loop, events, 16, SOON);
        CHECK(ready > 0);
        for (int number = 0; number < ready; number++) {
            struct end *end = events[number].data.ptr;
            uint64_t handle = 0;
            int code = 0;
            switch (end->kind) {
            case LISTENER:
                while ((code = bertha_accept(end->handle, 0, &handle)) == BERTHA_OK) make(SERVED, handle);
                CHECK(code == BERTHA_WOULD_BLOCK);
                break;
            case CONNECTING:
                code = bertha_connect_finish(end->handle, 0, &handle);
                if (code == BERTHA_WOULD_BLOCK) break;
                CHECK(code == BERTHA_OK);
                end->kind = CLIENT;
                end->handle = handle;
                watch(end);
                client_goes_on(end);
                break;
            case CLIENT: client_goes_on(end); break;
            case SERVED: served_goes_on(end); break;
            }
        }
    }
    OK(bertha_release(listener));
    return 0;
}
