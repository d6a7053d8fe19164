/*
 * about.c - what averages are of, from their trace.
 */
#include "aggregate/about.h"

#include <string.h>

#include "aggregate/averages_parts.h"
#include "base/error.h"
#include "base/hashmap.h"
#include "base/json.h"
#include "base/known.h"
#include "base/sort.h"
#include "base/str.h"
#include "trace/builder.h"
#include "trace/model.h"

static void widen(int64_t *start_ns, int64_t *end_ns, int64_t from_ns, int64_t to_ns)
{
    if (*start_ns == MAREY_UNKNOWN || from_ns < *start_ns)
        *start_ns = from_ns;
    if (*end_ns == MAREY_UNKNOWN || to_ns > *end_ns)
        *end_ns = to_ns;
}

#define BIT(kind) (UINT32_C(1) << (kind))

/* Operators and calls are the program's. Annotations and Python frames enclose what they do not
 * explain. */
#define PROGRAM_BITS (BIT(MAREY_KIND_OP) | BIT(MAREY_KIND_RUNTIME) | BIT(MAREY_KIND_DRIVER))
#define WORK_BITS (PROGRAM_BITS | BIT(MAREY_KIND_OTHER))
#define OPERATION_BITS (BIT(MAREY_KIND_KERNEL) | BIT(MAREY_KIND_MEMCPY) | BIT(MAREY_KIND_MEMSET))

/* Kinds of slices, by category; and by name too where one category is operators and annotations. */
struct kinds {
    const struct marey_trace *trace;
    struct marey_slices slices;
    uint8_t of_cat[MAREY_N_CATEGORIES];
    uint32_t old_cat; /* MAREY_OLD_OPERATOR; MAREY_NONE: there is none */
    uint8_t *of_name; /* in old_cat, MAREY_KIND_OTHER: not asked yet */
    size_t n_names;
};

/* False without memory. */
static bool begin_kinds(struct kinds *kinds, const struct marey_trace *trace)
{
    size_t n = 0;
    const struct marey_category *category = marey_trace_categories(trace, &n);

    *kinds = (struct kinds){
        .trace = trace,
        .slices = marey_trace_slices(trace),
        .old_cat = MAREY_NONE,
    };
    for (size_t i = 0; i < n; i++) {
        kinds->of_cat[i] = (uint8_t)category[i].kind;
        if (marey__str_is_c(marey_trace_string(trace, category[i].name_id), MAREY_OLD_OPERATOR))
            kinds->old_cat = (uint32_t)i;
    }
    if (kinds->old_cat == MAREY_NONE)
        return true;
    kinds->n_names = marey_trace_n_strings(trace);
    kinds->of_name =
        marey__alloc_zero(marey__trace_alloc(trace), kinds->n_names, sizeof *kinds->of_name);
    return kinds->of_name != NULL;
}

static void end_kinds(struct kinds *kinds)
{
    marey__dealloc(marey__trace_alloc(kinds->trace), kinds->of_name, kinds->n_names,
                   sizeof *kinds->of_name);
}

static enum marey_kind kind_of(const struct kinds *kinds, size_t slice)
{
    const uint32_t cat = kinds->slices.cat_id[slice];
    const uint32_t name = kinds->slices.name_id[slice];

    if (cat != kinds->old_cat || name >= kinds->n_names)
        return (enum marey_kind)kinds->of_cat[cat];
    uint8_t *kind = &kinds->of_name[name];
    if (*kind == MAREY_KIND_OTHER)
        *kind = marey__name_is_mark(marey_trace_string(kinds->trace, name)) ? MAREY_KIND_ANNOTATION
                                                                            : MAREY_KIND_OP;
    return *kind;
}

/* Where nothing was recorded; all of one process. */
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

static void take_recorded(struct marey_window *window, const struct marey_slices *slices, size_t i)
{
    if (slices->dur_ns[i] != MAREY_UNKNOWN)
        widen(&window->recorded_start_ns, &window->recorded_end_ns, slices->start_ns[i],
              slices->start_ns[i] + slices->dur_ns[i]);
}

/* What a profiler writes of its own window is neither work nor a thread of the program. */
static void add_track(struct marey_window *window, const struct kinds *kinds,
                      const struct marey_track *track, const struct gaps *gaps,
                      struct marey_thread_work *of_thread)
{
    const struct marey_slices *slices = &kinds->slices;
    struct marey_thread_work work = *of_thread;
    const uint32_t work_bits = track->kind == MAREY_TRACK_THREAD ? WORK_BITS : 0;
    uint32_t bits = 0; /* of the kinds that are work here */
    uint32_t n_operations = 0;
    uint32_t n_windows = 0;
    int64_t first_ns = INT64_MAX; /* of the slices of known durations */
    int64_t last_ns = INT64_MIN;
    const size_t to = (size_t)track->first_slice + track->n_slices;

