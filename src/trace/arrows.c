/*
 * arrows.c - ends of arrows whose other end is not in the trace.
 *
 * Normal, since Kineto draws them to calls that launch nothing and from launches outside the
 * window; counted where all is checked.
 */
#include "base/hashmap.h"
#include "trace/examine.h"

enum { HAS_START = 1, HAS_END = 2 };

/* Arrows of one file, category and name that have one id are one. */
static uint64_t key_of(const struct marey_trace *trace, size_t i)
{
    const uint32_t track_idx = trace->flows.track_idx[i];
    const uint64_t source_idx =
        track_idx == MAREY_NONE ? UINT16_MAX : trace->tracks.at[track_idx].source_idx;
    const uint64_t group = source_idx << 8 | trace->flows.label_idx[i];
    return trace->flows.id[i] ^ (group + 1) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint32_t side_of(const struct marey_trace *trace, size_t i)
{
    return trace->flows.phase[i] == 's' ? HAS_START : trace->flows.phase[i] == 'f' ? HAS_END : 0;
}

bool marey__count_loose_arrows(const struct marey_trace *trace, uint64_t *n_starts,
                               uint64_t *n_ends)
{
    bool is_done = true;
    struct marey_hashmap sides;

    *n_starts = *n_ends = 0;
    if (trace->checked != MAREY_CHECK_ALL)
        return true;
    marey__hashmap_init(&sides, &trace->alloc);
    for (size_t i = 0; i < trace->flows.n && is_done; i++) {
        uint32_t *place = marey__hashmap_put(&sides, key_of(trace, i));
        is_done = place != NULL;
        if (place != NULL)
            *place = (*place == MAREY_NONE ? 0 : *place) | side_of(trace, i);
    }
    for (size_t i = 0; i < trace->flows.n && is_done; i++) {
        const uint32_t both = marey__hashmap_get(&sides, key_of(trace, i));
        *n_starts += side_of(trace, i) == HAS_START && (both & HAS_END) == 0;
        *n_ends += side_of(trace, i) == HAS_END && (both & HAS_START) == 0;
    }
    marey__hashmap_release(&sides);
    return is_done;
}
