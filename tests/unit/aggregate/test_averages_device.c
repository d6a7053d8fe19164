/*
 * Tests of the averages: device operations, their owners and their union (D1 to D14).
 */
#include "support/make_trace.h"
#include "unit/aggregate/find_row.h"

static const struct marey_averages_options by_name = {0};

static void finish(struct marey_averages *averages, struct marey_trace *trace)
{
    marey_averages_free(averages);
    marey_trace_free(trace);
}

static void make_note_track(struct make_trace *make, enum marey_track_kind kind)
{
    const struct marey_track_key key = {
        .kind = kind,
        .process_id = marey__intern_c(marey__builder_strings(make->builder), "0"),
        .thread_id = MAREY_NONE,
        .device = 0,
        .context = 1,
        .stream = 7,
    };
    make_track(make, &key);
}

/* D1: an annotation on the device's row is a span, not work. */
static void device_annotations_are_no_work(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "user_annotation", "S", 0, 12);
    make_slice(&make, "cpu_op", "A", 0, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 20, 28, 1);
    make_note_track(&make, MAREY_TRACK_STREAM_NOTE);
    make_slice(&make, "gpu_user_annotation", "S", 20, 28);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    const struct marey_totals totals = marey_averages_totals(averages);
    EXPECT_I64(totals.device_sum_ns, 8);
    EXPECT_I64(totals.device_busy_ns, 8);
    EXPECT_I64(totals.unowned_ns, 0);
    EXPECT_U64(totals.n_devices, 1);
    EXPECT_U64(count_rows(averages), 4);
    expect_device(averages, "k1", MAREY_KIND_KERNEL, 1, 8);
    expect_owned(averages, "A", MAREY_KIND_OP, 8, 8, 1);
    expect_owned(averages, "S", MAREY_KIND_ANNOTATION, 0, 8, 0);
    finish(averages, trace);
}

/* D2 */
static void device_time_of_a_wrapper_is_total_only(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "W", 0, 12);
    make_slice(&make, "cpu_op", "A", 1, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 20, 28, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "W", MAREY_KIND_OP, 0, 8, 0);
    expect_owned(averages, "A", MAREY_KIND_OP, 8, 8, 1);
    expect_owned(averages, "cudaLaunchKernel", MAREY_KIND_RUNTIME, 0, 0, 0);
    finish(averages, trace);
}

/* D3 */
static void device_time_is_not_owned_by_overhead(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "A", 0, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 7);
    make_thread(&make, "-1", "0");
    make_call(&make, "overhead", "Command Buffer Full", 2, 9, 7);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 20, 28, 7);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "A", MAREY_KIND_OP, 8, 8, 1);
    EXPECT_I64(marey_averages_totals(averages).unowned_ns, 0);
    EXPECT_I64(marey_averages_totals(averages).overhead_ns, 7);
    finish(averages, trace);
}

/* D4, D5, T8: union per device, over its streams, whichever process used it. */
static void device_busy_is_a_union_per_device(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "a", 0, 100);
    make_slice(&make, "kernel", "a", 200, 210);
    make_stream(&make, 0, 20);
    make_slice(&make, "kernel", "b", 0, 100);
    make_slice(&make, "gpu_memset", "Memset (Device)", 205, 215);
    make_stream(&make, 1, 7);
    make_slice(&make, "kernel", "a", 50, 60);
    make_slice(&make, "kernel", "a", 59, 61); /* of one stream, and still over each other */
    make_source(&make, 1);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "a", 0, 30);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    const struct marey_totals totals = marey_averages_totals(averages);
    EXPECT_I64(totals.device_sum_ns, 100 + 10 + 100 + 10 + 10 + 2 + 30);
    EXPECT_I64(totals.device_busy_ns, 100 + 15 + 11 + 30);
    EXPECT_U64(totals.n_devices, 3);
    EXPECT_I64(totals.unowned_ns, totals.device_sum_ns);
    expect_device(averages, "a", MAREY_KIND_KERNEL, 5, 152);
    expect_device(averages, "Memset (Device)", MAREY_KIND_MEMSET, 1, 10);
    finish(averages, trace);
}

static void device_of_two_processes_is_one_device(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int64_t context = 1; context <= 2; context++) {
        const struct marey_track_key key = {
            .kind = MAREY_TRACK_STREAM,
            .process_id = marey__intern_c(marey__builder_strings(make.builder), "0"),
            .thread_id = MAREY_NONE,
            .device = 0,
            .context = context,
            .stream = 7,
        };
        make_track(&make, &key);
        make_slice(&make, "kernel", "k", 10 * context, 10 * context + 15);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(marey_averages_totals(averages).n_devices, 1);
    EXPECT_I64(marey_averages_totals(averages).device_busy_ns, 25);
    EXPECT_I64(marey_averages_totals(averages).device_sum_ns, 30);
    finish(averages, trace);
}

