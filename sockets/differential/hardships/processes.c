// Processes that fork, execute others, close what they do not know, and are killed.
#include "hardship.h"
#include <dirent.h>
#include <fcntl.h>
#include <sys/syscall.h>

// A program closes every descriptor at its start, as daemons do, and again in the middle.
void closed_at_start(void) {
    int ends[2];
    for (int fd = 3; fd < 1024; fd++) close(fd);
    warm_pair(ends);
    check(pass_bytes(ends[0], ends[1], 500000), "bytes after the first");
    for (int fd = 3; fd < 1024; fd++) {
        if (fd != ends[0] && fd != ends[1]) close(fd);
    }
    check(pass_bytes(ends[0], ends[1], 500000) && pass_bytes(ends[1], ends[0], 500000), "bytes after the second");
    for (int fd = 3; fd < 1024; fd++) close(fd);
    check(write(ends[0], "x", 1) < 0 && errno == EBADF, "descriptors that are closed");
    warm_pair(ends);
    check(pass_bytes(ends[0], ends[1], 500000), "bytes after the third");
    close_range(3, ~0u, 0);
    warm_pair(ends);
    check(pass_bytes(ends[0], ends[1], 500000), "bytes after the range");
}

void no_more_descriptors(void) {
    int ends[2], last, count = 0, others[64];
    struct rlimit limit;
    warm_pair(ends);
    getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = 40;
    setrlimit(RLIMIT_NOFILE, &limit);
    while (count < 64 && (last = open("/dev/null", O_RDONLY)) >= 0) others[count++] = last;
    check(errno == EMFILE, "the limit");
    check(socket(AF_INET, SOCK_STREAM, 0) < 0 && errno == EMFILE, "no socket");
    check(dup(ends[0]) < 0 && errno == EMFILE, "no copy");
    check(pass_bytes(ends[0], ends[1], 500000) && pass_bytes(ends[1], ends[0], 500000), "bytes at the limit");
    // Room for the two ends and their listener, and nothing else.
    for (int at = 0; at < 3 && count > 0; at++) close(others[--count]);
    int more[2];
    warm_pair(more);
    check(pass_bytes(more[0], more[1], 500000), "bytes of a new connection at the limit");
}

enum { KILLS = 100 };

// One end is killed at some moment; the other reads what it sent, in order, and then the end or a reset.
void killed_ends(void) {
    bool right = true, ends_well = true;
    for (int turn = 0; turn < KILLS; turn++) {
        int ends[2];
        if (turn % 2) warm_pair(ends);
        else new_pair(ends);
        pid_t child = fork();
        if (child == 0) {
            unsigned char bytes[700];
            uint64_t at = 0;
            close(ends[0]);
            for (;;) {
                for (size_t place = 0; place < sizeof bytes; place++) bytes[place] = byte_at(at + place);
                ssize_t put = write(ends[1], bytes, sizeof bytes);
                if (put <= 0) _exit(0);
                at += (uint64_t)put;
            }
        }
        close(ends[1]);
        unsigned char buffer[5000];
        uint64_t at = 0;
        bool killed = false;
        for (int reads = 0;; reads++) {
            if (reads == turn * 3) {
                kill(child, SIGKILL);
                killed = true;
            }
            ssize_t got = read(ends[0], buffer, sizeof buffer);
            if (got <= 0) {
                ends_well &= killed && (got == 0 || errno == ECONNRESET);
                break;
            }
            for (ssize_t place = 0; place < got; place++) right &= buffer[place] == byte_at(at++);
        }
        // What TCP shows afterwards, once the kernel has closed the other end.
        bool refused = false;
        for (int tries = 0; !refused && tries < 1000; tries++) {
            refused = write(ends[0], "x", 1) < 0;
            if (!refused) usleep(2000);
        }
        ends_well &= refused;
        waitpid(child, NULL, 0);
        close(ends[0]);
    }
    check(right, "bytes before the end");
    check(ends_well, "the end");
}

enum { WRITTEN = 3000000 };

