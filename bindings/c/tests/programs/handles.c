/* Handles after their release, of other kinds, of nothing, and in many threads. */
#include "check.h"
#include <pthread.h>
#include <unistd.h>

static uint64_t connection, client, listener, options, quiet;

/* Each function that takes a handle refuses this one, unless it is of its kind. */
static void refuse(uint64_t handle, uint64_t kind) {
    char memory[64];
    size_t length = 0;
    uint64_t other = 0;
    struct bertha_buffer buffer = {0};
    struct bertha_figures figures;
    if (kind != 1) {
        CODE(BERTHA_BAD_HANDLE, bertha_send(handle, "a", 1, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_receive(handle, memory, sizeof memory, &length, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_buffer_create(handle, 1, &buffer));
        CODE(BERTHA_BAD_HANDLE, bertha_send_buffer(handle, &buffer, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_receive_buffer(handle, &buffer, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_receive_burst(handle, &buffer, 1, &length, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_drain(handle, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_close(handle, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_upgrade(handle, 0, SOON));
        CODE(BERTHA_BAD_HANDLE, bertha_explain(handle, memory, sizeof memory, &length));
        CODE(BERTHA_BAD_HANDLE, bertha_statistics_text(handle, memory, sizeof memory, &length));
        CODE(BERTHA_BAD_HANDLE, bertha_statistics(handle, &figures));
        CODE(BERTHA_BAD_HANDLE, bertha_peer_address(handle, memory, sizeof memory, &length));
        CODE(BERTHA_BAD_HANDLE, bertha_local_address(handle, memory, sizeof memory, &length));
        CODE(BERTHA_BAD_HANDLE, bertha_peer_identity(handle, memory, sizeof memory, &length));
    }
    if (kind != 2) {
        CODE(BERTHA_BAD_HANDLE, bertha_accept(handle, SOON, &other));
        CODE(BERTHA_BAD_HANDLE, bertha_listener_address(handle, memory, sizeof memory, &length));
    }
    if (kind != 3) {
        CODE(BERTHA_BAD_HANDLE, bertha_options_set(handle, "tls-name", "a"));
    }
    CODE(BERTHA_BAD_HANDLE, bertha_connect_finish(handle, SOON, &other));
    if (kind == 0) CODE(BERTHA_BAD_HANDLE, bertha_release(handle));
}

static void *wait_for_a_message(void *unused) {
    char memory[64];
    size_t length = 0;
    (void)unused;
    CODE(BERTHA_BAD_HANDLE, bertha_receive(quiet, memory, sizeof memory, &length, -1));
    return NULL;
}

static void *wait_for_a_client(void *unused) {
    uint64_t other = 0;
    (void)unused;
    CODE(BERTHA_BAD_HANDLE, bertha_accept(listener, -1, &other));
    return NULL;
}

/* Sends through a connection that another thread releases at any time. */
static void *send_on(void *unused) {
    (void)unused;
    for (;;) {
        int code = bertha_send(connection, "message", 7, SOON);
        if (code == BERTHA_BAD_HANDLE) return NULL;
        CHECK(code == BERTHA_OK || code == BERTHA_NOT_SENT || code == BERTHA_UNREACHABLE);
    }
}

static void *refuse_much(void *unused) {
    (void)unused;
    uint64_t handle = 1;
    for (int number = 0; number < 2000; number++) {
        handle = handle * 6364136223846793005u + 1442695040888963407u;
        refuse(handle, 0);
    }
    return NULL;
}

int main(void) {
    char address[256];
    OK(bertha_options_create(&options));
    listener = listen_at("udp", "127.0.0.1:0", "", 0, address, sizeof address);
    OK(bertha_connect("udp", address, "", 0, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));
    uint64_t silent = 0;
    OK(bertha_connect("udp", address, "", 0, SOON, &silent));
    OK(bertha_accept(listener, SOON, &quiet));
    refuse(0, 0);
    refuse(UINT64_MAX, 0);
    refuse(connection, 1);
    refuse(listener, 2);
    refuse(options, 3);
    struct bertha_buffer buffer;
    OK(bertha_buffer_create(connection, 1, &buffer));
    refuse(buffer.handle, 4);
    /* The general release takes buffers as well. */
    OK(bertha_release(buffer.handle));
    CODE(BERTHA_BAD_HANDLE, bertha_buffer_release(&buffer));

    pthread_t threads[8];
    for (int number = 0; number < 3; number++) CHECK(pthread_create(&threads[number], NULL, send_on, NULL) == 0);
    CHECK(pthread_create(&threads[3], NULL, wait_for_a_client, NULL) == 0);
    CHECK(pthread_create(&threads[4], NULL, wait_for_a_message, NULL) == 0);
    for (int number = 5; number < 8; number++) CHECK(pthread_create(&threads[number], NULL, refuse_much, NULL) == 0);
    usleep(200000);
    OK(bertha_release(connection));
    OK(bertha_release(listener));
    OK(bertha_release(quiet));
    for (int number = 0; number < 8; number++) CHECK(pthread_join(threads[number], NULL) == 0);
    refuse(connection, 0);
    refuse(listener, 0);

    refuse(quiet, 0);
    OK(bertha_release(silent));
    OK(bertha_release(client));
    refuse(client, 0);
    OK(bertha_release(options));
    refuse(options, 0);
    return 0;
}
