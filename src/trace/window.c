/*
 * window.c - device operations that cross a border of the window that was recorded.
 *
 * The window is the record of category "Trace". What crosses its border is kept whole, and counted:
 * a part of it was not in the window, and others like it may be missing altogether.
 */
#include "base/sort.h"
#include "trace/examine.h"

static bool add_border(const struct marey_trace *trace, struct marey_examination *examination,
                       uint32_t source_idx, int64_t ns)
{
    void *at = examination->borders.at;
    if (!marey__grow(&trace->alloc, &at, &examination->borders.capacity, examination->borders.n + 1,
                     sizeof *examination->borders.at))
        return false;
    examination->borders.at = at;
    examination->borders.at[examination->borders.n++] = (struct marey_border){source_idx, ns};
    return true;
}

static bool is_less(const struct marey_border *a, const struct marey_border *b)
{
    return a->source_idx != b->source_idx ? a->source_idx < b->source_idx : a->ns < b->ns;
}

static int compare_borders(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_border *border = ctx;
    if (is_less(&border[a], &border[b]))
        return -1;
    return is_less(&border[b], &border[a]) ? 1 : 0;
}

static bool collect_track(const struct marey_trace *trace, const struct marey_track *track,
                          struct marey_examination *examination)
{
    const struct marey_slice_columns *slices = &trace->slices;
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        if (trace->category[slices->cat_id[i]].kind != MAREY_KIND_WINDOW ||
            slices->dur_ns[i] == MAREY_UNKNOWN)
            continue;
        if (!add_border(trace, examination, track->source_idx, slices->start_ns[i]) ||
            !add_border(trace, examination, track->source_idx,
                        slices->start_ns[i] + slices->dur_ns[i]))
            return false;
    }
    return true;
}

static bool has_windows(const struct marey_trace *trace)
{
    for (size_t i = 0; i < trace->n_categories; i++)
        if (trace->category[i].kind == MAREY_KIND_WINDOW)
            return true;
    return false;
}

bool marey__collect_borders(const struct marey_trace *trace, struct marey_examination *examination)
{
    if (!has_windows(trace))
        return true;
    for (size_t t = 0; t < trace->tracks.n; t++)
        if (trace->tracks.at[t].kind == MAREY_TRACK_THREAD &&
            !collect_track(trace, &trace->tracks.at[t], examination))
            return false;
    return marey__sort_structs(&trace->alloc, examination->borders.at, examination->borders.n,
                               sizeof *examination->borders.at, compare_borders,
                               examination->borders.at);
}

/* Whether a border of the source lies strictly inside. */
static bool is_crossed(const struct marey_examination *examination, uint32_t source_idx,
                       int64_t start_ns, int64_t end_ns)
{
    const struct marey_border from = {source_idx, start_ns};
    size_t low = 0;
    size_t high = examination->borders.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (!is_less(&from, &examination->borders.at[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    return low < examination->borders.n && examination->borders.at[low].source_idx == source_idx &&
           examination->borders.at[low].ns < end_ns;
}

static void note_track(struct marey_trace *trace, const struct marey_track *track,
                       const struct marey_examination *examination)
{
    const struct marey_slice_columns *slices = &trace->slices;
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++)
        if (slices->dur_ns[i] != MAREY_UNKNOWN &&
            is_crossed(examination, track->source_idx, slices->start_ns[i],
                       slices->start_ns[i] + slices->dur_ns[i]))
            marey__account_note(&trace->account, MAREY_REASON_CUT_BY_WINDOW, slices->offset[i]);
}

void marey__note_cut_operations(struct marey_trace *trace,
                                const struct marey_examination *examination)
{
    if (examination->borders.n == 0)
        return;
    for (size_t t = 0; t < trace->tracks.n; t++)
        if (trace->tracks.at[t].kind == MAREY_TRACK_STREAM)
            note_track(trace, &trace->tracks.at[t], examination);
}
