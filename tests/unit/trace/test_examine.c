/*
 * Tests of src/trace/examine.c and what it calls, and of clip.c and grade.c: what a trace as a
 * whole shows.
 */
#include <string.h>

#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/ledger.h"
#include "support/make_trace.h"

static int64_t dur_of(const struct marey_trace *trace, const char *name, int64_t start_ns)
{
    return marey_trace_slices(trace).dur_ns[made_slice(trace, name, start_ns)];
}

/* ---- wild durations ----------------------------------------------------------------- */

/* Operations of 10 ns every 100, from 100 on. */
static void make_steady(struct make_trace *make, int n)
{
    make_stream(make, 0, 7);
    for (int i = 0; i < n; i++)
        make_slice(make, "kernel", "k", 100 + 100 * i, 110 + 100 * i);
}

static void a_wild_duration_ends_at_the_next_operation(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_steady(&make, 20);
    make_timed(&make, "kernel", "wild", 250, 1001);
    make_stream(&make, 0, 8);
    make_timed(&make, "kernel", "alone", 250, 100000);
    struct marey_trace *trace = make_trace_end(&make);

    EXPECT_U64(ledger_count(trace, "wild_duration"), 1);
    EXPECT_I64(dur_of(trace, "wild", 250), 50);
    EXPECT_I64(dur_of(trace, "alone", 250), 100000);
    const uint32_t wild = made_slice(trace, "wild", 250);
    EXPECT_I64(marey_trace_raw_dur_ns(trace, wild), 1001);
    EXPECT_I64(marey_trace_raw_dur_ns(trace, made_slice(trace, "k", 100)), 10);
    size_t n = 0;
    const struct marey_raw_dur *raw = marey_trace_raw_durs(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_U64(raw[0].slice_idx, wild);
    marey_trace_free(trace);
}

/* A hundred times the median is not beyond it; one whole successor is not two. */
static void what_may_be_is_not_clipped(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_steady(&make, 20);
    make_timed(&make, "kernel", "long", 250, 1000);
    make_stream(&make, 0, 8);
    make_steady(&make, 3);
    make_stream(&make, 0, 9);
    make_slice(&make, "kernel", "k", 0, 10);
    make_timed(&make, "kernel", "over one", 20, 5000);
    make_slice(&make, "kernel", "k", 30, 40);
    make_slice(&make, "kernel", "k", 5015, 5025);
    make_timed(&make, "kernel", "over the unknown", 6000, 5000);
    make_timed(&make, "kernel", "k", 6010, MAREY_UNKNOWN);
    make_timed(&make, "kernel", "k", 6020, 10);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "wild_duration"), 0);
    marey_trace_free(trace);
}

static void each_wild_duration_is_judged_by_the_raw_ones(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_steady(&make, 40);
    make_timed(&make, "kernel", "w1", 250, 2000);
    make_timed(&make, "kernel", "w2", 250, 1500); /* the same start: both end at the next later */
    make_timed(&make, "kernel", "w3", 460, 1200);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "wild_duration"), 3);
    EXPECT_I64(dur_of(trace, "w1", 250), 50);
    EXPECT_I64(dur_of(trace, "w2", 250), 50);
    EXPECT_I64(dur_of(trace, "w3", 460), 40);
    size_t n = 0;
    const struct marey_raw_dur *raw = marey_trace_raw_durs(trace, &n);
    for (size_t i = 1; i < n; i++)
        EXPECT_TRUE(raw[i - 1].slice_idx < raw[i].slice_idx);
    marey_trace_free(trace);
}

/* The median of what is written is less than that of what was read. */
static void what_is_cut_leaves_nothing_to_cut(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_timed(&make, "kernel", "second", 100, 50000);
    for (int i = 0; i < 3; i++) {
        make_timed(&make, "kernel", "k", 110 + 20 * i, 1);
        make_timed(&make, "kernel", "first", 120 + 20 * i, 300000 + i);
    }
    make_slice(&make, "kernel", "k", 170, 171);
    make_slice(&make, "kernel", "long", 180, 780);
    make_slice(&make, "kernel", "long", 800, 1400);
    make_thread(&make, "1", "1");
    make_begin(&make, "user_annotation", "open", 50);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "wild_duration"), 4);
    EXPECT_I64(dur_of(trace, "second", 100), 10);
    EXPECT_I64(dur_of(trace, "first", 120), 10);
    EXPECT_I64(dur_of(trace, "open", 50), 1350);
    size_t n = 0;
    const struct marey_raw_dur *raw = marey_trace_raw_durs(trace, &n);
    for (size_t i = 1; i < n; i++)
        EXPECT_TRUE(raw[i - 1].slice_idx < raw[i].slice_idx);
    marey_trace_free(trace);
}