// A writer is killed that has read all: its reader gets everything that it has sent, also what went by the kernel.
void killed_writer(void) {
    bool right = true;
    for (int turn = 0; turn < 10; turn++) {
        int ends[2], said[2];
        uint64_t at = 0, sent = 0;
        unsigned char buffer[5000];
        warm_pair(ends);
        if (pipe(said) < 0) exit(2);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            fcntl(ends[1], F_SETFL, O_NONBLOCK);
            for (ssize_t put; at < WRITTEN; at += (uint64_t)put) {
                for (size_t place = 0; place < sizeof buffer; place++) buffer[place] = byte_at(at + place);
                put = write(ends[1], buffer, sizeof buffer);
                if (put <= 0) break;
            }
            if (write(said[1], &at, sizeof at) == sizeof at) raise(SIGKILL);
        }
        close(ends[1]);
        right &= read(said[0], &sent, sizeof sent) == sizeof sent;
        waitpid(child, NULL, 0);
        for (ssize_t got; (got = read(ends[0], buffer, sizeof buffer)) > 0;) {
            for (ssize_t place = 0; place < got; place++) right &= buffer[place] == byte_at(at++);
        }
        right &= at == sent;
        close(ends[0]), close(said[0]), close(said[1]);
    }
    check(right, "bytes of a killed writer");
}

static long descriptors(void) {
    DIR *folder = opendir("/proc/self/fd");
    long count = 0;
    while (folder && readdir(folder)) count++;
    if (folder) closedir(folder);
    return count;
}

static long pages(void) {
    long total = 0, resident = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (!file || fscanf(file, "%ld %ld", &total, &resident) != 2) exit(2);
    fclose(file);
    return resident;
}

static void connections(int count, int warm_each) {
    for (int at = 0; at < count; at++) {
        int ends[2];
        if (at % warm_each == 0) warm_pair(ends);
        else new_pair(ends);
        if (!pass_bytes(ends[0], ends[1], 100)) check(false, "bytes of a short connection");
        close(ends[at % 2]);
        close(ends[1 - at % 2]);
    }
}

// Many connections, some of which were worth a ring, leave no descriptor and no memory behind.
void short_connections(void) {
    connections(500, 20);
    long before = descriptors(), memory = pages();
    connections(8000, 40);
    check(descriptors() == before, "descriptors");
    check(pages() - memory < 256, "memory");
}

// A process for each connection, as PostgreSQL's and Apache's.
void server_that_forks(void) {
    bool right = true;
    for (int turn = 0; turn < 40; turn++) {
        int ends[2], status;
        if (turn % 2) warm_pair(ends);
        else new_pair(ends);
        pid_t child = fork();
        if (child == 0) {
            unsigned char buffer[3000];
            close(ends[0]);
            for (ssize_t got; (got = read(ends[1], buffer, sizeof buffer)) > 0;) {
                if (send(ends[1], buffer, (size_t)got, 0) != got) _exit(1);
            }
            _exit(0);
        }
        close(ends[1]);
        for (int round = 0; round < 200; round++) {
            unsigned char out[2000], in[2000];
            memset(out, round, sizeof out);
            right &= write(ends[0], out, sizeof out) == sizeof out && recv(ends[0], in, sizeof in, MSG_WAITALL) == sizeof in;
            right &= memcmp(in, out, sizeof in) == 0;
        }
        shutdown(ends[0], SHUT_WR);
        right &= read(ends[0], &status, 1) == 0;
        waitpid(child, &status, 0);
        right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
        close(ends[0]);
    }
    check(right, "echoes of the children");
}

int be_executed(char **arguments) {
    int fd = atoi(arguments[0]);
    unsigned char buffer[2000];
    for (ssize_t got; (got = read(fd, buffer, sizeof buffer)) > 0;) {
        if (write(fd, buffer, (size_t)got) != got) return 1;
    }
    return 0;
}

