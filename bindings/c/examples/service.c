/* Calls of a service, with deadlines, a stream of responses and a stream of requests.
 *
 *     service serve CODEC ADDRESS
 *     service ask CODEC ADDRESS TEXT
 *
 * Requests and responses are CBOR, by cbor.h: an array of the arguments, and a value. With another CODEC than cbor, this end is refused
 * by one that has CBOR. */
#include "cbor.h"
#include "example.h"
#include <unistd.h>

enum { COUNT, SPLIT, JOIN, SLEEP };
static const char *const names[] = {"Words.count", "Words.split", "Words.join", "Words.sleep"};

/* Finds the next word from a place on, and returns its length. */
static size_t word(const char *text, size_t length, size_t *from) {
    while (*from < length && text[*from] == ' ') ++*from;
    size_t end = *from;
    while (end < length && text[end] != ' ') end++;
    return end - *from;
}

static void answer_with(uint64_t call, const struct cbor *response) {
    /* The client may be gone. */
    bertha_answer(call, response->bytes, response->length);
}

static void count_words(uint64_t call, const char *text, size_t length) {
    uint64_t words = 0, letters = 0;
    for (size_t place = 0, found; (found = word(text, length, &place)) > 0; place += found) words++;
    /* The bytes of UTF-8 that begin a letter. */
    for (size_t place = 0; place < length; place++) letters += ((uint8_t)text[place] & 0xc0) != 0x80;
    struct cbor response = {.length = 0};
    cbor_put(&response, CBOR_MAP, 2);
    cbor_put_text(&response, "letters", 7);
    cbor_put(&response, CBOR_NUMBER, letters);
    cbor_put_text(&response, "words", 5);
    cbor_put(&response, CBOR_NUMBER, words);
    answer_with(call, &response);
}

static void split(uint64_t call, const char *text, size_t length) {
    for (size_t place = 0, found; (found = word(text, length, &place)) > 0; place += found) {
        struct cbor response = {.length = 0};
        cbor_put_text(&response, text + place, found);
        if (bertha_call_send(call, response.bytes, response.length, SOON) != BERTHA_OK) break;
    }
    bertha_call_end(call);
}

static void join(uint64_t call, const char *separator, size_t separator_length) {
    struct bertha_buffer request;
    struct cbor response = {.length = 0};
    char joined[1024];
    size_t length = 0;
    while (bertha_call_receive(call, &request, SOON) == BERTHA_OK) {
        struct cbor_input input = {.bytes = request.data, .length = request.length};
        const char *found;
        size_t found_length;
        bool has_room = cbor_take_text(&input, &found, &found_length) &&
                        length + separator_length + found_length <= sizeof joined;
        if (has_room && length > 0) {
            memcpy(joined + length, separator, separator_length);
            length += separator_length;
        }
        if (has_room) memcpy(joined + length, found, found_length);
        bertha_buffer_release(&request);
        if (!has_room) {
            bertha_fail(call, BERTHA_CALL_MALFORMED, "a request is no text, or is too long");
            return;
        }
        length += found_length;
    }
    cbor_put_text(&response, joined, length);
    answer_with(call, &response);
}

static void sleep_for(uint64_t call, uint64_t milliseconds) {
    struct bertha_arrival arrived = {.is_cancelled = false};
    for (uint64_t passed = 0; passed < milliseconds && !arrived.is_cancelled; passed += 10) {
        usleep(10000);
        if (bertha_call_arrival(call, &arrived) != BERTHA_OK) return;
    }
    struct cbor response = {.bytes = {CBOR_NULL}, .length = 1};
    answer_with(call, &response);
}

static void handle(void *context, uint64_t call, size_t method) {
    struct bertha_arrival arrived;
    uint64_t number = 0;
    const char *text = NULL;
    size_t length = 0;
    (void)context;
    check(bertha_call_arrival(call, &arrived));
    struct cbor_input request = {.bytes = arrived.data, .length = arrived.length};
    bool is_understood = cbor_take(&request, CBOR_ARRAY, &number) && number == 1 &&
                         (method == SLEEP ? cbor_take(&request, CBOR_NUMBER, &number) : cbor_take_text(&request, &text, &length));
    if (!is_understood) {
        bertha_fail(call, BERTHA_CALL_MALFORMED, "the request is none of the method");
    } else if (method == COUNT) {
        count_words(call, text, length);
    } else if (method == SPLIT) {
        split(call, text, length);
    } else if (method == JOIN) {
        join(call, text, length);
    } else {
        sleep_for(call, number);
    }
}

