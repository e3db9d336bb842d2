/* Calls and their answers by a callback: calls DATAPATH ADDRESS STACK. */
#include "check.h"
#include <poll.h>
#include <pthread.h>

enum { ECHO, LETTERS, JOIN, LATER, DENY, FORGET, NEST, CLOSE, WHO };
static const char *const names[] = {"echo", "letters", "join", "later", "deny", "forget", "nest", "close", "who"};

static uint64_t client, service;

static void *answer_later(void *place) {
    uint64_t call = *(uint64_t *)place;
    free(place);
    OK(bertha_answer(call, "later", 5));
    CODE(BERTHA_BAD_HANDLE, bertha_answer(call, "twice", 5));
    return NULL;
}

static int outcome(uint64_t of, const char *method, const char *request, struct bertha_buffer *response) {
    struct bertha_request call = {.method = method, .data = request, .length = strlen(request), .deadline = SOON};
    return bertha_call(of, &call, response);
}

static void handle(void *context, uint64_t call, size_t method) {
    struct bertha_arrival arrived;
    struct bertha_buffer buffer;
    char text[256];
    size_t length = 0;
    CHECK(context == &client);
    OK(bertha_call_arrival(call, &arrived));
    CHECK(arrived.method == method && !arrived.is_cancelled);
    switch (method) {
    case ECHO:
        OK(bertha_answer(call, arrived.data, arrived.length));
        break;
    case LETTERS:
        OK(bertha_call_add_metadata(call, &(struct bertha_entry){.name = "letters", .value = "all", .length = 3}));
        for (size_t place = 0; place < arrived.length; place++) OK(bertha_call_send(call, arrived.data + place, 1, SOON));
        OK(bertha_call_end(call));
        break;
    case JOIN: {
        char *joined = malloc(1 << 16);
        while ((bertha_call_receive(call, &buffer, SOON)) == BERTHA_OK) {
            memcpy(joined + length, buffer.data, buffer.length);
            length += buffer.length;
            OK(bertha_buffer_release(&buffer));
        }
        OK(bertha_answer(call, joined, length));
        free(joined);
        break;
    }
    case LATER: {
        uint64_t *place = malloc(sizeof *place);
        pthread_t thread;
        *place = call;
        CHECK(pthread_create(&thread, NULL, answer_later, place) == 0 && pthread_detach(thread) == 0);
        break;
    }
    case DENY:
        CODE(BERTHA_BAD_ARGUMENT, bertha_fail(call, BERTHA_RESET, "no code of a call"));
        OK(bertha_call_add_metadata(call, &(struct bertha_entry){.name = "seen", .value = "no", .length = 2}));
        OK(bertha_fail(call, BERTHA_CALL_DENIED, "not you"));
        break;
    case FORGET:
        OK(bertha_release(call));
        break;
    case NEST:
        /* A callback makes calls itself, to the same service. */
        OK(outcome(client, "echo", "nested", &buffer));
        OK(bertha_answer(call, buffer.data, buffer.length));
        OK(bertha_buffer_release(&buffer));
        break;
    case CLOSE:
        CODE(BERTHA_INVALID, bertha_close(service, -1));
        OK(bertha_answer(call, "", 0));
        break;
    case WHO:
        OK(bertha_peer_identity(call, text, sizeof text, &length));
        OK(bertha_peer_address(call, text, sizeof text, &length));
        CHECK(arrived.milliseconds > 0 && arrived.milliseconds <= SOON);
        CODE(BERTHA_END, bertha_call_metadata(call, "what", text, sizeof text, &length));
        CODE(BERTHA_TOO_LARGE, bertha_call_metadata(call, "who", text, 1, &length));
        CHECK(length == 3);
        OK(bertha_call_metadata(call, "who", text, sizeof text, &length));
        OK(bertha_call_add_metadata(call, &(struct bertha_entry){.name = "seen", .value = text, .length = length}));
        CODE(BERTHA_BAD_ARGUMENT, bertha_call_add_metadata(call, &(struct bertha_entry){.name = "Seen"}));
        CODE(BERTHA_BAD_HANDLE, bertha_call_add_metadata(client, &(struct bertha_entry){.name = "seen"}));
        OK(bertha_answer(call, text, length));
        break;
    }
}

