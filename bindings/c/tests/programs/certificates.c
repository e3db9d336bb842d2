/* TLS with certificates at both ends: certificates FOLDER. */
#include "check.h"
#include <pthread.h>

static const char *folder;

static uint64_t options_of(const char *name, const char *trusted) {
    char path[1024];
    uint64_t options = 0;
    OK(bertha_options_create(&options));
    if (name) {
        snprintf(path, sizeof path, "%s/%s.pem", folder, name);
        OK(bertha_options_set(options, "tls-cert", path));
        snprintf(path, sizeof path, "%s/%s.key", folder, name);
        OK(bertha_options_set(options, "tls-key", path));
    }
    snprintf(path, sizeof path, "%s/%s.pem", folder, trusted);
    OK(bertha_options_set(options, "tls-ca", path));
    OK(bertha_options_set(options, "tls-name", "server.test"));
    OK(bertha_options_set(options, "require-encryption", "yes"));
    return options;
}

static void *serve(void *listener) {
    uint64_t client = 0;
    char text[4096];
    size_t length = 0;
    OK(bertha_accept(*(uint64_t *)listener, SOON, &client));
    OK(bertha_receive(client, text, sizeof text, &length, SOON));
    OK(bertha_send(client, text, length, SOON));
    OK(bertha_peer_identity(client, text, sizeof text, &length));
    CHECK(length > 0 && strncmp(text, "certificate ", 12) == 0);
    CODE(BERTHA_CLOSED, bertha_receive(client, text, sizeof text, &length, SOON));
    OK(bertha_release(client));
    return NULL;
}

int main(int count, char **arguments) {
    CHECK(count == 2);
    folder = arguments[1];
    char address[256], text[4096];
    size_t length = 0;
    uint64_t connection = 0, server_options = options_of("server", "client");
    uint64_t listener = listen_at("tcp", "127.0.0.1:0", "tls", server_options, address, sizeof address);

    /* A client without a certificate, and one with that of a stranger. */
    const char *names[] = {NULL, "stranger"};
    for (int number = 0; number < 2; number++) {
        uint64_t options = options_of(names[number], "server");
        int code = bertha_connect("tcp", address, "tls", options, SOON, &connection);
        if (code == BERTHA_OK) {
            /* TLS 1.3 tells a client late that it is refused. */
            code = bertha_receive(connection, text, sizeof text, &length, SOON);
            CHECK(code != BERTHA_OK && code != BERTHA_WOULD_BLOCK);
            OK(bertha_release(connection));
        }
        OK(bertha_release(options));
    }
    /* A server whom the client does not trust. */
    uint64_t wrong = options_of("client", "stranger");
    CODE(BERTHA_UNAUTHENTICATED, bertha_connect("tcp", address, "tls", wrong, SOON, &connection));
    /* A stack without encryption is below the floor. */
    CODE(BERTHA_INVALID, bertha_connect("tcp", address, "checksum", wrong, SOON, &connection));

    pthread_t server;
    CHECK(pthread_create(&server, NULL, serve, &listener) == 0);
    uint64_t options = options_of("client", "server");
    OK(bertha_connect("tcp", address, "tls", options, SOON, &connection));
    OK(bertha_send(connection, "secret", 6, SOON));
    OK(bertha_receive(connection, text, sizeof text, &length, SOON));
    CHECK(length == 6 && memcmp(text, "secret", 6) == 0);
    OK(bertha_peer_identity(connection, text, sizeof text, &length));
    CHECK(strncmp(text, "certificate ", 12) == 0);
    OK(bertha_close(connection, SOON));
    CHECK(pthread_join(server, NULL) == 0);
    OK(bertha_release(connection));
    OK(bertha_release(listener));
    return 0;
}
