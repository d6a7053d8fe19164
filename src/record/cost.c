/*
 * cost.c - what the recorder itself costs a program: pairs of begin and end, timed.
 *
 * The calls are those of the program, with all that is wanted now; what they write goes into a
 * log that is in no list, so no session sees it. It is the cost in a loop, where names and log are
 * in the cache: the least that a pair takes, not the mean of a program.
 */
#include <signal.h>

#include "record/tls.h"

/* A CPU time is a call into the system, so fewer pairs are enough and all that there is time for.
 */
#define N_PAIRS 64
#define N_PAIRS_WITH_CPU 8
#define N_BATCHES 4 /* the first brings everything into the cache */

/* Begin and end each with a CPU record, and what the check for room of an operator looks at. */
#define N_WORDS (N_PAIRS * 4 + 8)
_Static_assert(N_PAIRS_WITH_CPU * 6 <= N_PAIRS * 4, "the longer records have room too");

static void record_ranges(uint32_t n)
{
    struct marey_site site = MAREY_SITE("");

    for (uint32_t i = 0; i < n; i++) {
        marey_range_begin(&site);
        marey_range_end();
    }
}

static void record_ops(uint32_t n)
{
    const struct marey_sink *sink = marey_recorder_sink();
    const struct marey_op op = {.name = "", .sequence = -1, .scope = MAREY_SCOPE_USER};

    for (uint32_t i = 0; i < n; i++) {
        sink->op_begin(&op);
        sink->op_end(0);
    }
}

static int64_t time_batch(struct marey_log *log, uint64_t *words, uint32_t wants, uint32_t n)
{
    marey__log_publish(log, words);
    const int64_t start_ns = marey__clock_system_ns(CLOCK_MONOTONIC);
    if ((wants & MAREY_WANT_RANGES) != 0)
        record_ranges(n);
    else
        record_ops(n);
    return marey__clock_system_ns(CLOCK_MONOTONIC) - start_ns;
}

static int64_t time_pair(struct marey_log *log, uint32_t wants)
{
    const uint32_t n = (wants & MAREY_WANT_CPU) != 0 ? N_PAIRS_WITH_CPU : N_PAIRS;
    uint64_t words[N_WORDS];
    int64_t least_ns = INT64_MAX;

    log->end = words + N_WORDS;
    for (int i = 0; i < N_BATCHES; i++) {
        const int64_t batch_ns = time_batch(log, words, wants, n);
        if (i > 0 && batch_ns < least_ns)
            least_ns = batch_ns;
    }
    marey__log_publish(log, NULL); /* the words go with this frame */
    log->end = NULL;
    return (least_ns + n / 2) / n;
}

/* Signals wait meanwhile: what a handler records belongs into the thread's own log. */
int64_t marey__recorder_measure(uint32_t wants)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_recorder *recorder = &marey__recorder;
    sigset_t all;
    sigset_t former;

    if ((wants & (MAREY_WANT_RANGES | MAREY_WANT_OPS)) == 0)
        return MAREY_UNKNOWN;
    if (recorder->cost_wants == wants)
        return recorder->cost_ns;
    struct marey_log *log = marey__alloc_zero(&alloc, 1, sizeof *log);
    if (log == NULL)
        return MAREY_UNKNOWN;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    struct marey_log *own = marey__log;
    marey__log = log;
    recorder->cost_ns = time_pair(log, wants);
    recorder->cost_wants = wants;
    marey__log = own;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    marey__dealloc(&alloc, log, 1, sizeof *log);
    return recorder->cost_ns;
}