/* Of two that begin together the one that goes first by its raw duration is cut: the other one is
 * judged as if it stood first, and lies around it. */
static void what_is_cut_takes_its_place_anew(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_timed(&make, "kernel", "k", 40, 10);
    make_timed(&make, "kernel", "first", 140, 50000);
    make_timed(&make, "kernel", "second", 140, 10000);
    make_timed(&make, "kernel", "k", 150, 0);
    make_stream(&make, 0, 8);
    make_call(&make, "kernel", "wild", 100, 10000100, 1);
    make_call(&make, "kernel", "outer", 100, 170, 2);
    make_timed(&make, "kernel", "unlinked", 150, 10);
    make_call(&make, "kernel", "k", 200, 210, 3);
    struct marey_trace *trace = make_trace_end(&make);
    const uint32_t outer = made_slice(trace, "outer", 100);
    const uint32_t wild = made_slice(trace, "wild", 100);

    EXPECT_U64(ledger_count(trace, "wild_duration"), 3);
    EXPECT_I64(dur_of(trace, "first", 140), 10);
    EXPECT_I64(dur_of(trace, "second", 140), 10);
    EXPECT_I64(dur_of(trace, "wild", 100), 50);
    EXPECT_U64(wild, outer + 1);
    EXPECT_I64(marey_trace_raw_dur_ns(trace, wild), 10000000);
    EXPECT_I64(marey_trace_raw_dur_ns(trace, outer), 70);
    const struct marey_links links = marey_trace_links(trace);
    EXPECT_U64(links.n, 3);
    EXPECT_U64(links.slice_idx[0], outer);
    EXPECT_U64(links.correlation[0], 2);
    EXPECT_U64(links.slice_idx[1], wild);
    EXPECT_U64(links.correlation[1], 1);
    const int64_t *self_ns = NULL;
    EXPECT_STATUS(marey_trace_self_ns(trace, &self_ns, NULL), MAREY_OK);
    EXPECT_I64(self_ns[outer], 10);
    EXPECT_I64(self_ns[wild], 50);
    marey_trace_free(trace);
}

/* Nor is another slice on its stream that never ends, which counts as no successor that ended. */
static void what_never_ends_is_not_as_long_as_a_wild_duration(void **state)
{
    (void)state;
    for (int64_t window_ns = 0; window_ns <= 5000; window_ns += 5000) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_stream(&make, 0, 7);
        make_timed(&make, "kernel", "wild", 250, 900000); /* before the rows that it covers */
        make_steady(&make, 20);
        make_begin(&make, "kernel", "open kernel", 2150);
        make_thread(&make, "1", "1");
        make_begin(&make, "user_annotation", "open", 50);
        make_begin(&make, "user_annotation", "late", 6000);
        make_end(&make, "late", 6000);
        if (window_ns > 0)
            make_slice(&make, "Trace", "PyTorch Profiler (0)", 0, window_ns);
        struct marey_trace *trace = make_trace_end(&make);
        const int64_t end_ns = window_ns > 0 ? window_ns : 6000;

        EXPECT_U64(ledger_count(trace, "wild_duration"), 1);
        EXPECT_I64(dur_of(trace, "wild", 250), 50);
        EXPECT_I64(dur_of(trace, "open", 50), end_ns - 50);
        EXPECT_I64(dur_of(trace, "open kernel", 2150), end_ns - 2150);
        marey_trace_free(trace);
    }
}

/* It has no length that could be usual: two that ended are enough, of those that begin with it or
 * later. What is left of it is a successor that ended, of which `wild` has but one more. */
