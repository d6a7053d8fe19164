/*
 * far.c - slices far from where the others of their source lie, or far longer than those reach.
 *
 * One damaged time makes a window of months out of one of milliseconds, one damaged duration is all
 * the self time there is. Nothing is changed, since what was meant is not known here: it is told.
 *
 * Most of a source lies in its core, from the 5th to the 95th of a hundred begins (of a sample of
 * them). Far is a thousand times the length of the core away from it: a minute at least if a record
 * of the profiler's window says what was recorded, and an hour if nothing does, since a program may
 * rest. Whatever lies in the profiler's window may be as it is.
 */
#include <string.h>

#include "base/sort.h"
#include "trace/examine.h"

#define MOST_SAMPLES 128
/* With fewer slices there is no telling which of them are the others. */
#define LEAST_SLICES 20
#define CORE_TIMES 1000
#define FAR_WITH_WINDOW_NS UINT64_C(60000000000)
#define FAR_WITHOUT_NS UINT64_C(3600000000000)

/* ---- the core of each source ------------------------------------------------------------------
 */

static bool is_window(const struct marey_trace *trace, size_t slice_idx)
{
    return trace->category[trace->slices.cat_id[slice_idx]].kind == MAREY_KIND_WINDOW;
}

static int64_t end_of(const struct marey_slice_columns *slices, size_t i)
{
    return slices->start_ns[i] + (slices->dur_ns[i] < 0 ? 0 : slices->dur_ns[i]);
}

/* a - b; 0 if b is later. The difference of any two times fits. */
static uint64_t distance(int64_t a, int64_t b)
{
    return a > b ? (uint64_t)a - (uint64_t)b : 0;
}

static uint64_t limit_of(const struct marey_core *core, bool has_window)
{
    const uint64_t least = has_window ? FAR_WITH_WINDOW_NS : FAR_WITHOUT_NS;
    const uint64_t length = distance(core->end_ns, core->start_ns);
    const uint64_t limit = length > UINT64_MAX / CORE_TIMES ? UINT64_MAX : length * CORE_TIMES;

    return limit > least ? limit : least;
}

/* Whether the whole of [start, end] is far from the core. */
static bool is_apart(const struct marey_core *core, bool has_window, int64_t start_ns,
                     int64_t end_ns)
{
    const uint64_t limit = limit_of(core, has_window);
    return distance(start_ns, core->end_ns) > limit || distance(core->start_ns, end_ns) > limit;
}

static int compare_times(const void *ctx, uint32_t a, uint32_t b)
{
    const int64_t *time_ns = ctx;
    return (time_ns[a] > time_ns[b]) - (time_ns[a] < time_ns[b]);
}

static bool find_core(const struct marey_trace *trace, struct marey_core *core, int64_t *sample_ns)
{
    const size_t n = core->n_samples;

    if (core->n_slices < LEAST_SLICES)
        return true;
    if (!marey__sort_structs(&trace->alloc, sample_ns, n, sizeof *sample_ns, compare_times,
                             sample_ns))
        return false;
    core->start_ns = sample_ns[n / LEAST_SLICES];
    core->end_ns = sample_ns[n - 1 - n / LEAST_SLICES];
    return true;
}

static void take_window(const struct marey_slice_columns *slices, size_t i, struct marey_core *core)
{
    if (slices->dur_ns[i] == MAREY_UNKNOWN ||
        is_apart(core, true, slices->start_ns[i], end_of(slices, i)))
        return;
    if (!core->has_window || slices->start_ns[i] < core->window_start_ns)
        core->window_start_ns = slices->start_ns[i];
    if (!core->has_window || end_of(slices, i) > core->window_end_ns)
        core->window_end_ns = end_of(slices, i);
    core->has_window = true;
}

/* Few slices are windows, so the column is searched. */
static void take_windows(const struct marey_trace *trace, const struct marey_track *track,
                         uint8_t cat_id, struct marey_core *core)
{
    const uint8_t *cats = trace->slices.cat_id;
    const uint8_t *at = cats + track->first_slice;
    const uint8_t *end = at + track->n_slices;

    while (at < end && (at = memchr(at, cat_id, (size_t)(end - at))) != NULL)
        take_window(&trace->slices, (size_t)(at++ - cats), core);
}

/* Of all threads. */
static void find_windows(const struct marey_trace *trace, struct marey_core *core)
{
    for (size_t cat = 0; cat < trace->n_categories; cat++)
        for (size_t t = 0; t < trace->tracks.n; t++) {
            const struct marey_track *track = &trace->tracks.at[t];
            if (trace->category[cat].kind == MAREY_KIND_WINDOW &&
                track->kind == MAREY_TRACK_THREAD && track->n_slices > 0)
                take_windows(trace, track, (uint8_t)cat, &core[track->source_idx]);
        }
}

static void count_slices(const struct marey_trace *trace, struct marey_core *core)
{
    for (size_t t = 0; t < trace->tracks.n; t++)
        core[trace->tracks.at[t].source_idx].n_slices += trace->tracks.at[t].n_slices;
}

/* Every so many of a source's slices, wherever they lie. */
static void take_samples(const struct marey_trace *trace, struct marey_core *core,
                         const size_t *first, int64_t *sample_ns)
{
    for (size_t t = 0; t < trace->tracks.n; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        struct marey_core *of = &core[track->source_idx];
        const uint32_t step = (uint32_t)(of->n_slices / MOST_SAMPLES + 1);
        for (; of->n_seen < track->n_slices; of->n_seen += step)
            sample_ns[first[track->source_idx] + of->n_samples++] =
                trace->slices.start_ns[track->first_slice + of->n_seen];
        of->n_seen -= track->n_slices;
    }
}

