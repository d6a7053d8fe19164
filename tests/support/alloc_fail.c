/*
 * alloc_fail.c - see the header. Each block is preceded by its size:
 *
 *     | size_bytes | mark | the caller's bytes …
 *     0            8      16
 */
#include "support/alloc_fail.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "support/expect.h"

#define MARK UINT64_C(0x6d61726579616c6c)

struct head {
    uint64_t size_bytes;
    uint64_t mark;
};

static struct head *head_of(void *ptr, size_t size_bytes)
{
    struct head *head = (struct head *)ptr - 1;
    if (head->mark != MARK || head->size_bytes != size_bytes) {
        fprintf(stderr, "alloc_fail: a block of %" PRIu64 " bytes is given back as %zu\n",
                head->mark == MARK ? head->size_bytes : 0, size_bytes);
        abort();
    }
    return head;
}

static bool refuses(struct alloc_fail *state)
{
    state->n_requests++;
    const bool is_hit =
        state->fail_at != 0 && (state->n_requests == state->fail_at ||
                                (state->fail_after && state->n_requests > state->fail_at));
    if (is_hit)
        state->n_failed++;
    return is_hit;
}

static void *make_block(struct alloc_fail *state, size_t size_bytes)
{
    if (size_bytes > SIZE_MAX - sizeof(struct head))
        return NULL;
    struct head *head = malloc(sizeof *head + size_bytes);
    if (head == NULL)
        return NULL;

    *head = (struct head){.size_bytes = size_bytes, .mark = MARK};
    state->n_live++;
    state->bytes_live += size_bytes;
    if (state->bytes_live > state->bytes_peak)
        state->bytes_peak = state->bytes_live;
    return head + 1;
}

static void *allocate(void *ctx, size_t size_bytes)
{
    struct alloc_fail *state = ctx;
    return refuses(state) ? NULL : make_block(state, size_bytes);
}

static void release(void *ctx, void *ptr, size_t size_bytes)
{
    struct alloc_fail *state = ctx;
    if (ptr == NULL)
        return;
    struct head *head = head_of(ptr, size_bytes);
    head->mark = 0;
    state->n_live--;
    state->bytes_live -= size_bytes;
    free(head);
}

static void *reallocate(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    struct alloc_fail *state = ctx;
    if (ptr == NULL)
        return allocate(ctx, new_bytes);
    (void)head_of(ptr, old_bytes);
    const bool is_request = new_bytes > old_bytes;
    if (is_request ? refuses(state) : state->keeps_shrunk)
        return NULL;
    void *moved = make_block(state, new_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, is_request ? old_bytes : new_bytes);
    release(ctx, ptr, old_bytes);
    return moved;
}

struct marey_alloc alloc_fail_make(struct alloc_fail *state)
{
    return (struct marey_alloc){allocate, reallocate, release, state};
}

uint64_t alloc_fail_sweep(alloc_fail_run_fn run, void *ctx)
{
    const bool is_full = getenv("MAREY_FULL_SWEEP") != NULL;
    uint64_t n_runs = 0;
    for (uint64_t n = 1;; n += is_full || n < 100 ? 1 : n / 32) {
        struct alloc_fail state = {.fail_at = n};
        const struct marey_alloc alloc = alloc_fail_make(&state);
        const enum marey_status status = run(ctx, &alloc);
        n_runs++;
        if (state.n_live != 0) {
            print_error("%" PRIu64 " blocks are left when request %" PRIu64 " fails\n",
                        state.n_live, n);
            fail();
        }
        if (state.n_failed == 0) {
            EXPECT_STATUS(status, MAREY_OK);
            return n_runs;
        }
        if (status != MAREY_NOMEM) {
            print_error("status is %d, not MAREY_NOMEM, when request %" PRIu64 " fails\n",
                        (int)status, n);
            fail();
        }
    }
}
