/*
 * Tests of src/trace/nest.c and rows.c: order of slices, parents, crossings, self times.
 */
#include <inttypes.h>

#include "base/str.h"
#include "support/expect.h"
#include "support/make_trace.h"

enum { MOST = 120, LENGTH = 100 };

static void expect_parent(const struct marey_trace *trace, const char *name, int64_t start_ns,
                          const char *parent, int64_t parent_start_ns)
{
    const uint32_t idx = made_slice(trace, name, start_ns);
    const uint32_t got = marey_trace_slices(trace).parent_idx[idx];
    EXPECT_U64(got, parent == NULL ? MAREY_NONE : made_slice(trace, parent, parent_start_ns));
}

static int64_t self_of(struct marey_trace *trace, const char *name, int64_t start_ns)
{
    const int64_t *self_ns = NULL;
    EXPECT_STATUS(marey_trace_self_ns(trace, &self_ns, NULL), MAREY_OK);
    return self_ns[made_slice(trace, name, start_ns)];
}

static uint64_t crossings(const struct marey_trace *trace)
{
    size_t n = 0;
    uint64_t sum = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    for (size_t i = 0; i < n; i++)
        sum += tracks[i].n_crossings;
    return sum;
}

/* N1 */
static void nest_crossing_siblings(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "C", 1, 50);
    make_slice(&make, "cpu_op", "P", 0, 49);
    make_slice(&make, "cpu_op", "G", 0, 50);
    struct marey_trace *trace = make_trace_end(&make);
    expect_parent(trace, "G", 0, NULL, 0);
    expect_parent(trace, "P", 0, "G", 0);
    expect_parent(trace, "C", 1, "P", 0);
    EXPECT_I64(self_of(trace, "G", 0), 0);
    EXPECT_I64(self_of(trace, "P", 0), 1);
    EXPECT_I64(self_of(trace, "C", 1), 49);
    EXPECT_U64(crossings(trace), 1);
    EXPECT_TRUE(marey_trace_slices(trace).flags[made_slice(trace, "C", 1)] & MAREY_SLICE_CROSSES);
    marey_trace_free(trace);
}

/* N7: intervals are half-open, so a slice of no length is never a parent. */
static void nest_zero_length_slices(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 10);
    make_slice(&make, "cpu_op", "z", 10, 10);
    make_slice(&make, "cpu_op", "y", 10, 10);
    make_slice(&make, "cpu_op", "Q", 10, 20);
    struct marey_trace *trace = make_trace_end(&make);
    expect_parent(trace, "z", 10, "Q", 10);
    expect_parent(trace, "y", 10, "Q", 10);
    expect_parent(trace, "Q", 10, NULL, 0);
    EXPECT_U64(crossings(trace), 0);
    marey_trace_free(trace);
}

static void nest_unknown_durations_as_leaves(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_timed(&make, "cpu_op", "u", 0, MAREY_UNKNOWN);
    make_slice(&make, "cpu_op", "P", 0, 10);
    make_slice(&make, "cpu_op", "C", 2, 4);
    struct marey_trace *trace = make_trace_end(&make);
    expect_parent(trace, "u", 0, "P", 0);
    expect_parent(trace, "C", 2, "P", 0);
    const uint32_t u = made_slice(trace, "u", 0);
    EXPECT_I64(marey_trace_slices(trace).dur_ns[u], MAREY_UNKNOWN);
    EXPECT_TRUE(marey_trace_slices(trace).flags[u] & MAREY_SLICE_UNKNOWN_DUR);
    EXPECT_I64(self_of(trace, "u", 0), 0);
    EXPECT_I64(self_of(trace, "P", 0), 8);
    marey_trace_free(trace);
}

/* The order of kinds on one interval, outermost first. */
static void nest_kinds_on_one_interval(void **state)
{
    (void)state;
    static const char *const categories[] = {"cuda_runtime", "cpu_op", "python_function",
                                             "user_annotation", "Trace"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (size_t i = 0; i < 5; i++)
        make_slice(&make, categories[i], categories[i], 0, 10);
    make_slice(&make, NULL, "cpu_oq", 0, 10); /* no category: as an op, by name */
    struct marey_trace *trace = make_trace_end(&make);
    expect_parent(trace, "Trace", 0, NULL, 0);
    expect_parent(trace, "user_annotation", 0, "Trace", 0);
    expect_parent(trace, "python_function", 0, "user_annotation", 0);
    expect_parent(trace, "cpu_op", 0, "python_function", 0);
    expect_parent(trace, "cpu_oq", 0, "cpu_op", 0);
    expect_parent(trace, "cuda_runtime", 0, "cpu_oq", 0);
    marey_trace_free(trace);
}

static void nest_gives_device_rows_no_parents(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "a", 0, 10);
    make_slice(&make, "kernel", "b", 2, 20);
    struct marey_trace *trace = make_trace_end(&make);
    expect_parent(trace, "b", 2, NULL, 0);
    EXPECT_I64(self_of(trace, "a", 0), 2);
    EXPECT_I64(self_of(trace, "b", 2), 18);
    EXPECT_U64(crossings(trace), 0);
    marey_trace_free(trace);
}

