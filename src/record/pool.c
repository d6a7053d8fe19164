/*
 * pool.c - a stack of free chunks and a counter of fresh ones; both without a lock.
 */
#include "record/pool.h"

#include <sys/mman.h>
#include <unistd.h>

#include "record/points.h"

#define HUGE_PAGE_BYTES (UINT64_C(2) << 20)
#define GIB (UINT64_C(1) << 30)
#define ROOM_TO_GROW_BYTES (8 * GIB)
#define MOST_BYTES (1024 * GIB)

static struct marey_chunk *chunk_at(const struct marey_pool *pool, uint32_t idx)
{
    return (struct marey_chunk *)(void *)(pool->base + (size_t)idx * MAREY_CHUNK_BYTES);
}

static uint32_t idx_of(const struct marey_pool *pool, const struct marey_chunk *chunk)
{
    return (uint32_t)((size_t)((const char *)chunk - pool->base) / MAREY_CHUNK_BYTES);
}

static void *reserve(size_t bytes)
{
    void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? NULL : at;
}

/* Huge pages make the first touch of a chunk many times cheaper where the system has them. */
static void *reserve_for_huge_pages(size_t bytes)
{
    char *at = reserve(bytes + HUGE_PAGE_BYTES);
    if (at == NULL)
        return NULL;
    const size_t before = (size_t)(-(uintptr_t)at & (HUGE_PAGE_BYTES - 1));
    char *aligned = at + before;
    if (before > 0)
        (void)munmap(at, before);
    (void)munmap(aligned + bytes, HUGE_PAGE_BYTES - before);
    (void)madvise(aligned, bytes, MADV_HUGEPAGE);
    return aligned;
}

static bool reserve_pool(struct marey_pool *pool, uint64_t bytes)
{
    pool->n_chunks = (size_t)(bytes / MAREY_CHUNK_BYTES);
    pool->reserved_bytes = pool->n_chunks * MAREY_CHUNK_BYTES;
    pool->below_map = reserve(pool->n_chunks * sizeof *pool->below);
    pool->below = pool->below_map;
    if (pool->below == NULL)
        return false;
    pool->base = reserve_for_huge_pages(pool->reserved_bytes);
    if (pool->base == NULL)
        (void)munmap(pool->below_map, pool->n_chunks * sizeof *pool->below);
    return pool->base != NULL;
}

bool marey__pool_init(struct marey_pool *pool, uint64_t bytes)
{
    const uint64_t some = bytes < MAREY_CHUNK_BYTES ? MAREY_CHUNK_BYTES : bytes;
    const uint64_t wanted = some < MOST_BYTES ? some : MOST_BYTES;

    *pool = (struct marey_pool){0};
    if (!reserve_pool(pool, wanted < ROOM_TO_GROW_BYTES ? ROOM_TO_GROW_BYTES : wanted) &&
        !reserve_pool(pool, wanted)) {
        *pool = (struct marey_pool){0};
        return false;
    }
    marey__pool_set_bound(pool, wanted, 0);
    return true;
}

/* Relaxed: numbers that publish nothing. */
void marey__pool_set_bound(struct marey_pool *pool, uint64_t bytes, uint32_t n_idle)
{
    const uint64_t n = bytes / MAREY_CHUNK_BYTES;
    const uint64_t bound = n < 1 ? 1 : n < pool->n_chunks ? n : pool->n_chunks;
    const uint64_t limit = bound + n_idle < pool->n_chunks ? bound + n_idle : pool->n_chunks;

    atomic_store_explicit(&pool->bound, (uint32_t)bound, memory_order_relaxed);
    atomic_store_explicit(&pool->limit, (uint32_t)limit, memory_order_relaxed);
}

uint64_t marey__pool_bound(const struct marey_pool *pool)
{
    return (uint64_t)atomic_load_explicit(&pool->bound, memory_order_relaxed) * MAREY_CHUNK_BYTES;
}

void marey__pool_release(struct marey_pool *pool)
{
    if (pool->base == NULL)
        return;
    (void)munmap(pool->base, pool->reserved_bytes);
    (void)munmap(pool->below_map, pool->n_chunks * sizeof *pool->below);
    *pool = (struct marey_pool){0};
}

static uint64_t next_tag(uint64_t top)
{
    return (top & ~UINT64_C(0xffffffff)) + (UINT64_C(1) << 32);
}

/* The top is read with acquire and stored with release, so that who pops a chunk sees the link
 * that its pusher wrote; a link that changed meanwhile is noticed by the tag. */
static struct marey_chunk *pop(struct marey_pool *pool)
{
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_acquire);

    for (;;) {
        const uint32_t above = (uint32_t)top;
        if (above == 0)
            return NULL;
        const uint64_t below = atomic_load_explicit(&pool->below[above - 1], memory_order_relaxed);
        MAREY_POINT(MAREY_POINT_POP_LOOKED);
        if (atomic_compare_exchange_weak_explicit(&pool->top, &top, next_tag(top) | below,
                                                  memory_order_acq_rel, memory_order_acquire)) {
            (void)atomic_fetch_sub_explicit(&pool->n_free, 1, memory_order_relaxed);
            return chunk_at(pool, above - 1);
        }
    }
}

