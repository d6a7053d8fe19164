/*
 * alloc.c - the default allocator and overflow-checked sizes. The only file of the
 * core that calls malloc or mmap.
 *
 * Blocks of 256 KiB and more are mapped apart, so that what a column leaves behind when
 * it grows or is released goes back to the system. From 1 MiB on they are whole huge pages, begin
 * where one may lie, and move there when they grow: columns are written once from end to end, and
 * touching them page by page costs more than filling them does. What is not used
 * of the last page goes back when a block is made smaller.
 *
 * With MAREY_CHECKED_ALLOC all blocks are malloc's: memcheck and AddressSanitizer know their ends
 * and who forgets to release them, and know neither of mappings.
 */
#define _GNU_SOURCE /* mremap */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef MAREY_CHECKED_ALLOC
#define MAPPED_BYTES SIZE_MAX
#else
#define MAPPED_BYTES ((size_t)256 << 10)
#endif
#define HUGE_BYTES ((size_t)2 << 20) /* of a huge page */
#define HUGE_FROM (HUGE_BYTES / 2)   /* blocks of this size and more are made of such */
#define PAGE_BYTES ((size_t)4096)
#define MOST_BYTES                                                                                 \
    ((size_t)PTRDIFF_MAX - 2 * HUGE_BYTES) /* with a page to fill, one to move by                  \
                                            */

static size_t mapped_size(size_t size_bytes)
{
    const size_t page_bytes = size_bytes < HUGE_FROM ? PAGE_BYTES : HUGE_BYTES;
    return (size_bytes + page_bytes - 1) & ~(page_bytes - 1);
}

static void *map_pages(size_t size_bytes)
{
    void *ptr = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return ptr == MAP_FAILED ? NULL : ptr;
}

/* Maps more than is needed and gives back what lies around it. Where there is no such room, without
 * that: a block that does not begin at a huge page is slower and nothing else. */
static void *map_huge(size_t size_bytes)
{
    char *all = map_pages(size_bytes + HUGE_BYTES);
    if (all == NULL)
        return map_pages(size_bytes);
    const size_t before = (HUGE_BYTES - (uintptr_t)all % HUGE_BYTES) % HUGE_BYTES;
    if (before > 0)
        (void)munmap(all, before);
    if (before < HUGE_BYTES)
        (void)munmap(all + before + size_bytes, HUGE_BYTES - before);
    (void)madvise(all + before, size_bytes, MADV_HUGEPAGE);
    return all + before;
}

static void *map_block(size_t size_bytes)
{
    return size_bytes < HUGE_FROM ? map_pages(mapped_size(size_bytes))
                                  : map_huge(mapped_size(size_bytes));
}

static void *default_allocate(void *ctx, size_t size_bytes)
{
    (void)ctx;
    if (size_bytes > MOST_BYTES)
        return NULL;
    return size_bytes >= MAPPED_BYTES ? map_block(size_bytes) : malloc(size_bytes);
}

static void default_release(void *ctx, void *ptr, size_t size_bytes)
{
    (void)ctx;
    if (size_bytes >= MAPPED_BYTES)
        (void)munmap(ptr, mapped_size(size_bytes));
    else
        free(ptr);
}

/* The pages of the last huge page that are not used any more: a column that has all its rows keeps
 * no more than those take. */
