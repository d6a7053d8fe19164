/*
 * marey/record.h - record what a program does: ranges, marks, counters, per thread.
 *
 *     static struct marey_site forward = MAREY_SITE("forward");
 *     struct marey_session *session = NULL;
 *     if (marey_session_start(NULL, &session, &err) == MAREY_OK) {
 *         marey_range_begin(&forward);
 *         run_forward();
 *         marey_range_end();
 *         marey_session_stop(session, &err);    // then marey_session_trace of intake.h
 *     }
 *     marey_session_free(session);
 *
 * Life: a process has one recorder; a session is from start to stop of recording. Sessions
 * may nest and overlap: a record is written once, and each session sees what it asked for.
 * A stopped session keeps its records until it is freed (a trace of it holds it too).
 *
 * Threads: whatever records (ranges, marks, counters) may be called from any thread, and
 * from signal handlers once a thread has recorded before; a record takes two words of the
 * thread's own memory, without lock, allocation or call into the system. Starting and
 * stopping take a lock. While no session runs, recording costs a load and a branch.
 *
 * Fork: the child begins with recording off and without records; sessions of the parent
 * are refused there (MAREY_INVALID).
 */
#ifndef MAREY_RECORD_H
#define MAREY_RECORD_H

#include <stdbool.h>

#include "marey/base.h"
#include "marey/collector.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- recording ----------------------------------------------------------- */

/* A place in a program that records under one name. Static or otherwise as long-lived as
 * the recording; the recorder fills in the id at first use. */
struct marey_site {
    const char *name; /* UTF-8 */
    uint32_t scope;   /* enum marey_scope */
    uint32_t id;      /* 0 until first used; atomic */
};

#define MAREY_SITE(text)                                                                           \
    {                                                                                              \
        text, MAREY_SCOPE_USER, 0                                                                  \
    }

/* Begins a range on this thread; marey_range_end ends the innermost one of those without a
 * token that were begun on it. An end on another thread ends nothing: the range stays open to the
 * end of the session, and the trace's ledger counts it. */
MAREY_API void marey_range_begin(struct marey_site *site);
MAREY_API void marey_range_end(void);

/* The same for names made at run time (copied at first sight; the first 2048 bytes count), and for
 * ranges that need not end in order: the end finds the innermost open range of this thread with
 * that token. Token 0 is that of marey_range_begin. */
MAREY_API void marey_range_begin_named(struct marey_str name, uint32_t token);
MAREY_API void marey_range_end_token(uint32_t token);

/* A point in time. */
MAREY_API void marey_mark(struct marey_site *site);
MAREY_API void marey_mark_named(struct marey_str name);

/* A value at a point in time. Not finite: shown as unknown. */
MAREY_API void marey_counter(struct marey_site *site, double value);
MAREY_API void marey_counter_named(struct marey_str name, double value);

/* Names this thread in traces; without it the system's name is taken. \cost a lock */
MAREY_API void marey_thread_name(struct marey_str name);

/* True while a session runs; what is expensive to prepare may ask first. */
MAREY_API bool marey_is_recording(void);

#if defined(__GNUC__)
static inline void marey_range_leave_(const char *unused)
{
    (void)unused;
    marey_range_end();
}
#define MAREY_RANGE_JOIN_(a, b) a##b
#define MAREY_RANGE_NAME_(a, b) MAREY_RANGE_JOIN_(a, b)
/* A range from here to the end of the block: MAREY_RANGE("backward"); */
#define MAREY_RANGE(text)                                                                          \
    static struct marey_site MAREY_RANGE_NAME_(marey_site_, __LINE__) = MAREY_SITE(text);          \
    __attribute__((cleanup(marey_range_leave_), unused)) const char MAREY_RANGE_NAME_(             \
        marey_range_, __LINE__) =                                                                  \
        (marey_range_begin(&MAREY_RANGE_NAME_(marey_site_, __LINE__)), 0)
#endif

/* ---- sessions ------------------------------------------------------------- */

