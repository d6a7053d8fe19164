/*
 * known.h - sums and differences of times of which some are not known, or do not fit.
 */
#ifndef MAREY_SRC_BASE_KNOWN_H
#define MAREY_SRC_BASE_KNOWN_H

#include <stdbool.h>

#include "marey/base.h"

/* a + b; MAREY_UNKNOWN if either is, or if 64 bits do not hold it. */
static inline int64_t marey__known_add(int64_t a, int64_t b)
{
    int64_t sum = 0;
    const bool is_known = a != MAREY_UNKNOWN && b != MAREY_UNKNOWN;
    return is_known && !__builtin_add_overflow(a, b, &sum) ? sum : MAREY_UNKNOWN;
}

/* to - from, as above. */
static inline int64_t marey__known_span(int64_t from, int64_t to)
{
    int64_t span = 0;
    const bool is_known = from != MAREY_UNKNOWN && to != MAREY_UNKNOWN;
    return is_known && !__builtin_sub_overflow(to, from, &span) ? span : MAREY_UNKNOWN;
}

#endif
