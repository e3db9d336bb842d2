// hardship NAME: one program that is hard on sockets. Without a name, the names.
#include "hardship.h"
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/prctl.h>

static const struct {
    const char *name;
    void (*play)(void);
} hardships[] = {
    { "write-in-handler", write_in_handler },
    { "close-during-read", close_during_read },
    { "cancelled-threads", cancelled_threads },
    { "no-more-descriptors", no_more_descriptors },
    { "closed-at-start", closed_at_start },
    { "killed-ends", killed_ends },
    { "short-connections", short_connections },
    { "server-that-forks", server_that_forks },
    { "threads-of-one-socket", threads_of_one_socket },
    { "exec-in-the-middle", exec_in_the_middle },
    { "exec-with-unread-bytes", exec_with_unread_bytes },
    { "killed-writer", killed_writer },
    { "copied-sets", copied_sets },
    { "read-before-wait", read_before_wait },
    { "disturbed-streams", disturbed_streams },
    { "many-sockets", many_sockets },
    { "lists-of-arguments", lists_of_arguments },
    { "returns-without-answer", returns_without_answer },
};

void check(bool right, const char *what) { printf("%s: %s\n", what, right ? "right" : "WRONG"); }

unsigned char byte_at(uint64_t at) { return (unsigned char)(at * 2654435761u >> 13); }

void new_pair(int ends[2]) {
    int listener = socket(AF_INET, SOCK_STREAM, 0), one = 1;
    struct sockaddr_in at = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t length = sizeof at;
    ends[0] = socket(AF_INET, SOCK_STREAM, 0);
    if (bind(listener, (struct sockaddr *)&at, length) < 0 || listen(listener, 1) < 0) exit(2);
    getsockname(listener, (struct sockaddr *)&at, &length);
    if (connect(ends[0], (struct sockaddr *)&at, length) < 0 || (ends[1] = accept(listener, NULL, NULL)) < 0) exit(2);
    for (int end = 0; end < 2; end++) setsockopt(ends[end], IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    close(listener);
}

bool pass_bytes(int from, int to, size_t count) {
    unsigned char out[1000], in[1000];
    for (size_t at = 0; at < count;) {
        size_t part = count - at < sizeof out ? count - at : sizeof out;
        for (size_t place = 0; place < part; place++) out[place] = byte_at(at + place);
        if (write(from, out, part) != (ssize_t)part || recv(to, in, part, MSG_WAITALL) != (ssize_t)part) return false;
        if (memcmp(in, out, part) != 0) return false;
        at += part;
    }
    return true;
}

// Rings are known by the name of their file in memory.
static bool has_ring(void) {
    char line[600];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "re");
    while (maps && !found && fgets(line, sizeof line, maps)) found = strstr(line, "memfd:bertha-shm") != NULL;
    if (maps) fclose(maps);
    return found;
}

// Tells in a file, once, that a connection has a ring. It is not among the lines, which must not depend on it.
static void tell_of_rings(void) {
    static bool is_told;
    const char *path = getenv("PLAY_RINGS");
    if (is_told || !path || !has_ring()) return;
    int file = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    is_told = file >= 0 && write(file, "r", 1) == 1;
    close(file);
}

void warm_pair(int ends[2]) {
    new_pair(ends);
    for (int turn = 0; turn < 4; turn++) {
        if (!pass_bytes(ends[0], ends[1], 50000) || !pass_bytes(ends[1], ends[0], 50000)) exit(3);
        usleep(2000);
    }
    tell_of_rings();
}

int main(int count, char **arguments) {
    setvbuf(stdout, NULL, _IOLBF, 0);
    signal(SIGPIPE, SIG_IGN);
    // A run whose tester is killed must not stay.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (count > 2 && strcmp(arguments[1], "executed") == 0) return be_executed(arguments + 2);
    for (size_t at = 0; at < sizeof hardships / sizeof *hardships; at++) {
        if (count == 1) {
            printf("%s\n", hardships[at].name);
        } else if (strcmp(arguments[1], hardships[at].name) == 0) {
            hardships[at].play();
            return 0;
        }
    }
    return count == 1 ? 0 : 2;
}
