/*
 * Tests of the averages: grouping by shapes, stacks and overloads.
 */
#include "aggregate/averages_parts.h"
#include "support/make_trace.h"
#include "unit/aggregate/find_row.h"

static void finish(struct marey_averages *averages, struct marey_trace *trace)
{
    marey_averages_free(averages);
    marey_trace_free(trace);
}

/* The row of a name whose shapes and stack are these; NULL is "not grouped by it". */
static const struct marey_average *keyed_row(const struct marey_averages *averages,
                                             const char *name, const char *shapes,
                                             const char *stack)
{
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    for (size_t i = 0; i < n; i++) {
        const struct marey_average *row = &rows[i];
        const bool has_shapes =
            shapes == NULL
                ? row->shapes_id == MAREY_NONE
                : row->shapes_id != MAREY_NONE &&
                      marey__str_is_c(marey_averages_string(averages, row->shapes_id), shapes);
        const bool has_stack =
            stack == NULL
                ? row->stack_id == MAREY_NONE
                : row->stack_id != MAREY_NONE &&
                      marey__str_is_c(marey_averages_string(averages, row->stack_id), stack);
        if (has_shapes && has_stack &&
            marey__str_is_c(marey_averages_string(averages, row->name_id), name))
            return row;
    }
    print_error("no row '%s' of shapes '%s' and stack '%s'\n", name, shapes == NULL ? "-" : shapes,
                stack == NULL ? "-" : stack);
    EXPECT_FAIL(name);
    return NULL;
}

static void keys_of_shapes_are_their_values(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "mm", 0, 10);
    make_args(&make, "{\"Input Dims\": [[2, 3], [3, 4]]}");
    make_slice(&make, "cpu_op", "mm", 20, 25);
    make_args(&make, "{\"Input Dims\": [[2,3],\n [ 3 ,4]]}");
    make_slice(&make, "cpu_op", "mm", 30, 32);
    make_args(&make, "{\"Input Dims\": [[2, 3], [3, 5]]}");
    make_slice(&make, "cpu_op", "mm", 40, 41);
    make_args(&make, "{\"External id\": 5}");
    make_slice(&make, "cpu_op", "mm", 50, 53);
    make_slice(&make, "cpu_op", "zeros", 60, 64);
    make_args(&make, "{\"Input Dims\": []}");
    make_slice(&make, "cpu_op", "cat", 70, 75);
    make_args(&make, "{\"Input Dims\": [[[1, 2],[3]], [], []]}");
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "k", 0, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_shape = true, .percentiles = true});
    EXPECT_U64(count_rows(averages), 6);
    EXPECT_U64(keyed_row(averages, "mm", "[[2, 3], [3, 4]]", NULL)->n_calls, 2);
    EXPECT_I64(keyed_row(averages, "mm", "[[2, 3], [3, 4]]", NULL)->self_ns, 15);
    EXPECT_I64(keyed_row(averages, "mm", "[[2, 3], [3, 4]]", NULL)->p50_ns, 5);
    EXPECT_I64(keyed_row(averages, "mm", "[[2, 3], [3, 5]]", NULL)->self_ns, 2);
    EXPECT_U64(keyed_row(averages, "mm", "", NULL)->n_calls, 2); /* not recorded */
    EXPECT_I64(keyed_row(averages, "zeros", "[]", NULL)->self_ns, 4);
    EXPECT_I64(keyed_row(averages, "cat", "[[[1, 2], [3]], [], []]", NULL)->self_ns, 5);
    EXPECT_I64(keyed_row(averages, "k", "", NULL)->self_ns, 1);
    finish(averages, trace);
}

static void keys_of_shapes_read_the_text_of_old_files(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "mm", 0, 10);
    make_args(&make, "{\"Input Dims\": \"[[2, 3],[3, 4]]\"}");
    make_slice(&make, "cpu_op", "mm", 20, 25);
    make_args(&make, "{\"Input Dims\": [[2, 3], [3, 4]]}");
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_shape = true});
    EXPECT_U64(keyed_row(averages, "mm", "[[2, 3], [3, 4]]", NULL)->n_calls, 2);
    finish(averages, trace);
}

