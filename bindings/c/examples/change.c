/* Another stack, while messages flow.
 *
 *     change serve ADDRESS
 *     change ask ADDRESS */
#include "example.h"

#define STACK "checksum|nothing"

/* Number of messages that come back, in order, while the stack changes. */
#define MESSAGES 1000

static const char *const upgradable[] = {"upgradable", "yes", NULL};

static const char *stack_of(uint64_t connection) {
    char text[4096];
    size_t length;
    check(bertha_explain(connection, text, sizeof text, &length));
    return strstr(text, "Checksum") == text ? "Checksum" : "Nothing";
}

static void ask(const char *address) {
    uint64_t connection;
    check(bertha_connect("tcp", address, STACK, options_of(upgradable), SOON, &connection));
    puts(stack_of(connection));
    int changed = BERTHA_WOULD_BLOCK;
    for (int number = 0; number < MESSAGES; number++) {
        char message[16], answer[16];
        size_t length = (size_t)snprintf(message, sizeof message, "%d", number), answered;
        check(bertha_send(connection, message, length, SOON));
        /* Begins the change, and then looks for its end. */
        if (changed == BERTHA_WOULD_BLOCK) changed = bertha_upgrade(connection, 1, 0);
        check(bertha_receive(connection, answer, sizeof answer, &answered, SOON));
        if (answered != length || memcmp(answer, message, length)) exit(1);
    }
    if (changed == BERTHA_WOULD_BLOCK) changed = bertha_upgrade(connection, 1, SOON);
    check(changed);
    puts(stack_of(connection));
    printf("%d messages\n", MESSAGES);
    leave(connection);
}

int main(int count, char **arguments) {
    if (count != 3) return usage("change serve|ask ADDRESS");
    if (!strcmp(arguments[1], "serve")) serve("tcp", arguments[2], STACK, options_of(upgradable), echo);
    ask(arguments[2]);
    return 0;
}
