/*
 * Tests of the averages on small traces whose answers are known: nesting and self time
 * (N), the default order and the top level (B). Times of the rules are µs there, ns here.
 */
#include "support/make_trace.h"
#include "unit/aggregate/find_row.h"

static const struct marey_averages_options by_name = {0};

static void finish(struct marey_averages *averages, struct marey_trace *trace)
{
    marey_averages_free(averages);
    marey_trace_free(trace);
}

/* N1 */
static void averages_charge_crossing_siblings_once(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "G", 0, 50);
    make_slice(&make, "cpu_op", "P", 0, 49);
    make_slice(&make, "cpu_op", "C", 1, 50);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "G", 1, 50, 0);
    expect_op(averages, "P", 1, 49, 1);
    expect_op(averages, "C", 1, 49, 49);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 50);
    finish(averages, trace);
}

/* N2, B8 */
static void averages_charge_a_child_that_outlives_its_parent(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 100);
    make_slice(&make, "cpu_op", "A", 10, 110);
    make_slice(&make, "cpu_op", "B", 20, 30);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "P", 1, 100, 10);
    expect_op(averages, "A", 1, 100, 90);
    expect_op(averages, "B", 1, 10, 10);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 110);
    finish(averages, trace);
}

/* N3 */
static void averages_charge_a_child_that_ends_one_late(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "G", 0, 100);
    make_slice(&make, "cpu_op", "P", 10, 50);
    make_slice(&make, "cpu_op", "C", 20, 51);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "G", 1, 100, 59);
    expect_op(averages, "P", 1, 40, 10);
    expect_op(averages, "C", 1, 31, 31);
    finish(averages, trace);
}

static struct marey_trace *step_that_crosses_its_frame(void)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "python_function", "profiler.py(7): __enter__", -1, 5);
    make_slice(&make, "user_annotation", "ProfilerStep#1", 0, 1000);
    make_slice(&make, "cpu_op", "op1", 1, 3);
    make_slice(&make, "cpu_op", "op2", 10, 20);
    return make_trace_end(&make);
}

/* N4: a hidden Python function keeps its time. */
static void averages_hide_python_but_keep_its_time(void **state)
{
    (void)state;
    struct marey_trace *trace = step_that_crosses_its_frame();
    struct marey_averages *averages = average(trace, by_name);
    expect_host(averages, "ProfilerStep#1", MAREY_KIND_ANNOTATION, 1, 1000, 988);
    expect_op(averages, "op1", 1, 2, 2);
    expect_op(averages, "op2", 1, 10, 10);
    EXPECT_U64(count_rows(averages), 3);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 1001);
    EXPECT_I64(marey_averages_totals(averages).python_self_ns, 1);
    finish(averages, trace);
}

static void averages_show_python_when_asked(void **state)
{
    (void)state;
    struct marey_trace *trace = step_that_crosses_its_frame();
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.include_python = true});
    expect_host(averages, "profiler.py(7): __enter__", MAREY_KIND_PYTHON, 1, 6, 1);
    EXPECT_U64(count_rows(averages), 4);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 1001);
    EXPECT_I64(marey_averages_totals(averages).python_self_ns, 1);
    finish(averages, trace);
}

/* N5 */
static void averages_count_recursion_once(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 100);
    make_slice(&make, "cpu_op", "a", 10, 90);
    make_slice(&make, "cpu_op", "a", 20, 80);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 30, 32, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 110, 117, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.percentiles = true});
    expect_op(averages, "a", 3, 100, 98);
    expect_owned(averages, "a", MAREY_KIND_OP, 7, 7, 1);
    expect_host(averages, "cudaLaunchKernel", MAREY_KIND_RUNTIME, 1, 2, 2);
    const struct marey_average *a = need_row(averages, "a", MAREY_KIND_OP);
    EXPECT_I64(a->min_ns, 60);
    EXPECT_I64(a->max_ns, 100);
    EXPECT_I64(a->p50_ns, 80);
    EXPECT_I64(a->p99_ns, 100);
    finish(averages, trace);
}

