/*
 * arrows.h - from forward operators to their backward nodes.
 */
#ifndef MAREY_SRC_INTAKE_ARROWS_H
#define MAREY_SRC_INTAKE_ARROWS_H

#include "base/hashmap.h"
#include "trace/builder.h"

struct marey_arrow {
    int64_t from_ns; /* start of the latest forward operator; MAREY_UNKNOWN: none seen */
    int64_t to_ns;   /* start of the first backward node */
    uint32_t from_track_idx;
    uint32_t to_track_idx;
};

struct marey_arrows {
    struct marey_alloc alloc;
    struct marey_hashmap idx_of; /* of thread and sequence number */
    uint64_t last_key;           /* of the arrow that was last found: operators in a row have one */
    struct marey_arrow *last;
    struct marey_arrow *at;
    size_t n;
    size_t capacity;
};

void marey__arrows_init(struct marey_arrows *arrows, const struct marey_alloc *alloc);
void marey__arrows_release(struct marey_arrows *arrows);

/* Notes one end. False without memory. */
bool marey__arrows_add(struct marey_arrows *arrows, uint64_t sequence, uint64_t thread,
                       bool is_backward, int64_t start_ns, uint32_t track_idx);

/* Adds the arrows that have both ends to the trace. False without memory. */
bool marey__arrows_draw(const struct marey_arrows *arrows, struct marey_builder *builder);

#endif
