/*
 * feeder.c - a thread beside the program while it records: touches chunks before they are
 * needed and samples the clock, so that threads that record do neither.
 *
 * To wake takes a core 10 to 30 us, which is the program's where it uses all of them. So the feeder
 * naps for as long as the threads take to use a quarter of what is ready, within bounds.
 */
#define _GNU_SOURCE /* names of threads and of the process */
#include <signal.h>

#include "record/tls.h"

#define AHEAD_CHUNKS ((UINT32_C(8) << 20) / MAREY_CHUNK_BYTES)
#define NAP_CHUNKS (AHEAD_CHUNKS / 4) /* that a nap of the right length leaves to be touched */
#define LEAST_NAP_NS INT64_C(10000000)
#define MOST_NAP_NS INT64_C(50000000)
#define SAMPLE_NS INT64_C(100000000)

static void sample_clock(struct marey_recorder *recorder)
{
    const uint64_t n = recorder->n_samples;
    const int64_t last_ns =
        n == 0 ? 0 : recorder->sample[(n - 1) % MAREY_CLOCK_SAMPLES].monotonic_ns;

    if (marey__clock_system_ns(CLOCK_MONOTONIC) - last_ns < SAMPLE_NS)
        return;
    recorder->sample[n % MAREY_CLOCK_SAMPLES] = marey__clock_pair(recorder->is_tsc);
    recorder->n_samples = n + 1;
}

/* A nap is no longer than twice the one before it, so that one without records does not starve
 * what begins behind it. */
int64_t marey__feeder_nap_ns(int64_t last_ns, uint32_t n_touched)
{
    const int64_t right_ns = last_ns * NAP_CHUNKS / (n_touched > 0 ? n_touched : 1);
    const int64_t most_ns = 2 * last_ns < MOST_NAP_NS ? 2 * last_ns : MOST_NAP_NS;
    const int64_t nap_ns = right_ns < most_ns ? right_ns : most_ns;

    return nap_ns > LEAST_NAP_NS ? nap_ns : LEAST_NAP_NS;
}

static void nap(struct marey_recorder *recorder, int64_t nap_ns)
{
    const int64_t until_ns = marey__clock_system_ns(CLOCK_REALTIME) + nap_ns;
    const struct timespec until = {
        .tv_sec = (time_t)(until_ns / MAREY_NS_PER_S),
        .tv_nsec = (long)(until_ns % MAREY_NS_PER_S),
    };

    (void)pthread_cond_timedwait(&recorder->feeder_wakes, &recorder->lock, &until);
}

static void *feed(void *unused)
{
    struct marey_recorder *recorder = &marey__recorder;
    int64_t nap_ns = LEAST_NAP_NS;

    (void)unused;
    (void)pthread_setname_np(pthread_self(), "marey-feeder");
    marey__recorder_lock();
    while (recorder->n_running > 0) {
        struct marey_pool *pool = recorder->pool;
        marey__recorder_unlock();
        nap_ns = marey__feeder_nap_ns(nap_ns, marey__pool_touch(pool, AHEAD_CHUNKS));
        marey__recorder_lock();
        sample_clock(recorder);
        if (recorder->n_running > 0)
            nap(recorder, nap_ns);
    }
    recorder->has_feeder = false;
    marey__recorder_unlock();
    return NULL;
}

/* Signals are the program's, not ours. Detached: it ends by itself within a nap after the
 * last session. Without it threads touch their own chunks. */
void marey__feeder_start(void)
{
    struct marey_recorder *recorder = &marey__recorder;
    pthread_attr_t attr;
    pthread_t feeder;
    sigset_t all;
    sigset_t former;

    if (recorder->has_feeder)
        (void)pthread_cond_signal(&recorder->feeder_wakes); /* looks at once */
    if (recorder->has_feeder || pthread_attr_init(&attr) != 0)
        return;
    (void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &former);
    recorder->has_feeder = pthread_create(&feeder, &attr, feed, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &former, NULL);
    (void)pthread_attr_destroy(&attr);
}
