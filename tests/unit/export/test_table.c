/*
 * Tests of the text table: what it shows, in which order, how it fits.
 */
#include "export/display.h"
#include "make_table.h"

static const struct marey_averages_options plain = {0};
static const struct marey_averages_options with_percentiles = {.percentiles = true};

static void table_shows_a_block_for_each_side(void **state)
{
    (void)state;
    struct marey_trace *trace = small_trace();
    struct marey_text text = table_of(trace, with_percentiles, (struct marey_table_options){0});
    EXPECT_STR(text.ptr,
               "1 file: window 100.0us, 5 slices on 2 tracks, 1 device operation on 1 device\n"
               "----------------  -----  -------  ------  -------  -------  -------  -------  "
               "-------  -------\n"
               "                                                                               "
               "device   device\n"
               "host              calls     self  self %    total     mean      p50      p99     "
               "self    total\n"
               "----------------  -----  -------  ------  -------  -------  -------  -------  "
               "-------  -------\n"
               "A                     2  38.00us   38.00  40.00us  20.00us  10.00us  30.00us  "
               "20.00us  20.00us\n"
               "P                     1  60.00us   60.00  100.0us  100.0us  100.0us  100.0us  "
               "0.000us  20.00us\n"
               "cudaLaunchKernel      1  2.000us    2.00  2.000us  2.000us  2.000us  2.000us  "
               "0.000us  0.000us\n"
               "----------------  -----  -------  ------  -------  -------  -------  -------  "
               "-------  -------\n"
               "Self CPU time total (all threads): 100.0us\n"
               "Busiest thread: 100.0us of the window in operators and calls, 0.000us (0.00 %) "
               "outside them\n"
               "\n"
               "------  -----  -------  -------  -------  -------  -------\n"
               "device  calls      sum  share %     mean      p50      p99\n"
               "------  -----  -------  -------  -------  -------  -------\n"
               "k           1  20.00us   100.00  20.00us  20.00us  20.00us\n"
               "------  -----  -------  -------  -------  -------  -------\n"
               "Device operations: sum 20.00us, busy (union) 20.00us on 1 device\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void table_can_have_torchs_columns(void **state)
{
    (void)state;
    struct marey_trace *trace = small_trace();
    const struct marey_table_options options = {
        .layout = MAREY_LAYOUT_TORCH, .header = "HEAD", .columns = NULL};
    struct marey_text text = table_of(trace, plain, options);
    EXPECT_HOLDS(text.ptr, "HEAD\n1 file");
    EXPECT_HOLDS(text.ptr, "\nName              Self CPU %  Self CPU  CPU total %  CPU total  "
                           "CPU time avg  Self CUDA  Self CUDA %  CUDA total  CUDA time avg  "
                           "# of Calls\n");
    EXPECT_HOLDS(text.ptr, "\nA                      38.00  38.000us        40.00   40.000us  "
                           "    20.000us   20.000us       100.00    20.000us       10.000us  "
                           "         2\n");
    EXPECT_HOLDS(text.ptr, "\nName  Self CUDA %  Self CUDA  CUDA total  CUDA time avg  "
                           "# of Calls\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Recursion counts once in the total; the mean is of all calls, so it lies between the
 * shortest and the longest. */
static void mean_is_of_all_calls_when_they_nest(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "f", 0, 100000);
    make_slice(&make, "cpu_op", "f", 10000, 90000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text =
        table_of(trace, plain, (struct marey_table_options){.columns = "name,total,min,mean,max"});
    EXPECT_HOLDS(text.ptr, "f     100.0us  80.00us  90.00us  100.0us\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void unknown_values_are_dashes(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_timed(&make, "cpu_op", "u", 0, MAREY_UNKNOWN);
    make_timed(&make, "cpu_op", "z", 5, 0);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, with_percentiles, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "z         1  0.000us       \xe2\x80\x93  0.000us  0.000us");
    EXPECT_HOLDS(text.ptr,
                 "u         1        \xe2\x80\x93       \xe2\x80\x93        \xe2\x80\x93");
    EXPECT_TRUE(strstr(text.ptr, "nan") == NULL && strstr(text.ptr, "NaN") == NULL);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* The sum of a column is in sight: rows, rows not shown, time without rows. */
static void rows_not_shown_are_summed(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 50000);
    make_slice(&make, "cpu_op", "b", 50000, 80000);
    make_slice(&make, "cpu_op", "c", 80000, 90000);
    make_slice(&make, "python_function", "x.py(1): f", 90000, 100000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){.limit = 1});
    EXPECT_HOLDS(text.ptr, "\na                     1  50.00us   50.00  50.00us  50.00us\n"
                           "2 rows not shown      2  40.00us   40.00\n"
                           "Python (no rows)         10.00us   10.00\n"
                           "--");
    marey_text_release(&text);

    text = table_of(trace, plain, (struct marey_table_options){.limit = 2});
    EXPECT_HOLDS(text.ptr, "\n1 row not shown       1  10.00us   10.00\n");
    marey_text_release(&text);

    const struct marey_averages_options top = {.top_level = true, .include_python = true};
    text = table_of(trace, top, (struct marey_table_options){.limit = -1});
    EXPECT_HOLDS(text.ptr, "; only slices without a parent\n");
    EXPECT_TRUE(strstr(text.ptr, "not shown") == NULL);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Annotations and Python frames enclose time that they do not explain; nested calls count once;
 * thread 2 works less. */
static void time_outside_of_calls_is_told(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "user_annotation", "step", 0, 100000);
    make_slice(&make, "python_function", "x.py(1): f", 0, 100000);
    make_slice(&make, "cpu_op", "a", 10000, 30000);
    make_slice(&make, "cpu_op", "in\na", 12000, 14000);
    make_slice(&make, "cpu_op", "b", 35000, 40000);
    make_slice(&make, "cuda_runtime", "cudaFree", 80000, 90000);
    make_thread(&make, "1", "2");
    make_slice(&make, "cpu_op", "c", 0, 30000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "\nBusiest thread: 35.00us of the window in operators and calls, "
                           "65.00us (65.00 %) outside them\n    at longest 40.00us, after b\n");
    marey_text_release(&text);
    text = table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_JSON});
    EXPECT_HOLDS(text.ptr, "\"busiest_thread_ns\": 35000}");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* What a thread did while records were lost is not known. */
static void time_outside_of_operators_is_not_told_where_records_are_missing(void **state)
{
    (void)state;
    static const char *const reasons[] = {"truncated", "lost", "bad_gzip"};

    for (size_t i = 0; i < 3; i++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", "aten::add", 0, 30000);
        make_slice(&make, "cpu_op", "aten::add", 35000, 100000);
        for (int reason = 0; reason < MAREY_N_REASONS; reason++)
            if (strcmp(marey__reason_name((enum marey_reason)reason), reasons[i]) == 0)
                marey__account_note(marey__builder_account(make.builder), (enum marey_reason)reason,
                                    0);
        struct marey_trace *trace = make_trace_end(&make);
        struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
        EXPECT_HOLDS(text.ptr, "\nBusiest thread: 95.00us in operators and calls; records are "
                               "missing, so what lies outside them is not known\n");
        EXPECT_TRUE(strstr(text.ptr, "at longest") == NULL);
        marey_text_release(&text);
        marey_trace_free(trace);
    }
}

/* Files of 2021 have one category for operators and for what torch marks by record_function. */
static void annotations_that_are_written_as_operators_are_no_work(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "Operator", "ProfilerStep#2", 0, 100000);
    make_slice(&make, "Operator", "enumerate(DataLoader)#_Iter.__next__", 0, 8000);
    make_slice(&make, "Operator", "aten::add", 10000, 30000);
    make_slice(&make, "Operator", "aten::add", 35000, 40000);
    make_slice(&make, "Operator", "Optimizer.zero_grad#SGD.zero_grad", 40000, 60000);
    make_slice(&make, "Operator", "Optimizer.step#SGD.step", 60000, 95000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "\nBusiest thread: 25.00us of the window in operators and calls, "
                           "75.00us (75.00 %) outside them\n    at longest 5.000us, after "
                           "aten::add\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* An operator may have any name, and a file of today says what is an annotation. */
static void names_of_annotations_are_work_as_cpu_op(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "Optimizer.step#SGD.step", 0, 100000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text =
        table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_JSON});
    EXPECT_HOLDS(text.ptr, "\"busiest_thread_ns\": 100000}");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* A file for each cycle, as torch writes them: the thread and the stream are the same ones. */
static void tracks_of_cycles_are_counted_once(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            make_source(&make, MAREY_UNKNOWN);
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", "a", 1000 * i, 1000 * i + 10);
        make_stream(&make, 0, 7);
        make_slice(&make, "kernel", "k", 1000 * i, 1000 * i + 10);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "3 cycles of one process");
    EXPECT_HOLDS(text.ptr, "6 slices on 2 tracks");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Three sessions: what lies between them is neither idle nor the longest time between two calls;
 * the last one has no call. */
static void time_not_recorded_is_no_idle_time(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "Spans", "Marey");
    make_slice(&make, "Trace", "Marey (0)", 0, 20000);
    make_slice(&make, "Trace", "Marey (1)", 80000, 100000);
    make_slice(&make, "Trace", "Marey (2)", 500000, 600000);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 10000);
    make_slice(&make, "cpu_op", "b", 13000, 15000);
    make_slice(&make, "cpu_op", "c", 83000, 100000);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "1 file: window 100.0us (not recorded: 60.00us in 1 gap), 3 slices on");
    EXPECT_HOLDS(text.ptr, "\nBusiest thread: 29.00us of what was recorded in operators and calls, "
                           "11.00us (27.50 %) outside them\n    at longest 5.000us, after b\n");
    marey_text_release(&text);
    text = table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_JSON});
    EXPECT_HOLDS(text.ptr, "\"window_ns\": 100000, \"not_recorded_ns\": 60000, ");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* The gaps of two ranks need not be those of the job. */
