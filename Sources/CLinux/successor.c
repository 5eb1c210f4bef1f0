#define _GNU_SOURCE 1
#include "CLinux.h"
#include <signal.h>
#include <sys/resource.h>

#define MOST_DESCRIPTORS 1024
#define MOST_CLOSED_ONE_BY_ONE 1048576

/// Above the soft limit nothing is open, unless the limit was lowered after that: what is ours is closed by execve(2).
static void close_each_from(int first) {
    struct rlimit limit = {.rlim_cur = MOST_CLOSED_ONE_BY_ONE};
    getrlimit(RLIMIT_NOFILE, &limit);
    int end = limit.rlim_cur < MOST_CLOSED_ONE_BY_ONE ? (int)limit.rlim_cur : MOST_CLOSED_ONE_BY_ONE;
    for (int number = first; number < end; number++) close(number);
}

/// What follows fork(2) calls nothing but functions that are async-signal-safe: another thread may have held any lock.
static void become(const char *path, char *const *arguments, char *const *environment, char *number,
                   const int *descriptors, int count) {
    // Ignored stays ignored over execve(2), and what is caught would be at its default: none of the two is wanted for
    // signals that only mean something to a program that is ready for them.
    struct sigaction action = {.sa_handler = SIG_DFL};
    for (int signal = 1; signal < NSIG; signal++) {
        action.sa_handler = signal == SIGHUP || signal == SIGUSR2 ? SIG_IGN : SIG_DFL;
        sigaction(signal, &action, NULL);
    }
    // First above all of the places, so that none is overwritten before it was copied.
    int moved[MOST_DESCRIPTORS];
    for (int index = 0; index < count; index++) {
        moved[index] = fcntl(descriptors[index], F_DUPFD_CLOEXEC, 3 + count);
        if (moved[index] < 0) _exit(126);
    }
    for (int index = 0; index < count; index++)
        if (dup2(moved[index], 3 + index) < 0) _exit(126);
    // A kernel before 5.9 has no such call, and a filter may refuse it.
    if (close_range(3 + count, ~0U, 0) != 0) close_each_from(3 + count);
    unsigned int process = (unsigned int)getpid();
    char digits[10];
    int length = 0;
    do {
        digits[length++] = (char)('0' + process % 10);
        process /= 10;
    } while (process > 0);
    while (length > 0) *number++ = digits[--length];
    *number = 0;
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    execve(path, arguments, environment);
    _exit(127);
}

pid_t bramley_start_successor(const char *path, char *const *arguments, char *const *environment, char *number,
                              const int *descriptors, int count) {
    if (count > MOST_DESCRIPTORS) {
        errno = EMFILE;
        return -1;
    }
    // No handler of this process may run in the child.
    sigset_t every, before;
    sigfillset(&every);
    pthread_sigmask(SIG_SETMASK, &every, &before);
    pid_t process = fork();
    int error = errno;
    if (process == 0) become(path, arguments, environment, number, descriptors, count);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = error;
    return process;
}
