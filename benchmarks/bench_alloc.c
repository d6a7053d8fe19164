/*
 * bench_alloc.c - one list of free blocks for each size class. Classes lie a quarter of
 * a power of two apart, so a block is at most a quarter too large. A block carries its
 * class in a header of one cache line:
 *
 *     | class, next free | 48 unused | bytes of the caller ...
 */
#include "bench_alloc.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEADER_BYTES 64U
#define N_CLASSES 256U

struct block {
    uint64_t class_idx;
    struct block *next;
};

struct recycler {
    pthread_mutex_t lock; /* an importer may inflate on a second thread */
    struct block *free_blocks[N_CLASSES];
};

static size_t class_bytes(unsigned class_idx)
{
    return (size_t)(4 + class_idx % 4) << (class_idx / 4 + 4);
}

static unsigned class_of(size_t size_bytes)
{
    unsigned class_idx = 0;
    while (class_bytes(class_idx) < size_bytes && class_idx + 1 < 4 * 55)
        class_idx++;
    return class_idx;
}

static struct block *block_of(void *ptr)
{
    return (struct block *)(void *)((char *)ptr - HEADER_BYTES);
}

static void *recycler_allocate(void *ctx, size_t size_bytes)
{
    struct recycler *recycler = ctx;
    const unsigned class_idx = class_of(size_bytes);
    (void)pthread_mutex_lock(&recycler->lock);
    struct block *block = recycler->free_blocks[class_idx];
    if (block != NULL)
        recycler->free_blocks[class_idx] = block->next;
    (void)pthread_mutex_unlock(&recycler->lock);
    if (block == NULL)
        block = aligned_alloc(HEADER_BYTES, HEADER_BYTES + class_bytes(class_idx));
    if (block == NULL)
        return NULL;
    block->class_idx = class_idx;
    return (char *)block + HEADER_BYTES;
}

static void recycler_release(void *ctx, void *ptr, size_t size_bytes)
{
    struct recycler *recycler = ctx;
    struct block *block = block_of(ptr);
    (void)size_bytes;
    (void)pthread_mutex_lock(&recycler->lock);
    block->next = recycler->free_blocks[block->class_idx];
    recycler->free_blocks[block->class_idx] = block;
    (void)pthread_mutex_unlock(&recycler->lock);
}

static void *recycler_reallocate(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes <= class_bytes((unsigned)block_of(ptr)->class_idx))
        return ptr;
    void *moved = recycler_allocate(ctx, new_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, old_bytes);
    recycler_release(ctx, ptr, old_bytes);
    return moved;
}

struct recycler *recycler_new(void)
{
    struct recycler *recycler = calloc(1, sizeof *recycler);
    if (recycler == NULL || pthread_mutex_init(&recycler->lock, NULL) != 0) {
        fprintf(stderr, "bench: out of memory\n");
        exit(3);
    }
    return recycler;
}

struct marey_alloc recycler_alloc(struct recycler *recycler)
{
    return (struct marey_alloc){.allocate = recycler_allocate,
                                .reallocate = recycler_reallocate,
                                .release = recycler_release,
                                .ctx = recycler};
}
