/*
 * session.c - sessions begin, end, and let their records go.
 */
#include "record/session.h"

#include "base/error.h"
#include "record/tls.h"

/* Chunks that are touched before a session begins; the feeder goes on from there. */
#define FIRST_CHUNKS 16

static enum marey_status check_options(const struct marey_session_options *options,
                                       struct marey_error *err)
{
    const uint32_t known = MAREY_WANT_RANGES | MAREY_WANT_OPS | MAREY_WANT_INPUTS | MAREY_WANT_CPU;

    if (options == NULL)
        return MAREY_OK;
    if (options->size != sizeof *options)
        return marey__fail(err, MAREY_INVALID,
                           "session options of %zu bytes, want %zu: compiled with another header",
                           options->size, sizeof *options);
    if ((options->wants & ~known) != 0)
        return marey__fail(err, MAREY_INVALID, "unknown bits %#x in the options' wants",
                           options->wants & ~known);
    return MAREY_OK;
}

/* What the program marks itself is beside its operators, whoever else records. */
static uint32_t union_of_wants(void)
{
    uint32_t wants = 0;

    for (const struct marey_session *s = marey__recorder.sessions; s != NULL; s = s->next)
        if (s->is_running)
            wants |= s->wants;
    return (wants & MAREY_WANT_OPS) != 0 ? wants | MAREY_WANT_RANGES : wants;
}

static uint64_t bound_of_pool(const struct marey_session_options *options)
{
    return options->pool_bytes != 0 ? options->pool_bytes : marey__pool_default_bytes();
}

/* The largest of sessions that run at a time counts. What threads keep from earlier sessions does
 * not: it would leave nothing of a small bound. */
static void set_bound(uint64_t bytes)
{
    struct marey_recorder *recorder = &marey__recorder;

    if (recorder->n_running == 0)
        recorder->n_idle = marey__recorder_count_idle();
    else if (bytes <= marey__pool_bound(recorder->pool))
        return;
    marey__pool_set_bound(recorder->pool, bytes, recorder->n_idle);
}

/* The pool and the clock, which a process keeps: chunks outlive their sessions. */
static enum marey_status prepare(const struct marey_session_options *options,
                                 struct marey_error *err)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_recorder *recorder = &marey__recorder;

    if (recorder->pool == NULL) {
        struct marey_pool *pool = marey__alloc_zero(&alloc, 1, sizeof *pool);
        if (pool == NULL || !marey__pool_init(pool, bound_of_pool(options))) {
            marey__dealloc(&alloc, pool, 1, sizeof *pool);
            return marey__fail_nomem(err);
        }
        recorder->pool = pool;
        recorder->is_tsc = options->clock == MAREY_CLOCK_AUTO && marey__clock_has_tsc();
        recorder->epoch_ticks = marey__clock_ticks(recorder->is_tsc);
    }
    if (recorder->n_running == 0)
        recorder->n_samples = 0;
    set_bound(bound_of_pool(options));
    return MAREY_OK;
}

static void unlink_session(struct marey_session *session)
{
    struct marey_session **link = &marey__recorder.sessions;

    while (*link != NULL && *link != session)
        link = &(*link)->next;
    if (*link != NULL)
        *link = session->next;
}

/* The session's time begins when all hooks are in place. */
static enum marey_status begin_locked(struct marey_session *session,
                                      const struct marey_session_options *options,
                                      struct marey_error *err)
{
    struct marey_recorder *recorder = &marey__recorder;