static void push(struct marey_pool *pool, uint32_t idx)
{
    uint64_t top = atomic_load_explicit(&pool->top, memory_order_relaxed);

    do
        atomic_store_explicit(&pool->below[idx], (uint32_t)top, memory_order_relaxed);
    while (!atomic_compare_exchange_weak_explicit(&pool->top, &top, next_tag(top) | (idx + 1),
                                                  memory_order_release, memory_order_relaxed));
    (void)atomic_fetch_add_explicit(&pool->n_free, 1, memory_order_relaxed);
}

/* Relaxed: the counter gives each index to one thread and publishes nothing. */
static struct marey_chunk *take_fresh(struct marey_pool *pool)
{
    uint32_t idx = atomic_load_explicit(&pool->n_fresh, memory_order_relaxed);

    do {
        if (idx >= pool->n_chunks)
            return NULL;
    } while (!atomic_compare_exchange_weak_explicit(&pool->n_fresh, &idx, idx + 1,
                                                    memory_order_relaxed, memory_order_relaxed));
    return chunk_at(pool, idx);
}

/* Counts are relaxed: they bound a number and publish nothing. */
static bool count_in(struct marey_pool *pool)
{
    const uint32_t n = 1 + atomic_fetch_add_explicit(&pool->n_used, 1, memory_order_relaxed);

    if (n > atomic_load_explicit(&pool->limit, memory_order_relaxed)) {
        (void)atomic_fetch_sub_explicit(&pool->n_used, 1, memory_order_relaxed);
        return false;
    }
    if (n > atomic_load_explicit(&pool->n_most, memory_order_relaxed))
        atomic_store_explicit(&pool->n_most, n, memory_order_relaxed);
    return true;
}

struct marey_chunk *marey__pool_take(struct marey_pool *pool)
{
    if (!count_in(pool))
        return NULL;

    struct marey_chunk *chunk = pop(pool);
    if (chunk == NULL)
        chunk = take_fresh(pool);
    if (chunk == NULL) {
        (void)atomic_fetch_sub_explicit(&pool->n_used, 1, memory_order_relaxed);
        return NULL;
    }
    chunk->n_words = 0;
    atomic_store_explicit(&chunk->next, NULL, memory_order_relaxed);
    return chunk;
}

void marey__pool_give(struct marey_pool *pool, struct marey_chunk *chunk)
{
    push(pool, idx_of(pool, chunk));
    (void)atomic_fetch_sub_explicit(&pool->n_used, 1, memory_order_relaxed);
}

uint32_t marey__pool_touch(struct marey_pool *pool, uint32_t n)
{
    const long page = sysconf(_SC_PAGESIZE);
    uint32_t n_touched = 0;

    while (atomic_load_explicit(&pool->n_free, memory_order_relaxed) < n) {
        struct marey_chunk *chunk = take_fresh(pool);
        if (chunk == NULL)
            break;
        volatile char *at = (volatile char *)chunk->word;
        for (size_t i = 0; i < sizeof chunk->word; i += (size_t)page)
            at[i] = 0;
        push(pool, idx_of(pool, chunk));
        n_touched++;
    }
    return n_touched;
}

/* The stack keeps its order; what lies deep is trimmed, since the top is used next. */
void marey__pool_trim(struct marey_pool *pool, uint32_t n)
{
    uint32_t n_kept = 0;
    uint32_t n_taken = 0;
    uint32_t last = 0; /* index + 1, a chain through `below` */
    struct marey_chunk *chunk = NULL;

    if (atomic_load_explicit(&pool->n_most, memory_order_relaxed) <= n)
        return;
    atomic_store_explicit(&pool->n_most, 0, memory_order_relaxed);
    while ((chunk = pop(pool)) != NULL) {
        const uint32_t idx = idx_of(pool, chunk);
        n_taken++;
        if (n_kept < n)
            n_kept++;
        else
            (void)madvise(chunk, MAREY_CHUNK_BYTES, MADV_DONTNEED);
        atomic_store_explicit(&pool->below[idx], last, memory_order_relaxed);
        last = idx + 1;
    }
    for (; n_taken > 0; n_taken--) {
        const uint32_t idx = last - 1;
        last = atomic_load_explicit(&pool->below[idx], memory_order_relaxed);
        push(pool, idx);
    }
}

uint64_t marey__pool_default_bytes(void)
{
    const long n_pages = sysconf(_SC_PHYS_PAGES);
    const long page = sysconf(_SC_PAGESIZE);
    const uint64_t eighth = n_pages > 0 && page > 0 ? (uint64_t)n_pages * (uint64_t)page / 8 : GIB;

    return eighth < GIB ? eighth : GIB;
}
