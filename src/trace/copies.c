/*
 * copies.c - sources whose slices are those of another one: a trace that was given twice.
 *
 * The clock of a process counts nanoseconds, so that two sources whose slices all have the same
 * begin, duration and name are one recording, whatever their files are called and however they
 * are packed. Each counts in every number all the same: which of them is the one that was meant is
 * not known here.
 */
#include "base/hashmap.h"
#include "trace/build.h"

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

/* The same for the same slices in any order; 0: there are none. */
static uint64_t hash_slices(const struct marey_slice_columns *slices, size_t from, size_t to)
{
    uint64_t sum = 0;
    uint64_t n = 0;

    for (size_t i = from; i < to; i++) {
        if ((slices->flags[i] & MAREY_ROW_DROPPED) != 0)
            continue;
        const uint64_t hash = mix(mix((uint64_t)slices->start_ns[i], (uint64_t)slices->dur_ns[i]),
                                  slices->name_id[i]);
        sum += mix(hash, 1);
        n++;
    }
    return n == 0 ? 0 : mix(sum, n);
}

/* Files that tell different ranks are of different processes. */
static uint64_t hash_rank(const struct marey_source *source)
{
    return source->rank_is_assumed ? 0 : (uint64_t)source->rank + 1;
}

bool marey__note_copies(struct marey_builder *builder)
{
    struct marey_trace *trace = builder->trace;
    const size_t n = trace->sources.n;
    struct marey_hashmap seen;
    bool is_done = true;

    if (n < 2)
        return true;
    marey__hashmap_init(&seen, &trace->alloc);
    for (size_t i = 0; i < n && is_done; i++) {
        const size_t to = i + 1 < n ? builder->marks.at[i + 1].slice : trace->slices.n;
        const uint64_t hash = hash_slices(&trace->slices, builder->marks.at[i].slice, to);
        if (hash == 0)
            continue;
        uint32_t *place = marey__hashmap_put(&seen, mix(hash, hash_rank(&trace->sources.at[i])));
        is_done = place != NULL;
        if (place != NULL && *place != MAREY_NONE)
            marey__account_note(&trace->account, MAREY_REASON_SAME_RECORDS, MAREY_OFFSET(i, 0));
        else if (place != NULL)
            *place = (uint32_t)i;
    }
    marey__hashmap_release(&seen);
    return is_done;
}
