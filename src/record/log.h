/*
 * log.h - the records of one thread: a chain of chunks that only the thread appends to.
 *
 * Life: made at the thread's first record, marked when the thread ends, freed when no
 * session needs its chunks. The recorder's lock guards the list of logs and what is taken
 * out of a chain; the thread itself takes it once.
 */
#ifndef MAREY_SRC_RECORD_LOG_H
#define MAREY_SRC_RECORD_LOG_H

#include <stdatomic.h>

#include "record/layout.h"
#include "record/pool.h"
#include "record/sites.h"

#define MAREY_THREAD_NAME_BYTES 64

/* Of most caches. Where lines are longer, one is asked for twice. */
#define MAREY_LINE_BYTES 64

struct marey_log {
    /* Where the next record goes. Written by the thread alone: its store (release) publishes
     * all words before it; who reads it (acquire) sees them. */
    _Atomic(uint64_t *) at;

    /* Of the thread alone. */
    uint64_t *end;         /* of the chunk; the same as `at` before the first chunk */
    volatile bool is_busy; /* inside an emit: what interrupts it is dropped */
    uint8_t open_kind;     /* between op_open and op_close the kind of record, else 0 */
    bool is_open_short;    /* and whether it is closed by the short path */
    struct marey_chunk *chunk;

    /* Written by the thread, read by who holds the recorder's lock. */
    _Atomic(struct marey_chunk *) first; /* release: the chunk is whole */
    _Atomic(uint64_t) open_lost;         /* records lost since the last GAP; relaxed: a count */
    _Atomic(uint64_t) open_lost_ticks;   /* the time of the first of them, + 1; 0: none. Release:
                                            the count before it is of the same gap */
    _Atomic(uint64_t) last_lost_ticks;   /* relaxed: tells whether a session is concerned */
    _Atomic(uint64_t) n_lost;            /* in all; relaxed: a count */
    _Atomic(bool) has_ended;             /* release: the thread writes no more */

    /* Of who holds the recorder's lock. */
    struct marey_log *next;
    struct marey_chunk *last; /* of the chain when it was last looked for; NULL: not yet */
    uint64_t serial;          /* logs are numbered in the order in which they are made */
    int64_t thread_id;        /* the system's */
    char name[MAREY_THREAD_NAME_BYTES];

    struct marey_name_cache cache;
};

/* The last chunk of the chain; NULL: it has none. Under the recorder's lock. */
struct marey_chunk *marey__log_last(struct marey_log *log);

/* Room for n words in a new chunk. NULL: there is none. */
uint64_t *marey__log_turn(struct marey_log *log, uint32_t n);

/* Relaxed: the thread reads what it wrote itself. */
static inline uint64_t *marey__log_at(struct marey_log *log)
{
    return atomic_load_explicit(&log->at, memory_order_relaxed);
}

/* Whether n words from `at` on are of the chunk; a thread without one has none. */
static inline bool marey__log_has(const struct marey_log *log, const uint64_t *at, size_t n)
{
    return (uintptr_t)at + n * sizeof *at <= (uintptr_t)log->end;
}

/* Room for a record of n words, to be published by marey__log_publish. */
static inline uint64_t *marey__log_room(struct marey_log *log, uint32_t n)
{
    uint64_t *at = marey__log_at(log);

    if (__builtin_expect((size_t)(log->end - at) >= n, 1))
        return at;
    return marey__log_turn(log, n);
}

/* Makes what was written up to `at` visible to readers. */
static inline void marey__log_publish(struct marey_log *log, uint64_t *at)
{
    atomic_store_explicit(&log->at, at, memory_order_release);
}

/* Asks for n lines of the cache that later records need, from the one on that begins `ahead` lines
 * behind `after`, where this one ends. No cache holds them, and to wait for them is a third of what
 * an operator's record costs. They may lie behind the chunk, or nowhere: nothing is read or
 * written. */
static inline void marey__log_expect(const uint64_t *after, size_t ahead, size_t n)
{
    for (size_t i = ahead; i < ahead + n; i++)
        __builtin_prefetch((const void *)((uintptr_t)after + i * MAREY_LINE_BYTES), 1);
}

/* Counts a record for which there was no room, and takes the rest of the chunk from smaller ones:
 * what is recorded behind a loss is behind the GAP that tells it, or it would seem to be before it.
 */
void marey__log_lose(struct marey_log *log);

#endif
