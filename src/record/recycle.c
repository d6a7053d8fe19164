/*
 * recycle.c - chunks that no session needs go back to the pool, and ended logs go.
 */
#include "record/session.h"
#include "record/tls.h"

/* Memory that stays warm for the next session. */
#define WARM_CHUNKS ((UINT32_C(64) << 20) / MAREY_CHUNK_BYTES)

static bool is_needed(uint64_t since_ticks, uint64_t until_ticks)
{
    for (const struct marey_session *s = marey__recorder.sessions; s != NULL; s = s->next) {
        const uint64_t start = s->started.ticks - s->epoch_ticks;
        const uint64_t stop = s->is_running ? UINT64_MAX : s->stopped.ticks - s->epoch_ticks;
        if (since_ticks <= stop && until_ticks >= start)
            return true;
    }
    return false;
}

/* The last chunk stays while its thread lives. */
static bool is_kept(const struct marey_log *log, const struct marey_chunk *chunk)
{
    const struct marey_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);

    if (chunk->n_pins > 0)
        return true;
    if (next != NULL)
        return is_needed(chunk->since_ticks, next->taken_ticks);
    return !atomic_load_explicit(&log->has_ended, memory_order_acquire) ||
           is_needed(chunk->since_ticks, UINT64_MAX);
}

static void give_back(struct marey_log *log, struct marey_chunk *chunk)
{
    struct marey_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
    struct marey_chunk *before = chunk->before;

    if (before == NULL)
        atomic_store_explicit(&log->first, next, memory_order_release);
    else
        atomic_store_explicit(&before->next, next, memory_order_release);
    if (next != NULL)
        next->before = before;
    if (log->last == chunk)
        log->last = before;
    marey__pool_give(marey__recorder.pool, chunk);
}

/* Takes chunks that nobody needs out of a chain: from the one in which a session began up to those
 * that are younger than it. One before them may have been left when a thread that was late for
 * its last session took another. */
static void recycle_chunks(struct marey_log *log, struct marey_chunk *from, uint64_t until_ticks)
{
    struct marey_chunk *chunk = from;

    while (chunk != NULL && chunk->before != NULL && !is_kept(log, chunk->before))
        chunk = chunk->before;
    while (chunk != NULL && chunk->since_ticks <= until_ticks) {
        struct marey_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        if (!is_kept(log, chunk))
            give_back(log, chunk);
        chunk = next;
    }
}

/* An ended thread without records may yet be the only one who knows what it lost. */
static bool tells_loss(const struct marey_log *log)
{
    const uint64_t since = atomic_load_explicit(&log->open_lost_ticks, memory_order_acquire);

    return since != 0 &&
           is_needed(since - 1, atomic_load_explicit(&log->last_lost_ticks, memory_order_relaxed));
}

static bool is_over(const struct marey_log *log)
{
    return atomic_load_explicit(&log->has_ended, memory_order_acquire) &&
           atomic_load_explicit(&log->first, memory_order_acquire) == NULL && !tells_loss(log);
}

static void free_log(struct marey_log **link)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_log *log = *link;

    *link = log->next;
    marey__dealloc(&alloc, log, 1, sizeof *log);
}

/* When the last of the sessions ended that have ended and are older than this one; -1: none. */
static int64_t last_stop_before(const struct marey_session *session)
{
    int64_t last_ticks = -1;

    for (const struct marey_session *s = session->next; s != NULL; s = s->next) {
        const int64_t stop_ticks = (int64_t)(s->stopped.ticks - s->epoch_ticks);
        if (!s->is_running && stop_ticks > last_ticks)
            last_ticks = stop_ticks;
    }
    return last_ticks;
}

static const struct marey_session *oldest_running(void)
{
    const struct marey_session *oldest = NULL;

    for (const struct marey_session *s = marey__recorder.sessions; s != NULL; s = s->next)
        if (s->is_running)
            oldest = s;
    return oldest;
}

/* A chunk that a thread had when the first of the running sessions began was another's then, and
 * may be nobody's now: of a warm-up that is gone, or of a cycle that was let go for this one. It
 * takes nothing of the bound any more. Older sessions are all that can need what lies before. */
static void count_idle_anew(void)
{
    struct marey_recorder *recorder = &marey__recorder;
    const struct marey_session *oldest = oldest_running();
    uint32_t n_idle = 0;

    if (oldest == NULL || oldest->positions == NULL)
        return;
    const int64_t last_ticks = last_stop_before(oldest);
    for (size_t i = 0; i < oldest->n_positions; i++) {
        const struct marey_chunk *chunk = oldest->positions[i].chunk;
        n_idle += chunk != NULL && (int64_t)chunk->since_ticks > last_ticks;
    }
    recorder->n_idle = n_idle;
    marey__pool_set_bound(recorder->pool, marey__pool_bound(recorder->pool), n_idle);
}

void marey__recorder_recycle(struct marey_session *gone)
{
    const uint64_t stop_ticks = gone->stopped.ticks - gone->epoch_ticks;
    struct marey_position_walk walk = {.session = gone};
    struct marey_log **link = &marey__recorder.logs;

    marey__session_unpin_positions(gone);
    while (*link != NULL) {
        struct marey_log *log = *link;
        recycle_chunks(log, marey__position_in(&walk, log).chunk, stop_ticks);
        if (is_over(log))
            free_log(link);
        else
            link = &log->next;
    }
    if (marey__recorder.n_running > 0)
        count_idle_anew();
    else if (marey__recorder.pool != NULL)
        marey__pool_trim(marey__recorder.pool, WARM_CHUNKS);
}

/* A chunk of a thread that lives cannot be taken from it without a lock or a fence on the path of
 * a record, so it stays. */
uint32_t marey__recorder_count_idle(void)
{
    struct marey_log **link = &marey__recorder.logs;
    uint32_t n_idle = 0;

    while (*link != NULL) {
        struct marey_log *log = *link;
        struct marey_chunk *last = marey__log_last(log);
        recycle_chunks(log, last, UINT64_MAX);
        n_idle += log->last != NULL && log->last->n_pins == 0 &&
                  !is_needed(log->last->since_ticks, UINT64_MAX);
        if (is_over(log))
            free_log(link);
        else
            link = &log->next;
    }
    return n_idle;
}
