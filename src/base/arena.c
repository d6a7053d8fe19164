/*
 * arena.c - a chain of blocks, the newest first.
 */
#include "base/arena.h"

#define FIRST_BLOCK_BYTES ((size_t)1 << 10)
#define LAST_BLOCK_BYTES ((size_t)1 << 20)

struct marey_arena_block {
    struct marey_arena_block *previous;
    size_t size_bytes; /* with this header */
    _Alignas(16) char data[];
};

void marey__arena_init(struct marey_arena *arena, const struct marey_alloc *alloc)
{
    *arena = (struct marey_arena){.alloc = *alloc};
}

static size_t room(const struct marey_arena *arena)
{
    return arena->last == NULL
               ? 0
               : arena->last->size_bytes - sizeof(struct marey_arena_block) - arena->used_bytes;
}

static bool add_block(struct marey_arena *arena, size_t need_bytes)
{
    size_t size = arena->last == NULL ? FIRST_BLOCK_BYTES : arena->last->size_bytes * 2;
    if (size > LAST_BLOCK_BYTES)
        size = LAST_BLOCK_BYTES;
    size_t least = 0;
    if (!marey__size_add(need_bytes, sizeof(struct marey_arena_block), &least))
        return false;
    if (size < least)
        size = least;

    struct marey_arena_block *block = marey__alloc(&arena->alloc, size, 1);
    if (block == NULL)
        return false;
    block->previous = arena->last;
    block->size_bytes = size;
    arena->last = block;
    arena->used_bytes = 0;
    arena->held_bytes += size;
    return true;
}

char *marey__arena_take_bytes(struct marey_arena *arena, size_t len_bytes)
{
    if (len_bytes > room(arena) || arena->last == NULL) {
        if (!add_block(arena, len_bytes))
            return NULL;
    }
    char *ptr = arena->last->data + arena->used_bytes;
    arena->used_bytes += len_bytes;
    return ptr;
}

void *marey__arena_take(struct marey_arena *arena, size_t size_bytes)
{
    const size_t padding = (16 - (arena->used_bytes & 15)) & 15;
    if (arena->last != NULL && padding <= room(arena))
        arena->used_bytes += padding;
    else
        arena->used_bytes += room(arena);
    return marey__arena_take_bytes(arena, size_bytes);
}

void marey__arena_release(struct marey_arena *arena)
{
    struct marey_arena_block *block = arena->last;
    while (block != NULL) {
        struct marey_arena_block *previous = block->previous;
        marey__dealloc(&arena->alloc, block, block->size_bytes, 1);
        block = previous;
    }
    *arena = (struct marey_arena){.alloc = arena->alloc};
}
