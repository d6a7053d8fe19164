/*
 * signals.c - signals that the command ignores.
 */
#include "signals.h"

#include <signal.h>
#include <stddef.h>

static const int ignored[] = {SIGPIPE, SIGXFSZ};

#define N_IGNORED (sizeof ignored / sizeof ignored[0])

static void (*former[N_IGNORED])(int);

void signals_ignore(void)
{
    for (size_t i = 0; i < N_IGNORED; i++)
        former[i] = signal(ignored[i], SIG_IGN);
}

void signals_restore(void)
{
    for (size_t i = 0; i < N_IGNORED; i++)
        if (former[i] != SIG_ERR)
            signal(ignored[i], former[i]);
}
