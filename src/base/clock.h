/*
 * clock.h - one clock for all records of a process, and how its ticks become nanoseconds.
 *
 * Ticks are those of the time stamp counter where it can be trusted (CPUID calls it invariant
 * and the kernel itself keeps time by it), else nanoseconds of CLOCK_MONOTONIC. A session
 * brackets the system's clock between two readings of the ticks at its start and at its end;
 * what lies between is on the line through both.
 */
#ifndef MAREY_SRC_BASE_CLOCK_H
#define MAREY_SRC_BASE_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#if defined(__x86_64__)
#include <x86intrin.h>
#endif

#define MAREY_NS_PER_S INT64_C(1000000000)

/* True where the time stamp counter is to be trusted. \cost reads a file of the system */
bool marey__clock_has_tsc(void);

/* CLOCK_MONOTONIC and the like, in ns. */
static inline int64_t marey__clock_system_ns(clockid_t id)
{
    struct timespec ts;
    (void)clock_gettime(id, &ts);
    return (int64_t)ts.tv_sec * MAREY_NS_PER_S + ts.tv_nsec;
}

/* Not serialised on purpose: an operation takes microseconds, a barrier as long as the
 * reading itself. */
static inline uint64_t marey__clock_ticks(bool is_tsc)
{
#if defined(__x86_64__)
    if (__builtin_expect(is_tsc, 1))
        return __rdtsc();
#endif
    (void)is_tsc;
    return (uint64_t)marey__clock_system_ns(CLOCK_MONOTONIC);
}

/* The same moment by all clocks. */
struct marey_clock_pair {
    uint64_t ticks;
    int64_t monotonic_ns;
    int64_t epoch_ns; /* CLOCK_REALTIME */
    int64_t width_ns; /* the system's clock was read within that time */
};

/* The narrowest of some brackets. \cost microseconds */
struct marey_clock_pair marey__clock_pair(bool is_tsc);

/* The line through two moments. */
struct marey_clock_line {
    uint64_t ticks; /* of the first */
    int64_t epoch_ns;
    uint64_t ns_per_tick; /* in units of 2^-MAREY_CLOCK_SHIFT ns */
};

#define MAREY_CLOCK_SHIFT 50

/* With `to` not after `from` the rate is one ns a tick. */
struct marey_clock_line marey__clock_line(const struct marey_clock_pair *from,
                                          const struct marey_clock_pair *to);

__extension__ typedef unsigned __int128 marey_wide;

/* Since the Unix epoch. Ticks before the first moment give times before it. */
static inline int64_t marey__clock_line_ns(const struct marey_clock_line *line, uint64_t ticks)
{
    const bool is_before = ticks < line->ticks;
    const uint64_t distance = is_before ? line->ticks - ticks : ticks - line->ticks;
    const int64_t ns = (int64_t)(((marey_wide)distance * line->ns_per_tick) >> MAREY_CLOCK_SHIFT);

    return is_before ? line->epoch_ns - ns : line->epoch_ns + ns;
}

#endif