/* Recursion ends with the slice, not with the thread; other kinds are other rows. */
static void averages_count_each_outermost_call(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 10);
    make_slice(&make, "cpu_op", "b", 2, 8);
    make_slice(&make, "cpu_op", "a", 3, 5);
    make_slice(&make, "cpu_op", "a", 20, 24);
    make_slice(&make, "user_annotation", "a", 19, 25);
    make_thread(&make, "1", "2");
    make_slice(&make, "cpu_op", "a", 0, 3);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "a", 4, 17, 4 + 2 + 4 + 3);
    expect_host(averages, "a", MAREY_KIND_ANNOTATION, 1, 6, 2);
    finish(averages, trace);
}

/* Where slices cross, the chain of parents may hold a call that has ended: what begins
 * then is no recursion, and of two calls that overlap only the rest of the later counts. */
static void averages_total_the_time_in_which_a_row_was_open(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 100);
    make_slice(&make, "cpu_op", "b", 10, 120);
    make_slice(&make, "cpu_op", "a", 105, 110);
    make_slice(&make, "cpu_op", "c", 200, 300);
    make_slice(&make, "cpu_op", "d", 210, 350);
    make_slice(&make, "cpu_op", "c", 290, 320);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "a", 2, 100 + 5, 10 + 5);
    expect_op(averages, "b", 1, 110, 105);
    expect_op(averages, "c", 2, 120, 10 + 30);
    expect_op(averages, "d", 1, 140, 110);
    finish(averages, trace);
}

/* N6 */
static void averages_break_ties_by_name_in_any_order(void **state)
{
    (void)state;
    for (int is_reversed = 0; is_reversed < 2; is_reversed++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", is_reversed ? "B" : "A", 0, 10);
        make_slice(&make, "cpu_op", is_reversed ? "A" : "B", 0, 10);
        struct marey_trace *trace = make_trace_end(&make);
        struct marey_averages *averages = average(trace, by_name);
        expect_op(averages, "A", 1, 10, 0);
        expect_op(averages, "B", 1, 10, 10);
        finish(averages, trace);
    }
}

/* N7, B2 */
static void averages_count_zero_length_slices(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 10);
    make_slice(&make, "cpu_op", "z", 10, 10);
    make_slice(&make, "cpu_op", "Q", 10, 20);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.percentiles = true});
    expect_op(averages, "P", 1, 10, 10);
    expect_op(averages, "Q", 1, 10, 10);
    expect_op(averages, "z", 1, 0, 0);
    const struct marey_average *z = need_row(averages, "z", MAREY_KIND_OP);
    EXPECT_U64(z->n_timed, 1);
    EXPECT_I64(z->min_ns, 0);
    EXPECT_I64(z->p50_ns, 0);
    finish(averages, trace);
}

/* N11 */
static void averages_put_an_annotation_around_an_op(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "p", 0, 10);
    make_begin(&make, "user_annotation", "c", 0);
    make_end(&make, "c", 10);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_host(averages, "c", MAREY_KIND_ANNOTATION, 1, 10, 0);
    expect_op(averages, "p", 1, 10, 10);
    finish(averages, trace);
}

/* N12 */
static void averages_ignore_the_order_of_records(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "z", 50, 50);
    make_slice(&make, "cpu_op", "D", 50, 100);
    make_slice(&make, "cpu_op", "C", 20, 30);
    make_slice(&make, "cpu_op", "P", 10, 50);
    make_slice(&make, "cpu_op", "G", 0, 100);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "G", 1, 100, 10);
    expect_op(averages, "P", 1, 40, 30);
    expect_op(averages, "C", 1, 10, 10);
    expect_op(averages, "D", 1, 50, 50);
    expect_op(averages, "z", 1, 0, 0);
    finish(averages, trace);
}

/* N13 */
static void averages_leave_asynchronous_spans_out(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (uint32_t i = 0; i < 4; i++) {
        const struct marey_new_point point = {
            .ts_ns = 5 * (int64_t)i,
            .offset = i,
            .track_idx = make.track_idx,
            .name_id = marey__intern_c(marey__builder_strings(make.builder), "io"),
            .cat_id = marey__builder_category(make.builder, marey__str("cpu_op")),
        };
        const uint32_t id =
            marey__intern_c(marey__builder_strings(make.builder), i % 2 ? "2" : "1");
        marey__builder_add_async(make.builder, &point, id, i < 2 ? 'b' : 'e');
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    size_t n_spans = 0;
    (void)marey_trace_async_spans(trace, &n_spans);
    EXPECT_U64(n_spans, 2);
    EXPECT_U64(count_rows(averages), 0);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 0);
    finish(averages, trace);
}

