/* TLS, with certificates of both ends: a server tells its clients who they are.
 *
 *     certificates serve ADDRESS FOLDER
 *     certificates ask ADDRESS FOLDER
 *
 * The folder has server.pem, server.key, client.pem and client.key; each certificate is its own authority, and the server's is for
 * server.test. */
#include "example.h"

static uint64_t options_for(const char *folder, const char *own, const char *other) {
    char certificate[1024], key[1024], authority[1024];
    snprintf(certificate, sizeof certificate, "%s/%s.pem", folder, own);
    snprintf(key, sizeof key, "%s/%s.key", folder, own);
    snprintf(authority, sizeof authority, "%s/%s.pem", folder, other);
    const char *const options[] = {"tls-cert", certificate,   "tls-key", key, "tls-ca", authority,
                                   "tls-name", "server.test", NULL};
    return options_of(options);
}

static void *answer(void *client) {
    uint64_t connection = (uintptr_t)client;
    char name[1024];
    size_t length;
    check(bertha_peer_identity(connection, name, sizeof name, &length));
    check(bertha_send(connection, name, length, SOON));
    leave(connection);
    return NULL;
}

static void ask(const char *address, const char *folder) {
    uint64_t connection;
    char name[1024];
    size_t length;
    check(bertha_connect("tcp", address, "tls", options_for(folder, "client", "server"), SOON, &connection));
    check(bertha_receive(connection, name, sizeof name, &length, SOON));
    printf("I am %.*s\n", (int)length, name);
    check(bertha_peer_identity(connection, name, sizeof name, &length));
    printf("it is %s\n", name);
    leave(connection);
}

int main(int count, char **arguments) {
    if (count != 4) return usage("certificates serve|ask ADDRESS FOLDER");
    if (!strcmp(arguments[1], "serve")) serve("tcp", arguments[2], "tls", options_for(arguments[3], "server", "client"), answer);
    ask(arguments[2], arguments[3]);
    return 0;
}