static void gaps_of_several_ranks_are_no_sum(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 100);
    make_source(&make, 1);
    make_thread(&make, "Spans", "Marey");
    make_slice(&make, "Trace", "Marey (0)", 0, 20);
    make_slice(&make, "Trace", "Marey (1)", 80, 100);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text =
        table_of(trace, plain, (struct marey_table_options){.format = MAREY_TABLE_JSON});
    EXPECT_HOLDS(text.ptr, "\"window_ns\": 100, \"not_recorded_ns\": null, ");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void table_of_nothing_says_so(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "found: 1 no_events");
    EXPECT_HOLDS(text.ptr, "1 file: window \xe2\x80\x93, 0 slices on 0 tracks\n"
                           "no rows: nothing here is a slice that a table shows\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

static void first_line_says_what_is_not_clean(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "P", 0, 10);
    make_slice(&make, "cpu_op", "Q", 5, 20);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_HOLDS(text.ptr, "1 slice outlives its parent (each instant is charged once)\n1 file");
    marey_text_release(&text);
    marey_trace_free(trace);

    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "open", 0);
    make_end(&make, "open", -5);
    make_slice(&make, "cpu_op", "P", 0, 10);
    trace = make_trace_end(&make);
    text = table_of(trace, plain, (struct marey_table_options){0});
    EXPECT_TRUE(strncmp(text.ptr, "not clean (", 11) == 0);
    EXPECT_HOLDS(text.ptr, " used):\n  set aside: 1 negative_dur (records that end before they "
                           "begin, in no number)\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* ---- order ---- */

static size_t place_of(const struct marey_text *text, const char *line)
{
    const char *found = strstr(text->ptr, line);
    EXPECT_TRUE(found != NULL);
    return (size_t)(found - text->ptr);
}

static void expect_order(struct marey_trace *trace, const char *sort, const char *const *lines,
                         size_t n)
{
    struct marey_text text = table_of(trace, plain, (struct marey_table_options){.sort = sort});
    for (size_t i = 1; i < n; i++)
        if (place_of(&text, lines[i - 1]) > place_of(&text, lines[i]))
            EXPECT_FAIL(sort == NULL ? "the default order is wrong" : sort);
    marey_text_release(&text);
}

/* Fixture B03. */
static void order_is_total_and_unknown_is_last(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "c", 0, 10);
    make_slice(&make, "cpu_op", "a", 20, 30);
    make_slice(&make, "cpu_op", "b", 40, 45);
    make_timed(&make, "cpu_op", "u", 90, MAREY_UNKNOWN);
    struct marey_trace *trace = make_trace_end(&make);
    static const char *const down[] = {"\na ", "\nc ", "\nb ", "\nu "};
    static const char *const up[] = {"\nb ", "\na ", "\nc ", "\nu "};
    static const char *const by_name[] = {"\na ", "\nb ", "\nc ", "\nu "};
    static const char *const by_name_down[] = {"\nu ", "\nc ", "\nb ", "\na "};
    expect_order(trace, NULL, down, 4);
    expect_order(trace, "self", down, 4);
    expect_order(trace, "-self", down, 4);
    expect_order(trace, "+self", up, 4);
    expect_order(trace, "self_cpu_time_total", down, 4);
    expect_order(trace, "name", by_name, 4);
    expect_order(trace, "key", by_name, 4);
    expect_order(trace, "-name", by_name_down, 4);
    marey_trace_free(trace);
}