static void nest_times_at_the_ends_of_64_bits(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_timed(&make, "cpu_op", "late", INT64_MAX - 10, 10);
    make_timed(&make, "cpu_op", "over", INT64_MAX - 10, 11);
    make_timed(&make, "cpu_op", "early", INT64_MIN + 1, INT64_MAX);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(marey_trace_slices(trace).n, 2);
    EXPECT_I64(self_of(trace, "late", INT64_MAX - 10), 10);
    EXPECT_I64(self_of(trace, "early", INT64_MIN + 1), INT64_MAX);
    size_t n = 0;
    const struct marey_quarantined *rows = marey_trace_quarantined(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_STR(rows[0].reason, "time_range");
    marey_trace_free(trace);
}

/* ---- against a slow reference ------------------------------------------------- */

struct interval {
    int64_t start_ns;
    int64_t dur_ns;
    uint32_t category;
    uint32_t name;
    uint32_t thread;
};

static const char *const categories[] = {
    "cpu_op", "user_annotation", "python_function", "cuda_runtime", "cuda_driver", "Trace", NULL};
static const char *const names[] = {"a", "b", "c"};
static const char *const threads[] = {"1", "2"};

/* Any intervals, or such that never cross: lengths are powers of two, starts multiples of
 * the length. */
static size_t draw(uint64_t *seed, struct interval *list)
{
    const size_t n = 1 + make_random_below(seed, MOST - 1);
    const bool is_nested = make_random_below(seed, 2) == 0;
    const uint64_t longest = make_random_below(seed, 2) == 0 ? 8 : LENGTH;
    for (size_t i = 0; i < n; i++) {
        list[i] = (struct interval){
            .start_ns = (int64_t)make_random_below(seed, LENGTH),
            .dur_ns = (int64_t)make_random_below(seed, longest),
            .category = (uint32_t)make_random_below(seed, 7),
            .name = (uint32_t)make_random_below(seed, 3),
            .thread = (uint32_t)make_random_below(seed, 2),
        };
        if (is_nested) {
            list[i].dur_ns = INT64_C(1) << make_random_below(seed, 7);
            list[i].start_ns -= list[i].start_ns % list[i].dur_ns;
        }
        if (make_random_below(seed, 20) == 0)
            list[i].dur_ns = make_random_below(seed, 2) == 0 ? MAREY_UNKNOWN : 0;
    }
    return n;
}

static struct marey_trace *build(const struct interval *list, const uint32_t *place, size_t n)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (size_t i = 0; i < n; i++) {
        const struct interval *slice = &list[place[i]];
        make_thread(&make, "1", threads[slice->thread]);
        make_timed(&make, categories[slice->category], names[slice->name], slice->start_ns,
                   slice->dur_ns);
    }
    return make_trace_end(&make);
}

/* The innermost open slice of [from, to) at an instant: the last in the order of the track. */
static uint32_t innermost(const struct marey_slices *s, uint32_t from, uint32_t to, int64_t t)
{
    for (uint32_t i = to; i-- > from;)
        if (s->dur_ns[i] > 0 && s->start_ns[i] <= t && t < s->start_ns[i] + s->dur_ns[i])
            return i;
    return MAREY_NONE;
}

static void check_track(const struct marey_slices *s, const struct marey_track *track,
                        const int64_t *self_ns)
{
    const uint32_t from = track->first_slice;
    const uint32_t to = from + track->n_slices;
    int64_t want_ns[MOST] = {0};
    uint32_t n_crossings = 0;
    for (int64_t now = 0; now < 2 * LENGTH; now++) {
        const uint32_t i = innermost(s, from, to, now);
        if (i != MAREY_NONE)
            want_ns[i - from]++;
    }
    for (uint32_t i = from; i < to; i++) {
        const uint32_t parent = innermost(s, from, i, s->start_ns[i]);
        const bool crosses =
            parent != MAREY_NONE && s->dur_ns[i] > 0 &&
            s->start_ns[i] + s->dur_ns[i] > s->start_ns[parent] + s->dur_ns[parent];
        EXPECT_U64(s->parent_idx[i], parent);
        EXPECT_I64(self_ns[i], want_ns[i - from]);
        EXPECT_TRUE(((s->flags[i] & MAREY_SLICE_CROSSES) != 0) == crosses);
        n_crossings += crosses;
    }
    EXPECT_U64(track->n_crossings, n_crossings);
}