static void what_never_ends_is_over_where_the_stream_went_on(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_timed(&make, "kernel", "wild", 10, 1000);
    make_begin(&make, "kernel", "open", 20);
    make_timed(&make, "kernel", "k", 900, 1);
    make_timed(&make, "kernel", "k", 1009, 2);
    make_stream(&make, 0, 8);
    make_begin(&make, "kernel", "short", 100);
    make_timed(&make, "kernel", "k", 120, 10);
    make_timed(&make, "kernel", "k", 140, 10);
    make_stream(&make, 0, 9);
    make_begin(&make, "kernel", "beside one", 100);
    make_timed(&make, "kernel", "k", 100, 2000);
    make_timed(&make, "kernel", "k", 130, 10);
    make_stream(&make, 0, 10);
    make_begin(&make, "kernel", "over one", 100);
    make_timed(&make, "kernel", "k", 120, 10);
    make_thread(&make, "1", "1");
    make_begin(&make, "user_annotation", "range", 5);
    struct marey_trace *trace = make_trace_end(&make);

    EXPECT_U64(ledger_count(trace, "wild_duration"), 4);
    EXPECT_I64(dur_of(trace, "wild", 10), 10);
    EXPECT_I64(dur_of(trace, "open", 20), 880);
    EXPECT_I64(dur_of(trace, "short", 100), 20);
    EXPECT_I64(dur_of(trace, "beside one", 100), 30);
    EXPECT_I64(dur_of(trace, "over one", 100), 2100 - 100);
    EXPECT_I64(dur_of(trace, "range", 5), 2100 - 5);
    const uint32_t open = made_slice(trace, "open", 20);
    EXPECT_I64(marey_trace_raw_dur_ns(trace, open), 2100 - 20);
    EXPECT_U64(marey_trace_slices(trace).flags[open], MAREY_SLICE_OPEN | MAREY_SLICE_FROM_BEGIN);
    marey_trace_free(trace);
}

/* As if it had no duration, like one that is not on a stream. */
static void what_never_ends_reaches_to_a_start_without_an_end(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_steady(&make, 3);
    make_timed(&make, "kernel", "no end", 369, MAREY_UNKNOWN);
    make_thread(&make, "1", "1");
    make_begin(&make, "user_annotation", "open", 355);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_I64(dur_of(trace, "open", 355), 369 - 355);
    marey_trace_free(trace);
}

static void what_begins_behind_the_window_lasts_to_the_last_slice(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 0, 100);
    make_begin(&make, "cpu_op", "in it", 100);
    make_begin(&make, "cpu_op", "behind", 101);
    make_slice(&make, "cpu_op", "a", 150, 160);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_I64(dur_of(trace, "in it", 100), 0);
    EXPECT_I64(dur_of(trace, "behind", 101), 59);
    marey_trace_free(trace);
}

/* ---- far times and long durations ------------------------------------------------------------ */

#define MINUTE_NS ((int64_t)60 * 1000000000)

/* Operators of 50 ns every 100, from 0 on, with one more, in a profiler's window or in none. */
static struct marey_trace *make_odd(int n, bool has_window, int64_t start_ns, int64_t dur_ns)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int i = 0; i < n; i++)
        make_timed(&make, "cpu_op", "a", 100 * (int64_t)i, 50);
    make_timed(&make, "cpu_op", "odd", start_ns, dur_ns);
    if (has_window) {
        make_thread(&make, "Spans", "P");
        make_slice(&make, "Trace", "PyTorch Profiler (0)", -100, 100 * (int64_t)n);
    }
    return make_trace_end(&make);
}

static void expect_odd(struct marey_trace *trace, uint64_t n_far, uint64_t n_long)
{
    struct marey_grade grade = {0};
    EXPECT_U64(ledger_count(trace, "far_slice"), n_far);
    EXPECT_U64(ledger_count(trace, "long_slice"), n_long);
    EXPECT_STATUS(marey_trace_grade(trace, &grade, NULL), MAREY_OK);
    EXPECT_U64(grade.letter, n_far + n_long > 0 ? 'C' : 'A');
    marey_trace_free(trace);
}

static void a_time_far_from_all_others_is_told(void **state)
{
    (void)state;
    expect_odd(make_odd(100, true, -2 * MINUTE_NS, 50), 1, 0);
    expect_odd(make_odd(100, true, 2 * MINUTE_NS, 50), 1, 0);
    expect_odd(make_odd(5000, true, 2 * MINUTE_NS, 0), 1, 0);
    expect_odd(make_odd(100, false, -61 * MINUTE_NS, 50), 1, 0);
    expect_odd(make_odd(100, false, -59 * MINUTE_NS, 50), 0, 0); /* a program may rest */
    expect_odd(make_odd(100, true, MINUTE_NS / 2, 50), 0, 0);
    expect_odd(make_odd(18, true, 61 * MINUTE_NS, 50), 1, 0);
    expect_odd(make_odd(18, false, 61 * MINUTE_NS, 50), 0, 0); /* too few to say which is odd */
    expect_odd(make_odd(100, false, INT64_MIN / 2, 50), 1, 0);
}