    MAREY_TRY(prepare(options, err));
    session->generation = recorder->generation;
    session->is_tsc = recorder->is_tsc;
    session->epoch_ticks = recorder->epoch_ticks;
    session->start.ticks = recorder->epoch_ticks;
    session->started.ticks = recorder->epoch_ticks;
    session->is_running = true;
    session->next = recorder->sessions;
    recorder->sessions = session;
    recorder->n_running++;
    marey__feeder_start();
    (void)marey__pool_touch(recorder->pool, FIRST_CHUNKS);
    const enum marey_status status = marey__recorder_set_wants(union_of_wants(), err);
    if (status != MAREY_OK) {
        unlink_session(session);
        recorder->n_running--;
        return status;
    }
    session->range_cost_ns = marey__recorder_measure(marey__recorder_wants());
    session->n_guarded_before = atomic_load_explicit(&recorder->n_guarded, memory_order_relaxed);
    session->start = marey__clock_pair(recorder->is_tsc);
    session->started = session->start;
    session->mark = session->start;
    marey__session_note_positions(session);
    return MAREY_OK;
}

enum marey_status marey_session_start(const struct marey_session_options *options,
                                      struct marey_session **session, struct marey_error *err)
{
    const struct marey_alloc alloc = marey__alloc_default();
    const struct marey_session_options defaults = {.size = sizeof defaults};

    MAREY_TRY(check_options(options, err));
    if (options == NULL)
        options = &defaults;
    struct marey_session *made = marey__alloc_zero(&alloc, 1, sizeof *made);
    if (made == NULL)
        return marey__fail_nomem(err);
    made->n_refs = 1;
    made->wants = options->wants != 0 ? options->wants : MAREY_WANT_RANGES;

    /* Else a signal handler that records here would make the log, and wait for our own lock. */
    (void)marey__recorder_register();
    marey__recorder_lock();
    const enum marey_status status = begin_locked(made, options, err);
    marey__recorder_unlock();
    if (status != MAREY_OK) {
        marey__dealloc(&alloc, made, 1, sizeof *made);
        return status;
    }
    *session = made;
    return MAREY_OK;
}

/* How far the system's clock strayed from the line through both ends while we looked. */
static int64_t error_of_clock(const struct marey_session *session)
{
    const struct marey_recorder *recorder = &marey__recorder;
    const struct marey_clock_line line = marey__clock_line(&session->start, &session->stop);
    int64_t error_ns = session->start.width_ns > session->stop.width_ns ? session->start.width_ns
                                                                        : session->stop.width_ns;
    const uint64_t n = recorder->n_samples;

    for (uint64_t i = n > MAREY_CLOCK_SAMPLES ? n - MAREY_CLOCK_SAMPLES : 0; i < n; i++) {
        const struct marey_clock_pair *sample = &recorder->sample[i % MAREY_CLOCK_SAMPLES];
        if (sample->ticks < session->start.ticks || sample->ticks > session->stop.ticks)
            continue;
        const int64_t on_line = marey__clock_line_ns(&line, sample->ticks) - line.epoch_ns;
        const int64_t off = on_line - (sample->monotonic_ns - session->start.monotonic_ns);
        const int64_t most = (off < 0 ? -off : off) + sample->width_ns;
        error_ns = most > error_ns ? most : error_ns;
    }
    return error_ns;
}

uint64_t marey__session_count_guarded(const struct marey_session *session)
{
    return atomic_load_explicit(&marey__recorder.n_guarded, memory_order_relaxed) -
           session->n_guarded_before;
}

static enum marey_status stop_locked(struct marey_session *session, struct marey_error *err)
{
    if (session->generation != marey__recorder.generation)
        return marey__fail(
            err, MAREY_INVALID,
            "cannot stop a session of the parent process, start one in this process");
    if (!session->is_running)
        return MAREY_OK;
    session->stopped = marey__clock_pair(session->is_tsc);
    session->stop = session->stopped;
    session->is_running = false;
    marey__session_note_losses(session);
    session->n_guarded = marey__session_count_guarded(session);
    session->clock_error_ns = error_of_clock(session);
    marey__recorder.n_running--;
    (void)pthread_cond_signal(&marey__recorder.feeder_wakes);
    return marey__recorder_set_wants(union_of_wants(), err);
}

enum marey_status marey_session_stop(struct marey_session *session, struct marey_error *err)
{
    marey__recorder_lock();
    const enum marey_status status = stop_locked(session, err);
    marey__recorder_unlock();
    return status;
}