static struct marey_trace *trace_with_stacks(struct made_provider *provider)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "s", 0, 4);
    make_args(&make, "{\"Call stack\": \"a.py(3): f;a.py(9): main\"}");
    make_slice(&make, "cpu_op", "s", 10, 14);
    make_args(&make, "{\"Call stack\": \"a.py(3): f;b.py(1): main\"}");
    make_slice(&make, "cpu_op", "s", 20, 24);
    return make_trace_end(&make);
}

/* B6 */
static void keys_of_stacks_are_their_first_entries(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = trace_with_stacks(&provider);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_stack = 1});
    EXPECT_U64(count_rows(averages), 2);
    EXPECT_I64(keyed_row(averages, "s", NULL, "a.py(3): f")->self_ns, 8);
    EXPECT_I64(keyed_row(averages, "s", NULL, "")->self_ns, 4);
    marey_averages_free(averages);

    averages = average(trace, (struct marey_averages_options){.by_stack = 5});
    EXPECT_U64(count_rows(averages), 3);
    EXPECT_I64(keyed_row(averages, "s", NULL, "a.py(3): f;a.py(9): main")->self_ns, 4);
    EXPECT_I64(keyed_row(averages, "s", NULL, "a.py(3): f;b.py(1): main")->self_ns, 4);
    finish(averages, trace);
}

static void keys_of_stacks_come_from_python_functions(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "python_function", "main", 0, 100);
    make_slice(&make, "python_function", "f", 10, 50);
    make_slice(&make, "user_annotation", "step", 11, 40);
    make_slice(&make, "cpu_op", "a", 12, 30);
    make_slice(&make, "cpu_op", "b", 13, 20);
    make_slice(&make, "cpu_op", "b", 60, 61);
    make_slice(&make, "cpu_op", "b", 70, 71);
    make_args(&make, "{\"Call stack\": \"g;main\"}");
    make_slice(&make, "cpu_op", "b", 200, 201);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_stack = 2, .include_python = true});
    EXPECT_U64(count_rows(averages), 8);
    EXPECT_I64(keyed_row(averages, "a", NULL, "f;main")->total_ns, 18);
    EXPECT_I64(keyed_row(averages, "step", NULL, "f;main")->total_ns, 29);
    EXPECT_I64(keyed_row(averages, "b", NULL, "f;main")->total_ns, 7);
    EXPECT_I64(keyed_row(averages, "b", NULL, "main")->total_ns, 1);
    EXPECT_I64(keyed_row(averages, "b", NULL, "g;main")->total_ns, 1);
    EXPECT_I64(keyed_row(averages, "b", NULL, "")->total_ns, 1);
    EXPECT_I64(keyed_row(averages, "f", NULL, "main")->total_ns, 40);
    EXPECT_I64(keyed_row(averages, "main", NULL, "")->total_ns, 100);
    marey_averages_free(averages);

    averages = average(trace, (struct marey_averages_options){.by_stack = 1});
    EXPECT_I64(keyed_row(averages, "a", NULL, "f")->total_ns, 18);
    finish(averages, trace);
}

/* Recursion and percentiles are of the whole key. */
static void keys_combine(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "aten::add.Tensor", 0, 100);
    make_args(&make, "{\"Input Dims\": [[1]], \"Call stack\": \"f\"}");
    make_slice(&make, "cpu_op", "aten::add.Tensor", 10, 50);
    make_args(&make, "{\"Input Dims\": [[2]], \"Call stack\": \"f\"}");
    make_slice(&make, "cpu_op", "aten::add.Tensor", 20, 30);
    make_args(&make, "{\"Input Dims\": [[1]], \"Call stack\": \"f\"}");
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(
        trace,
        (struct marey_averages_options){.by_shape = true, .by_stack = 3, .by_overload = true});
    EXPECT_U64(count_rows(averages), 2);
    const struct marey_average *one = keyed_row(averages, "aten::add", "[[1]]", "f");
    EXPECT_U64(one->n_calls, 2);
    EXPECT_I64(one->total_ns, 100);
    EXPECT_I64(one->self_ns, 70);
    EXPECT_VIEW(marey_averages_string(averages, one->overload_id), "Tensor");
    EXPECT_I64(keyed_row(averages, "aten::add", "[[2]]", "f")->total_ns, 40);
    finish(averages, trace);
}

