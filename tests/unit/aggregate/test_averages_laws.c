/*
 * The laws of the numbers on random traces: the averages agree with a slow reference, sums
 * are conserved, the order of records does not matter, and want of memory does no harm.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "support/alloc_fail.h"
#include "support/make_trace.h"
#include "unit/aggregate/find_row.h"

/* ---- random records --------------------------------------------------------- */

enum {
    MOST_RECORDS = 160,
    LENGTH = 120, /* all of a trace lies in [0, 2 * LENGTH) */
    N_THREADS = 3,
    N_STREAMS = 3
};

struct record {
    uint32_t rank;
    uint32_t lane; /* a thread, or N_THREADS + a stream */
    const char *category;
    const char *name;
    int64_t start_ns;
    int64_t dur_ns;
    uint64_t correlation; /* 0: none */
};

static const char *const host_categories[] = {
    "cpu_op",       "cpu_op",      "cpu_op",   "user_annotation", "python_function",
    "cuda_runtime", "cuda_driver", "overhead", "Trace",           NULL};
static const char *const host_names[] = {"a", "b", "c", "aten::x.y"};
static const char *const call_names[] = {"cudaLaunchKernel", "cuLaunchKernel", "cudaFree"};
static const char *const device_categories[] = {"kernel", "gpu_memcpy", "gpu_memset"};
static const char *const device_names[] = {"k1", "k2", "a"};

/* Any times, or such that never cross: lengths are powers of two, starts multiples of the
 * length. */
static void draw_times(uint64_t *seed, struct record *record, bool is_nested)
{
    const uint64_t form = make_random_below(seed, 12);
    record->start_ns = (int64_t)make_random_below(seed, LENGTH);
    record->dur_ns = (int64_t)make_random_below(seed, form < 6 ? 10 : LENGTH);
    if (is_nested) {
        record->dur_ns = INT64_C(1) << make_random_below(seed, 7);
        record->start_ns -= record->start_ns % record->dur_ns;
    }
    if (form == 11)
        record->dur_ns = 0;
    if (form == 10 && make_random_below(seed, 2) == 0)
        record->dur_ns = MAREY_UNKNOWN;
}

static void draw(uint64_t *seed, struct record *record, bool is_nested)
{
    *record = (struct record){.rank = (uint32_t)make_random_below(seed, 2)};
    draw_times(seed, record, is_nested);
    record->correlation = make_random_below(seed, 9);
    if (make_random_below(seed, 4) == 0) {
        record->lane = N_THREADS + (uint32_t)make_random_below(seed, N_STREAMS);
        record->category = device_categories[make_random_below(seed, 3)];
        record->name = device_names[make_random_below(seed, 3)];
        return;
    }
    record->lane = (uint32_t)make_random_below(seed, N_THREADS);
    record->category = host_categories[make_random_below(seed, 10)];
    record->name = host_names[make_random_below(seed, 4)];
    if (record->category != NULL && strncmp(record->category, "cuda_", 5) == 0)
        record->name = call_names[make_random_below(seed, 3)];
    else
        record->correlation = 0;
}

static void add(struct make_trace *make, const struct record *record)
{
    static const char *const threads[N_THREADS] = {"1", "2", "3"};
    if (record->lane < N_THREADS)
        make_thread(make, "1", threads[record->lane]);
    else
        make_stream(make, (record->lane - N_THREADS) % 2, 7 + record->lane);
    if (record->correlation == 0) {
        (void)make_timed(make, record->category, record->name, record->start_ns, record->dur_ns);
        return;
    }
    const uint32_t name_id = marey__intern_c(marey__builder_strings(make->builder), record->name);
    const struct marey_new_slice slice = {
        .start_ns = record->start_ns,
        .dur_ns = record->dur_ns,
        .offset = MAREY_OFFSET(make->source_idx, make->next_byte),
        .correlation = record->correlation,
        .has_correlation = true,
        .track_idx = make->track_idx,
        .name_id = name_id,
        .cat_id = marey__builder_category(make->builder, marey__str(record->category)),
    };
    make->next_byte += 100;
    marey__builder_add_slice(make->builder, &slice);
}

/* The records of each rank in the order given by `place`. */
static struct marey_trace *build(const struct record *records, const uint32_t *place, size_t n)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (uint32_t rank = 0; rank < 2; rank++) {
        if (rank == 1)
            make_source(&make, 1);
        for (size_t i = 0; i < n; i++)
            if (records[place[i]].rank == rank)
                add(&make, &records[place[i]]);
    }
    return make_trace_end(&make);
}