static void expect(const char *method, const char *request, const char *response) {
    struct bertha_buffer buffer;
    OK(outcome(client, method, request, &buffer));
    CHECK(buffer.length == strlen(response) && memcmp(buffer.data, response, buffer.length) == 0);
    OK(bertha_buffer_release(&buffer));
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    char address[256], text[4096];
    size_t length = 0;
    struct bertha_buffer buffer;
    struct bertha_methods methods = {.names = names, .count = 9, .handler = handle, .context = &client, .threads = 2};
    OK(bertha_serve(arguments[1], arguments[2], arguments[3], 0, &methods, &service));
    OK(bertha_listener_address(service, address, sizeof address, &length));
    OK(bertha_client(arguments[1], address, arguments[3], 0, 0, &client));

    expect("echo", "hello", "hello");
    expect("echo", "", "");
    expect("later", "", "later");
    expect("nest", "", "nested");
    expect("close", "", "");
    OK(bertha_explain(client, text, sizeof text, &length));
    CHECK(strstr(text, "Rpc"));
    OK(bertha_statistics_text(client, text, sizeof text, &length));
    CHECK(strstr(text, "Calls"));

    /* Failures have kinds, and tell if the call may have run. */
    CODE(BERTHA_CALL_DENIED, outcome(client, "deny", "", &buffer));
    CHECK(strcmp(bertha_error_message(), "not you") == 0 && bertha_error_may_have_run());
    CODE(BERTHA_CALL_FAILED, outcome(client, "forget", "", &buffer));
    CHECK(bertha_error_may_have_run());
    CODE(BERTHA_CALL_UNKNOWN_METHOD, outcome(client, "unknown", "", &buffer));

    /* Metadata goes beside the request. */
    struct bertha_entry entry = {.name = "who", .value = "you", .length = 3};
    struct bertha_request call = {.method = "who", .metadata = &entry, .entries = 1, .deadline = SOON};
    OK(bertha_call(client, &call, &buffer));
    CHECK(buffer.length == 3 && memcmp(buffer.data, "you", 3) == 0);
    OK(bertha_buffer_release(&buffer));
    /* Metadata goes beside the response, too. */
    uint64_t started = 0;
    OK(bertha_call_start(client, &call, &started));
    OK(bertha_call_receive(started, &buffer, SOON));
    OK(bertha_buffer_release(&buffer));
    CODE(BERTHA_TOO_LARGE, bertha_call_metadata(started, "seen", text, 1, &length));
    OK(bertha_call_metadata(started, "seen", text, sizeof text, &length));
    CHECK(length == 3 && memcmp(text, "you", 3) == 0);
    CODE(BERTHA_END, bertha_call_metadata(started, "who", text, sizeof text, &length));
    OK(bertha_release(started));
    CODE(BERTHA_BAD_HANDLE, bertha_call_metadata(client, "seen", text, sizeof text, &length));
    entry.name = "Who";
    CODE(BERTHA_BAD_ARGUMENT, bertha_call(client, &call, &buffer));

    /* Several responses, with a descriptor. */
    char letters[500];
    memset(letters, 'x', sizeof letters);
    call = (struct bertha_request){.method = "letters", .data = letters, .length = sizeof letters, .has_responses = 1};
    CODE(BERTHA_BAD_ARGUMENT, bertha_call(client, &call, &buffer));
    OK(bertha_call_start(client, &call, &started));
    struct pollfd polled = {.events = POLLIN};
    OK(bertha_descriptor(started, &polled.fd));
    size_t received = 0;
    for (;;) {
        int code = bertha_call_receive(started, &buffer, 0);
        if (code == BERTHA_WOULD_BLOCK) {
            CHECK(poll(&polled, 1, SOON) == 1);
            continue;
        }
        if (code == BERTHA_END) break;
        OK(code);
        CHECK(buffer.length == 1 && buffer.data[0] == 'x');
        OK(bertha_buffer_release(&buffer));
        if (received++ == 0) CODE(BERTHA_WOULD_BLOCK, bertha_call_metadata(started, "letters", text, sizeof text, &length));
    }
    CHECK(received == sizeof letters);
    OK(bertha_call_metadata(started, "letters", text, sizeof text, &length));
    CHECK(length == 3 && memcmp(text, "all", 3) == 0);
    CODE(BERTHA_END, bertha_call_receive(started, &buffer, -1));
    CODE(BERTHA_INVALID, bertha_call_send(started, "x", 1, 0));
    OK(bertha_release(started));
    call = (struct bertha_request){.method = "deny"};
    OK(bertha_call_start(client, &call, &started));
    CODE(BERTHA_CALL_DENIED, bertha_call_receive(started, &buffer, SOON));
    OK(bertha_call_metadata(started, "seen", text, sizeof text, &length));
    CHECK(length == 2 && memcmp(text, "no", 2) == 0);
    OK(bertha_release(started));

    /* Further requests, as many as there is room for. */
    call = (struct bertha_request){.method = "join", .has_requests = 1};
    CODE(BERTHA_BAD_ARGUMENT, bertha_call(client, &call, &buffer));
    OK(bertha_call_start(client, &call, &started));
    OK(bertha_descriptor(started, &polled.fd));
    for (int number = 0; number < 1000; number++) {
        int code;
        while ((code = bertha_call_send(started, "ten bytes.", 10, 0)) == BERTHA_WOULD_BLOCK) CHECK(poll(&polled, 1, SOON) == 1);
        OK(code);
    }
    OK(bertha_call_end(started));
    OK(bertha_call_receive(started, &buffer, SOON));
    CHECK(buffer.length == 10000 && memcmp(buffer.data + 9990, "ten bytes.", 10) == 0);
    OK(bertha_buffer_release(&buffer));
    OK(bertha_release(started));

    /* The end of a service waits for its callbacks. */
    OK(bertha_close(service, SOON));
    CHECK(outcome(client, "echo", "", &buffer) != BERTHA_OK && !bertha_error_may_have_run());
    OK(bertha_release(service));
    OK(bertha_release(client));
    return 0;
}
