/*
 * alloc.h - all memory of the core comes from here.
 *
 * Every object keeps the struct marey_alloc it was made with; sizes are given
 * back on release, so an allocator may account for them.
 */
#ifndef MAREY_SRC_BASE_ALLOC_H
#define MAREY_SRC_BASE_ALLOC_H

#include <stdbool.h>
#include <stddef.h>

#include "marey/base.h"

/* The C library's allocator. */
struct marey_alloc marey__alloc_default(void);

/* `alloc` if it is not NULL, else the default. */
struct marey_alloc marey__alloc_or_default(const struct marey_alloc *alloc);

/* Releases what a foreign library took with malloc and handed over. */
void marey__release_foreign(void *ptr);

/* NULL on failure and for n * size that overflows. The memory is not cleared.
 * A request of 0 bytes gives a pointer that may be released. */
void *marey__alloc(const struct marey_alloc *alloc, size_t n, size_t size_bytes);

/* The same, cleared. */
void *marey__alloc_zero(const struct marey_alloc *alloc, size_t n, size_t size_bytes);

/* Grows or shrinks a block; the old one stays valid on failure (NULL). */
void *marey__realloc(const struct marey_alloc *alloc, void *ptr, size_t old_n, size_t new_n,
                     size_t size_bytes);

/* Releases a block of n * size_bytes; NULL does nothing. */
void marey__dealloc(const struct marey_alloc *alloc, void *ptr, size_t n, size_t size_bytes);

/* Makes room for at least `need` elements in a growing array: doubles the capacity.
 * On failure false, and the array is as it was. */
bool marey__grow(const struct marey_alloc *alloc, void **ptr, size_t *capacity, size_t need,
                 size_t size_bytes);

/* Overflow-checked sums and products of sizes: false on overflow. */
bool marey__size_add(size_t a, size_t b, size_t *sum);
bool marey__size_mul(size_t a, size_t b, size_t *product);

#endif