/* ---- the slow reference ----------------------------------------------------- */

static bool is_open_at(const struct marey_slices *s, size_t i, int64_t t)
{
    return s->dur_ns[i] > 0 && s->start_ns[i] <= t && t < s->start_ns[i] + s->dur_ns[i];
}

/* The innermost open slice of [from, to) at an instant: the last one in law 2's order. */
static uint32_t innermost(const struct marey_slices *s, uint32_t from, uint32_t to, int64_t t)
{
    for (uint32_t i = to; i-- > from;)
        if (is_open_at(s, i, t))
            return i;
    return MAREY_NONE;
}

struct reference {
    struct marey_trace *trace;
    struct marey_slices s;
    int64_t self_ns[MOST_RECORDS];
    uint32_t parent[MOST_RECORDS];
    int64_t owned_ns[MOST_RECORDS];
    uint64_t n_owned[MOST_RECORDS];
    int64_t union_ns; /* of all threads */
};

static void refer(struct reference *ref, struct marey_trace *trace)
{
    *ref = (struct reference){.trace = trace, .s = marey_trace_slices(trace)};
    size_t n_tracks = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n_tracks);

    for (size_t t = 0; t < n_tracks; t++) {
        const uint32_t from = tracks[t].first_slice;
        const uint32_t to = from + tracks[t].n_slices;
        const bool is_thread = tracks[t].kind == MAREY_TRACK_THREAD;
        for (uint32_t i = from; i < to; i++)
            ref->parent[i] =
                is_thread ? innermost(&ref->s, from, i, ref->s.start_ns[i]) : MAREY_NONE;
        for (int64_t now = 0; now < 2 * LENGTH && is_thread; now++) {
            const uint32_t i = innermost(&ref->s, from, to, now);
            if (i == MAREY_NONE)
                continue;
            ref->self_ns[i]++;
            ref->union_ns++;
        }
    }

    struct marey_owners owners = {0};
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    const struct marey_links links = marey_trace_links(trace);
    for (size_t i = 0; i < links.n; i++) {
        const int64_t dur = ref->s.dur_ns[links.slice_idx[i]];
        if (owners.owner_idx[i] == MAREY_NONE)
            continue;
        ref->n_owned[owners.owner_idx[i]]++;
        ref->owned_ns[owners.owner_idx[i]] += dur == MAREY_UNKNOWN ? 0 : dur;
    }
}

static enum marey_kind kind_of(const struct reference *ref, uint32_t i)
{
    return marey_trace_slice_kind(ref->trace, i);
}

static bool is_of_row(const struct reference *ref, const struct marey_average *row, uint32_t i)
{
    return i != MAREY_NONE && ref->s.name_id[i] == row->name_id && kind_of(ref, i) == row->kind &&
           marey_kind_is_device_operation(row->kind) ==
               marey_kind_is_device_operation(kind_of(ref, i));
}

static bool has_ancestor_of_row(const struct reference *ref, const struct marey_average *row,
                                uint32_t i)
{
    for (uint32_t up = ref->parent[i]; up != MAREY_NONE; up = ref->parent[up])
        if (is_of_row(ref, row, up))
            return true;
    return false;
}

/* What of a slice no earlier slice of the row on its track covers: the sum over a row is
 * the measure of the union, recursion counted once. Slices come in order of their start. */
static int64_t fresh_part(const struct reference *ref, const struct marey_average *row, uint32_t i)
{
    const uint32_t track = marey_trace_slice_track(ref->trace, i);
    const int64_t end = ref->s.start_ns[i] + ref->s.dur_ns[i];
    int64_t from = ref->s.start_ns[i];
    for (uint32_t earlier = 0; earlier < i; earlier++) {
        if (!is_of_row(ref, row, earlier) || ref->s.dur_ns[earlier] == MAREY_UNKNOWN ||
            marey_trace_slice_track(ref->trace, earlier) != track)
            continue;
        const int64_t covered = ref->s.start_ns[earlier] + ref->s.dur_ns[earlier];
        from = covered > from ? covered : from;
    }
    return end > from ? end - from : 0;
}

static bool counts_inside(enum marey_kind kind)
{
    return kind == MAREY_KIND_OP || kind == MAREY_KIND_OTHER || kind == MAREY_KIND_ANNOTATION ||
           kind == MAREY_KIND_PYTHON;
}