enum marey_status marey_session_mark(struct marey_session *session, struct marey_error *err)
{
    if (session->generation != marey__recorder.generation || !session->is_running)
        return marey__fail(err, MAREY_INVALID,
                           "cannot mark a session that does not run in this process");
    const struct marey_clock_pair now = marey__clock_pair(session->is_tsc);
    marey__recorder_lock();
    session->mark = now;
    marey__recorder_unlock();
    return MAREY_OK;
}

enum marey_status marey_session_end_at_mark(struct marey_session *session, bool at_mark,
                                            struct marey_error *err)
{
    if (session->is_running)
        return marey__fail(err, MAREY_INVALID, "the session runs, stop it before its end is moved");
    marey__recorder_lock();
    session->start = session->started;
    session->stop = at_mark ? session->mark : session->stopped;
    marey__recorder_unlock();
    return MAREY_OK;
}

/* A moment of the session, on the line through its ends. */
static struct marey_clock_pair moment_at(const struct marey_session *session, int64_t epoch_ns)
{
    const struct marey_clock_pair *from = &session->started;
    const struct marey_clock_pair *to = &session->stopped;
    const struct marey_clock_line line = marey__clock_line(from, to);
    const uint64_t ns = (uint64_t)(epoch_ns - from->epoch_ns);
    const marey_wide ticks = ((marey_wide)ns << MAREY_CLOCK_SHIFT) / line.ns_per_tick;

    return (struct marey_clock_pair){
        .ticks = from->ticks + (uint64_t)ticks,
        .monotonic_ns = from->monotonic_ns + (int64_t)ns,
        .epoch_ns = epoch_ns,
        .width_ns = from->width_ns > to->width_ns ? from->width_ns : to->width_ns,
    };
}

enum marey_status marey_session_narrow(struct marey_session *session, int64_t from_ns,
                                       int64_t until_ns, struct marey_error *err)
{
    if (session->is_running)
        return marey__fail(err, MAREY_INVALID, "the session runs, stop it before it is narrowed");
    if (from_ns != MAREY_UNKNOWN && until_ns != MAREY_UNKNOWN && until_ns < from_ns)
        return marey__fail(err, MAREY_INVALID, "a part of a session that ends before it begins");

    const struct marey_clock_line line = marey__clock_line(&session->started, &session->stopped);
    const int64_t first_ns = session->started.epoch_ns;
    const int64_t last_ns = marey__clock_line_ns(&line, session->stopped.ticks);
    const bool has_from = from_ns != MAREY_UNKNOWN && from_ns > first_ns;
    const bool has_until = until_ns != MAREY_UNKNOWN && until_ns < last_ns;
    marey__recorder_lock();
    session->start =
        has_from ? moment_at(session, from_ns < last_ns ? from_ns : last_ns) : session->started;
    session->stop = has_until ? moment_at(session, until_ns > first_ns ? until_ns : first_ns)
                              : session->stopped;
    marey__recorder_unlock();
    return MAREY_OK;
}

static void free_session(struct marey_session *session)
{
    const struct marey_alloc alloc = marey__alloc_default();

    marey__session_free_metas(session);
    marey__session_free_positions(session);
    marey__dealloc(&alloc, session, 1, sizeof *session);
}

void marey__session_hold(struct marey_session *session)
{
    marey__recorder_lock();
    session->n_refs++;
    marey__recorder_unlock();
}

void marey__session_let_go(struct marey_session *session)
{
    marey__recorder_lock();
    const bool is_last = --session->n_refs == 0;
    if (is_last && session->generation == marey__recorder.generation) {
        unlink_session(session);
        marey__recorder_recycle(session);
    }
    marey__recorder_unlock();
    if (is_last)
        free_session(session);
}

void marey_session_free(struct marey_session *session)
{
    if (session == NULL)
        return;
    (void)marey_session_stop(session, NULL);
    marey__session_let_go(session);
}
