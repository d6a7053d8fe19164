/*
 * arena.h - memory that is released all at once.
 *
 * Blocks of growing size; pointers stay valid until release.
 */
#ifndef MAREY_SRC_BASE_ARENA_H
#define MAREY_SRC_BASE_ARENA_H

#include "base/alloc.h"

struct marey_arena_block;

struct marey_arena {
    struct marey_alloc alloc;
    struct marey_arena_block *last;
    size_t used_bytes; /* of the last block */
    size_t held_bytes; /* of all blocks */
};

void marey__arena_init(struct marey_arena *arena, const struct marey_alloc *alloc);

/* NULL on failure. Aligned for any type, or to one byte for strings. */
void *marey__arena_take(struct marey_arena *arena, size_t size_bytes);
char *marey__arena_take_bytes(struct marey_arena *arena, size_t len_bytes);

void marey__arena_release(struct marey_arena *arena);

#endif
