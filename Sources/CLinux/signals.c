#include "CLinux.h"
#include <signal.h>
#include <stdatomic.h>

// Any thread may be the one that runs the handler. Lock-free, so a handler may write it.
static atomic_int was_asked;

static void remember(int signal) {
    (void)signal;
    was_asked = 1;
}

void bramley_remember_stop_signals(void) {
    struct sigaction action = {.sa_handler = remember, .sa_flags = SA_RESTART};
    sigemptyset(&action.sa_mask);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGINT, &action, NULL);
}

int bramley_stop_was_asked(void) {
    return was_asked;
}