enum marey_clock {
    MAREY_CLOCK_AUTO = 0,     /* the time stamp counter where it can be trusted, else the next */
    MAREY_CLOCK_MONOTONIC = 1 /* the system's CLOCK_MONOTONIC */
};

/* All zero means the defaults. */
struct marey_session_options {
    size_t size;
    uint32_t wants;         /* bits of enum marey_want; 0: MAREY_WANT_RANGES */
    enum marey_clock clock; /* the first session of a process chooses for all */
    uint64_t pool_bytes;    /* bound of the recorder's memory; 0: the smaller of 1 GiB and an
                               eighth of the machine's memory. The largest of overlapping
                               sessions counts. What kept sessions and their traces hold is in it;
                               beside it each thread that recorded before keeps up to 64 KiB */
};

struct marey_session;

/* Starts recording.
 * \owns gives *session, freed by marey_session_free
 * \fails MAREY_NOMEM; MAREY_INVALID (options->size); MAREY_UNSUPPORTED: a collector refused,
 *        the message says why */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_session_start(const struct marey_session_options *options, struct marey_session **session,
                    struct marey_error *err);

/* Stops recording for this session; hooks that no other session needs are removed. What is
 * open stays so in its trace. A second stop does nothing.
 * \fails MAREY_INVALID: the session is the parent process's */
MAREY_API enum marey_status marey_session_stop(struct marey_session *session,
                                               struct marey_error *err);

/* Notes this moment, the last one noted counts; a session begins with its start noted.
 * \fails MAREY_INVALID: the session does not run, or is the parent process's
 * \threads any */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_session_mark(struct marey_session *session,
                                                                struct marey_error *err);

/* Moves the end of a stopped session to the moment that was noted, or back to its stop: for who
 * finds afterwards that its last part is not wanted. Traces and stats made from then on have what
 * was recorded before that end.
 * \fails MAREY_INVALID: the session runs */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_session_end_at_mark(struct marey_session *session, bool at_mark, struct marey_error *err);

/* Shows of a stopped session only what was recorded from `from_ns` on and before `until_ns`, since
 * the Unix epoch, for who is told afterwards which part is wanted; MAREY_UNKNOWN is its own start
 * or stop, and so is what lies outside of them. Traces and stats made from then on are of that
 * part: what begins before it is not in them, what is open at its end is cut there, as if it had
 * been recorded so. Records that found no room count in each part. It takes the place of an end at
 * the mark. \fails MAREY_INVALID: the session runs, or the part ends before it begins */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_session_narrow(struct marey_session *session,
                                                                  int64_t from_ns, int64_t until_ns,
                                                                  struct marey_error *err);

/* Stops if need be, and gives the records back when no trace needs them. NULL is allowed. */
MAREY_API void marey_session_free(struct marey_session *session);

/* Whether a session would take a member of the trace's head, for who has no session yet.
 * \fails MAREY_INVALID: json is not one JSON value of at most 256 containers in each other; an
 *        escape in it is half of a surrogate pair; it or the key is not UTF-8; or the key is one
 *        that a trace writes itself (traceEvents, marey, baseTimeNanoseconds, ...)
 * \threads any */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_check_meta(struct marey_str key, struct marey_str json, struct marey_error *err);

/* A member of the trace's head: a key and JSON text, both copied. The last one of a key counts.
 * \fails MAREY_NOMEM; MAREY_INVALID as marey_check_meta */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_session_add_meta(struct marey_session *session,
                                                                    struct marey_str key,
                                                                    struct marey_str json,
                                                                    struct marey_error *err);

