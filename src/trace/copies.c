/*
 * copies.c - sources whose slices are those of another one: a trace that was given twice, whole or
 * in part.
 *
 * The clock of a process counts nanoseconds, so that two sources whose slices all have the same
 * begin, duration and name are one recording, whatever their files are called and however they
 * are packed. So is a source half of whose slices are in a larger one, in the same threads: a file
 * that was cut short beside the whole one, a cycle beside the file of all cycles. Each counts in
 * every number all the same: which of them is the one that was meant is not known here.
 *
 * Parts are looked for among the slices whose hash ends in zeros, which are the same ones in both:
 * enough to tell a half from nothing, few enough for traces of any size.
 */
#include "base/hashmap.h"
#include "base/sort.h"
#include "trace/build.h"

/* Slices of all sources together that are looked at for parts. */
#define MOST_SAMPLES ((size_t)1 << 16)
/* With fewer in common it may be chance: small programs on a coarse clock. */
#define LEAST_SHARED 16
/* Begins that differ below a microsecond are alike in parts: a recorder knows its clock better at
 * the end than at the end of a cycle, and programs that write a trace anew round. Durations count
 * in full. */
#define START_BITS 10

struct copy_source {
    uint32_t source_idx;
    size_t from; /* of its slices */
    size_t to;
    bool is_copy;
};

struct copies {
    struct marey_trace *trace;
    struct copy_source *of; /* [n sources] */
};

static uint64_t mix(uint64_t hash, uint64_t value)
{
    hash = (hash ^ value) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ (hash >> 29);
}

static uint64_t hash_slice(const struct marey_slice_columns *slices, size_t i, unsigned start_bits)
{
    const uint64_t start = (uint64_t)slices->start_ns[i] >> start_bits;
    return mix(mix(start, (uint64_t)slices->dur_ns[i]), slices->name_id[i]);
}

/* Files that tell different ranks are of different processes. */
static uint64_t hash_rank(const struct marey_source *source)
{
    return source->rank_is_assumed ? 0 : (uint64_t)source->rank + 1;
}

/* ---- whole copies ---------------------------------------------------------------------------- */

/* The same for the same slices in any order; 0: there are none. */
static uint64_t hash_slices(const struct marey_slice_columns *slices, size_t from, size_t to)
{
    uint64_t sum = 0;
    uint64_t n = 0;

    for (size_t i = from; i < to; i++) {
        if ((slices->flags[i] & MAREY_ROW_DROPPED) != 0)
            continue;
        sum += mix(hash_slice(slices, i, 0), 1);
        n++;
    }
    return n == 0 ? 0 : mix(sum, n);
}

static bool find_whole_copies(struct copies *copies)
{
    const struct marey_trace *trace = copies->trace;
    struct marey_hashmap seen;
    bool is_done = true;

    marey__hashmap_init(&seen, &trace->alloc);
    for (size_t i = 0; i < trace->sources.n && is_done; i++) {
        struct copy_source *of = &copies->of[i];
        const uint64_t hash = hash_slices(&trace->slices, of->from, of->to);
        if (hash == 0)
            continue;
        uint32_t *place = marey__hashmap_put(&seen, mix(hash, hash_rank(&trace->sources.at[i])));
        is_done = place != NULL;
        of->is_copy = place != NULL && *place != MAREY_NONE;
        if (place != NULL && *place == MAREY_NONE)
            *place = (uint32_t)i;
    }
    marey__hashmap_release(&seen);
    return is_done;
}

/* ---- parts ----------------------------------------------------------------------------------- */

/* Whether two sources that are no whole copies may be of one rank. */
static bool may_have_parts(const struct copies *copies, bool *may)
{
    const struct marey_trace *trace = copies->trace;
    struct marey_hashmap ranks;
    bool is_done = true;

    *may = false;
    marey__hashmap_init(&ranks, &trace->alloc);
    for (size_t i = 0; i < trace->sources.n && is_done && !*may; i++) {
        if (copies->of[i].is_copy || copies->of[i].from == copies->of[i].to)
            continue;
        uint32_t *place = marey__hashmap_put(&ranks, hash_rank(&trace->sources.at[i]));
        is_done = place != NULL;
        *may = place != NULL && *place != MAREY_NONE;
        if (place != NULL)
            *place = 0;
    }
    marey__hashmap_release(&ranks);
    return is_done;
}