/* Device time without a device. */
static void a_key_that_is_alike_in_all_rows_sorts_nothing(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 10);
    make_slice(&make, "cpu_op", "b", 20, 50);
    make_slice(&make, "cpu_op", "c", 60, 80);
    struct marey_trace *trace = make_trace_end(&make);
    static const char *const by_self[] = {"\nb ", "\nc ", "\na "};
    expect_order(trace, "cuda_time_total", by_self, 3);
    expect_order(trace, "calls", by_self, 3);
    expect_order(trace, "+calls", by_self, 3);
    marey_trace_free(trace);
}

static void device_rows_sort_by_their_sum(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 0, 1, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "short", 10, 20, 1);
    make_slice(&make, "kernel", "long", 20, 50);
    struct marey_trace *trace = make_trace_end(&make);
    static const char *const down[] = {"\nlong ", "\nshort "};
    static const char *const up[] = {"\nshort ", "\nlong "};
    expect_order(trace, "self_cuda_time_total", down, 2);
    expect_order(trace, "cuda_time_total", down, 2);
    expect_order(trace, "xpu_time_total", down, 2);
    expect_order(trace, "cpu_time_total", down, 2);
    expect_order(trace, "+device_total", up, 2);
    marey_trace_free(trace);
}

/* Fixture B04. What is not near is no help. */
#define COLUMNS                                                                                    \
    "name, kind, overload, rank, calls, timed, self, self_share, total, total_share, mean, min, "  \
    "p50, "                                                                                        \
    "p99, max, device_self, device_self_share, device_total, device_mean, device_operations, "     \
    "shapes, stack"

