/*
 * recorder.h - the recorder: its pool, its threads' logs, the sessions over them, the hooks.
 */
#ifndef MAREY_SRC_RECORD_RECORDER_H
#define MAREY_SRC_RECORD_RECORDER_H

#include "base/clock.h"
#include "marey/record.h"
#include "record/log.h"

#define MAREY_MAX_COLLECTORS 8
#define MAREY_CLOCK_SAMPLES 64

/* Beside the public bits in the recorder's wants, and told by them and the clock: it is the time
 * stamp counter; ranges, or operators, are recorded with it and without CPU time, which is the
 * short path of a record. */
#define MAREY_SHORT_RANGES (UINT32_C(1) << 31) /* the sign: one test tells it from no want */
#define MAREY_SHORT_OPS (UINT32_C(1) << 30)
#define MAREY_HAS_TSC (UINT32_C(1) << 29)
#define MAREY_TOLD_WANTS (MAREY_HAS_TSC | MAREY_SHORT_RANGES | MAREY_SHORT_OPS)

/* Torch's own ranges are annotations, so those who want ranges want its records too. */
#define MAREY_WANTS_OP (MAREY_WANT_OPS | MAREY_WANT_RANGES)

struct marey_loaded_collector {
    const struct marey_collector *collector;
    uint32_t wants; /* what it was last told */
};

struct marey_recorder {
    /* Read by every record. Written under the lock (release), read relaxed: a thread that sees a
     * change late records a little more or less at the border, and sessions cut by time. */
    _Atomic(uint32_t) wants;
    bool is_tsc;          /* set once, before wants */
    uint64_t epoch_ticks; /* that records count from; set once */

    _Atomic(uint64_t) n_guarded; /* records dropped by a guard; relaxed, a count */
    struct marey_sites sites;

    pthread_once_t once;
    pthread_key_t end_of_thread; /* its destructor marks a log as ended */

    pthread_mutex_t lock; /* of all below */
    struct marey_pool *pool;
    struct marey_log *logs;         /* the newest first */
    uint64_t n_logs;                /* that were ever made */
    struct marey_pool *former_pool; /* a forked child's parent's, which its traces may read */
    struct marey_log *former_logs;
    struct marey_session *sessions; /* all that hold records */
    uint32_t n_running;
    uint32_t n_idle;     /* chunks that threads had when the first of the running sessions began,
                            and that no older one needs; of its start, or the last time one went */
    uint32_t generation; /* one more in each forked child */
    struct marey_loaded_collector collector[MAREY_MAX_COLLECTORS];
    uint32_t n_collectors;
    uint32_t cost_wants; /* for which cost_ns was measured; 0: not yet */
    int64_t cost_ns;

    /* The feeder: a thread that keeps chunks touched ahead and samples the clock. */
    pthread_cond_t feeder_wakes;
    bool has_feeder;
    struct marey_clock_pair sample[MAREY_CLOCK_SAMPLES]; /* a ring */
    uint64_t n_samples;
};

/* Locks the recorder; the first call of a process also makes it safe across fork. */
void marey__recorder_lock(void);
void marey__recorder_unlock(void);

/* Makes this thread's log. NULL: the thread has one, which is busy, or it cannot be made now, or
 * not any more because the thread ends. */
struct marey_log *marey__recorder_register(void);

/* In a forked child: the parent's log is not this thread's any more. */
void marey__recorder_forget_thread(void);

/* recycle.c: chunks of a session that no other needs go back to the pool, and ended logs without
 * chunks go. The session is not in the list any more. Under the lock. */
void marey__recorder_recycle(struct marey_session *gone);

/* The same for threads that ended since their last session went; counts the chunks that threads
 * which live on keep although no session needs them, one each. Under the lock. */
uint32_t marey__recorder_count_idle(void);

/* collector.c: which version the collector of that name is built for, "2.13.0" of "torch 2.13.0",
 * for as long as the process lives; NULL: none is loaded, or it does not say. Under the lock. */
const char *marey__collector_version(const char *name);

/* Tells the collectors the union of what sessions want. Under the lock.
 * \fails MAREY_UNSUPPORTED: one refused; all are told the former union again */
enum marey_status marey__recorder_set_wants(uint32_t wants, struct marey_error *err);

/* Text and scope of a site, and how many there are, for who reads a session: guarded, so that a
 * signal handler that records does not wait for the lock that its own thread holds. */
struct marey_str marey__recorder_text(uint32_t site_id, uint32_t *scope);
uint32_t marey__recorder_n_sites(void);

/* The union that is in force. Under the lock. */
uint32_t marey__recorder_wants(void);

/* cost.c: what a begin and its end cost with those wants, which are in force; of a range, or of an
 * operator where no ranges are wanted. Measured when the wants are others than before.
 * MAREY_UNKNOWN: neither is wanted, or no memory. Under the lock. */
int64_t marey__recorder_measure(uint32_t wants);

/* feeder.c: starts the feeder if there is none, else wakes it. Under the lock. */
void marey__feeder_start(void);

/* How long the feeder naps after a nap of last_ns, behind which it had n_touched chunks to touch.
 */
int64_t marey__feeder_nap_ns(int64_t last_ns, uint32_t n_touched);

/* fork.c: once a process. */
void marey__fork_prepare_process(void);

#endif