static void answer_calls(const char *codec, const char *address) {
    const char *const options[] = {"codec", codec, NULL};
    struct bertha_methods methods = {.names = names, .count = 4, .handler = handle, .threads = 4};
    uint64_t service;
    char text[256];
    size_t length;
    check(bertha_serve("tcp", address, "", options_of(options), &methods, &service));
    check(bertha_listener_address(service, text, sizeof text, &length));
    puts(text);
    fflush(stdout);
    for (;;) pause();
}

/* Ends the program for a response that is not as it should be. */
static void expect(bool is_as_expected) {
    if (is_as_expected) return;
    fprintf(stderr, "the response is none of the method\n");
    exit(1);
}

static void ask_for_count(uint64_t client, struct bertha_request call) {
    struct bertha_buffer response;
    uint64_t pairs, number, letters = 0, words = 0;
    call.method = names[COUNT];
    check(bertha_call(client, &call, &response));
    struct cbor_input input = {.bytes = response.data, .length = response.length};
    expect(cbor_take(&input, CBOR_MAP, &pairs));
    while (pairs--) {
        const char *name;
        size_t length;
        expect(cbor_take_text(&input, &name, &length) && cbor_take(&input, CBOR_NUMBER, &number));
        if (length == 7 && !memcmp(name, "letters", 7)) letters = number;
        if (length == 5 && !memcmp(name, "words", 5)) words = number;
    }
    check(bertha_buffer_release(&response));
    printf("%llu letters, %llu words\n", (unsigned long long)letters, (unsigned long long)words);
}

static void ask_for_words(uint64_t client, struct bertha_request call) {
    struct bertha_buffer response;
    uint64_t started;
    int code;
    call.method = names[SPLIT];
    call.has_responses = 1;
    check(bertha_call_start(client, &call, &started));
    while ((code = bertha_call_receive(started, &response, -1)) == BERTHA_OK) {
        struct cbor_input input = {.bytes = response.data, .length = response.length};
        const char *text;
        size_t length;
        expect(cbor_take_text(&input, &text, &length));
        printf("%.*s\n", (int)length, text);
        check(bertha_buffer_release(&response));
    }
    if (code != BERTHA_END) check(code);
    check(bertha_release(started));
}

static void ask_to_join(uint64_t client, const char *text) {
    struct cbor request = {.length = 0};
    struct bertha_buffer response;
    uint64_t started;
    cbor_put(&request, CBOR_ARRAY, 1);
    cbor_put_text(&request, "-", 1);
    struct bertha_request call = {.method = names[JOIN], .data = request.bytes, .length = request.length, .has_requests = 1};
    check(bertha_call_start(client, &call, &started));
    for (size_t place = 0, found; (found = word(text, strlen(text), &place)) > 0; place += found) {
        request.length = 0;
        cbor_put_text(&request, text + place, found);
        check(bertha_call_send(started, request.bytes, request.length, SOON));
    }
    check(bertha_call_end(started));
    check(bertha_call_receive(started, &response, SOON));
    struct cbor_input input = {.bytes = response.data, .length = response.length};
    const char *joined;
    size_t length;
    expect(cbor_take_text(&input, &joined, &length));
    printf("%.*s\n", (int)length, joined);
    check(bertha_buffer_release(&response));
    check(bertha_release(started));
}

static void ask_for_sleep(uint64_t client) {
    struct cbor request = {.length = 0};
    struct bertha_buffer response;
    cbor_put(&request, CBOR_ARRAY, 1);
    cbor_put(&request, CBOR_NUMBER, 60000);
    struct bertha_request call = {.method = names[SLEEP], .data = request.bytes, .length = request.length, .deadline = 50};
    int code = bertha_call(client, &call, &response);
    if (code != BERTHA_CALL_TIMED_OUT) check(code);
    puts(code == BERTHA_OK ? "longer than 50 ms" : "no longer than 50 ms");
}

static void ask(const char *codec, const char *address, const char *text) {
    const char *const options[] = {"codec", codec, NULL};
    struct cbor request = {.length = 0};
    uint64_t client;
    check(bertha_client("tcp", address, "", options_of(options), SOON, &client));
    cbor_put(&request, CBOR_ARRAY, 1);
    cbor_put_text(&request, text, strlen(text));
    struct bertha_request call = {.data = request.bytes, .length = request.length, .deadline = SOON};
    ask_for_count(client, call);
    ask_for_words(client, call);
    ask_to_join(client, text);
    ask_for_sleep(client);
    check(bertha_release(client));
}

int main(int count, char **arguments) {
    if (count == 4 && !strcmp(arguments[1], "serve")) answer_calls(arguments[2], arguments[3]);
    if (count != 5 || strcmp(arguments[1], "ask")) return usage("service serve|ask CODEC ADDRESS [TEXT]");
    ask(arguments[2], arguments[3], arguments[4]);
    return 0;
}
