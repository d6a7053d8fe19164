/*
 * pool.h - the bounded memory that threads record into, in chunks.
 *
 * Address space for all chunks is taken at once, so that taking a chunk needs no call into
 * the system. The feeder keeps some chunks touched ahead of the threads; a thread that is
 * faster gets an untouched one and pays for its pages, and none when the bound is met.
 *
 * Threads: marey__pool_take and marey__pool_give from any thread, without a lock.
 */
#ifndef MAREY_SRC_RECORD_POOL_H
#define MAREY_SRC_RECORD_POOL_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"

#define MAREY_CHUNK_BYTES 65536
#define MAREY_CHUNK_HEAD_BYTES 64
#define MAREY_CHUNK_WORDS ((MAREY_CHUNK_BYTES - MAREY_CHUNK_HEAD_BYTES) / 8)

/* A part of a thread's records.
 *
 * The words of the chunk that is written to end at the log's `at`. When the owner leaves a chunk
 * he sets n_words, then moves `at` into the next one (release), then stores next (release): who
 * sees either (acquire) sees n_words. Later only the holder of the recorder's lock changes
 * next. */
struct marey_chunk {
    _Atomic(struct marey_chunk *) next;
    uint64_t since_ticks;       /* no record of it is older, nor the gap that it may begin with */
    uint64_t taken_ticks;       /* all records of chunks before it are older; both set before it is
                                   linked */
    struct marey_chunk *before; /* in the log; set before it is linked, then of the lock's holder */
    uint32_t n_words;           /* of a chunk that was left */
    uint32_t n_pins;            /* sessions that begin in it; of the lock's holder */
    _Alignas(MAREY_CHUNK_HEAD_BYTES) uint64_t word[MAREY_CHUNK_WORDS];
};

struct marey_pool {
    char *base;
    size_t reserved_bytes;
    size_t n_chunks;
    void *below_map;           /* what was mapped for `below` */
    _Atomic(uint32_t) *below;  /* [n_chunks] stack of free chunks: the one below, +1; 0: none */
    _Atomic(uint64_t) top;     /* tag << 32 | index + 1. The tag changes with each change (ABA) */
    _Atomic(uint32_t) n_fresh; /* chunks that were ever taken */
    _Atomic(uint32_t) n_free;  /* on the stack; approximate */
    _Atomic(uint32_t) n_used;  /* taken and not given back */
    _Atomic(uint32_t) n_most;  /* the largest n_used since the last trim */
    _Atomic(uint32_t) bound;   /* chunks that are wanted at most */
    _Atomic(uint32_t) limit;   /* of n_used: the bound and what does not count; at most n_chunks */
};

/* Reserves address space for a pool of `bytes` and more, for bounds that are raised later.
 * False without address space. */
bool marey__pool_init(struct marey_pool *pool, uint64_t bytes);

/* Sets the bound, at least one chunk and at most what was reserved; n_idle chunks that are taken
 * do not count. */
void marey__pool_set_bound(struct marey_pool *pool, uint64_t bytes, uint32_t n_idle);
uint64_t marey__pool_bound(const struct marey_pool *pool);
void marey__pool_release(struct marey_pool *pool);

/* A chunk without words, or NULL: the bound is met. */
struct marey_chunk *marey__pool_take(struct marey_pool *pool);
void marey__pool_give(struct marey_pool *pool, struct marey_chunk *chunk);

/* Touches fresh chunks until `n` are free or there are no more. How many it touched. */
uint32_t marey__pool_touch(struct marey_pool *pool, uint32_t n);

/* Gives the memory of free chunks beyond `n` back to the system, if more than `n` were used at
 * a time; they stay in the pool. */
void marey__pool_trim(struct marey_pool *pool, uint32_t n);

/* The default bound: the smaller of 1 GiB and an eighth of the machine's memory. */
uint64_t marey__pool_default_bytes(void);

#endif