    for (size_t i = track->first_slice; i < to; i++) {
        const enum marey_kind kind = kind_of(kinds, i);
        const int64_t start_ns = slices->start_ns[i];
        const int64_t dur_ns = slices->dur_ns[i];
        if (kind == MAREY_KIND_WINDOW) {
            take_recorded(window, slices, i);
            n_windows++;
            continue;
        }
        n_operations += (OPERATION_BITS & BIT(kind)) != 0;
        if (dur_ns == MAREY_UNKNOWN)
            continue;
        first_ns = start_ns < first_ns ? start_ns : first_ns;
        last_ns = start_ns + dur_ns > last_ns ? start_ns + dur_ns : last_ns;
        if ((work_bits & BIT(kind)) == 0)
            continue;
        bits |= BIT(kind);
        add_work(&work, gaps, slices, i);
    }
    window->n_slices += track->n_slices - n_windows;
    window->n_operations += n_operations;
    if (first_ns <= last_ns)
        widen(&window->start_ns, &window->end_ns, first_ns, last_ns);
    work.is_program |= (bits & PROGRAM_BITS) != 0;
    *of_thread = work;
}

/* A thread with operators or calls is one of the program; another may be anything that the file
 * shows, such as a device of a kind that we do not know. */
static void take_thread(struct marey_window *window, const struct marey_thread_work *work,
                        uint64_t n_slices_before)
{
    const struct marey_thread_work *best = &window->busiest;
    const bool is_better =
        work->is_program != best->is_program ? work->is_program : work->ns > best->ns;

    window->n_tracks += window->n_slices > n_slices_before;
    if (work->ns > 0 && is_better)
        window->busiest = *work;
}

/* ---- threads and streams: of a process with cycles each has a track for every one ----------- */

struct threads {
    const struct marey_track *track;
    const struct marey_source *source;
    const int64_t *start_ns; /* of slices */
    uint32_t *order;         /* of the tracks: those of a thread together, by time */
    size_t n;
};

static int compare_i64(int64_t a, int64_t b)
{
    return a < b ? -1 : a > b;
}

/* 0: the same thread of the same process, or the same stream. */
static int compare_threads(const struct threads *threads, uint32_t a, uint32_t b)
{
    const struct marey_track *x = &threads->track[a];
    const struct marey_track *y = &threads->track[b];
    int order = compare_i64(threads->source[x->source_idx].cycle_of,
                            threads->source[y->source_idx].cycle_of);

    if (order == 0)
        order = compare_i64((int64_t)x->kind, (int64_t)y->kind);
    if (order == 0)
        order = compare_i64(x->process_id, y->process_id);
    if (order == 0)
        order = compare_i64(x->thread_id, y->thread_id);
    if (order == 0)
        order = compare_i64(x->device, y->device);
    if (order == 0)
        order = compare_i64(x->context, y->context);
    return order != 0 ? order : compare_i64(x->stream, y->stream);
}

static int compare_tracks(const void *ctx, uint32_t a, uint32_t b)
{
    const struct threads *threads = ctx;
    const struct marey_track *x = &threads->track[a];
    const struct marey_track *y = &threads->track[b];
    const int order = compare_threads(threads, a, b);

    if (order != 0 || x->n_slices == 0 || y->n_slices == 0)
        return order != 0 ? order : compare_i64(a, b);
    return compare_i64(threads->start_ns[x->first_slice], threads->start_ns[y->first_slice]);
}

static bool order_threads(const struct marey_trace *trace, const struct marey_slices *slices,
                          struct threads *threads)
{
    const struct marey_alloc *alloc = marey__trace_alloc(trace);
    size_t n_sources = 0;

    threads->track = marey_trace_tracks(trace, &threads->n);
    threads->source = marey_trace_sources(trace, &n_sources);
    threads->start_ns = slices->start_ns;
    threads->order = marey__alloc(alloc, threads->n, sizeof *threads->order);
    if (threads->order == NULL)
        return false;
    for (size_t t = 0; t < threads->n; t++)
        threads->order[t] = (uint32_t)t;
    return n_sources < 2 ||
           marey__sort_indices(alloc, threads->order, threads->n, compare_tracks, threads);
}

/* The time of several processes is nobody's, so what none of them recorded is not told. */
static void add_gaps(struct marey_window *window, const struct gaps *gaps, size_t n_processes)
{
    for (size_t i = 0; i < gaps->n && window->start_ns != MAREY_UNKNOWN; i++) {
        const struct marey_gap *gap = &gaps->at[i];
        const int64_t from_ns = gap->start_ns > window->start_ns ? gap->start_ns : window->start_ns;
        const int64_t to_ns = gap->end_ns < window->end_ns ? gap->end_ns : window->end_ns;
        if (to_ns <= from_ns)
            continue;
        window->gaps_ns = marey__known_add(window->gaps_ns, marey__known_span(from_ns, to_ns));
        window->n_gaps++;
    }
    if (n_processes > 1 && window->n_gaps > 0)
        window->gaps_ns = MAREY_UNKNOWN;
}

