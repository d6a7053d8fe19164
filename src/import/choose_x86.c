/*
 * choose_x86.c - the fastest scanner that this x86-64 runs.
 */
#include "import/walk.h"

extern const struct marey_scanner marey__scanner_avx2;

const struct marey_scanner *marey__scanner_choose(bool portable_only)
{
    const bool has_all = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") &&
                         __builtin_cpu_supports("pclmul") && __builtin_cpu_supports("popcnt");

    return has_all && !portable_only ? &marey__scanner_avx2 : &marey__scanner_portable;
}
