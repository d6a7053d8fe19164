/*
 * hashmap.h - 64-bit keys to 32-bit values, open addressing.
 */
#ifndef MAREY_SRC_BASE_HASHMAP_H
#define MAREY_SRC_BASE_HASHMAP_H

#include "base/alloc.h"

struct marey_hashmap {
    struct marey_alloc alloc;
    uint64_t *key;
    uint32_t *value; /* MAREY_NONE marks a free slot */
    size_t n;
    size_t n_slots;
};

void marey__hashmap_init(struct marey_hashmap *map, const struct marey_alloc *alloc);
void marey__hashmap_release(struct marey_hashmap *map);

/* MAREY_NONE if the key is not there. */
uint32_t marey__hashmap_get(const struct marey_hashmap *map, uint64_t key);

/* The place of the key's value; a new one holds MAREY_NONE and must be set before the
 * next call. NULL without memory. */
uint32_t *marey__hashmap_put(struct marey_hashmap *map, uint64_t key);

#endif
