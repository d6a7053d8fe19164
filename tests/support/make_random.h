/*
 * make_random.h - numbers for random tests; a seed that is printed repeats one.
 */
#ifndef MAREY_TESTS_MAKE_RANDOM_H
#define MAREY_TESTS_MAKE_RANDOM_H

#include <stdint.h>

/* Numbers that look random and are the same for the same seed (splitmix64). */
uint64_t make_random(uint64_t *state);
uint64_t make_random_below(uint64_t *state, uint64_t n);

/* The seed of a random test: MAREY_TEST_SEED, else a fixed one. Printed. */
uint64_t make_seed(const char *test);

#endif
