/* A topic, whose messages are acknowledged after the work: topics ADDRESS. */
#include "check.h"

static const char *address;

static uint64_t open_end(const char *query, const char *stack) {
    char text[512];
    uint64_t end = 0;
    snprintf(text, sizeof text, "%s?%s", address, query);
    OK(bertha_connect("topic", text, stack, 0, SOON, &end));
    return end;
}

static void take(uint64_t receiver, const char *wanted, struct bertha_buffer *buffer) {
    OK(bertha_receive_buffer(receiver, buffer, SOON));
    CHECK(buffer->length == strlen(wanted) && memcmp(buffer->data, wanted, buffer->length) == 0);
}

static void refuse(const char *at, const char *stack) {
    uint64_t none = 0;
    CODE(BERTHA_INVALID, bertha_connect("topic", at, stack, 0, SOON, &none));
    CHECK(none == 0);
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    address = arguments[1];
    struct bertha_buffer buffer, burst[4];
    char message[512];
    size_t length = 0;
    uint64_t none = 0;
    uint64_t receiver = open_end("create=yes&subscription=billing", "checksum|nothing");
    uint64_t publisher = open_end("create=yes", "checksum");
    OK(bertha_send(publisher, "a book", 6, SOON));

    /* Work that fails: the message comes again, also to another receiver. */
    take(receiver, "a book", &buffer);
    OK(bertha_buffer_release(&buffer));
    take(receiver, "a book", &buffer);
    OK(bertha_release(receiver));
    OK(bertha_buffer_release(&buffer));
    receiver = open_end("subscription=billing", "checksum");
    take(receiver, "a book", &buffer);
    OK(bertha_acknowledge(&buffer));
    CODE(BERTHA_BAD_HANDLE, bertha_acknowledge(&buffer));
    CODE(BERTHA_BAD_HANDLE, bertha_buffer_release(&buffer));

    /* Messages that are copied, also those that had no room at first, and of a burst: none comes again. */
    OK(bertha_send(publisher, "a pen", 5, SOON));
    CODE(BERTHA_TOO_LARGE, bertha_receive(receiver, message, 2, &length, SOON));
    OK(bertha_receive(receiver, message, sizeof message, &length, SOON));
    CHECK(length == 5 && memcmp(message, "a pen", 5) == 0);
    OK(bertha_send(publisher, "a map", 5, SOON));
    OK(bertha_receive_burst(receiver, burst, 4, &length, SOON));
    CHECK(length == 1);
    OK(bertha_acknowledge(&burst[0]));
    OK(bertha_close(receiver, SOON));
    OK(bertha_release(receiver));
    receiver = open_end("subscription=billing", "checksum");
    CODE(BERTHA_WOULD_BLOCK, bertha_receive_buffer(receiver, &buffer, 200));

    OK(bertha_explain(receiver, message, sizeof message, &length));
    CHECK(strstr(message, "Checksum") && strstr(message, "topic"));
    OK(bertha_statistics_text(receiver, message, sizeof message, &length));
    CHECK(strstr(message, "calls"));
    CODE(BERTHA_INVALID, bertha_upgrade(receiver, 1, SOON));
    CODE(BERTHA_INVALID, bertha_send(receiver, "a cup", 5, SOON));

    refuse("smtp://host/topic", "");
    refuse("memory:", "");
    refuse("memory:a?what=ever", "");
    refuse("memory:a", "ordered,reliable");
    refuse("memory:a", "checksum|(tls,nothing)");
    CODE(BERTHA_INVALID, bertha_listen("topic", address, "", 0, &none));
    CODE(BERTHA_INVALID, bertha_client("topic", address, "", 0, SOON, &none));
    OK(bertha_close(receiver, SOON));
    OK(bertha_close(publisher, SOON));
    OK(bertha_release(receiver));
    OK(bertha_release(publisher));
    return 0;
}