/* What a session came to so far. */
struct marey_session_stats {
    uint64_t n_records;     /* begins, ends, marks, counters in the session's time */
    uint64_t n_lost;        /* records for which there was no room, or that met a guard */
    uint64_t held_bytes;    /* of memory that holds the session's records */
    uint64_t pool_bytes;    /* the bound */
    int64_t start_ns;       /* since the Unix epoch */
    int64_t stop_ns;        /* MAREY_UNKNOWN while it runs */
    int64_t first_lost_ns;  /* from here on not all was recorded; MAREY_UNKNOWN: all was */
    int64_t clock_error_ns; /* bound of the error of a time against the system's clock */
    int64_t range_cost_ns; /* what the recorder takes for a begin and its end, measured in a loop at
                              the start; MAREY_UNKNOWN: not measured */
    uint32_t n_threads;    /* that recorded */
    bool is_tsc;           /* the time stamp counter, else CLOCK_MONOTONIC */
};

/* \threads also while the session runs */
MAREY_API void marey_session_get_stats(struct marey_session *session,
                                       struct marey_session_stats *stats);

/* Of these stats what is known without a look at each record. */
struct marey_session_usage {
    uint64_t held_bytes; /* of chunks that may hold records of the session, so it may be one of a
                            thread more than in the stats */
    uint64_t n_lost;
    uint64_t pool_bytes;
    int64_t start_ns;
    int64_t stop_ns;
};

/* \threads also while the session runs
 * \cost a look at each chunk of 64 KiB, where the stats look at each record */
MAREY_API void marey_session_get_usage(struct marey_session *session,
                                       struct marey_session_usage *usage);

/* ---- collectors ------------------------------------------------------------ */

/* Loads a collector, or finds that it is loaded, by the path of its shared object.
 * From then on sessions that want what it collects use it.
 * \fails MAREY_IO: the loader's words; MAREY_UNSUPPORTED: of another version, or its probe says
 *        why it cannot run here */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_collector_load(const char *path,
                                                                  struct marey_error *err);

/* The table that collectors are handed, for a host that is its own collector. */
MAREY_API const struct marey_sink *marey_recorder_sink(void);

/* ---- schedules --------------------------------------------------------------- */

/* What a profiler does during a step; torch's numbers of ProfilerAction. */
enum marey_action {
    MAREY_ACTION_NONE = 0,
    MAREY_ACTION_WARMUP = 1,
    MAREY_ACTION_RECORD = 2,
    MAREY_ACTION_RECORD_AND_SAVE = 3
};

/* Steps: skip_first are skipped, then cycles of wait, warm-up, active; `repeat` of them, 0 is
 * no end. With skip_first_wait the first cycle has no wait. Source: torch.profiler.schedule. */
struct marey_schedule {
    uint64_t wait;
    uint64_t warmup;
    uint64_t active; /* > 0 */
    uint64_t repeat;
    uint64_t skip_first;
    bool skip_first_wait;
};

MAREY_API enum marey_action marey_schedule_action(const struct marey_schedule *schedule,
                                                  uint64_t step);

/* Called with a finished cycle's session, which is stopped; a trace of it may be made.
 * \owns the session is freed after the call, unless the callback sets *keep */
typedef void (*marey_ready_fn)(void *user, struct marey_session *session, uint64_t n_cycle,
                               bool *keep);

/* Records by a schedule: a session for each cycle, and a range "ProfilerStep#<n>" a step. */
struct marey_cycles;

/* \owns gives *cycles; borrows nothing but `user`
 * \fails as marey_session_start; MAREY_INVALID: schedule->active is 0 */
MAREY_API MAREY_MUST_CHECK enum marey_status
marey_cycles_start(const struct marey_schedule *schedule,
                   const struct marey_session_options *options, marey_ready_fn ready, void *user,
                   struct marey_cycles **cycles, struct marey_error *err);

/* Ends a step and begins the next. \fails as marey_session_start; the step is counted */
MAREY_API MAREY_MUST_CHECK enum marey_status marey_cycles_step(struct marey_cycles *cycles,
                                                               struct marey_error *err);

/* Ends the last step; a cycle cut short is handed to the callback too. Frees. NULL is allowed. */
MAREY_API void marey_cycles_finish(struct marey_cycles *cycles);

#ifdef __cplusplus
}
#endif

#endif
