/*
 * log.c - what a thread does when its chunk is full.
 */
#include "record/log.h"

#include "record/points.h"
#include "record/tls.h"

/* Each link is followed once, by whoever comes first. */
struct marey_chunk *marey__log_last(struct marey_log *log)
{
    struct marey_chunk *next =
        log->last != NULL ? log->last : atomic_load_explicit(&log->first, memory_order_acquire);

    while (next != NULL) {
        log->last = next;
        next = atomic_load_explicit(&next->next, memory_order_acquire);
    }
    return log->last;
}

static uint64_t now(void)
{
    return marey__clock_ticks(marey__recorder.is_tsc) - marey__recorder.epoch_ticks;
}

/* In this order: the words of the chunk that is left, where the next record goes, the link. A
 * reader that sees one sees those before it. */
static void link_chunk(struct marey_log *log, struct marey_chunk *chunk, uint64_t since_ticks)
{
    struct marey_chunk *former = log->chunk;

    chunk->before = former;
    chunk->taken_ticks = now();
    chunk->since_ticks = since_ticks < chunk->taken_ticks ? since_ticks : chunk->taken_ticks;
    if (former != NULL)
        former->n_words = (uint32_t)(marey__log_at(log) - former->word);
    MAREY_POINT(MAREY_POINT_CHUNK_LEFT);
    log->chunk = chunk;
    log->end = chunk->word + MAREY_CHUNK_WORDS;
    marey__log_publish(log, chunk->word);
    MAREY_POINT(MAREY_POINT_PLACE_MOVED);
    atomic_store_explicit(former == NULL ? &log->first : &former->next, chunk,
                          memory_order_release);
}

/* There is room again: says since when there was none. */
static void write_gap(struct marey_log *log, uint64_t since_ticks)
{
    uint64_t *at = marey__log_at(log);

    at[0] = marey__record_head(since_ticks, MAREY_RECORD_GAP);
    at[1] = atomic_load_explicit(&log->open_lost, memory_order_relaxed);
    at[2] = atomic_load_explicit(&log->last_lost_ticks, memory_order_relaxed);
    atomic_store_explicit(&log->open_lost_ticks, 0, memory_order_release);
    atomic_store_explicit(&log->open_lost, 0, memory_order_relaxed);
    marey__log_publish(log, at + 3);
}

uint64_t *marey__log_turn(struct marey_log *log, uint32_t n)
{
    const uint64_t lost = atomic_load_explicit(&log->open_lost_ticks, memory_order_relaxed);
    struct marey_chunk *chunk =
        n + 3 > MAREY_CHUNK_WORDS ? NULL : marey__pool_take(marey__recorder.pool);

    if (chunk == NULL)
        return NULL;
    link_chunk(log, chunk, lost != 0 ? lost - 1 : UINT64_MAX);
    if (lost != 0)
        write_gap(log, lost - 1);
    return marey__log_at(log);
}

void marey__log_lose(struct marey_log *log)
{
    const uint64_t n = atomic_load_explicit(&log->open_lost, memory_order_relaxed);
    const uint64_t ticks = now();

    atomic_store_explicit(&log->n_lost,
                          atomic_load_explicit(&log->n_lost, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    atomic_store_explicit(&log->open_lost, n + 1, memory_order_relaxed);
    atomic_store_explicit(&log->last_lost_ticks, ticks, memory_order_relaxed);
    if (n == 0)
        atomic_store_explicit(&log->open_lost_ticks, ticks + 1, memory_order_release);
    log->end = marey__log_at(log);
}
