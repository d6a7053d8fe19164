/*
 * cores.c - by the affinity of the calling thread, which containers and taskset set.
 */
#define _GNU_SOURCE /* sched_getaffinity */
#include "base/cores.h"

#include <sched.h>

size_t marey__n_cores(void)
{
    cpu_set_t set;

    if (sched_getaffinity(0, sizeof set, &set) != 0)
        return 1; /* more processors than the set has room for: one is always right */
    const int n = CPU_COUNT(&set);
    return n > 0 ? (size_t)n : 1;
}
