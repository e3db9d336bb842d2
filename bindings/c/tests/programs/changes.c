/* The stack of a connection changes to its other alternative while messages flow. */
#include "check.h"
#include <pthread.h>

#define MESSAGES 2000

static uint64_t connection, client;

static void *echo(void *unused) {
    char message[64];
    size_t length = 0;
    (void)unused;
    while (bertha_receive(client, message, sizeof message, &length, SOON) == BERTHA_OK) {
        OK(bertha_send(client, message, length, SOON));
    }
    return NULL;
}

int main(void) {
    char address[256], text[1024];
    size_t length = 0;
    const char *stack = "checksum|nothing";
    uint64_t options = 0;
    OK(bertha_options_create(&options));
    OK(bertha_options_set(options, "upgradable", "yes"));
    uint64_t listener = listen_at("tcp", "127.0.0.1:0", stack, options, address, sizeof address);
    OK(bertha_connect("tcp", address, stack, options, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));
    pthread_t server;
    CHECK(pthread_create(&server, NULL, echo, NULL) == 0);
    OK(bertha_explain(connection, text, sizeof text, &length));
    CHECK(strstr(text, "Checksum"));
    CODE(BERTHA_INVALID, bertha_upgrade(connection, 7, SOON));
    bool is_changed = false;
    for (unsigned number = 0; number < MESSAGES || !is_changed; number++) {
        unsigned received = 0;
        OK(bertha_send(connection, &number, sizeof number, SOON));
        if (!is_changed && number > MESSAGES / 2) {
            int code = bertha_upgrade(connection, 1, 0);
            CHECK(code == BERTHA_OK || code == BERTHA_WOULD_BLOCK);
            is_changed = code == BERTHA_OK;
            if (!is_changed) CODE(BERTHA_INVALID, bertha_upgrade(connection, 0, 0));
        }
        OK(bertha_receive(connection, &received, sizeof received, &length, SOON));
        CHECK(length == sizeof received && received == number);
    }
    OK(bertha_explain(connection, text, sizeof text, &length));
    CHECK(strstr(text, "Nothing"));
    OK(bertha_close(connection, SOON));
    CHECK(pthread_join(server, NULL) == 0);
    OK(bertha_release(connection));
    OK(bertha_release(client));
    OK(bertha_release(listener));
    return 0;
}