static void a_duration_beyond_all_others_is_told(void **state)
{
    (void)state;
    expect_odd(make_odd(100, true, 505, 2 * MINUTE_NS), 0, 1);
    expect_odd(make_odd(100, true, 505, MINUTE_NS / 2), 0, 0);
    expect_odd(make_odd(100, false, 505, 61 * MINUTE_NS), 0, 1); /* within "a" of 500 */
    expect_odd(make_odd(100, false, 560, 61 * MINUTE_NS), 0, 0); /* in nothing: it may be so */
    expect_odd(make_odd(100, true, -2 * MINUTE_NS, 2 * MINUTE_NS + 300), 0, 1);
}

/* A second session, or a window whose own time is damaged. */
static void what_windows_say_is_believed_where_they_are_near(void **state)
{
    (void)state;
    for (int is_damaged = 0; is_damaged < 2; is_damaged++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_thread(&make, "1", "1");
        for (int i = 0; i < 100; i++)
            make_timed(&make, "cpu_op", "a", 100 * (int64_t)i, 50);
        make_timed(&make, "cpu_op", "late", 100 * MINUTE_NS, 50);
        make_thread(&make, "Spans", "P");
        make_slice(&make, "Trace", "PyTorch Profiler (0)", is_damaged ? 99 * MINUTE_NS : 0,
                   101 * MINUTE_NS);
        expect_odd(make_trace_end(&make), is_damaged ? 2 : 0, 0);
    }
}

/* ---- clocks ---------------------------------------------------------------------------- */

static void make_launched(struct make_trace *make, int64_t at, int64_t start, int64_t end,
                          uint64_t correlation)
{
    make_thread(make, "1", "1");
    make_call(make, "cuda_runtime", "cudaLaunchKernel", at, at + 5, correlation);
    make_stream(make, 0, 7);
    make_call(make, "kernel", "k", start, end, correlation);
}

static struct marey_clock_bound only_bound(struct marey_trace *trace)
{
    const struct marey_clock_bound *bounds = NULL;
    size_t n = 0;
    EXPECT_STATUS(marey_trace_clock_bounds(trace, &bounds, &n, NULL), MAREY_OK);
    EXPECT_U64(n, 1);
    return bounds[0];
}

static void clocks_disagree_by_what_cannot_be(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_launched(&make, 100, 90, 95, 1);   /* begins 10 before its launch */
    make_launched(&make, 200, 210, 250, 2); /* ends 20 after the wait */
    make_launched(&make, 300, 310, 325, 3); /* ends in time */
    make_launched(&make, 400, 410, 437, 4); /* 7 after */
    make_thread(&make, "1", "2");
    make_call(&make, "cuda_runtime", "cudaDeviceSynchronize", 206, 230, 1000);
    make_call(&make, "cuda_runtime", "cudaDeviceSynchronize", 306, 330, 1001);
    make_call(&make, "cuda_driver", "cuCtxSynchronize", 406, 430, 1002);
    struct marey_trace *trace = make_trace_end(&make);

    EXPECT_U64(ledger_count(trace, "kernel_before_launch"), 1);
    EXPECT_U64(ledger_count(trace, "kernel_after_sync"), 2);
    const struct marey_clock_bound bound = only_bound(trace);
    EXPECT_I64(bound.leads_by_at_least_ns, 10);
    EXPECT_I64(bound.lags_by_at_least_ns, 20);
    EXPECT_I64(bound.first_at_ns, 210);
    marey_trace_free(trace);
}

/* A wait for a stream, of another process, that began before the launch had ended, or where
 * there are several devices. */
static void waits_that_prove_nothing_are_passed_over(void **state)
{
    (void)state;
    for (int form = 0; form < 4; form++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_launched(&make, 200, 210, 250, 2);
        make_thread(&make, form == 1 ? "2" : "1", "9");
        make_call(&make, "cuda_runtime",
                  form == 0 ? "cudaStreamSynchronize" : "cudaDeviceSynchronize",
                  form == 2 ? 204 : 206, 230, 1000);
        if (form == 3) {
            make_stream(&make, 1, 7);
            make_slice(&make, "kernel", "other", 0, 1);
        }
        struct marey_trace *trace = make_trace_end(&make);
        EXPECT_U64(ledger_count(trace, "kernel_after_sync"), 0);
        marey_trace_free(trace);
    }
}