/* Owned by a slice of the row or by what lies inside one, each owner once. */
static int64_t device_total(const struct reference *ref, const struct marey_average *row)
{
    int64_t total = 0;
    for (uint32_t i = 0; i < ref->s.n; i++)
        if (is_of_row(ref, row, i) ||
            (counts_inside(row->kind) && has_ancestor_of_row(ref, row, i)))
            total += ref->owned_ns[i];
    return total;
}

static int compare_times(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void check_row(const struct reference *ref, const struct marey_average *row)
{
    int64_t times[MOST_RECORDS];
    uint64_t n_calls = 0;
    uint64_t n_owned = 0;
    size_t n = 0;
    int64_t self = 0;
    int64_t total = 0;
    int64_t sum = 0;
    int64_t owned = 0;
    const bool is_device = marey_kind_is_device_operation(row->kind);

    for (uint32_t i = 0; i < ref->s.n; i++) {
        if (!is_of_row(ref, row, i))
            continue;
        n_calls++;
        n_owned += ref->n_owned[i];
        owned += ref->owned_ns[i];
        if (ref->s.dur_ns[i] == MAREY_UNKNOWN)
            continue;
        times[n++] = ref->s.dur_ns[i];
        sum += ref->s.dur_ns[i];
        self += is_device ? ref->s.dur_ns[i] : ref->self_ns[i];
        total += is_device ? ref->s.dur_ns[i] : fresh_part(ref, row, i);
    }
    qsort(times, n, sizeof *times, compare_times);
    EXPECT_U64(row->n_calls, n_calls);
    EXPECT_U64(row->n_timed, n);
    EXPECT_I64(row->self_ns, n == 0 ? MAREY_UNKNOWN : self);
    EXPECT_I64(row->total_ns, n == 0 ? MAREY_UNKNOWN : total);
    EXPECT_TRUE(row->self_ns <= row->total_ns);
    EXPECT_I64(row->sum_ns, n == 0 ? MAREY_UNKNOWN : sum);
    EXPECT_I64(row->min_ns, n == 0 ? MAREY_UNKNOWN : times[0]);
    EXPECT_I64(row->max_ns, n == 0 ? MAREY_UNKNOWN : times[n - 1]);
    EXPECT_I64(row->p50_ns, n == 0 ? MAREY_UNKNOWN : times[(n + 1) / 2 - 1]);
    EXPECT_I64(row->p99_ns, n == 0 ? MAREY_UNKNOWN : times[(99 * n + 99) / 100 - 1]);
    EXPECT_U64(row->n_device_operations, n_owned);
    EXPECT_I64(row->device_self_ns == MAREY_UNKNOWN ? 0 : row->device_self_ns, owned);
    EXPECT_I64(row->device_total_ns == MAREY_UNKNOWN ? 0 : row->device_total_ns,
               device_total(ref, row));
}

/* Union of the operations of one (rank, device), by instants. */
static int64_t busy(const struct reference *ref, int64_t rank, int64_t device)
{
    size_t n_tracks = 0;
    size_t n_sources = 0;
    int64_t sum = 0;
    const struct marey_track *tracks = marey_trace_tracks(ref->trace, &n_tracks);
    const struct marey_source *sources = marey_trace_sources(ref->trace, &n_sources);
    for (int64_t now = 0; now < 2 * LENGTH; now++) {
        bool is_busy = false;
        for (size_t t = 0; t < n_tracks; t++)
            if (tracks[t].kind == MAREY_TRACK_STREAM && tracks[t].device == device &&
                sources[tracks[t].source_idx].rank == rank &&
                innermost(&ref->s, tracks[t].first_slice,
                          tracks[t].first_slice + tracks[t].n_slices, now) != MAREY_NONE)
                is_busy = true;
        sum += is_busy;
    }
    return sum;
}

static void check_totals(const struct reference *ref, const struct marey_averages *averages)
{
    const struct marey_totals totals = marey_averages_totals(averages);
    int64_t rest = 0; /* windows and overhead take time from what is around them */
    int64_t device = 0;
    int64_t overhead = 0;
    int64_t python = 0;
    int64_t owned = 0;
    for (uint32_t i = 0; i < ref->s.n; i++) {
        const enum marey_kind kind = kind_of(ref, i);
        const int64_t dur = ref->s.dur_ns[i] == MAREY_UNKNOWN ? 0 : ref->s.dur_ns[i];
        const bool is_rest = kind == MAREY_KIND_OVERHEAD || kind == MAREY_KIND_WINDOW;
        rest += is_rest ? ref->self_ns[i] : 0;
        python += kind == MAREY_KIND_PYTHON ? ref->self_ns[i] : 0;
        overhead += kind == MAREY_KIND_OVERHEAD ? dur : 0;
        device += marey_kind_is_device_operation(kind) ? dur : 0;
        owned += ref->owned_ns[i];
    }
    EXPECT_I64(totals.host_self_ns + rest, ref->union_ns);
    EXPECT_I64(totals.python_self_ns, python);
    EXPECT_I64(totals.overhead_ns, overhead);
    EXPECT_I64(totals.device_sum_ns, device);
    EXPECT_I64(totals.unowned_ns, device - owned);
    int64_t busy_ns = 0;
    for (int64_t i = 0; i < 4; i++)
        busy_ns += busy(ref, i / 2, i % 2);
    EXPECT_I64(totals.device_busy_ns, busy_ns);
}

/* ---- tests ------------------------------------------------------------------ */

static size_t draw_all(uint64_t *seed, struct record *records, uint32_t *place)
{
    const size_t n = 1 + make_random_below(seed, MOST_RECORDS - 1);
    const bool is_nested = make_random_below(seed, 2) == 0;
    for (size_t i = 0; i < n; i++) {
        draw(seed, &records[i], is_nested);
        place[i] = (uint32_t)i;
    }
    return n;
}

static const struct marey_averages_options with_all = {.percentiles = true, .include_python = true};

static void averages_agree_with_a_slow_reference(void **state)
{
    (void)state;
    static struct reference ref;
    struct record records[MOST_RECORDS];
    uint32_t place[MOST_RECORDS];
    uint64_t seed = make_seed("averages");

    for (int round = 0; round < 150; round++) {
        const size_t n = draw_all(&seed, records, place);
        struct marey_trace *trace = build(records, place, n);
        struct marey_averages *averages = average(trace, with_all);
        size_t n_rows = 0;
        const struct marey_average *rows = marey_averages_rows(averages, &n_rows);
        uint64_t n_calls = 0;
        refer(&ref, trace);
        for (size_t i = 0; i < n_rows; i++) {
            check_row(&ref, &rows[i]);
            n_calls += rows[i].n_calls;
        }
        for (uint32_t i = 0; i < ref.s.n; i++)
            n_calls +=
                kind_of(&ref, i) == MAREY_KIND_OVERHEAD || kind_of(&ref, i) == MAREY_KIND_WINDOW;
        EXPECT_U64(n_calls, n);
        check_totals(&ref, averages);
        marey_averages_free(averages);
        marey_trace_free(trace);
    }
}

/* Σ over rows: what is shown or hidden changes no sum. */
static void averages_conserve_time_whatever_is_shown(void **state)
{
    (void)state;
    struct record records[MOST_RECORDS];
    uint32_t place[MOST_RECORDS];
    uint64_t seed = make_seed("shown");

    for (int round = 0; round < 60; round++) {
        const size_t n = draw_all(&seed, records, place);
        struct marey_trace *trace = build(records, place, n);
        struct marey_averages *whole = average(trace, with_all);
        struct marey_averages *part =
            average(trace, (struct marey_averages_options){.top_level = true});
        const struct marey_totals a = marey_averages_totals(whole);
        const struct marey_totals b = marey_averages_totals(part);
        EXPECT_TRUE(memcmp(&a, &b, sizeof a) == 0);

        size_t n_rows = 0;
        int64_t host = 0;
        int64_t owned = 0;
        int64_t device = 0;
        const struct marey_average *rows = marey_averages_rows(whole, &n_rows);
        for (size_t i = 0; i < n_rows; i++) {
            const bool is_device = marey_kind_is_device_operation(rows[i].kind);
            const int64_t self = rows[i].self_ns == MAREY_UNKNOWN ? 0 : rows[i].self_ns;
            host += is_device ? 0 : self;
            device += is_device ? self : 0;
            owned += rows[i].device_self_ns == MAREY_UNKNOWN ? 0 : rows[i].device_self_ns;
        }
        EXPECT_I64(host, a.host_self_ns);
        EXPECT_I64(device, a.device_sum_ns);
        EXPECT_I64(owned + a.unowned_ns, a.device_sum_ns);
        marey_averages_free(part);
        marey_averages_free(whole);
        marey_trace_free(trace);
    }
}

static void expect_same_row(const struct marey_averages *x, const struct marey_average *a,
                            const struct marey_averages *y, const struct marey_average *b)
{
    EXPECT_TRUE(
        marey__str_is(marey_averages_string(x, a->name_id), marey_averages_string(y, b->name_id)));
    EXPECT_TRUE((a->name_id == MAREY_NONE) == (b->name_id == MAREY_NONE));
    EXPECT_U64(a->kind, b->kind);
    EXPECT_U64(a->first_slice, b->first_slice);
    EXPECT_U64(a->n_calls, b->n_calls);
    EXPECT_U64(a->n_timed, b->n_timed);
    EXPECT_I64(a->self_ns, b->self_ns);
    EXPECT_I64(a->total_ns, b->total_ns);
    EXPECT_I64(a->sum_ns, b->sum_ns);
    EXPECT_I64(a->min_ns, b->min_ns);
    EXPECT_I64(a->max_ns, b->max_ns);
    EXPECT_I64(a->p50_ns, b->p50_ns);
    EXPECT_I64(a->p99_ns, b->p99_ns);
    EXPECT_I64(a->device_self_ns, b->device_self_ns);
    EXPECT_I64(a->device_total_ns, b->device_total_ns);
    EXPECT_U64(a->n_device_operations, b->n_device_operations);
}

static void averages_are_the_same_for_every_order_of_records(void **state)
{
    (void)state;
    struct record records[MOST_RECORDS];
    uint32_t place[MOST_RECORDS];
    uint64_t seed = make_seed("order");

    for (int round = 0; round < 80; round++) {
        const size_t n = draw_all(&seed, records, place);
        struct marey_trace *trace = build(records, place, n);
        for (size_t i = n; i-- > 1;) {
            const size_t other = make_random_below(&seed, i + 1);
            const uint32_t moved = place[i];
            place[i] = place[other];
            place[other] = moved;
        }
        struct marey_trace *shuffled = build(records, place, n);
        struct marey_averages *x = average(trace, with_all);
        struct marey_averages *y = average(shuffled, with_all);
        size_t n_x = 0;
        size_t n_y = 0;
        const struct marey_average *a = marey_averages_rows(x, &n_x);
        const struct marey_average *b = marey_averages_rows(y, &n_y);
        EXPECT_U64(n_x, n_y);
        for (size_t i = 0; i < n_x; i++)
            expect_same_row(x, &a[i], y, &b[i]);
        marey_averages_free(y);
        marey_averages_free(x);
        marey_trace_free(shuffled);
        marey_trace_free(trace);
    }
}

static const struct marey_averages_options every_option = {.size = sizeof every_option,
                                                           .by_shape = true,
                                                           .by_overload = true,
                                                           .by_stack = 2,
                                                           .percentiles = true,
                                                           .include_python = true,
                                                           .by_rank = true};

/* A trace that makes every column of the averages grow; then all its memory is counted. */
static enum marey_status average_once(void *ctx, const struct marey_alloc *alloc)
{
    struct made_provider *provider = ctx;
    struct make_trace make;
    struct marey_trace *trace = NULL;
    struct marey_averages *averages = NULL;
    static const char *const names[] = {"aten::a.b", "b", "c", "d", "e", "f", "g", "h"};
    static const char *const args[] = {"{\"Input Dims\": [[1]], \"Call stack\": \"x;y\"}",
                                       "{\"Input Dims\": \"[[2]]\"}", "{}"};
    enum marey_status status = MAREY_NOMEM;

    provider->n = 0;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return status;
    }
    make.provider = provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "python_function", "main", 0, 1000);
    for (int i = 0; i < 60; i++) {
        make_slice(&make, "cpu_op", names[i % 8], i, 1000 - i);
        make_args(&make, args[i % 3]);
    }
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 500, 501, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 600, 700, 1);
    make_stream(&make, 0, 8);
    make_call(&make, "kernel", "k", 620, 720, 1);

    status = make_trace_finish(&make, &trace, NULL);
    if (status == MAREY_OK)
        status = marey_averages_new(trace, &every_option, &averages, NULL);
    if (status != MAREY_OK)
        EXPECT_TRUE(averages == NULL);
    marey_averages_free(averages);
    marey_trace_free(trace);
    return status;
}

static void averages_survive_want_of_memory(void **state)
{
    (void)state;
    static struct made_provider provider;
    EXPECT_TRUE(alloc_fail_sweep(average_once, &provider) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_agree_with_a_slow_reference),
        cmocka_unit_test(averages_conserve_time_whatever_is_shown),
        cmocka_unit_test(averages_are_the_same_for_every_order_of_records),
        cmocka_unit_test(averages_survive_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