static void wrong_names_get_the_nearest(void **state)
{
    (void)state;
    struct marey_trace *trace = small_trace();
    expect_no_table(trace, (struct marey_table_options){.sort = "self_cpu_time"},
                    "cannot sort: 'self_cpu_time' is no key of the table, nearest are 'cpu_time', "
                    "'self_cpu_time_total'");
    expect_no_table(trace, (struct marey_table_options){.sort = "+p90"},
                    "cannot sort: 'p90' is no key of the table, nearest are 'p50', 'p99'");
    expect_no_table(trace, (struct marey_table_options){.sort = "self_cpu_memory_usage"},
                    "cannot sort: memory and FLOPs are in torch's table only, ask for "
                    "--compat torch, in Python view(compat=\"torch\")");
    expect_no_table(trace, (struct marey_table_options){.columns = "name, sefl"},
                    "cannot choose columns: 'sefl' is no column of the table, nearest is 'self'");
    expect_no_table(trace, (struct marey_table_options){.columns = ""},
                    "cannot choose columns: '' is no column of the table, use one of " COLUMNS);
    expect_no_table(trace, (struct marey_table_options){.sort = "foo"},
                    "cannot sort: 'foo' is no key of the table, use one of torch's, such as "
                    "self_cpu_time_total, or one of " COLUMNS);
    marey_trace_free(trace);
}

static void every_name_of_the_list_is_a_column(void **state)
{
    (void)state;
    struct marey_trace *trace = small_trace();
    const char *const *names = marey_table_columns();
    for (size_t i = 0; names[i] != NULL; i++) {
        struct marey_text text =
            table_of(trace, plain, (struct marey_table_options){.columns = names[i]});
        marey_text_release(&text);
        text = table_of(trace, plain, (struct marey_table_options){.sort = names[i]});
        marey_text_release(&text);
    }
    struct marey_text text = table_of(
        trace, plain, (struct marey_table_options){.columns = "self_ns,name", .sort = "+total_ns"});
    EXPECT_HOLDS(text.ptr, "self  host\n");
    marey_text_release(&text);
    text = table_of(trace, plain, (struct marey_table_options){.columns = "calls, name,calls"});
    EXPECT_HOLDS(text.ptr, "\ncalls  host\n");
    marey_text_release(&text);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_shows_a_block_for_each_side),
        cmocka_unit_test(table_can_have_torchs_columns),
        cmocka_unit_test(mean_is_of_all_calls_when_they_nest),
        cmocka_unit_test(unknown_values_are_dashes),
        cmocka_unit_test(rows_not_shown_are_summed),
        cmocka_unit_test(time_outside_of_calls_is_told),
        cmocka_unit_test(time_outside_of_operators_is_not_told_where_records_are_missing),
        cmocka_unit_test(annotations_that_are_written_as_operators_are_no_work),
        cmocka_unit_test(names_of_annotations_are_work_as_cpu_op),
        cmocka_unit_test(tracks_of_cycles_are_counted_once),
        cmocka_unit_test(time_not_recorded_is_no_idle_time),
        cmocka_unit_test(gaps_of_several_ranks_are_no_sum),
        cmocka_unit_test(table_of_nothing_says_so),
        cmocka_unit_test(first_line_says_what_is_not_clean),
        cmocka_unit_test(order_is_total_and_unknown_is_last),
        cmocka_unit_test(a_key_that_is_alike_in_all_rows_sorts_nothing),
        cmocka_unit_test(device_rows_sort_by_their_sum),
        cmocka_unit_test(wrong_names_get_the_nearest),
        cmocka_unit_test(every_name_of_the_list_is_a_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