/* ---- window, ranks, overlaps ---------------------------------------------------------------- */

static void operations_that_cross_the_window_are_counted(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "Spans", "PyTorch Profiler");
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 100, 200);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "before", 80, 100);
    make_slice(&make, "kernel", "in", 100, 120);
    make_slice(&make, "kernel", "across the end", 190, 201);
    make_slice(&make, "kernel", "after", 200, 210);
    make_stream(&make, 0, 8);
    make_slice(&make, "kernel", "across the begin", 99, 101);
    make_slice(&make, "kernel", "across both", 90, 300);
    make_source(&make, 1); /* another file has another window */
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "elsewhere", 90, 110);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "cut_by_window"), 3);
    marey_trace_free(trace);
}

static void make_world(struct make_trace *make, int64_t world_size)
{
    marey__builder_source(make->builder)->world_size = world_size;
    make_thread(make, "1", "1");
    make_slice(make, "cpu_op", "a", 0, 1);
}

static void ranks_that_are_missing_are_counted(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_world(&make, 8);
    make_source(&make, 2);
    make_world(&make, 8);
    make_source(&make, 2); /* twice */
    make_world(&make, 8);
    make_source(&make, 9); /* not of this job */
    make_world(&make, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "missing_ranks"), 6);
    EXPECT_U64(ledger_count(trace, "other_ranks"), 0);
    marey_trace_free(trace);
}

static void ranks_are_missing_in_the_file_of_their_job(void **state)
{
    (void)state;
    struct make_trace make;
    struct marey_ledger ledger = {0};
    make_trace_begin(&make, NULL);
    make_world(&make, MAREY_UNKNOWN); /* of no job */
    make_source(&make, 1);
    make_world(&make, 8);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "missing_ranks"), 6);
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (strcmp(ledger.rows[i].reason, "missing_ranks") == 0)
            EXPECT_U64(marey_place_of_offset(ledger.rows[i].example_offset[0]).source_idx, 1);
    marey_trace_free(trace);
}

static void one_file_alone_misses_nobody(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_world(&make, 8);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "missing_ranks"), 0);
    EXPECT_U64(ledger_count(trace, "other_ranks"), 7);
    marey_trace_free(trace);
}

/* Three sources with a slice of 10 ns each. */
static uint64_t count_apart(int64_t first_start, int64_t second_start, int64_t third_start)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", first_start, first_start + 10);
    make_source(&make, 1);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "b", second_start, second_start + 10);
    make_source(&make, 2);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "c", third_start, third_start + 10);
    struct marey_trace *trace = make_trace_end(&make);
    const uint64_t n = ledger_count(trace, "apart_in_time");
    marey_trace_free(trace);
    return n;
}

static void sources_that_lie_apart_in_time_are_counted(void **state)
{
    (void)state;
    EXPECT_U64(count_apart(100, 0, 200), 3);
    EXPECT_U64(count_apart(100, 0, 5), 1);
    EXPECT_U64(count_apart(0, 5, 100), 1);
    EXPECT_U64(count_apart(0, 10, 20), 0); /* they touch */
    EXPECT_U64(count_apart(50, 45, 55), 0);
}

static void overlaps_of_a_stream_are_counted(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "a", 0, 10);
    make_slice(&make, "kernel", "touches", 10, 30);
    make_slice(&make, "kernel", "overlaps", 15, 18);
    make_slice(&make, "kernel", "still", 20, 40);
    make_stream(&make, 0, 8);
    make_slice(&make, "kernel", "other stream", 5, 50);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(ledger_count(trace, "stream_overlap"), 2);
    marey_trace_free(trace);
}

/* ---- the grade ------------------------------------------------------------------------------- */

static struct marey_grade grade_of(struct marey_trace *trace)
{
    struct marey_grade grade = {0};
    EXPECT_STATUS(marey_trace_grade(trace, &grade, NULL), MAREY_OK);
    return grade;
}

/* n_lost of n operations have no launch. */
static char letter_with(int n_lost, int n)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int i = n_lost; i < n; i++)
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", i, i + 1, (uint64_t)i);
    make_stream(&make, 0, 7);
    for (int i = 0; i < n; i++)
        make_call(&make, "kernel", "k", 10000 + i, 10001 + i, (uint64_t)i);
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_grade grade = grade_of(trace);
    EXPECT_U64(grade.n_operations, n);
    EXPECT_U64(grade.n_with_launch, n - n_lost);
    EXPECT_U64(grade.n_launches, n - n_lost);
    EXPECT_U64(grade.n_with_operation, n - n_lost);
    EXPECT_TRUE(grade.letter == 'A' || strcmp(grade.because, "no_launch") == 0);
    marey_trace_free(trace);
    return grade.letter;
}

