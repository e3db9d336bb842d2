/* An echo, whose server is another thread: echo DATAPATH ADDRESS STACK. */
#include "check.h"
#include <pthread.h>

static void *serve(void *listener) {
    uint64_t client = 0;
    char message[4096];
    size_t length = 0;
    OK(bertha_accept(*(uint64_t *)listener, SOON, &client));
    for (;;) {
        int code = bertha_receive(client, message, sizeof message, &length, SOON);
        if (code != BERTHA_OK) {
            CHECK(code == BERTHA_CLOSED && bertha_error_ends_connection());
            break;
        }
        OK(bertha_send(client, message, length, -1));
    }
    OK(bertha_release(client));
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 4);
    char address[256], text[4096], message[4096];
    size_t length = 0;
    uint64_t listener = listen_at(arguments[1], arguments[2], arguments[3], 0, address, sizeof address);
    pthread_t server;
    CHECK(pthread_create(&server, NULL, serve, &listener) == 0);

    uint64_t connection = 0;
    OK(bertha_connect(arguments[1], address, arguments[3], 0, SOON, &connection));
    for (int number = 0; number < 200; number++) {
        size_t sent = (size_t)(number * 7 % 1000);
        memset(message, number, sent);
        OK(bertha_send(connection, message, sent, SOON));
        memset(message, -1, sizeof message);
        OK(bertha_receive(connection, message, sizeof message, &length, SOON));
        CHECK(length == sent);
        for (size_t place = 0; place < length; place++) CHECK(message[place] == (char)number);
    }

    /* A message that is longer than the memory stays. */
    OK(bertha_send(connection, "seven b", 7, SOON));
    CODE(BERTHA_TOO_LARGE, bertha_receive(connection, message, 6, &length, SOON));
    CHECK(length == 7 && !bertha_error_ends_connection());
    OK(bertha_receive(connection, message, 7, &length, SOON));
    CHECK(length == 7 && memcmp(message, "seven b", 7) == 0);
    CODE(BERTHA_WOULD_BLOCK, bertha_receive(connection, message, 7, &length, 0));
    CODE(BERTHA_WOULD_BLOCK, bertha_receive(connection, message, 7, &length, 20));

    /* What a connection tells. */
    CODE(BERTHA_TOO_LARGE, bertha_explain(connection, NULL, 0, &length));
    CHECK(length > 0 && length < sizeof text);
    OK(bertha_explain(connection, text, length + 1, &length));
    CHECK(strstr(text, "agreed as client"));
    OK(bertha_statistics_text(connection, text, sizeof text, &length));
    CHECK(length > 0);
    if (strncmp(arguments[1], "unix", 4) != 0 && strcmp(arguments[1], "shm") != 0) {
        OK(bertha_peer_address(connection, text, sizeof text, &length));
        CHECK(strcmp(text, address) == 0);
    }
    OK(bertha_local_address(connection, text, sizeof text, &length));
    OK(bertha_peer_identity(connection, text, sizeof text, &length));
    struct bertha_figures figures;
    OK(bertha_statistics(connection, &figures));
    CHECK(figures.sent_messages == 201 && figures.received_messages == 201);
    CHECK(figures.sent_bytes == figures.received_bytes && figures.longest_message >= 1000);

    OK(bertha_drain(connection, SOON));
    OK(bertha_close(connection, SOON));
    CODE(BERTHA_CLOSED, bertha_send(connection, "late", 4, SOON));
    OK(bertha_release(connection));
    CHECK(pthread_join(server, NULL) == 0);
    OK(bertha_release(listener));
    return 0;
}
