/*
 * intern.h - each text once, known by a dense id.
 *
 * Ids are given in order of first appearance; id 0 is the empty string. Texts stay
 * where they are until release.
 */
#ifndef MAREY_SRC_BASE_INTERN_H
#define MAREY_SRC_BASE_INTERN_H

#include "base/arena.h"

struct marey_intern {
    struct marey_arena arena;
    struct marey_str *text; /* [n] by id */
    uint64_t *hash;         /* [n] by id */
    uint32_t *slot;         /* [n_slots] id + 1, 0 is free; n_slots a power of two */
    size_t n;
    size_t capacity;
    size_t n_slots;
};

/* False without memory. */
bool marey__intern_init(struct marey_intern *table, const struct marey_alloc *alloc);
void marey__intern_release(struct marey_intern *table);

/* The id of a text, copied if new. MAREY_NONE without memory or past 2^32 - 2 texts. */
uint32_t marey__intern(struct marey_intern *table, struct marey_str text);
uint32_t marey__intern_c(struct marey_intern *table, const char *text);

/* The id of a text that is there already, else MAREY_NONE. */
uint32_t marey__intern_find(const struct marey_intern *table, struct marey_str text);

/* {NULL, 0} for an id that is not there. */
struct marey_str marey__intern_text(const struct marey_intern *table, uint32_t id);

/* Bytes of text and of the table. */
uint64_t marey__intern_bytes(const struct marey_intern *table);

#endif