static void give_back(char *block, size_t used_bytes)
{
    const size_t from = (used_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    const size_t to = mapped_size(used_bytes);
    if (from < to)
        (void)madvise(block + from, to - from, MADV_DONTNEED);
}

/* Grows or shrinks in place, else moves the pages as they are: to a place for huge ones if it is to
 * be of such. */
static void *remap_block(void *ptr, size_t old_bytes, size_t new_bytes)
{
    const size_t was = mapped_size(old_bytes);
    const size_t wanted = mapped_size(new_bytes);
    void *moved = NULL;
    if (new_bytes < old_bytes && new_bytes >= HUGE_FROM)
        give_back(ptr, new_bytes);
    if (was == wanted)
        return ptr;
    if (wanted < was || new_bytes < HUGE_FROM) {
        moved = mremap(ptr, was, wanted, MREMAP_MAYMOVE);
        return moved == MAP_FAILED ? NULL : moved;
    }
    void *place = map_huge(wanted);
    if (place == NULL)
        return NULL;
    moved = mremap(ptr, was, wanted, MREMAP_MAYMOVE | MREMAP_FIXED, place);
    if (moved == MAP_FAILED) {
        (void)munmap(place, wanted);
        return NULL;
    }
    (void)madvise(moved, wanted, MADV_HUGEPAGE);
    return moved;
}

static void *default_reallocate(void *ctx, void *ptr, size_t old_bytes, size_t new_bytes)
{
    if (new_bytes > MOST_BYTES)
        return NULL;
    if (old_bytes < MAPPED_BYTES && new_bytes < MAPPED_BYTES)
        return realloc(ptr, new_bytes);
    if (old_bytes >= MAPPED_BYTES && new_bytes >= MAPPED_BYTES)
        return remap_block(ptr, old_bytes, new_bytes);

    void *moved = default_allocate(ctx, new_bytes);
    if (moved == NULL)
        return NULL;
    memcpy(moved, ptr, old_bytes < new_bytes ? old_bytes : new_bytes);
    default_release(ctx, ptr, old_bytes);
    return moved;
}

struct marey_alloc marey__alloc_default(void)
{
    return (struct marey_alloc){
        .allocate = default_allocate,
        .reallocate = default_reallocate,
        .release = default_release,
    };
}

void marey__release_foreign(void *ptr)
{
    free(ptr);
}

struct marey_alloc marey__alloc_or_default(const struct marey_alloc *alloc)
{
    return alloc != NULL ? *alloc : marey__alloc_default();
}

/* An allocator may answer 0 bytes with NULL, which would look like failure. */
static size_t at_least_one(size_t size_bytes)
{
    return size_bytes > 0 ? size_bytes : 1;
}

void *marey__alloc(const struct marey_alloc *alloc, size_t n, size_t size_bytes)
{
    size_t total = 0;
    if (!marey__size_mul(n, size_bytes, &total))
        return NULL;
    return alloc->allocate(alloc->ctx, at_least_one(total));
}

void *marey__alloc_zero(const struct marey_alloc *alloc, size_t n, size_t size_bytes)
{
    void *ptr = marey__alloc(alloc, n, size_bytes);
    if (ptr != NULL)
        memset(ptr, 0, n * size_bytes);
    return ptr;
}

void *marey__realloc(const struct marey_alloc *alloc, void *ptr, size_t old_n, size_t new_n,
                     size_t size_bytes)
{
    if (ptr == NULL)
        return marey__alloc(alloc, new_n, size_bytes);
    size_t total = 0;
    if (!marey__size_mul(new_n, size_bytes, &total))
        return NULL;
    return alloc->reallocate(alloc->ctx, ptr, at_least_one(old_n * size_bytes),
                             at_least_one(total));
}

void marey__dealloc(const struct marey_alloc *alloc, void *ptr, size_t n, size_t size_bytes)
{
    if (ptr != NULL)
        alloc->release(alloc->ctx, ptr, at_least_one(n * size_bytes));
}

bool marey__grow(const struct marey_alloc *alloc, void **ptr, size_t *capacity, size_t need,
                 size_t size_bytes)
{
    if (need <= *capacity)
        return true;
    size_t grown = *capacity < 16 ? 16 : *capacity;
    while (grown < need) {
        if (grown > SIZE_MAX / 2)
            return false;
        grown *= 2;
    }
    void *moved = marey__realloc(alloc, *ptr, *capacity, grown, size_bytes);
    if (moved == NULL)
        return false;
    *ptr = moved;
    *capacity = grown;
    return true;
}

bool marey__size_add(size_t a, size_t b, size_t *sum)
{
    return !__builtin_add_overflow(a, b, sum);
}

bool marey__size_mul(size_t a, size_t b, size_t *product)
{
    return !__builtin_mul_overflow(a, b, product);
}
