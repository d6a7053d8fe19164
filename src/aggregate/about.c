/*
 * about.c - what averages are of, from their trace.
 */
#include "aggregate/about.h"

#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/json.h"
#include "base/str.h"

static void widen(int64_t *start_ns, int64_t *end_ns, int64_t from_ns, int64_t to_ns)
{
    if (*start_ns == MAREY_UNKNOWN || from_ns < *start_ns)
        *start_ns = from_ns;
    if (*end_ns == MAREY_UNKNOWN || to_ns > *end_ns)
        *end_ns = to_ns;
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

static void add_work(struct marey_thread_work *work, const struct gaps *gaps,
                     const struct marey_slices *slices, size_t slice)
{
    const int64_t start_ns = slices->start_ns[slice];
    const int64_t end_ns = start_ns + slices->dur_ns[slice];

    if (end_ns <= work->covered_to_ns)
        return;
    if (work->ns > 0) {
        const int64_t idle_ns = idle_to_ns(work, gaps, start_ns) - work->covered_to_ns;
        if (idle_ns > work->gap_ns)
            work->before_gap_id = slices->name_id[work->last];
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
        if (kind == MAREY_KIND_WINDOW) {
            if (slices->dur_ns[i] != MAREY_UNKNOWN)
                widen(&window->recorded_start_ns, &window->recorded_end_ns, slices->start_ns[i],
                      slices->start_ns[i] + slices->dur_ns[i]);
            continue;
        }
        window->n_slices++;
        window->n_operations += marey_kind_is_device_operation(kind);
        if (slices->dur_ns[i] == MAREY_UNKNOWN)
            continue;
        widen(&window->start_ns, &window->end_ns, slices->start_ns[i],
              slices->start_ns[i] + slices->dur_ns[i]);
        if (is_work(kind))
            add_work(&work, gaps, slices, i);
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

static struct marey_window window_of(const struct marey_trace *trace)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    struct marey_window window = {
        .start_ns = MAREY_UNKNOWN,
        .end_ns = MAREY_UNKNOWN,
        .recorded_start_ns = MAREY_UNKNOWN,
        .recorded_end_ns = MAREY_UNKNOWN,
    };
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

/* ---- sources ----------------------------------------------------------------------------- */

/* How long a recording was whole, where records were lost; MAREY_UNKNOWN: to its end. */
static int64_t whole_ns(const struct marey_trace *trace)
{
    struct marey_json json = marey__json(marey_trace_meta(trace, "marey"));
    struct marey_str key;
    int64_t value = MAREY_UNKNOWN;

    if (!marey__json_enter(&json, '{'))
        return MAREY_UNKNOWN;
    while (marey__json_key(&json, &key)) {
        if (!marey__json_spells(key, "whole_ns"))
            marey__json_skip(&json);
        else if (!marey__json_i64(&json, &value))
            return MAREY_UNKNOWN;
    }
    return json.failed ? MAREY_UNKNOWN : value;
}

/* torch's word for the device, after the categories of the back end. */
static const char *find_device_word(const struct marey_trace *trace)
{
    static const struct {
        const char *prefix;
        const char *word;
    } back_ends[] = {{"xpu_", "XPU"}, {"mtia_", "MTIA"}, {"privateuse1_", "PRIVATEUSEONE"}};
    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(trace, &n);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < sizeof back_ends / sizeof back_ends[0]; j++)
            if (marey__str_starts(marey_trace_string(trace, category[i].name_id),
                                  back_ends[j].prefix))
                return back_ends[j].word;
    return "CUDA";
}

enum marey_status marey__averages_about(const struct marey_averages *averages,
                                        struct marey_about *about, struct marey_error *err)
{
    struct marey_trace *trace = averages->trace;
    struct marey_ledger ledger;
    size_t n = 0;

    if (trace == NULL) {
        *about = averages->joined->about;
        return MAREY_OK;
    }
    MAREY_TRY(marey_trace_ledger(trace, &ledger, err));
    const struct marey_source *source = marey_trace_sources(trace, &n);
    *about = (struct marey_about){
        .ledger = ledger,
        .window = window_of(trace),
        .n_sources = n,
        .rank = n == 1 ? source->rank : 0,
        .has_rank = n == 1 && !source->rank_is_assumed,
        .is_recorded = n > 0 && marey_trace_string(trace, source->path_id).len == 0,
        .whole_ns = whole_ns(trace),
        .device_word = find_device_word(trace),
    };
    for (size_t i = 0; i < n; i++)
        about->n_files += i == 0 || source[i].path_id != source[i - 1].path_id;
    return MAREY_OK;
}
