/* Arguments that no program should have: each is a code. */
#include "check.h"
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

/* A server that accepts and says nothing. */
static int listen_in_silence(char at[32]) {
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t length = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    CHECK(listener >= 0 && bind(listener, (struct sockaddr *)&address, length) == 0 && listen(listener, 8) == 0);
    CHECK(getsockname(listener, (struct sockaddr *)&address, &length) == 0);
    snprintf(at, 32, "127.0.0.1:%u", (unsigned)ntohs(address.sin_port));
    return listener;
}

int main(void) {
    uint64_t options = 0, connection = 0, listener = 0, client = 0;
    char address[256], small[4], big[70000];
    size_t length = 0;
    int descriptor = 0;
    struct bertha_buffer buffer;
    struct bertha_figures figures;
    uint64_t places[2];
    uint64_t *odd = (uint64_t *)(void *)((char *)places + 1);

    OK(bertha_options_create(&options));
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_create(NULL));
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_create(odd));
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_set(options, NULL, "a"));
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_set(options, "tls-cert", NULL));
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_set(options, "tls-name", "\xff\xfe"));
    memset(big, 'a', sizeof big - 1);
    big[sizeof big - 1] = 0;
    CODE(BERTHA_BAD_ARGUMENT, bertha_options_set(options, "tls-cert", big));
    CODE(BERTHA_INVALID, bertha_options_set(options, "tls-cart", "a"));
    CHECK(strstr(bertha_error_message(), "tls-cert"));
    CODE(BERTHA_INVALID, bertha_options_set(options, "idle-timeout", "-1"));
    CODE(BERTHA_INVALID, bertha_options_set(options, "idle-timeout", ""));

    CODE(BERTHA_INVALID, bertha_listen("upd", "127.0.0.1:0", "", 0, &listener));
    CHECK(strstr(bertha_error_message(), "unix-stream"));
    CODE(BERTHA_INVALID, bertha_listen("udp", "127.0.0.1:0", "ordred", 0, &listener));
    CODE(BERTHA_INVALID, bertha_listen("udp", "nonsense", "", 0, &listener));
    CODE(BERTHA_INVALID, bertha_listen("udp", "127.0.0.1:0", "tls", 0, &listener));
    CODE(BERTHA_BAD_ARGUMENT, bertha_listen("udp", "127.0.0.1:0", "", 0, NULL));
    CODE(BERTHA_BAD_HANDLE, bertha_listen("udp", "127.0.0.1:0", "", 77, &listener));
    listener = listen_at("udp", "127.0.0.1:0", "", 0, address, sizeof address);
    CODE(BERTHA_TOO_LARGE, bertha_listener_address(listener, small, sizeof small, &length));
    CHECK(length == strlen(address));
    CODE(BERTHA_BAD_ARGUMENT, bertha_listener_address(listener, NULL, 5, &length));
    CODE(BERTHA_BAD_ARGUMENT, bertha_listener_address(listener, small, sizeof small, NULL));

    CODE(BERTHA_BAD_ARGUMENT, bertha_connect("udp", address, "", 0, -2, &connection));
    CODE(BERTHA_BAD_ARGUMENT, bertha_connect("udp", address, NULL, 0, SOON, &connection));
    CODE(BERTHA_BAD_ARGUMENT, bertha_connect("udp", address, "", 0, SOON, NULL));
    char silent[32];
    int never_read = listen_in_silence(silent);
    CODE(BERTHA_WOULD_BLOCK, bertha_connect("tcp", silent, "", 0, 0, &connection));
    CODE(BERTHA_WOULD_BLOCK, bertha_connect("tcp", silent, "", 0, 20, &connection));
    close(never_read);
    OK(bertha_connect("udp", address, "", 0, SOON, &connection));
    OK(bertha_accept(listener, SOON, &client));

    CODE(BERTHA_BAD_ARGUMENT, bertha_send(connection, NULL, 1, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_send(connection, "a", SIZE_MAX, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_send(connection, "a", 1, INT64_MIN));
    CODE(BERTHA_TOO_LARGE, bertha_send(connection, big, sizeof big, 0));
    OK(bertha_send(connection, NULL, 0, INT64_MAX));
    OK(bertha_receive(client, NULL, 0, &length, SOON));
    CHECK(length == 0);
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive(connection, NULL, 1, &length, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive(connection, small, 1, NULL, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive(connection, small, SIZE_MAX, &length, 0));

    CODE(BERTHA_TOO_LARGE, bertha_buffer_create(connection, SIZE_MAX, &buffer));
    CODE(BERTHA_BAD_ARGUMENT, bertha_buffer_create(connection, 1, NULL));
    OK(bertha_buffer_create(connection, 4, &buffer));
    buffer.length = 5;
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_buffer(connection, &buffer, SOON));
    buffer.length = 4;
    struct bertha_buffer twice[2] = {buffer, buffer};
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_burst(connection, twice, 2, SOON));
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_burst(connection, twice, SIZE_MAX, SOON));
    CODE(BERTHA_BAD_ARGUMENT, bertha_send_burst(connection, NULL, 1, SOON));
    OK(bertha_send_burst(connection, &buffer, 0, SOON));
    OK(bertha_buffer_release(&buffer));
    CODE(BERTHA_BAD_HANDLE, bertha_buffer_release(&buffer));
    CODE(BERTHA_BAD_ARGUMENT, bertha_buffer_release(NULL));
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive_buffer(connection, NULL, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive_burst(connection, twice, 5000, &length, 0));
    CODE(BERTHA_BAD_ARGUMENT, bertha_receive_burst(connection, twice, 2, NULL, 0));

    CODE(BERTHA_BAD_ARGUMENT, bertha_descriptor(connection, NULL));
    CODE(BERTHA_BAD_HANDLE, bertha_descriptor(options, &descriptor));
    CODE(BERTHA_BAD_ARGUMENT, bertha_statistics(connection, NULL));
    OK(bertha_statistics(connection, &figures));
    CODE(BERTHA_BAD_ARGUMENT, bertha_explain(connection, small, SIZE_MAX, &length));
    CODE(BERTHA_INVALID, bertha_upgrade(connection, 1, SOON));
    CHECK(strcmp(bertha_code_name(-5), "unknown") == 0 && strcmp(bertha_code_name(99), "unknown") == 0);
    CHECK(strlen(bertha_version()) >= 5);

    OK(bertha_release(connection));
    OK(bertha_release(client));
    OK(bertha_release(listener));
    OK(bertha_release(options));
    return 0;
}