/* N14 */
static void averages_keep_ranks_apart(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 100);
    make_slice(&make, "cpu_op", "C", 10, 20);
    make_source(&make, 1);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "x", 5, 6);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "P", 1, 100, 90);
    expect_op(averages, "C", 1, 10, 10);
    expect_op(averages, "x", 1, 1, 1);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 101);
    finish(averages, trace);
}

/* R7 */
static void averages_say_unknown_where_no_duration_is_known(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 100);
    make_timed(&make, "cpu_op", "u", 10, MAREY_UNKNOWN);
    make_slice(&make, "cpu_op", "C", 20, 30);
    make_timed(&make, "cpu_op", "C", 40, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.percentiles = true});
    const struct marey_average *u = need_row(averages, "u", MAREY_KIND_OP);
    EXPECT_U64(u->n_calls, 1);
    EXPECT_U64(u->n_timed, 0);
    EXPECT_I64(u->self_ns, MAREY_UNKNOWN);
    EXPECT_I64(u->total_ns, MAREY_UNKNOWN);
    EXPECT_I64(u->min_ns, MAREY_UNKNOWN);
    EXPECT_I64(u->max_ns, MAREY_UNKNOWN);
    EXPECT_I64(u->p50_ns, MAREY_UNKNOWN);
    EXPECT_I64(u->p99_ns, MAREY_UNKNOWN);
    const struct marey_average *c = need_row(averages, "C", MAREY_KIND_OP);
    EXPECT_U64(c->n_calls, 2);
    EXPECT_U64(c->n_timed, 1);
    EXPECT_I64(c->p50_ns, 10);
    expect_op(averages, "P", 1, 100, 90);
    finish(averages, trace);
}

static void averages_know_slices_without_name_or_category(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", NULL);
    make_slice(&make, NULL, NULL, 0, 10);
    make_slice(&make, NULL, "a", 2, 4);
    make_slice(&make, "cpu_op", NULL, 6, 7);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(count_rows(averages), 3);
    expect_host(averages, "a", MAREY_KIND_OTHER, 1, 2, 2);
    expect_host(averages, "", MAREY_KIND_OTHER, 1, 10, 7);
    expect_host(averages, "", MAREY_KIND_OP, 1, 1, 1);
    EXPECT_U64(need_row(averages, "", MAREY_KIND_OP)->name_id, MAREY_NONE);
    finish(averages, trace);
}

static void averages_set_overhead_and_window_aside(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "Trace", "PyTorch Profiler (0)", 0, 1000);
    make_slice(&make, "cpu_op", "a", 10, 60);
    make_slice(&make, "overhead", "Buffer Flush", 20, 50);
    make_thread(&make, "-1", "0");
    make_slice(&make, "overhead", "Instrumentation", 0, 7);
    make_timed(&make, "overhead", "Instrumentation", 10, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(count_rows(averages), 1);
    expect_op(averages, "a", 1, 50, 20);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 20);
    EXPECT_I64(marey_averages_totals(averages).overhead_ns, 37);
    finish(averages, trace);
}

