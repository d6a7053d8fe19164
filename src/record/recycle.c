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
        const uint64_t start = s->start.ticks - s->epoch_ticks;
        const uint64_t stop = s->is_running ? UINT64_MAX : s->stop.ticks - s->epoch_ticks;
        if (since_ticks <= stop && until_ticks >= start)
            return true;
    }
    return false;
}

/* Takes chunks that nobody needs out of a chain. The last one stays while its thread lives. */
static void recycle_chunks(struct marey_log *log)
{
    const bool has_ended = atomic_load_explicit(&log->has_ended, memory_order_acquire);
    struct marey_chunk *before = NULL;
    struct marey_chunk *chunk = atomic_load_explicit(&log->first, memory_order_acquire);

    while (chunk != NULL) {
        struct marey_chunk *next = atomic_load_explicit(&chunk->next, memory_order_acquire);
        const bool is_last = next == NULL;
        const bool is_kept = is_last ? !has_ended || is_needed(chunk->since_ticks, UINT64_MAX)
                                     : is_needed(chunk->since_ticks, next->taken_ticks);
        if (is_kept) {
            before = chunk;
        } else {
            if (before == NULL)
                atomic_store_explicit(&log->first, next, memory_order_release);
            else
                atomic_store_explicit(&before->next, next, memory_order_release);
            marey__pool_give(marey__recorder.pool, chunk);
        }
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

void marey__recorder_recycle(void)
{
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_log **link = &marey__recorder.logs;

    while (*link != NULL) {
        struct marey_log *log = *link;
        recycle_chunks(log);
        if (atomic_load_explicit(&log->has_ended, memory_order_acquire) &&
            atomic_load_explicit(&log->first, memory_order_acquire) == NULL && !tells_loss(log)) {
            *link = log->next;
            marey__dealloc(&alloc, log, 1, sizeof *log);
        } else {
            link = &log->next;
        }
    }
    if (marey__recorder.n_running == 0 && marey__recorder.pool != NULL)
        marey__pool_trim(marey__recorder.pool, WARM_CHUNKS);
}