/* The largest first, so that each is compared with those that can hold it. */
static int compare_sizes(const void *ctx, uint32_t a, uint32_t b)
{
    const struct copy_source *of = ctx;
    const size_t n_a = of[a].to - of[a].from;
    const size_t n_b = of[b].to - of[b].from;

    if (n_a != n_b)
        return n_a > n_b ? -1 : 1;
    return of[a].source_idx < of[b].source_idx ? -1 : 1;
}

/* Zero bits at the end of a hash that is looked at. */
static uint64_t sample_mask(size_t n_slices)
{
    uint64_t mask = 0;

    for (; n_slices > MOST_SAMPLES; n_slices /= 2)
        mask = mask << 1 | 1;
    return mask;
}

/* Whether at least half of what a source has is in one that was here before. `seen` tells of each
 * slice which source had it last. */
static bool find_part(const struct marey_trace *trace, struct copy_source *of, uint64_t mask,
                      struct marey_hashmap *seen)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const uint64_t rank = hash_rank(&trace->sources.at[of->source_idx]);
    size_t n_own = 0;
    size_t n_shared = 0;

    for (size_t i = of->from; i < of->to; i++) {
        const struct marey_track *track = &trace->tracks.at[slices->parent_idx[i]];
        uint64_t hash = mix(hash_slice(slices, i, START_BITS), track->process_id);
        hash = mix(mix(hash, track->thread_id), rank);
        if ((hash & mask) != 0 || (slices->flags[i] & MAREY_ROW_DROPPED) != 0)
            continue;
        uint32_t *place = marey__hashmap_put(seen, hash);
        if (place == NULL)
            return false;
        n_own += *place != of->source_idx;
        n_shared += *place != of->source_idx && *place != MAREY_NONE;
        *place = of->source_idx;
    }
    of->is_copy = n_shared >= LEAST_SHARED && n_shared >= n_own - n_shared;
    return true;
}

static bool find_parts(struct copies *copies)
{
    const struct marey_trace *trace = copies->trace;
    const uint64_t mask = sample_mask(trace->slices.n);
    struct marey_hashmap seen;
    bool may = false;

    if (!may_have_parts(copies, &may))
        return false;
    if (!may)
        return true;
    bool is_done = marey__sort_structs(&trace->alloc, copies->of, trace->sources.n,
                                       sizeof *copies->of, compare_sizes, copies->of);
    marey__hashmap_init(&seen, &trace->alloc);
    for (size_t i = 0; i < trace->sources.n && is_done; i++)
        if (!copies->of[i].is_copy)
            is_done = find_part(trace, &copies->of[i], mask, &seen);
    marey__hashmap_release(&seen);
    return is_done;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool find_copies(struct copies *copies)
{
    struct marey_trace *trace = copies->trace;

    if (!find_whole_copies(copies) || !find_parts(copies))
        return false;
    bool *is_copy = marey__alloc(&trace->alloc, trace->sources.n, sizeof *is_copy);
    if (is_copy == NULL)
        return false;
    for (size_t i = 0; i < trace->sources.n; i++)
        is_copy[copies->of[i].source_idx] = copies->of[i].is_copy;
    for (size_t i = 0; i < trace->sources.n; i++)
        if (is_copy[i])
            marey__account_note(&trace->account, MAREY_REASON_SAME_RECORDS, MAREY_OFFSET(i, 0));
    marey__dealloc(&trace->alloc, is_copy, trace->sources.n, sizeof *is_copy);
    return true;
}

bool marey__note_copies(struct marey_builder *builder)
{
    struct marey_trace *trace = builder->trace;
    const size_t n = trace->sources.n;

    if (n < 2)
        return true;
    struct copies copies = {trace, marey__alloc(&trace->alloc, n, sizeof *copies.of)};
    if (copies.of == NULL)
        return false;
    for (size_t i = 0; i < n; i++)
        copies.of[i] = (struct copy_source){
            .source_idx = (uint32_t)i,
            .from = builder->marks.at[i].slice,
            .to = i + 1 < n ? builder->marks.at[i + 1].slice : trace->slices.n,
        };
    const bool is_done = find_copies(&copies);
    marey__dealloc(&trace->alloc, copies.of, n, sizeof *copies.of);
    return is_done;
}