static void keys_hold_while_the_trace_decodes_more(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "mm", 0, 10);
    make_args(&make, "{\"Input Dims\": [[7]], \"Call stack\": \"later text\"}");
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_shape = true});
    EXPECT_STATUS(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_ARG_CALL_STACK), NULL),
                  MAREY_OK);
    EXPECT_I64(keyed_row(averages, "mm", "[[7]]", NULL)->self_ns, 10);
    EXPECT_TRUE(marey_averages_string(averages, MAREY_NONE).ptr == NULL);
    finish(averages, trace);
}

static void keys_hand_on_why_args_cannot_be_read(void **state)
{
    (void)state;
    struct made_provider provider = {.status = MAREY_CHANGED};
    struct marey_trace *trace = trace_with_stacks(&provider);
    const struct marey_averages_options options = {.size = sizeof options, .by_stack = 1};
    struct marey_averages *averages = NULL;
    EXPECT_STATUS(marey_averages_new(trace, &options, &averages, NULL), MAREY_CHANGED);
    EXPECT_TRUE(averages == NULL);
    provider.status = MAREY_OK;
    EXPECT_STATUS(marey_averages_new(trace, &options, &averages, NULL), MAREY_OK);
    finish(averages, trace);
    EXPECT_TRUE(provider.is_released);
}

static void overload_is_cut_from_qualified_ops(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        const char *op; /* NULL: no overload */
        const char *overload;
    } cases[] = {
        {"aten::add.Tensor", "aten::add", "Tensor"},
        {"aten::add_.Scalar_out", "aten::add_", "Scalar_out"},
        {"a.b::add.x", "a.b::add", "x"},
        {"aten::add", NULL, NULL},
        {"aten::add.", NULL, NULL},
        {"aten::add.a.b", NULL, NULL},
        {"Optimizer.step", NULL, NULL},
        {"model.py(3): f", NULL, NULL},
        {"", NULL, NULL},
        {"::.x", "::", "x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct marey_str op;
        struct marey_str overload;
        const bool is_cut = marey__split_overload(marey__str(cases[i].name), &op, &overload);
        EXPECT_TRUE(is_cut == (cases[i].op != NULL));
        if (!is_cut)
            continue;
        EXPECT_VIEW(op, cases[i].op);
        EXPECT_VIEW(overload, cases[i].overload);
    }
}

static void overload_splits_rows_when_asked(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "aten::add.Tensor", 0, 10);
    make_slice(&make, "cpu_op", "aten::add.Scalar", 20, 25);
    make_slice(&make, "cpu_op", "aten::add", 30, 32);
    make_slice(&make, "user_annotation", "x::y.z", 40, 41);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages = average(trace, (struct marey_averages_options){0});
    EXPECT_U64(need_row(averages, "aten::add.Tensor", MAREY_KIND_OP)->overload_id, MAREY_NONE);
    marey_averages_free(averages);

    averages = average(trace, (struct marey_averages_options){.by_overload = true});
    static const char *const want[][2] = {
        {"aten::add", "Tensor"}, {"aten::add", "Scalar"}, {"aten::add", ""}, {"x::y.z", ""}};
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    EXPECT_U64(n, 4);
    for (size_t i = 0; i < n; i++) {
        EXPECT_VIEW(marey_averages_string(averages, rows[i].name_id), want[i][0]);
        EXPECT_VIEW(marey_averages_string(averages, rows[i].overload_id), want[i][1]);
    }
    finish(averages, trace);
}

static void ranks_split_rows_of_threads_and_devices(void **state)
{
    (void)state;
    static const int64_t ranks[] = {0, 10, 2};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int i = 0; i < 3; i++) {
        if (i > 0)
            make_source(&make, ranks[i]);
        make_thread(&make, "7", "1");
        make_slice(&make, "cpu_op", "mm", 0, 10 + i);
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 3, 1);
        make_stream(&make, 0, 7);
        make_call(&make, "kernel", "k", 20, 25 + i, 1);
    }
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_rank = true, .by_shape = true});
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    int64_t self_ns = 0;
    EXPECT_U64(n, 9);
    for (size_t i = 0; i < n; i++) {
        const int64_t more_ns = rows[i].rank == 0 ? 0 : rows[i].rank == 10 ? 1 : 2;
        EXPECT_TRUE(rows[i].rank == ranks[more_ns]);
        EXPECT_U64(rows[i].n_calls, 1);
        if (rows[i].kind == MAREY_KIND_KERNEL)
            EXPECT_I64(rows[i].self_ns, 5 + more_ns);
        if (rows[i].kind == MAREY_KIND_OP)
            EXPECT_I64(rows[i].device_self_ns, 5 + more_ns);
        self_ns += marey_kind_is_device_operation(rows[i].kind) ? 0 : rows[i].self_ns;
    }
    EXPECT_I64(self_ns, 33);
    marey_averages_free(averages);
    averages = average(trace, (struct marey_averages_options){.by_shape = false});
    EXPECT_U64(count_rows(averages), 3);
    EXPECT_I64(find_row(averages, "k", MAREY_KIND_KERNEL)->rank, MAREY_UNKNOWN);
    finish(averages, trace);
}

