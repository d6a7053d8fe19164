/*
 * alloc_fail.h - an allocator for tests: fails at the n-th allocation, accounts for bytes
 * and checks the sizes that are given back.
 *
 *     static enum marey_status load(void *ctx, const struct marey_alloc *alloc)
 *     ...
 *     alloc_fail_sweep(load, ctx);
 *
 * A block always moves when it grows, so that stale pointers show.
 */
#ifndef MAREY_TESTS_ALLOC_FAIL_H
#define MAREY_TESTS_ALLOC_FAIL_H

#include <stdbool.h>
#include <stdint.h>

#include "marey/base.h"

/* All zero: never fails. */
struct alloc_fail {
    uint64_t fail_at;  /* the n-th request fails, from 1; 0: none does */
    bool fail_after;   /* so do all later ones */
    bool keeps_shrunk; /* refuses to make a block smaller, which nobody may need; that is
                        * no request of the count */
    uint64_t n_requests;
    uint64_t n_failed;
    uint64_t n_live; /* blocks */
    uint64_t bytes_live;
    uint64_t bytes_peak;
};

/* Borrows `state`. A size that is given back wrongly ends the process with a message. */
struct marey_alloc alloc_fail_make(struct alloc_fail *state);

/* Does one thing with the allocator and releases all it made. */
typedef enum marey_status (*alloc_fail_run_fn)(void *ctx, const struct marey_alloc *alloc);

/* Runs `run` with the n-th request failing, n = 1, 2, … until it succeeds with no request
 * refused. Each failing run must give MAREY_NOMEM, each run must leave no block. Past the
 * first 100 the steps grow by a 32nd, unless MAREY_FULL_SWEEP is set.
 * Returns the number of runs. */
uint64_t alloc_fail_sweep(alloc_fail_run_fn run, void *ctx);

#endif
