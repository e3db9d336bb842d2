/* A thousand connections, one after another, and a hundred at once, leave no descriptor: many [CONNECTIONS]. */
#include "check.h"

static void open_pair(uint64_t listener, const char *address, uint64_t pair[2]) {
    int descriptor = 0;
    OK(bertha_connect("tcp", address, "", 0, SOON, &pair[0]));
    OK(bertha_accept(listener, SOON, &pair[1]));
    OK(bertha_descriptor(pair[0], &descriptor));
    /* The served end sees the close without a call. */
    OK(bertha_descriptor(pair[1], &descriptor));
}

static void close_pair(uint64_t pair[2]) {
    OK(bertha_close(pair[0], SOON));
    OK(bertha_release(pair[0]));
    OK(bertha_release(pair[1]));
}

int main(int count, char **arguments) {
    int connections = count > 1 ? atoi(arguments[1]) : 1000;
    char address[256];
    uint64_t listener = listen_at("tcp", "127.0.0.1:0", "", 0, address, sizeof address);
    uint64_t pairs[100][2];
    for (int number = 0; number < 10; number++) {
        open_pair(listener, address, pairs[0]);
        close_pair(pairs[0]);
    }
    int before = descriptors();
    for (int number = 0; number < connections; number++) {
        open_pair(listener, address, pairs[0]);
        close_pair(pairs[0]);
    }
    for (int number = 0; number < 100; number++) open_pair(listener, address, pairs[number]);
    CHECK(descriptors() >= 400);
    for (int number = 0; number < 100; number++) close_pair(pairs[number]);
    /* Tasks of the runtime close the last of them. */
    for (int attempt = 0; descriptors() > before + 4; attempt++) {
        CHECK(attempt < 100);
        uint64_t client = 0;
        CODE(BERTHA_WOULD_BLOCK, bertha_accept(listener, 100, &client));
    }
    return 0;
}