/* Two threads: rows of both stand in order of their starts, each slice for itself, with its own
 * self time and its own kernels; the labels of steps keep their numbers. */
static void rows_of_events_stand_in_order_of_their_starts(void **state)
{
    (void)state;
    static const char *const names[] = {
        "ProfilerStep#1", "ProfilerStep#1", "mm", "other", "mm", "k"};
    static const int64_t self_ns[] = {70, 18, 12, 7, 20, 5};
    struct made_provider provider = {0};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "user_annotation", "ProfilerStep#1", 0, 100);
    make_slice(&make, "user_annotation", "ProfilerStep#1", 10, 40);
    make_slice(&make, "cpu_op", "mm", 20, 32);
    make_args(&make, "{\"Input Dims\": [[2]], \"Call stack\": \"f\"}");
    make_thread(&make, "1", "2");
    make_slice(&make, "cpu_op", "other", 30, 37);
    make_slice(&make, "cpu_op", "mm", 50, 70);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 55, 55, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 20, 25, 1);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){
                           .by_event = true, .by_shape = true, .by_stack = 1, .join_steps = true});
    size_t n = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n);
    EXPECT_U64(n, 7);
    for (size_t i = 0, at = 0; i < n; i++) {
        if (rows[i].kind == MAREY_KIND_RUNTIME)
            continue;
        EXPECT_TRUE(marey__str_is_c(marey_averages_string(averages, rows[i].name_id), names[at]));
        EXPECT_U64(rows[i].n_calls, 1);
        EXPECT_I64(rows[i].self_ns, self_ns[at++]);
    }
    EXPECT_TRUE(marey__str_is_c(marey_averages_string(averages, rows[2].shapes_id), "[[2]]"));
    EXPECT_TRUE(marey__str_is_c(marey_averages_string(averages, rows[3].shapes_id), ""));
    EXPECT_U64(rows[2].stack_id, MAREY_NONE);
    EXPECT_I64(rows[2].device_total_ns, 0);
    EXPECT_I64(rows[4].device_total_ns, 5);
    EXPECT_TRUE(marey_averages_get_options(averages).by_shape);

    struct marey_averages *joined = NULL;
    struct marey_error err;
    EXPECT_STATUS(marey_averages_join(&averages, 1, &joined, &err), MAREY_INVALID);
    finish(averages, trace);
}

static void rows_of_events_have_no_shapes_where_no_slice_has(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "python_function", "f", 0, 10);
    make_slice(&make, "cpu_op", "mm", 0, 4);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_averages *averages =
        average(trace, (struct marey_averages_options){.by_event = true, .by_shape = true});
    EXPECT_U64(count_rows(averages), 1);
    EXPECT_FALSE(marey_averages_get_options(averages).by_shape);
    EXPECT_I64(marey_averages_totals(averages).python_self_ns, 6);
    finish(averages, trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(keys_of_shapes_are_their_values),
        cmocka_unit_test(keys_of_shapes_read_the_text_of_old_files),
        cmocka_unit_test(keys_of_stacks_are_their_first_entries),
        cmocka_unit_test(keys_of_stacks_come_from_python_functions),
        cmocka_unit_test(keys_combine),
        cmocka_unit_test(keys_hold_while_the_trace_decodes_more),
        cmocka_unit_test(keys_hand_on_why_args_cannot_be_read),
        cmocka_unit_test(overload_is_cut_from_qualified_ops),
        cmocka_unit_test(overload_splits_rows_when_asked),
        cmocka_unit_test(ranks_split_rows_of_threads_and_devices),
        cmocka_unit_test(rows_of_events_stand_in_order_of_their_starts),
        cmocka_unit_test(rows_of_events_have_no_shapes_where_no_slice_has),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
