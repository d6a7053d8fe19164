/*
 * sort.c - natural merge sort of 32-bit indices.
 *
 * Traces come as a few long runs that are in order already (one per kind of event), so
 * runs are found first, short ones are grown to a minimum by insertion, and neighbours
 * are merged until one is left: n compares for sorted input, n log(runs) else.
 */
#include "base/sort.h"

#include <string.h>

#define SHORT_RUN ((size_t)16)

struct sorter {
    const int64_t *key; /* or NULL */
    marey_compare_fn compare;
    const void *ctx;
    size_t *bound; /* [n_runs + 1] where runs begin, then n */
    size_t n_runs;
};

static inline bool is_in_order(const struct sorter *sorter, uint32_t a, uint32_t b)
{
    if (sorter->key != NULL && sorter->key[a] != sorter->key[b])
        return sorter->key[a] < sorter->key[b];
    return sorter->compare(sorter->ctx, a, b) <= 0;
}

static void insertion(const struct sorter *sorter, uint32_t *indices, size_t from, size_t sorted_to,
                      size_t to)
{
    for (size_t i = sorted_to; i < to; i++) {
        const uint32_t moving = indices[i];
        size_t at = i;
        while (at > from && !is_in_order(sorter, indices[at - 1], moving)) {
            indices[at] = indices[at - 1];
            at--;
        }
        indices[at] = moving;
    }
}

static size_t run_end(const struct sorter *sorter, const uint32_t *indices, size_t from, size_t n)
{
    size_t to = from + 1;
    while (to < n && is_in_order(sorter, indices[to - 1], indices[to]))
        to++;
    return to;
}

static void find_runs(struct sorter *sorter, uint32_t *indices, size_t n)
{
    size_t from = 0;
    while (from < n) {
        size_t to = run_end(sorter, indices, from, n);
        if (to - from < SHORT_RUN && to < n) {
            const size_t least = n - from < SHORT_RUN ? n : from + SHORT_RUN;
            insertion(sorter, indices, from, to, least);
            to = least;
        }
        sorter->bound[sorter->n_runs++] = from;
        from = to;
    }
    sorter->bound[sorter->n_runs] = n;
}

/* Merges [from, middle) and [middle, to) of `in` into `out`. */
static void merge(const struct sorter *sorter, const uint32_t *in, uint32_t *out, size_t from,
                  size_t middle, size_t to)
{
    size_t a = from;
    size_t b = middle;
    size_t i = from;
    while (a < middle && b < to)
        out[i++] = is_in_order(sorter, in[a], in[b]) ? in[a++] : in[b++];
    memcpy(out + i, in + a, (middle - a) * sizeof *out);
    i += middle - a;
    memcpy(out + i, in + b, (to - b) * sizeof *out);
}

/* Merges neighbours; the number of runs is halved. */
static void merge_round(struct sorter *sorter, const uint32_t *in, uint32_t *out)
{
    size_t kept = 0;
    for (size_t run = 0; run < sorter->n_runs; run += 2) {
        const size_t from = sorter->bound[run];
        const size_t middle = sorter->bound[run + 1];
        const size_t to = run + 2 <= sorter->n_runs ? sorter->bound[run + 2] : middle;
        merge(sorter, in, out, from, middle, to);
        sorter->bound[kept++] = from;
    }
    sorter->bound[kept] = sorter->bound[sorter->n_runs];
    sorter->n_runs = kept;
}

bool marey__sort_by_key(const struct marey_alloc *alloc, uint32_t *indices, size_t n,
                        const int64_t *key, marey_compare_fn compare, const void *ctx)
{
    struct sorter sorter = {.key = key, .compare = compare, .ctx = ctx};
    if (n < 2 || run_end(&sorter, indices, 0, n) == n)
        return true;

    const size_t most_runs = n / SHORT_RUN + 2;
    sorter.bound = marey__alloc(alloc, most_runs + 1, sizeof *sorter.bound);
    uint32_t *spare = marey__alloc(alloc, n, sizeof *spare);
    const bool has_room = sorter.bound != NULL && spare != NULL;
    if (has_room) {
        find_runs(&sorter, indices, n);
        uint32_t *in = indices;
        uint32_t *out = spare;
        while (sorter.n_runs > 1) {
            merge_round(&sorter, in, out);
            uint32_t *swap = in;
            in = out;
            out = swap;
        }
        if (in != indices)
            memcpy(indices, in, n * sizeof *indices);
    }
    marey__dealloc(alloc, spare, n, sizeof *spare);
    marey__dealloc(alloc, sorter.bound, most_runs + 1, sizeof *sorter.bound);
    return has_room;
}

bool marey__sort_indices(const struct marey_alloc *alloc, uint32_t *indices, size_t n,
                         marey_compare_fn compare, const void *ctx)
{
    return marey__sort_by_key(alloc, indices, n, NULL, compare, ctx);
}

bool marey__sort_structs(const struct marey_alloc *alloc, void *at, size_t n, size_t size_bytes,
                         marey_compare_fn compare, const void *ctx)
{
    if (n < 2)
        return true;
    uint32_t *order = marey__alloc(alloc, n, sizeof *order);
    char *sorted = marey__alloc(alloc, n, size_bytes);
    bool is_done = order != NULL && sorted != NULL;

    for (size_t i = 0; i < n && is_done; i++)
        order[i] = (uint32_t)i;
    is_done = is_done && marey__sort_indices(alloc, order, n, compare, ctx);
    for (size_t i = 0; i < n && is_done; i++)
        memcpy(sorted + i * size_bytes, (const char *)at + order[i] * size_bytes, size_bytes);
    if (is_done)
        memcpy(at, sorted, n * size_bytes);
    marey__dealloc(alloc, sorted, n, size_bytes);
    marey__dealloc(alloc, order, n, sizeof *order);
    return is_done;
}
