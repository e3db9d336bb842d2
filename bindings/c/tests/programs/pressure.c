/* A sender that never waits, and a receiver that comes late: what was taken arrives once and in order, and nothing else. */
#include "check.h"
#include <poll.h>

#define LENGTH 50000

int main(void) {
    char address[256];
    static unsigned message[LENGTH / sizeof(unsigned)];
    size_t length = 0;
    uint64_t connection = 0, client = 0;
    int descriptor = 0, code = 0;
    uint64_t listener = listen_at("tcp", "127.0.0.1:0", "", 0, address, sizeof address);
    OK(bertha_connect("tcp", address, "", 0, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));
    OK(bertha_descriptor(connection, &descriptor));

    unsigned taken = 0, received = 0;
    for (unsigned round = 0; round < 5; round++) {
        for (;;) {
            message[0] = taken;
            /* Some wait for a moment, which changes nothing. */
            code = bertha_send(connection, message, sizeof message, taken % 2 ? 0 : 5);
            if (code != BERTHA_OK) break;
            taken++;
            CHECK(taken < 100000);
        }
        CHECK(code == BERTHA_WOULD_BLOCK);
        /* The system may still have moved bytes on to the receiver, which made room. */
        while (bertha_send(connection, message, sizeof message, 100) == BERTHA_OK) message[0] = ++taken;
        CODE(BERTHA_WOULD_BLOCK, bertha_send(connection, message, sizeof message, 10));
        CODE(BERTHA_WOULD_BLOCK, bertha_drain(connection, 0));
        while (received < taken) {
            OK(bertha_receive(client, message, sizeof message, &length, SOON));
            CHECK(length == sizeof message && message[0] == received);
            received++;
        }
        CODE(BERTHA_WOULD_BLOCK, bertha_receive(client, message, sizeof message, &length, 20));
        /* There is room again, and the descriptor says so. */
        struct pollfd polled = {.fd = descriptor, .events = POLLIN};
        CHECK(poll(&polled, 1, SOON) == 1 && polled.revents == POLLIN);
        OK(bertha_drain(connection, SOON));
    }
    CHECK(received == taken && taken >= 5);
    OK(bertha_release(connection));
    CODE(BERTHA_RESET, bertha_receive(client, message, sizeof message, &length, SOON));
    OK(bertha_release(client));
    OK(bertha_release(listener));
    return 0;
}
