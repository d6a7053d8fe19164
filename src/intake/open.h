/*
 * open.h - the open ranges of a thread: begun, not ended.
 *
 * Ranges end in order but for few, so an end looks at the innermost ones first. Where many are
 * open that end in another order (requests that overlap, ends that never come), the ranges
 * are found by their tokens instead: no end costs more because of how many are open.
 */
#ifndef MAREY_SRC_INTAKE_OPEN_H
#define MAREY_SRC_INTAKE_OPEN_H

#include "base/hashmap.h"
#include "marey/trace.h"

struct marey_open_range {
    uint64_t offset; /* of the begin */
    int64_t cpu_ns;  /* the thread's CPU time then; MAREY_UNKNOWN */
    uint32_t row;    /* MAREY_NONE: the session did not ask for it */
    uint32_t token;
    bool is_doubtful; /* open when records were lost: its end may be among them */

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

/* The innermost, or NULL; and the one around another. Valid until the next push. */
struct marey_open_range *marey__open_top(struct marey_open_ranges *open);
struct marey_open_range *marey__open_around(struct marey_open_ranges *open,
                                            const struct marey_open_range *range);

/* Adds the innermost. NULL without memory. */
struct marey_open_range *marey__open_push(struct marey_open_ranges *open,
                                          const struct marey_open_range *range);

/* The innermost with that token; NULL: none, or *failed for want of memory. */
struct marey_open_range *marey__open_find(struct marey_open_ranges *open, uint32_t token,
                                          bool *failed);

/* Takes one out. */
void marey__open_remove(struct marey_open_ranges *open, struct marey_open_range *range);

#endif
