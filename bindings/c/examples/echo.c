/* Messages that come back, over any datapath of this machine.
 *
 *     echo serve DATAPATH ADDRESS
 *     echo ask DATAPATH ADDRESS TEXT..
 *
 * The datapath is udp, tcp, unix or shm. */
#include "example.h"

#define STACK "ordered,reliable,checksum|nothing"

static void ask(const char *datapath, const char *address, char **texts) {
    uint64_t connection;
    char message[1024];
    size_t length;
    check(bertha_connect(datapath, address, STACK, 0, SOON, &connection));
    for (; *texts; texts++) {
        check(bertha_send(connection, *texts, strlen(*texts), SOON));
        check(bertha_receive(connection, message, sizeof message, &length, SOON));
        printf("%.*s\n", (int)length, message);
    }
    leave(connection);
}

int main(int count, char **arguments) {
    if (count == 4 && !strcmp(arguments[1], "serve")) serve(arguments[2], arguments[3], STACK, 0, echo);
    if (count < 4 || strcmp(arguments[1], "ask")) return usage("echo serve|ask DATAPATH ADDRESS [TEXT..]");
    ask(arguments[2], arguments[3], arguments + 4);
    return 0;
}
