/* A topic of NATS or Redis, whose messages are acknowledged after the work.
 *
 *     topic work SERVER TOPIC NUMBER       works on this many messages
 *     topic publish SERVER TOPIC TEXT..    publishes some
 *
 * The server is nats://HOST:PORT or redis://HOST:PORT. The library is built with its feature nats or redis-streams. */
#include "example.h"

static uint64_t end_of(const char *server, const char *topic, const char *settings) {
    char address[1024];
    uint64_t end;
    snprintf(address, sizeof address, "%s/%s%s", server, topic, settings);
    check(bertha_connect("topic", address, "", 0, SOON, &end));
    return end;
}

static void work(const char *server, const char *topic, int number) {
    struct bertha_buffer order;
    uint64_t orders = end_of(server, topic, "?create=yes&subscription=billing");
    puts("ready");
    fflush(stdout);
    /* Work that fails: a message whose buffer is released is delivered again. */
    check(bertha_receive_buffer(orders, &order, -1));
    check(bertha_buffer_release(&order));
    while (number--) {
        check(bertha_receive_buffer(orders, &order, -1));
        printf("%.*s\n", (int)order.length, (char *)order.data);
        check(bertha_acknowledge(&order));
    }
    leave(orders);
}

static void publish(const char *server, const char *topic, char **texts) {
    uint64_t orders = end_of(server, topic, "");
    for (; *texts; texts++) check(bertha_send(orders, *texts, strlen(*texts), SOON));
    leave(orders);
}

int main(int count, char **arguments) {
    if (count < 4) return usage("topic work|publish SERVER TOPIC NUMBER|TEXT..");
    if (!strcmp(arguments[1], "work") && count == 5) {
        work(arguments[2], arguments[3], atoi(arguments[4]));
    } else {
        publish(arguments[2], arguments[3], arguments + 4);
    }
    return 0;
}