// A program becomes another while bytes lie unread, and the other goes on with its socket.
void exec_in_the_middle(void) {
    bool right = true;
    for (int turn = 0; turn < 30; turn++) {
        int ends[2], status;
        char number[20];
        warm_pair(ends);
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            // Let some bytes come first.
            usleep(turn * 100);
            snprintf(number, sizeof number, "%d", ends[1]);
            execl("/proc/self/exe", "hardship", "executed", number, NULL);
            _exit(9);
        }
        close(ends[1]);
        for (int round = 0; round < 100; round++) {
            unsigned char out[1500], in[1500];
            for (size_t at = 0; at < sizeof out; at++) out[at] = byte_at((uint64_t)round * 7 + at);
            right &= write(ends[0], out, sizeof out) == sizeof out && recv(ends[0], in, sizeof in, MSG_WAITALL) == sizeof in;
            right &= memcmp(in, out, sizeof in) == 0;
        }
        shutdown(ends[0], SHUT_WR);
        right &= read(ends[0], number, 1) == 0;
        waitpid(child, &status, 0);
        right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
        close(ends[0]);
    }
    check(right, "echoes of what a program became");
}

// Ways in which a process becomes another program.
static void become(int fd, int way) {
    char number[20];
    // Descriptors that the library may want for itself.
    if (way >= 3) fd = dup2(fd, way == 3 ? 900 : 899);
    snprintf(number, sizeof number, "%d", fd);
    char *arguments[] = { "hardship", "executed", number, NULL };
    if (way == 1) execveat(AT_FDCWD, "/proc/self/exe", arguments, environ, 0);
    if (way == 2) syscall(SYS_execve, "/proc/self/exe", arguments, environ);
    execv("/proc/self/exe", arguments);
    _exit(9);
}

// The same where bytes lie unread already, whose sender says no more, and where the parent keeps the socket.
void exec_with_unread_bytes(void) {
    bool right = true;
    for (int turn = 0; turn < 10; turn++) {
        int ends[2], status;
        unsigned char out[1500], in[1500];
        warm_pair(ends);
        for (size_t at = 0; at < sizeof out; at++) out[at] = byte_at(at);
        right &= write(ends[0], out, sizeof out) == sizeof out && shutdown(ends[0], SHUT_WR) == 0;
        pid_t child = fork();
        if (child == 0) {
            close(ends[0]);
            become(ends[1], turn % 5);
        }
        if (turn >= 5) close(ends[1]);
        right &= recv(ends[0], in, sizeof in, MSG_WAITALL) == sizeof in && memcmp(in, out, sizeof in) == 0;
        waitpid(child, &status, 0);
        right &= WIFEXITED(status) && WEXITSTATUS(status) == 0;
        close(ends[0]);
        if (turn < 5) close(ends[1]);
    }
    check(right, "echoes of unread bytes");
}

static void execute_list(int which) {
    char *environment[] = { "WORD=seen", NULL };
    switch (which) {
        case 0: execl("/bin/sh", "sh", "-c", "echo $#$*", "0", "a", "b", "c", "d", "e", "f", "g", (char *)NULL); break;
        case 1: execlp("sh", "sh", "-c", "echo few", (char *)NULL); break;
        case 2: execle("/bin/sh", "sh", "-c", "echo $WORD$*", "0", "a", "b", "c", "d", (char *)NULL, environment); break;
        case 3: execl("/nowhere", "nowhere", (char *)NULL); dprintf(1, "%d\n", errno); break;
    }
    _exit(1);
}

// The variants of exec whose arguments are a list.
void lists_of_arguments(void) {
    const char *wanted[] = { "7a b c d e f g\n", "few\n", "seena b c d\n", "2\n" };
    for (int which = 0; which < 4; which++) {
        int output[2];
        char said[64] = "";
        if (pipe(output) != 0) return;
        pid_t child = fork();
        if (child == 0) {
            dup2(output[1], 1);
            execute_list(which);
        }
        close(output[1]);
        for (size_t got = 0; got < sizeof said - 1;) {
            ssize_t part = read(output[0], said + got, sizeof said - 1 - got);
            if (part <= 0) break;
            got += (size_t)part;
        }
        waitpid(child, NULL, 0);
        close(output[0]);
        check(strcmp(said, wanted[which]) == 0, "a list of arguments");
    }
}
