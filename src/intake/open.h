/*
 * open.h - the open ranges of a thread: begun, not ended.
 *
 * Ranges end in order but for few, so an end looks at the innermost ones first. Where many are
 * open that end in another order (requests that overlap, ends that never come), the ranges
 * are found by their tokens instead: no end costs more because of how many are open.
 */
#ifndef MAREY_SRC_INTAKE_OPEN_H
#define MAREY_SRC_INTAKE_OPEN_H

#include "base/error.h"
#include "base/hashmap.h"
#include "marey/trace.h"

struct marey_open_range {
    int64_t cpu_ns;  /* the thread's CPU time when it began; MAREY_UNKNOWN */
    int64_t lost_ns; /* open when records were lost, first then: its end may be among them;
                        MAREY_UNKNOWN */
    uint32_t row;    /* MAREY_NONE: the session did not ask for it */
    uint32_t token;

    /* Places of others in the table, + 1; 0: none. */
    uint32_t below;
    uint32_t above;
    uint32_t same_below; /* with the same token; where ranges are found by them */
};

struct marey_open_ranges {
    struct marey_alloc alloc;
    struct marey_open_range *at;
    size_t n_places;
    size_t capacity;
    uint32_t top;                   /* place + 1 of the innermost */
    uint32_t free;                  /* place + 1 of one that is free; a chain through `below` */
    struct marey_hashmap innermost; /* token -> place + 1; 0: none any more */
    bool is_by_token;
};

void marey__open_init(struct marey_open_ranges *open, const struct marey_alloc *alloc);
void marey__open_release(struct marey_open_ranges *open);

/* Forgets all. */
void marey__open_reset(struct marey_open_ranges *open);

static inline struct marey_open_range *marey__open_at(struct marey_open_ranges *open,
                                                      uint32_t place)
{
    return place != 0 ? &open->at[place - 1] : NULL;
}

static inline uint32_t marey__open_place(const struct marey_open_ranges *open,
                                         const struct marey_open_range *range)
{
    return (uint32_t)(range - open->at) + 1;
}

/* Rare parts of the functions below. */
bool marey__open_grow(struct marey_open_ranges *open);
bool marey__open_chain(struct marey_open_ranges *open, struct marey_open_range *range);
void marey__open_unchain(struct marey_open_ranges *open, const struct marey_open_range *range);
struct marey_open_range *marey__open_find_deep(struct marey_open_ranges *open, uint32_t token,
                                               bool *failed);

/* The innermost, or NULL; and the one around another. Valid until the next push. */
static inline struct marey_open_range *marey__open_top(struct marey_open_ranges *open)
{
    return marey__open_at(open, open->top);
}

static inline struct marey_open_range *marey__open_around(struct marey_open_ranges *open,
                                                          const struct marey_open_range *range)
{
    return marey__open_at(open, range->below);
}

/* Adds the innermost. NULL without memory. */
static inline struct marey_open_range *marey__open_push(struct marey_open_ranges *open,
                                                        uint32_t token, uint32_t row)
{
    uint32_t place = open->free;

    if (place != 0) {
        open->free = open->at[place - 1].below;
    } else {
        if (open->n_places == open->capacity && !marey__open_grow(open))
            return NULL;
        place = (uint32_t)++open->n_places;
    }
    struct marey_open_range *pushed = &open->at[place - 1];
    *pushed = (struct marey_open_range){.cpu_ns = MAREY_UNKNOWN,
                                        .lost_ns = MAREY_UNKNOWN,
                                        .row = row,
                                        .token = token,
                                        .below = open->top};
    if (open->top != 0)
        open->at[open->top - 1].above = place;
    open->top = place;
    return open->is_by_token && !marey__open_chain(open, pushed) ? NULL : pushed;
}

/* The innermost with that token; NULL: none, or *failed for want of memory. */
static inline struct marey_open_range *marey__open_find(struct marey_open_ranges *open,
                                                        uint32_t token, bool *failed)
{
    struct marey_open_range *top = marey__open_top(open);

    return top == NULL || top->token == token ? top : marey__open_find_deep(open, token, failed);
}

/* Takes one out. */
static inline void marey__open_remove(struct marey_open_ranges *open,
                                      struct marey_open_range *range)
{
    if (open->is_by_token)
        marey__open_unchain(open, range);
    if (range->above != 0)
        marey__open_at(open, range->above)->below = range->below;
    else
        open->top = range->below;
    if (range->below != 0)
        marey__open_at(open, range->below)->above = range->above;
    range->below = open->free;
    open->free = marey__open_place(open, range);
}

#endif
