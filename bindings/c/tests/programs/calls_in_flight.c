/* A thousand calls in flight, answered from the last to the first, and then a server that dies under as many. */
#include "check.h"
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#define CALLS 1000

static const char *const names[] = {"number"};

static void serve(int told) {
    char address[256];
    size_t length = 0;
    uint64_t service = 0, calls[CALLS];
    struct bertha_methods methods = {.names = names, .count = 1};
    OK(bertha_serve("tcp", "127.0.0.1:0", "checksum", 0, &methods, &service));
    OK(bertha_listener_address(service, address, sizeof address, &length));
    CHECK(write(told, address, sizeof address) == sizeof address);
    for (int number = 0; number < CALLS; number++) OK(bertha_accept(service, SOON, &calls[number]));
    for (int number = CALLS; number-- > 0;) {
        struct bertha_arrival arrived;
        OK(bertha_call_arrival(calls[number], &arrived));
        OK(bertha_answer(calls[number], arrived.data, arrived.length));
    }
    for (int number = 0; number < CALLS; number++) OK(bertha_accept(service, SOON, &calls[number]));
    CHECK(write(told, "", 1) == 1);
    pause();
}

static void ask(uint64_t client, uint64_t *calls) {
    for (int number = 0; number < CALLS; number++) {
        struct bertha_request call = {.method = "number", .data = &number, .length = sizeof number};
        OK(bertha_call_start(client, &call, &calls[number]));
    }
}

int main(void) {
    int told[2];
    CHECK(pipe(told) == 0);
    pid_t server = fork();
    CHECK(server >= 0);
    if (server == 0) serve(told[1]);
    char address[256];
    CHECK(read(told[0], address, sizeof address) == sizeof address);
    uint64_t client = 0, calls[CALLS];
    struct bertha_buffer buffer;
    OK(bertha_client("tcp", address, "checksum", 0, SOON, &client));
    ask(client, calls);
    for (int number = 0; number < CALLS; number++) {
        OK(bertha_call_receive(calls[number], &buffer, SOON));
        CHECK(buffer.length == sizeof number && memcmp(buffer.data, &number, sizeof number) == 0);
        OK(bertha_buffer_release(&buffer));
        CODE(BERTHA_END, bertha_call_receive(calls[number], &buffer, SOON));
        OK(bertha_release(calls[number]));
    }
    ask(client, calls);
    CHECK(read(told[0], address, 1) == 1);
    CHECK(kill(server, SIGKILL) == 0 && waitpid(server, NULL, 0) == server);
    for (int number = 0; number < CALLS; number++) {
        for (int again = 0; again < 2; again++) CODE(BERTHA_CALL_DISCONNECTED, bertha_call_receive(calls[number], &buffer, SOON));
        CHECK(bertha_error_may_have_run() && bertha_error_ends_connection());
        OK(bertha_release(calls[number]));
    }
    OK(bertha_release(client));
    return 0;
}
