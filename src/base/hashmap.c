/*
 * hashmap.c - open addressing with a multiplicative hash.
 */
#include "base/hashmap.h"

#include "marey/base.h"

#define FIRST_SLOTS 64

void marey__hashmap_init(struct marey_hashmap *map, const struct marey_alloc *alloc)
{
    *map = (struct marey_hashmap){.alloc = *alloc};
}

void marey__hashmap_release(struct marey_hashmap *map)
{
    if (map->alloc.release != NULL) {
        marey__dealloc(&map->alloc, map->key, map->n_slots, sizeof *map->key);
        marey__dealloc(&map->alloc, map->value, map->n_slots, sizeof *map->value);
    }
    *map = (struct marey_hashmap){.alloc = map->alloc};
}

static size_t find_slot(const struct marey_hashmap *map, uint64_t key)
{
    const uint64_t hash = (key ^ (key >> 32)) * UINT64_C(0x9e3779b97f4a7c15);
    size_t at = (size_t)(hash >> 20) & (map->n_slots - 1);
    while (map->value[at] != MAREY_NONE && map->key[at] != key)
        at = (at + 1) & (map->n_slots - 1);
    return at;
}

uint32_t marey__hashmap_get(const struct marey_hashmap *map, uint64_t key)
{
    return map->n_slots == 0 ? MAREY_NONE : map->value[find_slot(map, key)];
}

static bool resize(struct marey_hashmap *map, size_t n_slots)
{
    struct marey_hashmap grown = {.alloc = map->alloc, .n = map->n, .n_slots = n_slots};
    grown.key = marey__alloc(&map->alloc, n_slots, sizeof *grown.key);
    grown.value = marey__alloc(&map->alloc, n_slots, sizeof *grown.value);
    if (grown.key == NULL || grown.value == NULL) {
        marey__hashmap_release(&grown);
        return false;
    }
    for (size_t i = 0; i < n_slots; i++)
        grown.value[i] = MAREY_NONE;
    for (size_t i = 0; i < map->n_slots; i++) {
        if (map->value[i] == MAREY_NONE)
            continue;
        const size_t at = find_slot(&grown, map->key[i]);
        grown.key[at] = map->key[i];
        grown.value[at] = map->value[i];
    }
    marey__hashmap_release(map);
    *map = grown;
    return true;
}

/* A key that is there needs no memory. */
uint32_t *marey__hashmap_put(struct marey_hashmap *map, uint64_t key)
{
    size_t at = map->n_slots > 0 ? find_slot(map, key) : 0;

    if (map->n_slots > 0 && map->value[at] != MAREY_NONE)
        return &map->value[at];
    if ((map->n + 1) * 2 > map->n_slots) {
        if (!resize(map, map->n_slots == 0 ? FIRST_SLOTS : map->n_slots * 2))
            return NULL;
        at = find_slot(map, key);
    }
    map->key[at] = key;
    map->n++;
    return &map->value[at];
}