static void the_share_of_owned_operations_makes_the_grade(void **state)
{
    (void)state;
    EXPECT_U64(letter_with(0, 10), 'A');
    EXPECT_U64(letter_with(1, 1000), 'A');
    EXPECT_U64(letter_with(2, 1000), 'B');
    EXPECT_U64(letter_with(10, 1000), 'B');
    EXPECT_U64(letter_with(11, 1000), 'C');
    EXPECT_U64(letter_with(100, 1000), 'C');
    EXPECT_U64(letter_with(101, 1000), 'D');
    EXPECT_U64(letter_with(1, 1), 'D');
}

static void the_worst_reason_makes_the_grade(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(grade_of(trace).letter, 'D');
    EXPECT_STR(grade_of(trace).because, "no_events");
    marey_trace_free(trace);

    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 10);
    make_slice(&make, "cpu_op", "crosses", 5, 15);
    trace = make_trace_end(&make);
    EXPECT_U64(grade_of(trace).letter, 'A');
    EXPECT_TRUE(grade_of(trace).because == NULL);
    marey_trace_free(trace);
}

/* ---- memory
 * --------------------------------------------------------------------------------------- */

static enum marey_status examine_once(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    struct make_trace make;
    struct marey_trace *trace = NULL;
    struct marey_grade grade = {0};

    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    marey__builder_source(make.builder)->world_size = 3;
    marey__builder_set_checked(make.builder, MAREY_CHECK_ALL);
    make_steady(&make, 20);
    make_timed(&make, "kernel", "wild", 250, 1001);
    make_launched(&make, 200, 2010, 2050, 2);
    make_steady(&make, 20);
    make_timed(&make, "kernel", "wild", 250, 900000);
    make_timed(&make, "kernel", "beside", 250, 60);
    make_thread(&make, "1", "2");
    make_begin(&make, "cpu_op", "open", 210);
    make_call(&make, "cuda_runtime", "cudaDeviceSynchronize", 206, 230, 1000);
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 0, 2020);
    enum marey_status status = make_trace_finish(&make, &trace, NULL);
    for (int again = 0; status == MAREY_OK && again < 2; again++) {
        status = marey_trace_grade(trace, &grade, NULL);
        if (status != MAREY_OK) /* what was noted before must not be noted twice */
            EXPECT_U64(grade.letter, 0);
    }
    marey_trace_free(trace);
    return status;
}

static void want_of_memory_does_no_harm(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(examine_once, NULL) > 30);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_wild_duration_ends_at_the_next_operation),
        cmocka_unit_test(what_may_be_is_not_clipped),
        cmocka_unit_test(each_wild_duration_is_judged_by_the_raw_ones),
        cmocka_unit_test(what_is_cut_leaves_nothing_to_cut),
        cmocka_unit_test(what_is_cut_takes_its_place_anew),
        cmocka_unit_test(what_never_ends_is_not_as_long_as_a_wild_duration),
        cmocka_unit_test(what_never_ends_is_over_where_the_stream_went_on),
        cmocka_unit_test(what_never_ends_reaches_to_a_start_without_an_end),
        cmocka_unit_test(what_begins_behind_the_window_lasts_to_the_last_slice),
        cmocka_unit_test(a_time_far_from_all_others_is_told),
        cmocka_unit_test(a_duration_beyond_all_others_is_told),
        cmocka_unit_test(what_windows_say_is_believed_where_they_are_near),
        cmocka_unit_test(clocks_disagree_by_what_cannot_be),
        cmocka_unit_test(waits_that_prove_nothing_are_passed_over),
        cmocka_unit_test(operations_that_cross_the_window_are_counted),
        cmocka_unit_test(ranks_that_are_missing_are_counted),
        cmocka_unit_test(ranks_are_missing_in_the_file_of_their_job),
        cmocka_unit_test(one_file_alone_misses_nobody),
        cmocka_unit_test(sources_that_lie_apart_in_time_are_counted),
        cmocka_unit_test(overlaps_of_a_stream_are_counted),
        cmocka_unit_test(the_share_of_owned_operations_makes_the_grade),
        cmocka_unit_test(the_worst_reason_makes_the_grade),
        cmocka_unit_test(want_of_memory_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
