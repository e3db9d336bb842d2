/* Closed connections, whose handles are kept, leave nothing in use: closed DATAPATH ADDRESS STACK. */
#include "check.h"
#include <unistd.h>

int main(int count, char **arguments) {
    CHECK(count == 4);
    char address[256], text[4096];
    size_t length = 0;
    uint64_t again = 0, ends[2] = {0, 0};
    uint64_t listener = listen_at(arguments[1], arguments[2], arguments[3], 0, address, sizeof address);
    OK(bertha_connect(arguments[1], address, arguments[3], 0, SOON, &ends[0]));
    OK(bertha_accept(listener, SOON, &ends[1]));
    /* Neither end receives. */
    for (int end = 0; end < 2; end++) OK(bertha_send(ends[end], "a", 1, SOON));
    /* The second may hear of the first before its own message has arrived. */
    for (int end = 1; end >= 0; end--) {
        int code = bertha_close(ends[end], SOON);
        CHECK(code == BERTHA_OK || (code == BERTHA_CLOSED && end == 0));
    }
    OK(bertha_release(listener));
    /* A task tells the peer once more, for a part of a second. */
    for (int attempt = 0;; attempt++) {
        int code = bertha_listen(arguments[1], address, arguments[3], 0, &again);
        if (code == BERTHA_OK) break;
        CHECK(code == BERTHA_ADDRESS_IN_USE && attempt < 300);
        usleep(100000);
    }

    /* Texts and figures are left, and nothing else. */
    for (int end = 0; end < 2; end++) {
        struct bertha_figures figures;
        struct bertha_buffer buffer;
        OK(bertha_close(ends[end], SOON));
        CODE(BERTHA_CLOSED, bertha_send(ends[end], "a", 1, SOON));
        CODE(BERTHA_CLOSED, bertha_buffer_create(ends[end], 1, &buffer));
        CODE(BERTHA_CLOSED, bertha_drain(ends[end], SOON));
        OK(bertha_explain(ends[end], text, sizeof text, &length));
        CHECK(strstr(text, end ? "agreed as server" : "agreed as client"));
        OK(bertha_statistics_text(ends[end], text, sizeof text, &length));
        OK(bertha_statistics(ends[end], &figures));
        CHECK(figures.sent_messages == 1 && figures.longest_message > 0);
        OK(bertha_local_address(ends[end], text, sizeof text, &length));
        CHECK(length > 0);
        OK(bertha_peer_address(ends[end], text, sizeof text, &length));
        OK(bertha_release(ends[end]));
    }
    OK(bertha_release(again));
    return 0;
}
