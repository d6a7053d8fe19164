/*
 * make_random.c - see make_random.h.
 */
#include "support/make_random.h"

#include <inttypes.h>
#include <stdlib.h>

#include "support/expect.h"

uint64_t make_random(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

uint64_t make_random_below(uint64_t *state, uint64_t n)
{
    return make_random(state) % n;
}

uint64_t make_seed(const char *test)
{
    const char *given = getenv("MAREY_TEST_SEED");
    const uint64_t seed = given != NULL ? strtoull(given, NULL, 0) : UINT64_C(20260707);
    print_message("# %s: MAREY_TEST_SEED=%" PRIu64 "\n", test, seed);
    return seed;
}
