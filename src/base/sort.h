/*
 * sort.h - stable merge sort of indices by a caller's order.
 *
 * compare(ctx, a, b) < 0 when a goes first. False without memory.
 */
#ifndef MAREY_SRC_BASE_SORT_H
#define MAREY_SRC_BASE_SORT_H

#include <stdint.h>

#include "base/alloc.h"

typedef int (*marey_compare_fn)(const void *ctx, uint32_t a, uint32_t b);

/* The same where key[a] < key[b] is enough for a to go first: compare is asked about equal keys
 * only. \shape key is indexed by what is in `indices` */
bool marey__sort_by_key(const struct marey_alloc *alloc, uint32_t *indices, size_t n,
                        const int64_t *key, marey_compare_fn compare, const void *ctx);

bool marey__sort_indices(const struct marey_alloc *alloc, uint32_t *indices, size_t n,
                         marey_compare_fn compare, const void *ctx);

/* Sorts an array of structs in place. compare sees positions in `at` as it is at the call, so
 * its ctx may be `at`. */
bool marey__sort_structs(const struct marey_alloc *alloc, void *at, size_t n, size_t size_bytes,
                         marey_compare_fn compare, const void *ctx);

#endif