/* B5: x is nested first, then at the top level. */
/* Only labels of steps, whatever else has such a name. */
static void averages_join_steps(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "user_annotation", "ProfilerStep#1", 0, 10);
    make_slice(&make, "cpu_op", "ProfilerStep#1", 2, 5);
    make_slice(&make, "user_annotation", "ProfilerStep#2", 10, 40);
    make_slice(&make, "user_annotation", "ProfilerStep#", 50, 60);
    make_slice(&make, "user_annotation", "other", 60, 61);
    make_slice(&make, "cpu_op", "ProfilerStep#2", 70, 75);
    make_slice(&make, "user_annotation", "ProfilerStep#2", 80, 81);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.join_steps = true, .percentiles = true});
    const struct marey_average *steps = need_row(averages, "ProfilerStep*", MAREY_KIND_ANNOTATION);
    EXPECT_U64(steps->n_calls, 3);
    EXPECT_I64(steps->total_ns, 41);
    EXPECT_I64(steps->self_ns, 38);
    EXPECT_I64(steps->max_ns, 30);
    EXPECT_I64(steps->p50_ns, 10);
    expect_op(averages, "ProfilerStep#1", 1, 3, 3);
    expect_op(averages, "ProfilerStep#2", 1, 5, 5);
    EXPECT_U64(count_rows(averages), 5);
    marey_averages_free(averages);

    averages = average(trace, by_name);
    EXPECT_U64(count_rows(averages), 6);
    finish(averages, trace);
}

static void averages_of_the_top_level_count_only_it(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 100);
    make_slice(&make, "cpu_op", "x", 10, 40);
    make_slice(&make, "cpu_op", "x", 200, 210);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.top_level = true, .percentiles = true});
    EXPECT_U64(count_rows(averages), 2);
    expect_op(averages, "P", 1, 100, 70);
    expect_op(averages, "x", 1, 10, 10);
    EXPECT_I64(need_row(averages, "x", MAREY_KIND_OP)->p99_ns, 10);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, 110);
    finish(averages, trace);
}

/* B3: equal self times go by name, unknown ones last. */
static void averages_are_ordered_by_self_time_then_name(void **state)
{
    (void)state;
    static const char *const want[] = {"a", "c", "b", "u", "v"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_timed(&make, "cpu_op", "v", 1, MAREY_UNKNOWN);
    make_slice(&make, "cpu_op", "c", 10, 20);
    make_slice(&make, "cpu_op", "b", 30, 35);
    make_slice(&make, "cpu_op", "a", 40, 50);
    make_timed(&make, "cpu_op", "u", 90, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    EXPECT_U64(n, 5);
    for (size_t i = 0; i < n; i++)
        EXPECT_VIEW(marey_averages_string(averages, rows[i].name_id), want[i]);
    finish(averages, trace);
}

static void averages_are_ordered_by_device_time_first(void **state)
{
    (void)state;
    static const char *const want[] = {"small", "large", "none",  "cudaLaunchKernel",
                                       "k2",    "k1",    "Memcpy"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "large", 0, 100);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 10, 11, 1);
    make_slice(&make, "cpu_op", "small", 200, 210);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 201, 202, 2);
    make_slice(&make, "cpu_op", "none", 300, 1300);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 20, 25, 1);
    make_call(&make, "kernel", "k2", 220, 227, 2);
    make_slice(&make, "gpu_memcpy", "Memcpy", 400, 403);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    EXPECT_U64(n, 7);
    for (size_t i = 0; i < n; i++)
        EXPECT_VIEW(marey_averages_string(averages, rows[i].name_id), want[i]);
    finish(averages, trace);
}

static void averages_know_their_first_slice(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 50, 60);
    make_thread(&make, "1", "2");
    make_slice(&make, "cpu_op", "a", 70, 80);
    make_slice(&make, "cpu_op", "a", 40, 45);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(need_row(averages, "a", MAREY_KIND_OP)->first_slice, made_slice(trace, "a", 40));
    finish(averages, trace);
}

static void averages_of_nothing_are_empty(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_averages_options all = {
        .by_shape = true, .by_overload = true, .by_stack = 3, .percentiles = true};
    struct marey_averages *averages = average(trace, all);
    EXPECT_U64(count_rows(averages), 0);
    EXPECT_U64(marey_averages_totals(averages).n_devices, 0);
    marey_averages_free(averages);
    averages = NULL;
    EXPECT_STATUS(marey_averages_new(trace, NULL, &averages, NULL), MAREY_OK);
    finish(averages, trace);
    marey_averages_free(NULL);
}

