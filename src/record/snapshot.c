/*
 * snapshot.c - what the threads had published at a moment, as plain arrays.
 */
#include <string.h>

#include "base/error.h"
#include "record/session.h"
#include "record/tls.h"

/* Chunks of a log that may hold records of the session. */
struct log_walk {
    const struct marey_chunk *chunk;
    const struct marey_chunk *next;
};

static bool walk_next(struct log_walk *walk, const struct marey_snapshot *snapshot)
{
    for (;;) {
        walk->chunk = walk->next;
        if (walk->chunk == NULL || walk->chunk->since_ticks > snapshot->stop_ticks)
            return false;
        walk->next = atomic_load_explicit(&walk->chunk->next, memory_order_acquire);
        if (walk->next == NULL || walk->next->taken_ticks >= snapshot->start_ticks)
            return true;
    }
}

/* Chunks may be added while we count, never taken away, so the second pass has a bound. */
static void count(const struct marey_session *session, struct marey_snapshot *snapshot,
                  size_t *n_parts, size_t *n_chunks)
{
    struct marey_position_walk positions = {.session = session};

    for (struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next) {
        const struct marey_position begin = marey__position_in(&positions, log);
        struct log_walk walk = {.next = begin.chunk};
        size_t n = 0;
        while (walk_next(&walk, snapshot))
            n++;
        *n_parts += n > 0 || begin.n_lost > 0;
        *n_chunks += n;
    }
}

/* A gap that began before the session is the session's if records were lost since. */
static void take_open_gap(struct marey_log_part *part, const struct marey_log *log,
                          const struct marey_snapshot *snapshot)
{
    const uint64_t since = atomic_load_explicit(&log->open_lost_ticks, memory_order_acquire);
    const uint64_t until = atomic_load_explicit(&log->last_lost_ticks, memory_order_relaxed);

    if (since == 0 || until < snapshot->start_ticks || since > snapshot->stop_ticks)
        return;
    part->is_losing = part->n_lost > 0;
    part->open_lost_ticks = since - 1 > snapshot->start_ticks ? since - 1 : snapshot->start_ticks;
}

/* The words of a chunk so far: up to `at`, or all if `at` has left it. */
static uint32_t words_of(struct marey_log *log, const struct marey_chunk *chunk)
{
    const uint64_t *at = atomic_load_explicit(&log->at, memory_order_acquire);
    const bool is_left = atomic_load_explicit(&chunk->next, memory_order_acquire) != NULL ||
                         at < chunk->word || at > chunk->word + MAREY_CHUNK_WORDS;

    return is_left ? chunk->n_words : (uint32_t)(at - chunk->word);
}

static void fill_chunks(struct marey_snapshot *snapshot, struct marey_log *log,
                        const struct marey_chunk *first, size_t n_chunks)
{
    struct log_walk walk = {.next = first};

    while (snapshot->n_chunks < n_chunks && walk_next(&walk, snapshot))
        snapshot->chunk[snapshot->n_chunks++] = (struct marey_chunk_part){
            .word = walk.chunk->word,
            .n_words = words_of(log, walk.chunk),
        };
}

static void fill(const struct marey_session *session, struct marey_snapshot *snapshot,
                 size_t n_parts, size_t n_chunks)
{
    struct marey_position_walk positions = {.session = session};

    for (struct marey_log *log = marey__recorder.logs; log != NULL && snapshot->n_parts < n_parts;
         log = log->next) {
        const struct marey_position begin = marey__position_in(&positions, log);
        struct marey_log_part part = {
            .log_serial = log->serial,
            .thread_id = log->thread_id,
            .first_chunk = snapshot->n_chunks,
            .n_lost = begin.n_lost,
        };
        fill_chunks(snapshot, log, begin.chunk, n_chunks);
        part.n_chunks = snapshot->n_chunks - part.first_chunk;
        take_open_gap(&part, log, snapshot);
        memcpy(part.name, log->name, sizeof part.name);
        if (part.n_chunks > 0 || part.n_lost > 0)
            snapshot->part[snapshot->n_parts++] = part;
    }
}

static void set_time(struct marey_session *session, struct marey_snapshot *snapshot)
{
    const struct marey_clock_pair end =
        session->is_running ? marey__clock_pair(session->is_tsc) : session->stop;

    snapshot->is_running = session->is_running;
    snapshot->start_ticks = session->start.ticks - session->epoch_ticks;
    snapshot->stop_ticks = end.ticks - session->epoch_ticks;
    snapshot->line = marey__clock_line(&session->start, &end);
    snapshot->line.ticks -= session->epoch_ticks;
    snapshot->clock_error_ns =
        session->is_running
            ? (end.width_ns > session->start.width_ns ? end.width_ns : session->start.width_ns)
            : session->clock_error_ns;
    snapshot->n_guarded =
        session->is_running ? marey__session_count_guarded(session) : session->n_guarded;
}

static enum marey_status take_locked(struct marey_session *session, const struct marey_alloc *alloc,
                                     struct marey_snapshot *snapshot, struct marey_error *err)
{
    size_t n_parts = 0;
    size_t n_chunks = 0;

    if (session->generation != marey__recorder.generation)
        return marey__fail(err, MAREY_INVALID,
                           "cannot read a session of the parent process, read it there");
    set_time(session, snapshot);
    count(session, snapshot, &n_parts, &n_chunks);
    snapshot->part = marey__alloc_zero(alloc, n_parts, sizeof *snapshot->part);
    snapshot->chunk = marey__alloc(alloc, n_chunks, sizeof *snapshot->chunk);
    if (snapshot->part == NULL || snapshot->chunk == NULL) {
        marey__dealloc(alloc, snapshot->part, n_parts, sizeof *snapshot->part);
        marey__dealloc(alloc, snapshot->chunk, n_chunks, sizeof *snapshot->chunk);
        return marey__fail_nomem(err);
    }
    fill(session, snapshot, n_parts, n_chunks);
    snapshot->parts_capacity = n_parts;
    snapshot->chunks_capacity = n_chunks;
    return MAREY_OK;
}