static bool fill_cores(const struct marey_trace *trace, struct marey_core *core, size_t *first)
{
    size_t n = 0;
    bool is_done = true;

    for (size_t i = 0; i < trace->sources.n; i++) {
        first[i] = n;
        n += core[i].n_slices < MOST_SAMPLES ? core[i].n_slices : MOST_SAMPLES;
    }
    int64_t *sample_ns = marey__alloc(&trace->alloc, n, sizeof *sample_ns);
    if (sample_ns == NULL)
        return false;
    take_samples(trace, core, first, sample_ns);
    for (size_t i = 0; i < trace->sources.n && is_done; i++)
        is_done = find_core(trace, &core[i], sample_ns + first[i]);
    marey__dealloc(&trace->alloc, sample_ns, n, sizeof *sample_ns);
    if (is_done)
        find_windows(trace, core);
    return is_done;
}

bool marey__collect_cores(const struct marey_trace *trace, struct marey_examination *examination)
{
    const size_t n = trace->sources.n;

    if (trace->slices.n < LEAST_SLICES)
        return true;
    size_t *first = marey__alloc(&trace->alloc, n, sizeof *first);
    if (first == NULL)
        return false;
    examination->cores = marey__alloc_zero(&trace->alloc, n, sizeof *examination->cores);
    bool is_done = examination->cores != NULL;
    if (is_done) {
        count_slices(trace, examination->cores);
        is_done = fill_cores(trace, examination->cores, first);
    }
    marey__dealloc(&trace->alloc, first, n, sizeof *first);
    return is_done;
}

/* ---- what lies far from it --------------------------------------------------------------------
 */

static bool is_in_window(const struct marey_core *core, int64_t start_ns, int64_t end_ns)
{
    return core->has_window && start_ns >= core->window_start_ns && end_ns <= core->window_end_ns;
}

/* A host slice that reaches so far: the profiler's window ended, or its parent did. */
static bool is_too_long(const struct marey_trace *trace, const struct marey_core *core, uint32_t i)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const uint64_t limit = limit_of(core, core->has_window);
    const bool reaches_far = distance(end_of(slices, i), core->end_ns) > limit ||
                             distance(core->start_ns, slices->start_ns[i]) > limit;

    return reaches_far && (slices->flags[i] & MAREY_SLICE_OPEN) == 0 &&
           (core->has_window || (slices->flags[i] & MAREY_SLICE_CROSSES) != 0);
}

static void note_slice(struct marey_trace *trace, const struct marey_track *track,
                       const struct marey_core *core, uint32_t i)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const bool has_window = core->has_window && !is_window(trace, i);

    if (is_apart(core, has_window, slices->start_ns[i], end_of(slices, i)))
        marey__account_note(&trace->account, MAREY_REASON_FAR_SLICE, slices->offset[i]);
    else if (track->kind == MAREY_TRACK_THREAD && !is_window(trace, i) &&
             is_too_long(trace, core, i))
        marey__account_note(&trace->account, MAREY_REASON_LONG_SLICE, slices->offset[i]);
}

/* Whether one of some slices lies outside. No branch: nearly never does one. */
static bool is_any_outside(const struct marey_slice_columns *slices, uint32_t from, uint32_t to,
                           int64_t start_ns, int64_t end_ns)
{
    bool is_outside = false;

    for (uint32_t i = from; i < to; i++)
        is_outside |= (slices->start_ns[i] < start_ns) | (end_of(slices, i) > end_ns);
    return is_outside;
}

static void note_block(struct marey_trace *trace, const struct marey_track *track,
                       const struct marey_core *core, uint32_t from, uint32_t to)
{
    const struct marey_slice_columns *slices = &trace->slices;

    for (uint32_t i = from; i < to; i++) {
        const int64_t end_ns = end_of(slices, i);
        const bool is_near = slices->start_ns[i] >= core->start_ns && end_ns <= core->end_ns;
        if (!is_near && !is_in_window(core, slices->start_ns[i], end_ns))
            note_slice(trace, track, core, i);
    }
}

#define BLOCK 1024

/* What lies in the core or in the window is not far, and one of them mostly holds the other. */
static void note_track(struct marey_trace *trace, const struct marey_track *track,
                       const struct marey_core *core)
{
    const bool is_window_wider = is_in_window(core, core->start_ns, core->end_ns);
    const int64_t start_ns = is_window_wider ? core->window_start_ns : core->start_ns;
    const int64_t end_ns = is_window_wider ? core->window_end_ns : core->end_ns;
    const uint32_t end = track->first_slice + track->n_slices;

    for (uint32_t from = track->first_slice; from < end;) {
        const uint32_t to = end - from > BLOCK ? from + BLOCK : end;
        if (is_any_outside(&trace->slices, from, to, start_ns, end_ns))
            note_block(trace, track, core, from, to);
        from = to;
    }
}

void marey__note_far(struct marey_trace *trace, const struct marey_examination *examination)
{
    for (size_t t = 0; t < trace->tracks.n && examination->cores != NULL; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        const struct marey_core *core = &examination->cores[track->source_idx];
        if (core->n_slices >= LEAST_SLICES)
            note_track(trace, track, core);
    }
}
