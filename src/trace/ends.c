/*
 * ends.c - where what a source recorded ends, and the slices that never end: they last to there.
 *
 * A record of the profiler's window says when the recording ended. Without one, or behind it, it
 * ended with the last slice or instant. A wild duration tells nothing of that: it is cut once the
 * rows are sorted (clip.c), so here only the end that it will have is looked up, in the streams of
 * those sources whose end one might be.
 *
 *   absolute times -> ends -> processes -> order of the rows -> clip
 */
#include "trace/build.h"
#include "trace/rows.h"

/* What is known of where a source ends; INT64_MIN: nothing. */
struct source_end {
    size_t slice; /* its rows */
    size_t slice_end;
    size_t instant;
    size_t instant_end;
    int64_t window_ns;  /* the last window's */
    int64_t streams_ns; /* of slices that end on streams, as the file says */
    int64_t others_ns;  /* of all other slices; of an open one its start */
    int64_t last_ns;    /* of all slices, wild durations cut */
    bool has_open;
};

static void raise_to(int64_t *last_ns, int64_t ns)
{
    *last_ns = ns > *last_ns ? ns : *last_ns;
}

static int64_t later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static struct source_end rows_of(const struct marey_builder *builder, size_t source_idx)
{
    const struct marey_trace *trace = builder->trace;
    const struct marey_source_mark *mark = &builder->marks.at[source_idx];
    const bool is_last = source_idx + 1 == builder->marks.n;

    return (struct source_end){
        .slice = mark->slice,
        .slice_end = is_last ? trace->slices.n : mark[1].slice,
        .instant = mark->instant,
        .instant_end = is_last ? trace->instants.n : mark[1].instant,
        .window_ns = INT64_MIN,
        .streams_ns = INT64_MIN,
        .others_ns = INT64_MIN,
        .last_ns = INT64_MIN,
    };
}

static bool has_open_slices(const struct marey_trace *trace, const struct source_end *end)
{
    uint8_t all_flags = 0;
    for (size_t i = end->slice; i < end->slice_end; i++)
        all_flags |= trace->slices.flags[i];
    return (all_flags & MAREY_SLICE_OPEN) != 0;
}

static void take_slice(const struct marey_trace *trace, struct source_end *end, size_t row)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const int64_t dur_ns = slices->dur_ns[row] < 0 ? 0 : slices->dur_ns[row];
    const int64_t end_ns = slices->start_ns[row] + dur_ns;
    const bool is_open = (slices->flags[row] & MAREY_SLICE_OPEN) != 0;
    const bool is_window = trace->category[slices->cat_id[row]].kind == MAREY_KIND_WINDOW;
    const bool is_operation =
        trace->tracks.at[slices->parent_idx[row]].kind == MAREY_TRACK_STREAM && !is_open;

    raise_to(is_operation ? &end->streams_ns : &end->others_ns, end_ns);
    if (is_window && !is_open && slices->dur_ns[row] != MAREY_UNKNOWN)
        raise_to(&end->window_ns, end_ns);
}

static void take_slices(const struct marey_trace *trace, struct source_end *end)
{
    for (size_t i = end->slice; i < end->slice_end; i++)
        if ((trace->slices.flags[i] & MAREY_ROW_DROPPED) == 0)
            take_slice(trace, end, i);
}

static bool never_ends(const struct marey_trace *trace, size_t row)
{
    return (trace->slices.flags[row] & (MAREY_SLICE_OPEN | MAREY_ROW_DROPPED)) == MAREY_SLICE_OPEN;
}

/* Slices that never end last to the end of their own source, since another one may be of another
 * day. `last_ns` is the last end of those that have one. */
static void reach_end(struct marey_trace *trace, const struct source_end *end, int64_t last_ns)
{
    struct marey_slice_columns *slices = &trace->slices;

    for (size_t i = end->instant; i < end->instant_end; i++)
        raise_to(&last_ns, trace->instants.ts_ns[i]);
    for (size_t i = end->slice; i < end->slice_end; i++) {
        if (!never_ends(trace, i) || (slices->flags[i] & MAREY_ROW_CUT) != 0)
            continue;
        const int64_t start_ns = slices->start_ns[i];
        const int64_t end_ns = start_ns <= end->window_ns ? end->window_ns : last_ns;
        int64_t dur_ns = 0;
        slices->dur_ns[i] =
            __builtin_sub_overflow(end_ns, start_ns, &dur_ns) ? MAREY_UNKNOWN : dur_ns;
    }
}