enum marey_status marey__session_snapshot(struct marey_session *session,
                                          const struct marey_alloc *alloc,
                                          struct marey_snapshot *snapshot, struct marey_error *err)
{
    struct marey_snapshot taken = {.alloc = *alloc};

    marey__recorder_lock();
    const enum marey_status status = take_locked(session, alloc, &taken, err);
    marey__recorder_unlock();
    if (status == MAREY_OK)
        *snapshot = taken;
    return status;
}

void marey__snapshot_release(struct marey_snapshot *snapshot)
{
    if (snapshot->part == NULL)
        return;
    marey__dealloc(&snapshot->alloc, snapshot->part, snapshot->parts_capacity,
                   sizeof *snapshot->part);
    marey__dealloc(&snapshot->alloc, snapshot->chunk, snapshot->chunks_capacity,
                   sizeof *snapshot->chunk);
    *snapshot = (struct marey_snapshot){0};
}

/* ---- counts ---------------------------------------------------------------------------- */

static bool is_in_time(const struct marey_snapshot *snapshot, const uint64_t *record)
{
    const uint64_t ticks = marey__record_value(record);
    return ticks >= snapshot->start_ticks && ticks < snapshot->stop_ticks;
}

static void note_gap(struct marey_session_stats *stats, const struct marey_snapshot *snapshot,
                     uint64_t ticks)
{
    const int64_t ns = marey__snapshot_ns(snapshot, ticks);

    if (stats->first_lost_ns == MAREY_UNKNOWN || ns < stats->first_lost_ns)
        stats->first_lost_ns = ns;
}

static void count_records(struct marey_session_stats *stats, const struct marey_snapshot *snapshot,
                          const struct marey_log_part *part, const struct marey_chunk_part *chunk)
{
    for (uint32_t at = 0; at < chunk->n_words; at += marey__record_words(chunk->word + at)) {
        const uint64_t *record = chunk->word + at;
        const enum marey_record_kind kind = marey__record_kind(record);
        if (kind == MAREY_RECORD_INPUTS || kind == MAREY_RECORD_CPU)
            continue;
        if (kind != MAREY_RECORD_GAP)
            stats->n_records += is_in_time(snapshot, record);
        else if (part->n_lost > 0 &&
                 marey__gap_concerns(record, snapshot->start_ticks, snapshot->stop_ticks))
            note_gap(stats, snapshot, marey__gap_start(record, snapshot->start_ticks));
    }
}

static void count_part(struct marey_session_stats *stats, const struct marey_snapshot *snapshot,
                       const struct marey_log_part *part)
{
    const uint64_t before = stats->n_records;

    for (size_t i = 0; i < part->n_chunks; i++) {
        const uint64_t n = stats->n_records;
        count_records(stats, snapshot, part, &snapshot->chunk[part->first_chunk + i]);
        stats->held_bytes += stats->n_records > n ? MAREY_CHUNK_BYTES : 0;
    }
    stats->n_threads += stats->n_records > before;
    stats->n_lost += part->n_lost;
    if (part->is_losing)
        note_gap(stats, snapshot, part->open_lost_ticks);
}

void marey_session_get_stats(struct marey_session *session, struct marey_session_stats *stats)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_snapshot snapshot = {0};

    *stats = (struct marey_session_stats){
        .start_ns = session->start.epoch_ns,
        .stop_ns = MAREY_UNKNOWN,
        .first_lost_ns = MAREY_UNKNOWN,
        .range_cost_ns = session->range_cost_ns,
        .is_tsc = session->is_tsc,
    };
    if (marey__session_snapshot(session, &alloc, &snapshot, NULL) != MAREY_OK)
        return;
    for (size_t i = 0; i < snapshot.n_parts; i++)
        count_part(stats, &snapshot, &snapshot.part[i]);
    stats->n_lost += snapshot.n_guarded;
    stats->pool_bytes = marey__pool_bound(marey__recorder.pool);
    stats->clock_error_ns = snapshot.clock_error_ns;
    if (!snapshot.is_running)
        stats->stop_ns = marey__snapshot_ns(&snapshot, snapshot.stop_ticks);
    marey__snapshot_release(&snapshot);
}

void marey_session_get_usage(struct marey_session *session, struct marey_session_usage *usage)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_snapshot snapshot = {0};

    *usage = (struct marey_session_usage){
        .start_ns = session->start.epoch_ns,
        .stop_ns = MAREY_UNKNOWN,
    };
    if (marey__session_snapshot(session, &alloc, &snapshot, NULL) != MAREY_OK)
        return;
    for (size_t i = 0; i < snapshot.n_chunks; i++)
        usage->held_bytes += snapshot.chunk[i].n_words > 0 ? MAREY_CHUNK_BYTES : 0;
    for (size_t i = 0; i < snapshot.n_parts; i++)
        usage->n_lost += snapshot.part[i].n_lost;
    usage->n_lost += snapshot.n_guarded;
    usage->pool_bytes = marey__pool_bound(marey__recorder.pool);
    if (!snapshot.is_running)
        usage->stop_ns = marey__snapshot_ns(&snapshot, snapshot.stop_ticks);
    marey__snapshot_release(&snapshot);
}
