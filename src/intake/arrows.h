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

/* The arrow of a thread and sequence number, made if new; NULL without memory. */
struct marey_arrow *marey__arrows_find(struct marey_arrows *arrows, uint64_t key);

/* Notes one end. False without memory. */
static inline bool marey__arrows_add(struct marey_arrows *arrows, uint64_t sequence,
                                     uint64_t thread, bool is_backward, int64_t start_ns,
                                     uint32_t track_idx)
{
    const uint64_t key = thread << 48 ^ sequence;

    if (arrows->last == NULL || arrows->last_key != key) {
        arrows->last = marey__arrows_find(arrows, key);
        arrows->last_key = key;
    }
    struct marey_arrow *arrow = arrows->last;
    if (arrow == NULL)
        return false;
    if (is_backward && (arrow->to_ns == MAREY_UNKNOWN || start_ns < arrow->to_ns)) {
        arrow->to_ns = start_ns;
        arrow->to_track_idx = track_idx;
    } else if (!is_backward && (arrow->from_ns == MAREY_UNKNOWN || start_ns > arrow->from_ns)) {
        arrow->from_ns = start_ns;
        arrow->from_track_idx = track_idx;
    }
    return true;
}

/* Adds the arrows that have both ends to the trace. False without memory. */
bool marey__arrows_draw(const struct marey_arrows *arrows, struct marey_builder *builder);

#endif
