/*
 * gaps.c - where nothing was recorded: between two windows of a process.
 *
 * A window is a record of category "Trace": what a profiler says it recorded. One session has one,
 * a trace of several sessions has one for each, in a file of it too, so nothing else tells of gaps.
 * A source that is one of several cycles and has none was given one by processes.c.
 */
#include <string.h>

#include "base/sort.h"
#include "trace/model.h"

static bool add_window(struct marey_trace *trace, uint32_t slice_idx)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const uint32_t track_idx = marey_trace_slice_track(trace, slice_idx);
    const int64_t start_ns = slices->start_ns[slice_idx];
    void *at = trace->windows.at;

    if (slices->dur_ns[slice_idx] == MAREY_UNKNOWN)
        return true;
    if (!marey__grow(&trace->alloc, &at, &trace->windows.capacity, trace->windows.n + 1,
                     sizeof *trace->windows.at))
        return false;
    trace->windows.at = at;
    trace->windows.at[trace->windows.n++] = (struct marey_recorded_window){
        .source_idx = trace->tracks.at[track_idx].source_idx,
        .start_ns = start_ns,
        .end_ns = start_ns + slices->dur_ns[slice_idx],
        .offset = slices->offset[slice_idx],
    };
    return true;
}

/* The window behind the gap is where the account finds it. */
static bool add_gap(struct marey_trace *trace, int64_t start_ns,
                    const struct marey_recorded_window *behind)
{
    void *at = trace->gaps.at;

    if (!marey__grow(&trace->alloc, &at, &trace->gaps.capacity, trace->gaps.n + 1,
                     sizeof *trace->gaps.at))
        return false;
    trace->gaps.at = at;
    trace->gaps.at[trace->gaps.n++] =
        (struct marey_gap){behind->source_idx, start_ns, behind->start_ns};
    marey__account_note(&trace->account, MAREY_REASON_NOT_RECORDED, behind->offset);
    return true;
}

/* All slices of a category; few have one of these, so the column is searched. */
static bool add_windows_of(struct marey_trace *trace, uint8_t cat_id)
{
    const struct marey_slice_columns *slices = &trace->slices;
    const uint8_t *end = slices->cat_id + slices->n;

    for (const uint8_t *at = slices->cat_id; at < end; at++) {
        at = memchr(at, cat_id, (size_t)(end - at));
        if (at == NULL)
            break;
        if (!add_window(trace, (uint32_t)(at - slices->cat_id)))
            return false;
    }
    return true;
}

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

static uint32_t process_of(const struct marey_trace *trace,
                           const struct marey_recorded_window *window)
{
    return trace->sources.at[window->source_idx].cycle_of;
}

static int compare_windows(const void *ctx, uint32_t a, uint32_t b)
{
    const struct marey_trace *trace = ctx;
    const struct marey_recorded_window *window = trace->windows.at;
    const uint32_t process_a = process_of(trace, &window[a]);
    const uint32_t process_b = process_of(trace, &window[b]);

    if (process_a != process_b)
        return process_a < process_b ? -1 : 1;
    const int order = compare_i64(window[a].start_ns, window[b].start_ns);
    return order != 0 ? order : compare_i64(window[a].end_ns, window[b].end_ns);
}

/* Between what the windows of a process cover together. */
static bool find_between(struct marey_trace *trace)
{
    int64_t covered_to_ns = 0;

    for (size_t i = 0; i < trace->windows.n; i++) {
        const struct marey_recorded_window *window = &trace->windows.at[i];
        const bool is_first = i == 0 || process_of(trace, window) != process_of(trace, window - 1);
        if (!is_first && window->start_ns > covered_to_ns && !add_gap(trace, covered_to_ns, window))
            return false;
        if (is_first || window->end_ns > covered_to_ns)
            covered_to_ns = window->end_ns;
    }
    return true;
}

bool marey__find_gaps(struct marey_trace *trace)
{
    for (size_t i = 0; i < trace->n_categories && trace->slices.n > 0; i++)
        if (trace->category[i].kind == MAREY_KIND_WINDOW && !add_windows_of(trace, (uint8_t)i))
            return false;
    return marey__sort_structs(&trace->alloc, trace->windows.at, trace->windows.n,
                               sizeof *trace->windows.at, compare_windows, trace) &&
           find_between(trace);
}

const struct marey_gap *marey_trace_gaps(const struct marey_trace *trace, size_t *n)
{
    *n = trace->gaps.n;
    return trace->gaps.at;
}
