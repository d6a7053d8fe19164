/*
 * order.h - radix order of 64-bit keys; where a value stands in ascending ones.
 */
#ifndef MAREY_SRC_BASE_ORDER_H
#define MAREY_SRC_BASE_ORDER_H

#include <stdint.h>

#include "base/alloc.h"

/* Fills order[n] with the indices of key[n], keys ascending, equal keys by index. False
 * without memory. */
bool marey__order_u64(const struct marey_alloc *alloc, const uint64_t *key, uint32_t *order,
                      size_t n);

/* The first index whose value is `value` or more, n if there is none. \shape ascending[n] */
size_t marey__first_at_least(const uint32_t *ascending, size_t n, uint32_t value);

#endif