static uint32_t rank_of(const struct marey_trace *trace, uint32_t i)
{
    switch (marey_trace_slice_kind(trace, i)) {
    case MAREY_KIND_WINDOW:
        return 0;
    case MAREY_KIND_ANNOTATION:
        return 1;
    case MAREY_KIND_PYTHON:
        return 2;
    case MAREY_KIND_RUNTIME:
    case MAREY_KIND_DRIVER:
        return 4;
    case MAREY_KIND_OP:
    case MAREY_KIND_OTHER:
    case MAREY_KIND_KERNEL:
    case MAREY_KIND_MEMCPY:
    case MAREY_KIND_MEMSET:
    case MAREY_KIND_DEVICE_ANNOTATION:
    case MAREY_KIND_SYNC:
    case MAREY_KIND_DEVICE_EVENT:
    case MAREY_KIND_OVERHEAD:
    case MAREY_KIND_MEMORY:
    case MAREY_KIND_COUNTER:
    case MAREY_KIND_FLOW:
        return 3;
    case MAREY_N_KINDS:
        break;
    }
    return 5;
}

/* R2's order: start up, end down, rank, name. */
static bool goes_before(const struct marey_trace *trace, uint32_t a, uint32_t b)
{
    const struct marey_slices s = marey_trace_slices(trace);
    const int64_t dur_a = s.dur_ns[a] == MAREY_UNKNOWN ? 0 : s.dur_ns[a];
    const int64_t dur_b = s.dur_ns[b] == MAREY_UNKNOWN ? 0 : s.dur_ns[b];
    if (s.start_ns[a] != s.start_ns[b])
        return s.start_ns[a] < s.start_ns[b];
    if (dur_a != dur_b)
        return dur_a > dur_b;
    if (rank_of(trace, a) != rank_of(trace, b))
        return rank_of(trace, a) < rank_of(trace, b);
    return marey__str_compare(marey_trace_string(trace, s.name_id[a]),
                              marey_trace_string(trace, s.name_id[b])) <= 0;
}

static void nest_agrees_with_a_slow_reference(void **state)
{
    (void)state;
    struct interval list[MOST];
    uint32_t place[MOST];
    uint64_t seed = make_seed("nest");
    for (uint32_t i = 0; i < MOST; i++)
        place[i] = i;

    for (int round = 0; round < 200; round++) {
        const size_t n = draw(&seed, list);
        struct marey_trace *trace = build(list, place, n);
        const struct marey_slices s = marey_trace_slices(trace);
        const int64_t *self_ns = NULL;
        size_t n_tracks = 0;
        const struct marey_track *tracks = marey_trace_tracks(trace, &n_tracks);
        EXPECT_U64(s.n, n);
        EXPECT_STATUS(marey_trace_self_ns(trace, &self_ns, NULL), MAREY_OK);
        for (size_t t = 0; t < n_tracks; t++) {
            check_track(&s, &tracks[t], self_ns);
            for (uint32_t i = 1; i < tracks[t].n_slices; i++)
                EXPECT_TRUE(
                    goes_before(trace, tracks[t].first_slice + i - 1, tracks[t].first_slice + i));
            EXPECT_U64(marey_trace_slice_track(trace, tracks[t].first_slice), t);
        }
        marey_trace_free(trace);
    }
}

/* Law 6 */
static void nest_is_the_same_for_every_order_of_records(void **state)
{
    (void)state;
    struct interval list[MOST];
    uint32_t place[MOST];
    uint64_t seed = make_seed("shuffle");

    for (int round = 0; round < 100; round++) {
        const size_t n = draw(&seed, list);
        for (uint32_t i = 0; i < n; i++)
            place[i] = i;
        struct marey_trace *trace = build(list, place, n);
        for (size_t i = n; i-- > 1;) {
            const size_t other = make_random_below(&seed, i + 1);
            const uint32_t moved = place[i];
            place[i] = place[other];
            place[other] = moved;
        }
        struct marey_trace *shuffled = build(list, place, n);
        const struct marey_slices a = marey_trace_slices(trace);
        const struct marey_slices b = marey_trace_slices(shuffled);
        EXPECT_U64(a.n, b.n);
        for (uint32_t i = 0; i < a.n; i++) {
            EXPECT_I64(a.start_ns[i], b.start_ns[i]);
            EXPECT_I64(a.dur_ns[i], b.dur_ns[i]);
            EXPECT_U64(a.parent_idx[i], b.parent_idx[i]);
            EXPECT_U64(a.flags[i], b.flags[i]);
            EXPECT_U64(marey_trace_slice_kind(trace, i), marey_trace_slice_kind(shuffled, i));
            EXPECT_TRUE(marey__str_is(marey_trace_string(trace, a.name_id[i]),
                                      marey_trace_string(shuffled, b.name_id[i])));
        }
        marey_trace_free(shuffled);
        marey_trace_free(trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nest_crossing_siblings),
        cmocka_unit_test(nest_zero_length_slices),
        cmocka_unit_test(nest_unknown_durations_as_leaves),
        cmocka_unit_test(nest_kinds_on_one_interval),
        cmocka_unit_test(nest_gives_device_rows_no_parents),
        cmocka_unit_test(nest_times_at_the_ends_of_64_bits),
        cmocka_unit_test(nest_agrees_with_a_slow_reference),
        cmocka_unit_test(nest_is_the_same_for_every_order_of_records),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
