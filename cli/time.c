// time: the clock on the wall, and the user's ctrl-C (there is none in WebAssembly).
#define _POSIX_C_SOURCE 200809L

#include "cli.h"

#include <signal.h>
#include <time.h>

double tnc_clock(void* unused)
{
    (void)unused;
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

// The one thing a signal handler may write to.
static volatile sig_atomic_t interrupt_seen;

static void on_interrupt(int signal_number)
{
    (void)signal_number;
    interrupt_seen = 1;
}

void tnc_catch_interrupt(void)
{
#ifdef __wasi__
    (void)on_interrupt;
#else
    struct sigaction action = {.sa_handler = on_interrupt, .sa_flags = SA_RESETHAND};
    sigemptyset(&action.sa_mask);
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
#endif
}

bool tnc_interrupted(void)
{
    return interrupt_seen != 0;
}
