/*
 * parallel.c - whoever is free takes the next part; the counter is under a lock.
 */
#define _GNU_SOURCE /* pthread_sigmask */
#include "base/parallel.h"

#include <signal.h>

enum { MOST_THREADS = 64 };

struct loop {
    pthread_mutex_t lock;
    size_t next;
    size_t n;
    size_t grain;
    bool has_failed;
    marey_range_fn fn;
    void *ctx;
};

bool marey__thread_start(pthread_t *thread, void *(*run)(void *), void *ctx)
{
    sigset_t all;
    sigset_t before;

    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    const bool is_started = pthread_create(thread, NULL, run, ctx) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return is_started;
}

static bool take_part(struct loop *loop, size_t *from, size_t *to)
{
    (void)pthread_mutex_lock(&loop->lock);
    const bool has_part = loop->next < loop->n && !loop->has_failed;
    const size_t left = loop->n - loop->next;
    *from = loop->next;
    *to = loop->next + (left < loop->grain ? left : loop->grain);
    if (has_part)
        loop->next = *to;
    (void)pthread_mutex_unlock(&loop->lock);
    return has_part;
}

static void *run_parts(void *ctx)
{
    struct loop *loop = ctx;
    size_t from = 0;
    size_t to = 0;

    while (take_part(loop, &from, &to)) {
        if (loop->fn(loop->ctx, from, to))
            continue;
        (void)pthread_mutex_lock(&loop->lock);
        loop->has_failed = true;
        (void)pthread_mutex_unlock(&loop->lock);
    }
    return NULL;
}

bool marey__parallel(size_t n_threads, size_t n, size_t grain, marey_range_fn fn, void *ctx)
{
    struct loop loop = {.n = n, .grain = grain, .fn = fn, .ctx = ctx};
    pthread_t thread[MOST_THREADS];
    const size_t n_parts = n / grain + (n % grain != 0);
    size_t n_wanted = n_threads < n_parts ? n_threads : n_parts;
    size_t n_started = 0;

    n_wanted = n_wanted < MOST_THREADS ? n_wanted : MOST_THREADS;
    if (n_wanted < 2 || pthread_mutex_init(&loop.lock, NULL) != 0)
        return fn(ctx, 0, n);
    while (n_started + 1 < n_wanted && marey__thread_start(&thread[n_started], run_parts, &loop))
        n_started++;
    (void)run_parts(&loop);
    for (size_t i = 0; i < n_started; i++)
        (void)pthread_join(thread[i], NULL);
    (void)pthread_mutex_destroy(&loop.lock);
    return !loop.has_failed;
}
