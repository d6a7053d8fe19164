/*
 * window.c - device operations that cross a border of the window that was recorded.
 *
 * What crosses its border is kept whole, and counted: a part of it was not in the window, and
 * others like it may be missing altogether.
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

bool marey__collect_borders(const struct marey_trace *trace, struct marey_examination *examination)
{
    for (size_t i = 0; i < trace->windows.n; i++) {
        const struct marey_recorded_window *window = &trace->windows.at[i];
        if (!add_border(trace, examination, window->source_idx, window->start_ns) ||
            !add_border(trace, examination, window->source_idx, window->end_ns))
            return false;
    }
    return marey__sort_structs(&trace->alloc, examination->borders.at, examination->borders.n,
                               sizeof *examination->borders.at, compare_borders,
                               examination->borders.at);
}

/* Between two borders of a source: what lies in there crosses none. */
struct pane {
    int64_t from_ns;
    int64_t to_ns;
};

/* The one in which a source's operation begins. */
static struct pane find_pane(const struct marey_examination *examination, uint32_t source_idx,
                             int64_t start_ns)
{
    const struct marey_border *border = examination->borders.at;
    const struct marey_border start = {source_idx, start_ns};
    size_t low = 0;
    size_t high = examination->borders.n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (!is_less(&start, &border[middle]))
            low = middle + 1;
        else
            high = middle;
    }
    const bool has_before = low > 0 && border[low - 1].source_idx == source_idx;
    const bool has_behind = low < examination->borders.n && border[low].source_idx == source_idx;
    return (struct pane){has_before ? border[low - 1].ns : INT64_MIN,
                         has_behind ? border[low].ns : INT64_MAX};
}

static void note_track(struct marey_trace *trace, const struct marey_track *track,
                       const struct marey_examination *examination)
{
    const struct marey_slice_columns *slices = &trace->slices;
    struct pane at = {INT64_MAX, INT64_MAX};
    for (uint32_t i = track->first_slice; i < track->first_slice + track->n_slices; i++) {
        const int64_t start_ns = slices->start_ns[i];
        if (slices->dur_ns[i] == MAREY_UNKNOWN)
            continue;
        if (start_ns < at.from_ns || start_ns >= at.to_ns)
            at = find_pane(examination, track->source_idx, start_ns);
        if (start_ns + slices->dur_ns[i] > at.to_ns)
            marey__account_note(&trace->account, MAREY_REASON_CUT_BY_WINDOW, slices->offset[i]);
    }
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
