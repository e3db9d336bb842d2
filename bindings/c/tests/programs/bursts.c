/* Bursts of buffers, over UDP with an order. */
#include "check.h"

#define MANY 64

int main(void) {
    char address[256];
    const char *stack = "ordered,reliable";
    uint64_t connection = 0, client = 0;
    uint64_t listener = listen_at("udp", "127.0.0.1:0", stack, 0, address, sizeof address);
    OK(bertha_connect("udp", address, stack, 0, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));

    struct bertha_buffer burst[MANY];
    unsigned next = 0;
    for (unsigned round = 0; round < 20; round++) {
        for (unsigned number = 0; number < MANY; number++) {
            OK(bertha_buffer_create(connection, 100, &burst[number]));
            CHECK(burst[number].length == 100 && burst[number].data && burst[number].handle);
            memset(burst[number].data, (int)number, 100);
            burst[number].length = number;
        }
        OK(bertha_send_burst(connection, burst, MANY, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_send_burst(connection, burst, MANY, SOON));
        for (unsigned received = 0; received < MANY;) {
            struct bertha_buffer some[16];
            size_t count = 0;
            OK(bertha_receive_burst(client, some, 16, &count, SOON));
            CHECK(count >= 1 && count <= 16);
            for (size_t place = 0; place < count; place++) {
                CHECK(some[place].length == next % MANY);
                for (size_t byte = 0; byte < some[place].length; byte++) CHECK(some[place].data[byte] == next % MANY);
                next++;
                /* A received buffer is sent, as it is, or released. */
                if (place % 2) {
                    OK(bertha_send_buffer(client, &some[place], SOON));
                } else {
                    OK(bertha_buffer_release(&some[place]));
                }
                CODE(BERTHA_BAD_HANDLE, bertha_buffer_release(&some[place]));
            }
            received += (unsigned)count;
        }
    }
    /* A buffer that is too long, or released, keeps the whole burst at its owner. */
    OK(bertha_buffer_create(connection, 4, &burst[0]));
    OK(bertha_buffer_create(connection, 4, &burst[1]));
    OK(bertha_buffer_release(&burst[1]));
    CODE(BERTHA_BAD_HANDLE, bertha_send_burst(connection, burst, 2, SOON));
    /* So does one whose data were moved: the library would send other bytes than those. */
    OK(bertha_buffer_create(connection, 4, &burst[1]));
    burst[1].data += 2;
    burst[1].length = 2;
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_buffer(connection, &burst[1], SOON));
    CHECK(strstr(bertha_error_message(), "only the length may change"));
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_burst(connection, burst, 2, SOON));
    burst[1].data = NULL;
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_burst(connection, burst, 2, SOON));
    for (int place = 0; place < 2; place++) OK(bertha_buffer_release(&burst[place]));

    struct bertha_buffer received;
    OK(bertha_receive_buffer(connection, &received, SOON));
    OK(bertha_buffer_release(&received));
    struct bertha_figures figures;
    OK(bertha_statistics(client, &figures));
    CHECK(figures.received_messages == 20 * MANY);
    OK(bertha_release(connection));
    OK(bertha_release(client));
    OK(bertha_release(listener));
    return 0;
}
