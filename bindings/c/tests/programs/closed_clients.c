/* Closed clients of a service, whose handles are kept, leave no descriptor. */
#include "check.h"
#include <unistd.h>

#define MANY 50

static void handle(void *context, uint64_t call, size_t method) {
    (void)context, (void)method;
    OK(bertha_answer(call, "yes", 3));
}

int main(void) {
    const char *const names[] = {"ask"};
    struct bertha_methods methods = {.names = names, .count = 1, .handler = handle, .threads = 1};
    struct bertha_request call = {.method = "ask", .data = "", .deadline = SOON};
    struct bertha_buffer response;
    uint64_t service = 0, clients[MANY];
    char address[256], text[4096];
    size_t length = 0;
    OK(bertha_serve("tcp", "127.0.0.1:0", "", 0, &methods, &service));
    OK(bertha_listener_address(service, address, sizeof address, &length));
    int before = descriptors();
    for (int number = 0; number < MANY; number++) {
        OK(bertha_client("tcp", address, "", 0, SOON, &clients[number]));
        OK(bertha_call(clients[number], &call, &response));
        OK(bertha_buffer_release(&response));
    }
    CHECK(descriptors() >= before + 2 * MANY);
    for (int number = 0; number < MANY; number++) OK(bertha_close(clients[number], SOON));
    for (int attempt = 0; descriptors() > before + 4; attempt++) {
        CHECK(attempt < 300);
        usleep(100000);
    }
    for (int number = 0; number < MANY; number++) {
        OK(bertha_close(clients[number], SOON));
        CODE(BERTHA_CALL_DISCONNECTED, bertha_call(clients[number], &call, &response));
        CHECK(!bertha_error_may_have_run());
        OK(bertha_explain(clients[number], text, sizeof text, &length));
        CHECK(strstr(text, "agreed as client"));
        OK(bertha_peer_address(clients[number], text, sizeof text, &length));
        CHECK(strcmp(text, address) == 0);
        OK(bertha_release(clients[number]));
    }
    OK(bertha_close(service, SOON));
    OK(bertha_release(service));
    return 0;
}
