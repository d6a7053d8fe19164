/*
 * nearest.h - how far apart two words are, to suggest the one that was meant.
 */
#ifndef MAREY_CLI_NEAREST_H
#define MAREY_CLI_NEAREST_H

#include <stddef.h>

/* Letters to insert, remove, replace or swap with a neighbour to turn one word
 * into the other. Words of more than 63 letters are as far apart as can be. */
size_t nearest_distance(const char *a, const char *b);

/* The largest distance at which a suggestion still helps. */
size_t nearest_limit(const char *word);

#endif
