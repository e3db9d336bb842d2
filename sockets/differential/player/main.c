// play PROGRAM: plays a program of socket calls, and prints a line for each step.
#include "play.h"
#include <sys/prctl.h>

const char *self;
_Thread_local volatile sig_atomic_t pipes, interrupts;

static void on_pipe(int signal) { (void)signal, pipes++; }

static void on_interrupt(int signal) { (void)signal, interrupts++; }

static void start(struct actor *actor, int number) {
    memset(actor, 0, sizeof *actor);
    actor->number = number;
    actor->listener = actor->epoll = actor->nest = -1;
    for (int c = 0; c < CONNECTIONS; c++) {
        for (int alias = 0; alias < ALIASES; alias++) actor->fds[c][alias] = -1;
    }
    if (pipe2(actor->orders, O_CLOEXEC) < 0 || pipe2(actor->answers, O_CLOEXEC) < 0) abort();
}

int main(int count, char **arguments) {
    static struct actor actors[2];
    static char path[4096];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    self = length > 0 ? path : arguments[0];
    if (count > 2 && strcmp(arguments[1], "child") == 0) return be_child(arguments + 2);
    if (count != 2) return 2;
    FILE *program = strcmp(arguments[1], "-") ? fopen(arguments[1], "re") : stdin;
    char mode[20];
    if (!program || fscanf(program, "%19s", mode) != 1) return 2;
    bool threads = strcmp(mode, "threads") == 0;
    // A run whose tester is killed must not stay.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    make_pattern();
    struct sigaction action = { .sa_handler = on_pipe };
    sigaction(SIGPIPE, &action, NULL);
    action.sa_handler = on_interrupt;
    sigaction(SIGUSR1, &action, NULL);
    action.sa_flags = SA_RESTART;
    sigaction(SIGUSR2, &action, NULL);
    struct answer hello;
    for (int number = 0; number < 2; number++) start(&actors[number], number);
    // The process first, while there is no thread.
    if (!threads) {
        pid_t conductor = getpid();
        actors[1].pid = fork();
        if (actors[1].pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL);
            if (getppid() == conductor) act(&actors[1]);
            _exit(0);
        }
    }
    for (int number = 0; number < 2; number++) {
        struct actor *actor = &actors[number];
        if (threads || number == 0) {
            pthread_create(&actor->thread, NULL, act, actor);
            actor->pid = getpid();
        }
        take_answer(actor, &hello);
        actor->tid = (pid_t)hello.ret;
    }
    conduct(program, actors, threads);
    return 0;
}