/* D6 */
static void device_time_goes_to_the_nearest_earlier_launch(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "A", 0, 8);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_slice(&make, "cpu_op", "B", 1000, 1008);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 1002, 1004, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 10, 20, 1);
    make_call(&make, "kernel", "k", 1010, 1013, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "A", MAREY_KIND_OP, 10, 10, 1);
    expect_owned(averages, "B", MAREY_KIND_OP, 3, 3, 1);
    finish(averages, trace);
}

/* D7 */
static void device_time_stays_in_its_rank(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int rank = 0; rank < 2; rank++) {
        if (rank == 1)
            make_source(&make, 1);
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", rank == 0 ? "A0" : "A1", 0, 8);
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2 + rank, 4 + rank, 1);
        make_stream(&make, 0, 7);
        make_call(&make, "kernel", "k", 10, rank == 0 ? 20 : 13, 1);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "A0", MAREY_KIND_OP, 10, 10, 1);
    expect_owned(averages, "A1", MAREY_KIND_OP, 3, 3, 1);
    EXPECT_U64(marey_averages_totals(averages).n_devices, 2);
    finish(averages, trace);
}

/* D8: one launch of a graph owns all of its operations. */
static void device_time_of_a_graph_goes_to_its_launch(void **state)
{
    (void)state;
    static const char *const names[] = {"k1", "k2", "k3"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (uint64_t round = 0; round < 2; round++) {
        const int64_t from = 100 * (int64_t)round;
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", "Torch-Compiled Region: 0/0", from, from + 8);
        make_call(&make, "cuda_runtime", "cudaGraphLaunch", from + 2, from + 7, 5 + round);
        make_stream(&make, 0, 7);
        for (int i = 0; i < 3; i++)
            make_call(&make, "kernel", names[i], from + 12 + 10 * i, from + 16 + 11 * i, 5 + round);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "Torch-Compiled Region: 0/0", MAREY_KIND_OP, 30, 30, 6);
    expect_device(averages, "k2", MAREY_KIND_KERNEL, 2, 10);
    EXPECT_I64(marey_averages_totals(averages).unowned_ns, 0);
    finish(averages, trace);
}

/* D9: launched before the window, or without any correlation. */
static void device_time_without_launch_is_unowned(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "A", 10, 18);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 12, 14, 2);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k0", 0, 8, 1);
    make_call(&make, "kernel", "k1", 20, 25, 2);
    make_slice(&make, "kernel", "k2", 30, 31);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    const struct marey_totals totals = marey_averages_totals(averages);
    EXPECT_I64(totals.unowned_ns, 9);
    EXPECT_I64(totals.device_sum_ns, 14);
    EXPECT_I64(totals.device_busy_ns, 14);
    expect_owned(averages, "A", MAREY_KIND_OP, 5, 5, 1);
    finish(averages, trace);
}

/* A launch outside any op owns what it launched; in an annotation, the annotation does. */
static void device_time_outside_ops_goes_to_the_call_or_annotation(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaMemcpyAsync", 0, 5, 1);
    make_slice(&make, "user_annotation", "copy", 10, 30);
    make_call(&make, "cuda_runtime", "cudaMemcpyAsync", 12, 15, 2);
    make_stream(&make, 0, 7);
    make_call(&make, "gpu_memcpy", "Memcpy HtoD", 6, 9, 1);
    make_call(&make, "gpu_memcpy", "Memcpy HtoD", 16, 20, 2);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "cudaMemcpyAsync", MAREY_KIND_RUNTIME, 3, 3, 1);
    expect_owned(averages, "copy", MAREY_KIND_ANNOTATION, 4, 4, 1);
    expect_device(averages, "Memcpy HtoD", MAREY_KIND_MEMCPY, 2, 7);
    finish(averages, trace);
}

/* D12: kinds come from categories, whatever the names say. */
static void device_rows_are_apart_by_kind(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_slice(&make, "gpu_memcpy", "same", 0, 10);
    make_slice(&make, "kernel", "same", 20, 25);
    make_slice(&make, "gpu_memset", "same", 30, 31);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(count_rows(averages), 3);
    expect_device(averages, "same", MAREY_KIND_MEMCPY, 1, 10);
    expect_device(averages, "same", MAREY_KIND_KERNEL, 1, 5);
    expect_device(averages, "same", MAREY_KIND_MEMSET, 1, 1);
    finish(averages, trace);
}

/* D13 */
static void device_synchronisation_is_no_work(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", -10, -8, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 0, 100, 1);
    make_note_track(&make, MAREY_TRACK_STREAM_SYNC);
    make_call(&make, "cuda_sync", "Stream Sync", 0, 90, 2);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    EXPECT_U64(count_rows(averages), 2);
    EXPECT_I64(marey_averages_totals(averages).device_sum_ns, 100);
    EXPECT_I64(marey_averages_totals(averages).device_busy_ns, 100);
    finish(averages, trace);
}