/* ---- streams that may hold a wild duration --------------------------------------------------- */

/* Whether the last end is a stream's, and somebody asks for it. */
static bool may_be_wild(const struct source_end *end)
{
    return end->streams_ns > end->others_ns && (end->has_open || end->window_ns == INT64_MIN);
}

static bool look_into_streams(struct marey_trace *trace, struct source_end *end,
                              const bool *is_wanted, uint32_t *perm, uint32_t *first)
{
    if (!marey__order_slices(trace, is_wanted, perm, first))
        return false;
    for (size_t t = 0; t < trace->tracks.n; t++)
        if (is_wanted[t] && !marey__last_end(trace, perm + first[t], first[t + 1] - first[t],
                                             &end[trace->tracks.at[t].source_idx].last_ns))
            return false;
    return true;
}

/* The last end of each source, where that of a stream may be a wild one. False without memory. */
static bool cut_ends(struct marey_trace *trace, struct source_end *end)
{
    const struct marey_alloc *alloc = &trace->alloc;
    const size_t n_tracks = trace->tracks.n;
    bool *is_wanted = marey__alloc(alloc, n_tracks, sizeof *is_wanted);
    uint32_t *perm = marey__alloc(alloc, trace->slices.n, sizeof *perm);
    uint32_t *first = marey__alloc(alloc, n_tracks + 1, sizeof *first);
    bool is_done = is_wanted != NULL && perm != NULL && first != NULL;

    for (size_t t = 0; t < n_tracks && is_done; t++) {
        const struct marey_track *track = &trace->tracks.at[t];
        is_wanted[t] = track->kind == MAREY_TRACK_STREAM && may_be_wild(&end[track->source_idx]);
    }
    is_done = is_done && look_into_streams(trace, end, is_wanted, perm, first);
    marey__dealloc(alloc, first, n_tracks + 1, sizeof *first);
    marey__dealloc(alloc, perm, trace->slices.n, sizeof *perm);
    marey__dealloc(alloc, is_wanted, n_tracks, sizeof *is_wanted);
    return is_done;
}

/* ---- slices that never end ------------------------------------------------------------------- */

static void close_slices(struct marey_trace *trace, const struct source_end *end)
{
    struct marey_slice_columns *slices = &trace->slices;

    reach_end(trace, end, end->last_ns);
    for (size_t i = end->slice; i < end->slice_end; i++) {
        if (!never_ends(trace, i))
            continue;
        slices->flags[i] &= (uint8_t)~MAREY_ROW_CUT;
        marey__account_note(&trace->account, MAREY_REASON_UNCLOSED_BEGIN, slices->offset[i]);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static bool find_ends(struct marey_builder *builder, struct source_end *end)
{
    struct marey_trace *trace = builder->trace;
    bool is_any_wild = false;

    for (size_t i = 0; i < builder->marks.n; i++) {
        if (builder->marks.n == 1 && !end[i].has_open)
            continue;
        take_slices(trace, &end[i]);
        const bool is_wild = may_be_wild(&end[i]);
        end[i].last_ns = is_wild ? end[i].others_ns : later(end[i].others_ns, end[i].streams_ns);
        is_any_wild = is_any_wild || is_wild;
        if (is_wild && end[i].has_open) /* on a stream it is one of those that are looked at */
            reach_end(trace, &end[i], end[i].streams_ns);
    }
    return !is_any_wild || cut_ends(trace, end);
}

bool marey__end_sources(struct marey_builder *builder)
{
    const struct marey_alloc *alloc = &builder->alloc;
    const size_t n = builder->marks.n;
    struct source_end *end = marey__alloc(alloc, n, sizeof *end);
    bool is_done = end != NULL;

    for (size_t i = 0; i < n && is_done; i++) {
        end[i] = rows_of(builder, i);
        end[i].has_open = has_open_slices(builder->trace, &end[i]);
    }
    is_done = is_done && find_ends(builder, end);
    for (size_t i = 0; i < n && is_done; i++) {
        builder->marks.at[i].last_ns = end[i].last_ns;
        if (end[i].has_open)
            close_slices(builder->trace, &end[i]);
    }
    marey__dealloc(alloc, end, n, sizeof *end);
    return is_done;
}
