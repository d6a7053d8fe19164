/*
 * sort.c - bottom-up merge sort of 32-bit indices, with runs that are already in
 * order taken as they are.
 */
#include "base/sort.h"

#include <string.h>

/* Merges [from, middle) and [middle, to) of `in` into `out`. */
static void merge(const uint32_t *in, uint32_t *out, size_t from, size_t middle, size_t to,
                  marey_compare_fn compare, const void *ctx)
{
    size_t a = from;
    size_t b = middle;
    for (size_t i = from; i < to; i++) {
        if (a < middle && (b >= to || compare(ctx, in[a], in[b]) <= 0))
            out[i] = in[a++];
        else
            out[i] = in[b++];
    }
}

static void insertion(uint32_t *indices, size_t from, size_t to, marey_compare_fn compare,
                      const void *ctx)
{
    for (size_t i = from + 1; i < to; i++) {
        const uint32_t moving = indices[i];
        size_t at = i;
        while (at > from && compare(ctx, indices[at - 1], moving) > 0) {
            indices[at] = indices[at - 1];
            at--;
        }
        indices[at] = moving;
    }
}

static bool is_sorted(const uint32_t *indices, size_t n, marey_compare_fn compare, const void *ctx)
{
    for (size_t i = 1; i < n; i++)
        if (compare(ctx, indices[i - 1], indices[i]) > 0)
            return false;
    return true;
}

bool marey__sort_indices(const struct marey_alloc *alloc, uint32_t *indices, size_t n,
                         marey_compare_fn compare, const void *ctx)
{
    const size_t run = 16;
    if (n < 2 || is_sorted(indices, n, compare, ctx))
        return true;
    for (size_t from = 0; from < n; from += run)
        insertion(indices, from, from + run < n ? from + run : n, compare, ctx);
    if (n <= run)
        return true;

    uint32_t *spare = marey__alloc(alloc, n, sizeof *spare);
    if (spare == NULL)
        return false;
    uint32_t *in = indices;
    uint32_t *out = spare;
    for (size_t width = run; width < n; width *= 2) {
        for (size_t from = 0; from < n; from += 2 * width) {
            const size_t middle = from + width < n ? from + width : n;
            const size_t to = middle + width < n ? middle + width : n;
            merge(in, out, from, middle, to, compare, ctx);
        }
        uint32_t *swap = in;
        in = out;
        out = swap;
    }
    if (in != indices)
        memcpy(indices, in, n * sizeof *indices);
    marey__dealloc(alloc, spare, n, sizeof *spare);
    return true;
}
