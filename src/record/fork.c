/*
 * fork.c - a forked child begins with recording off and nothing inherited.
 *
 * Only the forking thread lives on in the child. Its log, the other threads' logs and the
 * sessions belong to the parent; their memory stays mapped, because a trace may read it. The
 * collectors' hooks are still there and find that nothing is wanted; the next session tells
 * them anew.
 */
#include "record/tls.h"

static void before_fork(void)
{
    (void)pthread_mutex_lock(&marey__recorder.lock);
    (void)pthread_mutex_lock(&marey__recorder.sites.lock);
}

static void after_fork_in_parent(void)
{
    (void)pthread_mutex_unlock(&marey__recorder.sites.lock);
    (void)pthread_mutex_unlock(&marey__recorder.lock);
}

static void after_fork_in_child(void)
{
    struct marey_recorder *recorder = &marey__recorder;

    marey__recorder_forget_thread();
    (void)pthread_mutex_init(&recorder->sites.lock, NULL);
    (void)pthread_mutex_init(&recorder->lock, NULL);
    (void)pthread_cond_init(&recorder->feeder_wakes, NULL);
    atomic_store_explicit(&recorder->wants, 0, memory_order_release);
    recorder->former_pool = recorder->pool;
    recorder->former_logs = recorder->logs;
    recorder->pool = NULL;
    recorder->logs = NULL;
    recorder->sessions = NULL;
    recorder->n_running = 0;
    recorder->generation++;
    recorder->has_feeder = false;
    recorder->n_samples = 0;
}

void marey__fork_prepare_process(void)
{
    (void)pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
}