/* D14: the number of operations stands beside the number of calls. */
static void device_operations_are_counted_beside_calls(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "k", 0, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 3, 1);
    make_slice(&make, "cpu_op", "k", 100, 120);
    for (uint64_t i = 0; i < 3; i++)
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", 102 + 4 * (int64_t)i,
                  104 + 4 * (int64_t)i, 2 + i);
    make_stream(&make, 0, 7);
    for (uint64_t i = 0; i < 4; i++)
        make_call(&make, "kernel", "a", 20 + 40 * (int64_t)i, 24 + 40 * (int64_t)i, 1 + i);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_op(averages, "k", 2, 30, 23);
    expect_owned(averages, "k", MAREY_KIND_OP, 16, 16, 4);
    expect_host(averages, "cudaLaunchKernel", MAREY_KIND_RUNTIME, 4, 7, 7);
    finish(averages, trace);
}

/* T9: operations that seem to begin before their launch are owned all the same. */
static void device_time_before_its_launch_is_owned(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "A", 90, 120);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 100, 104, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 98, 103, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "A", MAREY_KIND_OP, 5, 5, 1);
    finish(averages, trace);
}

/* R7 */
static void device_time_is_unknown_where_no_duration_is(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "W", 0, 100);
    make_slice(&make, "cpu_op", "A", 0, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_slice(&make, "cpu_op", "B", 20, 40);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 22, 24, 2);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 25, 26, 3);
    make_stream(&make, 0, 7);
    for (uint64_t i = 1; i <= 3; i++) {
        const struct marey_new_slice slice = {
            .start_ns = 50 * (int64_t)i,
            .dur_ns = i == 3 ? 5 : MAREY_UNKNOWN,
            .offset = 5000 + i,
            .correlation = i,
            .has_correlation = true,
            .track_idx = make.track_idx,
            .name_id = marey__intern_c(marey__builder_strings(make.builder), i == 1 ? "k1" : "k2"),
            .cat_id = marey__builder_category(make.builder, marey__str("kernel")),
        };
        marey__builder_add_slice(make.builder, &slice);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, by_name);
    expect_owned(averages, "A", MAREY_KIND_OP, MAREY_UNKNOWN, MAREY_UNKNOWN, 1);
    expect_owned(averages, "B", MAREY_KIND_OP, 5, 5, 2);
    expect_owned(averages, "W", MAREY_KIND_OP, 0, 5, 0);
    EXPECT_I64(need_row(averages, "k1", MAREY_KIND_KERNEL)->self_ns, MAREY_UNKNOWN);
    EXPECT_I64(need_row(averages, "k2", MAREY_KIND_KERNEL)->self_ns, 5);
    EXPECT_U64(need_row(averages, "k2", MAREY_KIND_KERNEL)->n_calls, 2);
    EXPECT_I64(marey_averages_totals(averages).device_sum_ns, 5);
    EXPECT_I64(marey_averages_totals(averages).device_busy_ns, 5);
    EXPECT_I64(marey_averages_totals(averages).unowned_ns, 0);
    finish(averages, trace);
}

/* A Python function shows what was launched inside it. */
static void device_total_of_python_is_what_lies_inside(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "python_function", "a.py(1): f", 0, 20);
    make_slice(&make, "python_function", "a.py(1): f", 1, 19);
    make_slice(&make, "cpu_op", "A", 2, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 3, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 30, 36, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.include_python = true});
    expect_owned(averages, "a.py(1): f", MAREY_KIND_PYTHON, 0, 6, 0);
    expect_owned(averages, "A", MAREY_KIND_OP, 6, 6, 1);
    finish(averages, trace);
}

static void device_time_of_the_top_level_is_what_lies_inside(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "W", 0, 20);
    make_slice(&make, "cpu_op", "A", 2, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 3, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 30, 36, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.top_level = true});
    EXPECT_U64(count_rows(averages), 2);
    expect_owned(averages, "W", MAREY_KIND_OP, 0, 6, 0);
    expect_device(averages, "k", MAREY_KIND_KERNEL, 1, 6);
    EXPECT_I64(marey_averages_totals(averages).unowned_ns, 0);
    finish(averages, trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(device_annotations_are_no_work),
        cmocka_unit_test(device_time_of_a_wrapper_is_total_only),
        cmocka_unit_test(device_time_is_not_owned_by_overhead),
        cmocka_unit_test(device_busy_is_a_union_per_device),
        cmocka_unit_test(device_of_two_processes_is_one_device),
        cmocka_unit_test(device_time_goes_to_the_nearest_earlier_launch),
        cmocka_unit_test(device_time_stays_in_its_rank),
        cmocka_unit_test(device_time_of_a_graph_goes_to_its_launch),
        cmocka_unit_test(device_time_without_launch_is_unowned),
        cmocka_unit_test(device_time_outside_ops_goes_to_the_call_or_annotation),
        cmocka_unit_test(device_rows_are_apart_by_kind),
        cmocka_unit_test(device_synchronisation_is_no_work),
        cmocka_unit_test(device_operations_are_counted_beside_calls),
        cmocka_unit_test(device_time_before_its_launch_is_owned),
        cmocka_unit_test(device_time_is_unknown_where_no_duration_is),
        cmocka_unit_test(device_total_of_python_is_what_lies_inside),
        cmocka_unit_test(device_time_of_the_top_level_is_what_lies_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