/* Sums past 64 bits are unknown, not wrong (law 8). */
static void averages_say_unknown_where_a_sum_overflows(void **state)
{
    (void)state;
    const int64_t half = INT64_C(6000000000000000000);
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int i = 0; i < 2; i++) {
        make_thread(&make, "1", i == 0 ? "1" : "2");
        make_slice(&make, "cpu_op", "a", 0, half);
        make_slice(&make, "cpu_op", i == 0 ? "b" : "c", 0, half / 2);
        make_stream(&make, i, 7);
        make_call(&make, "kernel", "k", 0, half, 1);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.percentiles = true});
    const struct marey_average *a = need_row(averages, "a", MAREY_KIND_OP);
    EXPECT_I64(a->total_ns, MAREY_UNKNOWN);
    EXPECT_I64(a->self_ns, half);
    EXPECT_I64(a->p99_ns, half);
    EXPECT_I64(need_row(averages, "k", MAREY_KIND_KERNEL)->self_ns, MAREY_UNKNOWN);
    EXPECT_I64(marey_averages_totals(averages).host_self_ns, MAREY_UNKNOWN);
    EXPECT_I64(marey_averages_totals(averages).device_sum_ns, MAREY_UNKNOWN);
    EXPECT_I64(marey_averages_totals(averages).unowned_ns, MAREY_UNKNOWN);
    finish(averages, trace);
}

/* Longer than the plain sums are made for, and still exact: with a crossing and without,
 * in either order of threads, and between starts that lie far apart. */
static void averages_add_up_very_long_times(void **state)
{
    (void)state;
    const int64_t year = INT64_C(31557600000000000);
    for (int form = 0; form < 4; form++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_thread(&make, "1", form % 2 == 0 ? "1" : "2");
        make_slice(&make, "cpu_op", "a", 0, 100 * year);
        make_slice(&make, "cpu_op", "b", year, 90 * year);
        make_slice(&make, "cpu_op", "a", 2 * year, form < 2 ? 80 * year : 95 * year);
        make_thread(&make, "1", form % 2 == 0 ? "2" : "1");
        make_slice(&make, "cpu_op", "a", -100 * year, -100 * year + 7);
        make_slice(&make, "cpu_op", "a", 100 * year, 100 * year + 9);
        struct marey_trace *trace = make_trace_end(&make);
        struct marey_averages *averages = average(trace, by_name);
        const int64_t b_self = form < 2 ? 11 * year : year;
        expect_op(averages, "a", 4, 100 * year + 16, 100 * year + 16 - b_self);
        expect_op(averages, "b", 1, 89 * year, b_self);
        EXPECT_I64(marey_averages_totals(averages).host_self_ns, 100 * year + 16);
        finish(averages, trace);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(averages_charge_crossing_siblings_once),
        cmocka_unit_test(averages_charge_a_child_that_outlives_its_parent),
        cmocka_unit_test(averages_charge_a_child_that_ends_one_late),
        cmocka_unit_test(averages_hide_python_but_keep_its_time),
        cmocka_unit_test(averages_show_python_when_asked),
        cmocka_unit_test(averages_count_recursion_once),
        cmocka_unit_test(averages_count_each_outermost_call),
        cmocka_unit_test(averages_total_the_time_in_which_a_row_was_open),
        cmocka_unit_test(averages_break_ties_by_name_in_any_order),
        cmocka_unit_test(averages_count_zero_length_slices),
        cmocka_unit_test(averages_put_an_annotation_around_an_op),
        cmocka_unit_test(averages_ignore_the_order_of_records),
        cmocka_unit_test(averages_leave_asynchronous_spans_out),
        cmocka_unit_test(averages_keep_ranks_apart),
        cmocka_unit_test(averages_say_unknown_where_no_duration_is_known),
        cmocka_unit_test(averages_know_slices_without_name_or_category),
        cmocka_unit_test(averages_set_overhead_and_window_aside),
        cmocka_unit_test(averages_join_steps),
        cmocka_unit_test(averages_of_the_top_level_count_only_it),
        cmocka_unit_test(averages_are_ordered_by_self_time_then_name),
        cmocka_unit_test(averages_are_ordered_by_device_time_first),
        cmocka_unit_test(averages_know_their_first_slice),
        cmocka_unit_test(averages_of_nothing_are_empty),
        cmocka_unit_test(averages_say_unknown_where_a_sum_overflows),
        cmocka_unit_test(averages_add_up_very_long_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