static bool find_window(const struct marey_trace *trace, size_t n_processes,
                        struct marey_window *window)
{
    struct threads threads = {.n = 0};
    struct kinds kinds;
    struct gaps gaps = {0};
    gaps.at = marey_trace_gaps(trace, &gaps.n);
    const struct gaps of_one = n_processes == 1 ? gaps : (struct gaps){0};
    struct marey_thread_work work = {.covered_to_ns = INT64_MIN};
    uint64_t n_slices_before = 0; /* those of the thread that is gone through */

    *window = (struct marey_window){
        .start_ns = MAREY_UNKNOWN,
        .end_ns = MAREY_UNKNOWN,
        .recorded_start_ns = MAREY_UNKNOWN,
        .recorded_end_ns = MAREY_UNKNOWN,
    };
    const bool is_done =
        begin_kinds(&kinds, trace) && order_threads(trace, &kinds.slices, &threads);
    for (size_t i = 0; i < threads.n && is_done; i++) {
        const bool is_new =
            i > 0 && compare_threads(&threads, threads.order[i - 1], threads.order[i]) != 0;
        if (is_new) {
            take_thread(window, &work, n_slices_before);
            work = (struct marey_thread_work){.covered_to_ns = INT64_MIN};
            n_slices_before = window->n_slices;
        }
        add_track(window, &kinds, &threads.track[threads.order[i]], &of_one, &work);
    }
    take_thread(window, &work, n_slices_before);
    add_gaps(window, &gaps, n_processes);
    marey__dealloc(marey__trace_alloc(trace), threads.order, threads.n, sizeof *threads.order);
    end_kinds(&kinds);
    return is_done;
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

/* What is missing of a thread is all that it did for a while: a cut file, records for which there
 * was no room. What else a ledger counts are single records. */
static bool lacks_records(const struct marey_ledger *ledger)
{
    static const char *const reasons[] = {"truncated", "bad_gzip", "lost", "other_version"};

    for (size_t i = 0; i < sizeof reasons / sizeof reasons[0]; i++) {
        for (size_t j = 0; j < ledger->n_rows; j++)
            if (strcmp(ledger->rows[j].reason, reasons[i]) == 0)
                return true;
        for (size_t j = 0; j < ledger->n_before; j++)
            if (strcmp(ledger->before[j].reason, reasons[i]) == 0)
                return true;
    }
    return false;
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

/* Files, processes and ranks that the sources are of. False without memory. */
static bool count_sources(const struct marey_trace *trace, struct marey_about *about)
{
    const struct marey_source *source = marey_trace_sources(trace, &about->n_sources);
    struct marey_hashmap ranks;
    bool is_done = true;

    marey__hashmap_init(&ranks, marey__trace_alloc(trace));
    for (size_t i = 0; i < about->n_sources && is_done; i++) {
        uint32_t *place = marey__hashmap_put(&ranks, (uint64_t)source[i].rank);
        is_done = place != NULL;
        about->n_ranks += place != NULL && *place == MAREY_NONE;
        if (place != NULL)
            *place = 0;
        about->n_files += i == 0 || source[i].path_id != source[i - 1].path_id;
        about->n_processes += source[i].cycle_of == i;
    }
    marey__hashmap_release(&ranks);
    return is_done;
}

enum marey_status marey__averages_about(const struct marey_averages *averages,
                                        struct marey_about *about, struct marey_error *err)
{
    struct marey_trace *trace = averages->trace;
    struct marey_about found = {.n_sources = 0};
    size_t n = 0;

    if (trace == NULL) {
        *about = averages->joined->about;
        return MAREY_OK;
    }
    MAREY_TRY(marey_trace_ledger(trace, &found.ledger, err));
    if (!count_sources(trace, &found) || !find_window(trace, found.n_processes, &found.window))
        return marey__fail_nomem(err);
    const struct marey_source *source = marey_trace_sources(trace, &n);
    found.rank = found.n_processes == 1 ? source->rank : 0;
    found.has_rank = found.n_processes == 1 && !source->rank_is_assumed;
    found.is_recorded = n > 0 && marey_trace_string(trace, source->path_id).len == 0;
    found.lacks_records = lacks_records(&found.ledger);
    found.whole_ns = whole_ns(trace);
    found.device_word = find_device_word(trace);
    *about = found;
    return MAREY_OK;
}
