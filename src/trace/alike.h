/*
 * alike.h - a number for each distinct row of words, found by the words themselves.
 *
 * For what is told by the same bytes again and again, as the inputs of an operator are.
 */
#ifndef MAREY_SRC_TRACE_ALIKE_H
#define MAREY_SRC_TRACE_ALIKE_H

#include "base/hashmap.h"

struct marey_alike_row {
    const uint64_t *word;
    uint32_t n_words;
    uint32_t value;
};

struct marey_alike {
    struct marey_alloc alloc;
    struct marey_hashmap idx_of; /* hash, probed by adding 1 -> place in at */
    struct marey_alike_row *at;
    size_t n;
    size_t capacity;
};

void marey__alike_init(struct marey_alike *alike, const struct marey_alloc *alloc);
void marey__alike_release(struct marey_alike *alike);

/* The value of a row; a new one is MAREY_NONE. NULL without memory.
 * \owns keeps a pointer to the words; the value is valid until the next call */
uint32_t *marey__alike_put(struct marey_alike *alike, const uint64_t *word, uint32_t n_words);

#endif
