/* A child of fork is refused, unless the fork came before the first call. */
#include "check.h"
#include <sys/wait.h>
#include <unistd.h>

static uint64_t connection, listener;

static void await(pid_t child) {
    int status = 0;
    CHECK(child > 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

static void open_both(void) {
    char address[256];
    uint64_t client = 0;
    listener = listen_at("udp", "127.0.0.1:0", "", 0, address, sizeof address);
    OK(bertha_connect("udp", address, "", 0, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));
}

int main(void) {
    pid_t early = fork();
    open_both();
    if (early == 0) return 0;
    await(early);

    pid_t child = fork();
    if (child == 0) {
        char memory[64];
        size_t length = 0;
        uint64_t other = 0;
        CODE(BERTHA_FORKED, bertha_send(connection, "a", 1, -1));
        CHECK(strstr(bertha_error_message(), "fork"));
        CODE(BERTHA_FORKED, bertha_receive(connection, memory, sizeof memory, &length, -1));
        CODE(BERTHA_FORKED, bertha_accept(listener, -1, &other));
        CODE(BERTHA_FORKED, bertha_connect("udp", "127.0.0.1:9", "", 0, -1, &other));
        CODE(BERTHA_FORKED, bertha_options_create(&other));
        CODE(BERTHA_FORKED, bertha_release(connection));
        CHECK(strcmp(bertha_code_name(BERTHA_FORKED), "forked") == 0);
        return 0;
    }
    await(child);
    /* The parent goes on. */
    OK(bertha_send(connection, "a", 1, SOON));
    return 0;
}
