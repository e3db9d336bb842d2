/* Calls that are taken without a callback, cancelled, late, and released on the way. */
#include "check.h"
#include <poll.h>
#include <pthread.h>

static const char *const names[] = {"wait", "stream"};

static void *ask(void *client) {
    struct bertha_request call = {.method = "wait"};
    struct bertha_buffer buffer;
    CODE(BERTHA_BAD_HANDLE, bertha_call(*(uint64_t *)client, &call, &buffer));
    return NULL;
}

static void *take(void *service) {
    uint64_t call = 0;
    CODE(BERTHA_BAD_HANDLE, bertha_accept(*(uint64_t *)service, -1, &call));
    return NULL;
}

int main(void) {
    char address[256];
    size_t length = 0;
    uint64_t service = 0, client = 0, asked = 0, call = 0;
    struct bertha_buffer buffer;
    struct bertha_arrival arrived;
    struct bertha_methods methods = {.names = names, .count = 2};
    OK(bertha_serve("tcp", "127.0.0.1:0", "", 0, &methods, &service));
    OK(bertha_listener_address(service, address, sizeof address, &length));
    OK(bertha_client("tcp", address, "", 0, SOON, &client));
    struct pollfd polled = {.events = POLLIN};
    OK(bertha_descriptor(service, &polled.fd));
    CODE(BERTHA_WOULD_BLOCK, bertha_accept(service, 0, &call));

    /* A call whose handle is released is cancelled, and its server learns it. */
    struct bertha_request wait = {.method = "wait"};
    OK(bertha_call_start(client, &wait, &asked));
    CHECK(poll(&polled, 1, SOON) == 1);
    OK(bertha_accept(service, 0, &call));
    struct pollfd cancelled = {.events = POLLIN};
    OK(bertha_descriptor(call, &cancelled.fd));
    CHECK(poll(&cancelled, 1, 0) == 0);
    CODE(BERTHA_WOULD_BLOCK, bertha_call_receive(asked, &buffer, 0));
    OK(bertha_release(asked));
    CHECK(poll(&cancelled, 1, SOON) == 1);
    OK(bertha_call_arrival(call, &arrived));
    CHECK(arrived.is_cancelled && arrived.milliseconds == -1 && arrived.method == 0);
    CODE(BERTHA_END, bertha_call_send(call, "x", 1, SOON));
    CODE(BERTHA_END, bertha_answer(call, "", 0));
    CODE(BERTHA_BAD_HANDLE, bertha_release(call));

    /* A call that is never answered ends with its deadline. */
    wait.deadline = 50;
    CODE(BERTHA_CALL_TIMED_OUT, bertha_call(client, &wait, &buffer));
    CHECK(bertha_error_may_have_run() && !bertha_error_ends_connection());
    if (bertha_accept(service, 200, &call) == BERTHA_OK) OK(bertha_release(call));

    /* A client that takes no responses holds up its stream, and nothing else. */
    wait.deadline = 0;
    struct bertha_request stream = {.method = "stream", .has_responses = 1};
    OK(bertha_call_start(client, &stream, &asked));
    OK(bertha_accept(service, SOON, &call));
    int sent = 0;
    while (bertha_call_send(call, "x", 1, 500) == BERTHA_OK) sent++;
    CHECK(sent >= 16 && sent < 1000);
    CODE(BERTHA_WOULD_BLOCK, bertha_call_send(call, "x", 1, 0));
    uint64_t other = 0, other_call = 0;
    OK(bertha_call_start(client, &wait, &other));
    OK(bertha_accept(service, SOON, &other_call));
    OK(bertha_answer(other_call, "other", 5));
    OK(bertha_call_receive(other, &buffer, SOON));
    OK(bertha_buffer_release(&buffer));
    OK(bertha_release(other));
    OK(bertha_descriptor(call, &cancelled.fd));
    for (int number = 0; number < sent; number++) {
        OK(bertha_call_receive(asked, &buffer, SOON));
        OK(bertha_buffer_release(&buffer));
    }
    CHECK(poll(&cancelled, 1, SOON) == 1);
    OK(bertha_answer(call, "last", 4));
    OK(bertha_call_receive(asked, &buffer, SOON));
    CHECK(buffer.length == 4);
    OK(bertha_buffer_release(&buffer));
    CODE(BERTHA_END, bertha_call_receive(asked, &buffer, SOON));
    OK(bertha_release(asked));

    /* Handles of other kinds, and twice the same. */
    CODE(BERTHA_BAD_HANDLE, bertha_call(service, &wait, &buffer));
    CODE(BERTHA_BAD_HANDLE, bertha_answer(client, "", 0));
    CODE(BERTHA_BAD_HANDLE, bertha_call_send(client, "", 0, 0));
    CODE(BERTHA_BAD_HANDLE, bertha_send(client, "", 0, 0));
    CODE(BERTHA_BAD_HANDLE, bertha_statistics_text(service, NULL, 0, &length));

    /* A format that the other end has not is refused, by the first call if the client did not wait. */
    uint64_t options = 0, stranger = 0;
    OK(bertha_options_create(&options));
    OK(bertha_options_set(options, "codec", "postcard"));
    CODE(BERTHA_REFUSED, bertha_client("tcp", address, "", options, SOON, &stranger));
    CHECK(strstr(bertha_error_message(), "codec"));
    OK(bertha_client("tcp", address, "", options, 0, &stranger));
    CODE(BERTHA_REFUSED, bertha_call(stranger, &wait, &buffer));
    CHECK(!bertha_error_may_have_run());
    OK(bertha_release(stranger));
    OK(bertha_options_set(options, "upgradable", "yes"));
    CODE(BERTHA_INVALID, bertha_client("tcp", address, "", options, SOON, &stranger));
    OK(bertha_release(options));

    /* Releasing a client ends the calls that wait for it, and releasing a service those that wait for calls. */
    pthread_t asking, taking;
    CHECK(pthread_create(&asking, NULL, ask, &client) == 0);
    OK(bertha_accept(service, SOON, &call));
    OK(bertha_release(client));
    CHECK(pthread_join(asking, NULL) == 0);
    OK(bertha_release(call));
    CHECK(pthread_create(&taking, NULL, take, &service) == 0);
    while (poll(NULL, 0, 20) != 0) {
    }
    OK(bertha_release(service));
    CHECK(pthread_join(taking, NULL) == 0);
    return 0;
}
