/*
 * table_window.c - what a table is about: the span of its slices, and how much of it a thread
 * was seen at work.
 */
#include "export/table.h"

static void widen(struct marey_window *window, int64_t start_ns, int64_t end_ns)
{
    if (window->start_ns == MAREY_UNKNOWN || start_ns < window->start_ns)
        window->start_ns = start_ns;
    if (window->end_ns == MAREY_UNKNOWN || end_ns > window->end_ns)
        window->end_ns = end_ns;
}

/* Operators and calls. Annotations and Python frames enclose what they do not explain. */
static bool is_work(enum marey_kind kind)
{
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER ||
           kind == MAREY_KIND_OTHER;
}

/* Where nothing was recorded; all of one source. */
struct gaps {
    const struct marey_gap *at;
    size_t n;
};

/* Up to where a thread was seen idle before an instant: a gap of the recording ends that. */
static int64_t idle_to_ns(struct marey_thread_work *work, const struct gaps *gaps, int64_t start_ns)
{
    while (work->next_gap < gaps->n && gaps->at[work->next_gap].end_ns <= work->covered_to_ns)
        work->next_gap++;
    if (work->next_gap == gaps->n || gaps->at[work->next_gap].start_ns >= start_ns)
        return start_ns;
    return gaps->at[work->next_gap].start_ns;
}

static void add_work(struct marey_thread_work *work, const struct gaps *gaps, size_t slice,
                     int64_t start_ns, int64_t end_ns)
{
    if (end_ns <= work->covered_to_ns)
        return;
    if (work->ns > 0) {
        const int64_t idle_ns = idle_to_ns(work, gaps, start_ns) - work->covered_to_ns;
        work->before_gap = idle_ns > work->gap_ns ? work->last : work->before_gap;
        work->gap_ns = idle_ns > work->gap_ns ? idle_ns : work->gap_ns;
    }
    work->ns += end_ns - (start_ns > work->covered_to_ns ? start_ns : work->covered_to_ns);
    work->covered_to_ns = end_ns;
    work->last = slice;
}

/* What a profiler writes of its own window is neither work nor a thread of the program. */
static void add_track(struct marey_window *window, const struct marey_slices *slices,
                      const struct marey_category *category, const struct marey_track *track,
                      const struct gaps *gaps)
{
    const size_t to = (size_t)track->first_slice + track->n_slices;
    const uint64_t n_before = window->n_slices;
    struct marey_thread_work work = {.covered_to_ns = INT64_MIN};

    for (size_t i = track->first_slice; i < to; i++) {
        const enum marey_kind kind = category[slices->cat_id[i]].kind;
        if (kind == MAREY_KIND_WINDOW)
            continue;
        window->n_slices++;
        window->n_operations += marey_kind_is_device_operation(kind);
        if (slices->dur_ns[i] == MAREY_UNKNOWN)
            continue;
        const int64_t start_ns = slices->start_ns[i];
        const int64_t end_ns = start_ns + slices->dur_ns[i];
        widen(window, start_ns, end_ns);
        if (is_work(kind))
            add_work(&work, gaps, i, start_ns, end_ns);
    }
    window->n_tracks += window->n_slices > n_before;
    if (work.ns > window->busiest.ns)
        window->busiest = work;
}

/* The time of several sources is nobody's, so what none of them recorded is not told. */
static void add_gaps(struct marey_window *window, const struct gaps *gaps, size_t n_sources)
{
    for (size_t i = 0; i < gaps->n && window->start_ns != MAREY_UNKNOWN; i++) {
        const struct marey_gap *gap = &gaps->at[i];
        const int64_t from_ns = gap->start_ns > window->start_ns ? gap->start_ns : window->start_ns;
        const int64_t to_ns = gap->end_ns < window->end_ns ? gap->end_ns : window->end_ns;
        if (to_ns <= from_ns)
            continue;
        window->gaps_ns += to_ns - from_ns;
        window->n_gaps++;
    }
    if (n_sources > 1 && window->n_gaps > 0)
        window->gaps_ns = MAREY_UNKNOWN;
}

struct marey_window marey__table_window(const struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    struct marey_window window = {.start_ns = MAREY_UNKNOWN, .end_ns = MAREY_UNKNOWN};
    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(trace, &n);
    size_t n_sources = 0;
    (void)marey_trace_sources(trace, &n_sources);
    struct gaps gaps = {0};
    gaps.at = marey_trace_gaps(trace, &gaps.n);
    const struct gaps of_one = n_sources == 1 ? gaps : (struct gaps){0};
    const struct marey_track *track = marey_trace_tracks(trace, &n);

    for (size_t t = 0; t < n; t++)
        add_track(&window, &slices, category, &track[t], &of_one);
    add_gaps(&window, &gaps, n_sources);
    return window;
}
