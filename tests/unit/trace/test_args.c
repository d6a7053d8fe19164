/*
 * Tests of src/trace/args.c and memory.c: args as columns, through a provider.
 */
#include <stdio.h>

#include "base/str.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_trace.h"

/* Slices whose file order is not the order of the trace. */
static struct marey_trace *make_with_args(struct made_provider *provider)
{
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make.provider = provider;
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "late", 100, 110);
    make_args(&make,
              "{\"External id\": 7, \"Input Dims\": [[2, 3], []], \"Call stack\": "
              "\"a.py(1): f;b\\\"c\\\"\", \"Sequence number\": \"12\", \"other\": {\"x\": [1]}}");
    make_slice(&make, "cpu_op", "early", 0, 10);
    make_args(&make, "{\"external id\": -1, \"Input Dims\": [[2, 3], []], \"finished\": false}");
    make_slice(&make, "cpu_op", "bare", 20, 30);
    make_slice(&make, "cpu_op", "empty", 40, 50);
    make_args(&make, "{}");
    make_slice(&make, "cpu_op", "odd", 60, 70);
    make_args(&make, "{\"External id\": 1.5, \"Sequence number\": null, \"Ev Idx\": [1], "
                     "\"Input Dims\": \"\"}");
    make_slice(&make, "cpu_op", "broken", 80, 90);
    make_args(&make, "{\"External id\": 9, \"Input Dims\": [[");
    return make_trace_end(&make);
}

static int64_t int_of(const struct marey_trace *trace, enum marey_arg arg, const char *name,
                      int64_t start_ns)
{
    const int64_t *column = marey_trace_arg_ints(trace, arg);
    EXPECT_TRUE(column != NULL);
    return column[made_slice(trace, name, start_ns)];
}

static struct marey_str text_of(const struct marey_trace *trace, enum marey_arg arg,
                                const char *name, int64_t start_ns)
{
    const uint32_t *column = marey_trace_arg_texts(trace, arg);
    EXPECT_TRUE(column != NULL);
    return marey_trace_string(trace, column[made_slice(trace, name, start_ns)]);
}

static void shapes_are_integers_in_lists(void **state)
{
    (void)state;
    static const struct {
        const char *dims;
        const char *shape; /* NULL: none */
    } cases[] = {
        {"[]", "[]"},
        {"[[2, 3], [], [[0, -1]]]", "[[2, 3], [], [[0, -1]]]"},
        {"[ [2,3 ],\n[]]", "[[2, 3], []]"},
        {"\"\"", ""},
        {"\"[[2,\\t3]]\"", "[[2, 3]]"},
        {"[[NaN]]", NULL},
        {"[[null]]", NULL},
        {"[[01]]", NULL},
        {"[[\"2\"]]", NULL},
        {"[[2.5]]", NULL},
        {"[1-2]", NULL},
        {"[-]", NULL},
        {"nil", NULL},
        {"[[2 3]]", NULL},
        {"{}", NULL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct made_provider provider = {0};
        struct make_trace make;
        char args[128];
        (void)snprintf(args, sizeof args, "{\"Input Dims\": %s}", cases[i].dims);
        make_trace_begin(&make, NULL);
        make.provider = &provider;
        make_thread(&make, "1", "1");
        make_slice(&make, "cpu_op", "a", 0, 10);
        make_args(&make, args);
        struct marey_trace *trace = make_trace_end(&make);
        EXPECT_STATUS(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS), NULL),
                      MAREY_OK);
        const struct marey_str shape = text_of(trace, MAREY_ARG_INPUT_DIMS, "a", 0);
        EXPECT_TRUE((shape.ptr != NULL) == (cases[i].shape != NULL));
        if (shape.ptr != NULL)
            EXPECT_VIEW(shape, cases[i].shape);
        marey_trace_free(trace);
    }
}

static void args_become_columns(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = make_with_args(&provider);
    const uint64_t bits = MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID) | MAREY_ARG_BIT(MAREY_ARG_SEQUENCE) |
                          MAREY_ARG_BIT(MAREY_ARG_FINISHED) | MAREY_ARG_BIT(MAREY_ARG_EVENT_IDX) |
                          MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS) | MAREY_ARG_BIT(MAREY_ARG_CALL_STACK);
    EXPECT_TRUE(marey_trace_arg_ints(trace, MAREY_ARG_EXTERNAL_ID) == NULL);
    EXPECT_STATUS(marey_trace_decode_args(trace, bits, NULL), MAREY_OK);
    EXPECT_U64(provider.n_walks, 1);

    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "late", 100), 7);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "early", 0), -1);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "bare", 20), MAREY_UNKNOWN);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "empty", 40), MAREY_UNKNOWN);
    EXPECT_I64(int_of(trace, MAREY_ARG_SEQUENCE, "late", 100), 12);
    EXPECT_I64(int_of(trace, MAREY_ARG_SEQUENCE, "odd", 60), MAREY_UNKNOWN);
    EXPECT_I64(int_of(trace, MAREY_ARG_EVENT_IDX, "odd", 60), MAREY_UNKNOWN);
    EXPECT_I64(int_of(trace, MAREY_ARG_FINISHED, "early", 0), 0);
    EXPECT_I64(int_of(trace, MAREY_ARG_FINISHED, "late", 100), MAREY_UNKNOWN);
    EXPECT_VIEW(text_of(trace, MAREY_ARG_INPUT_DIMS, "late", 100), "[[2, 3], []]");
    EXPECT_VIEW(text_of(trace, MAREY_ARG_INPUT_DIMS, "odd", 60), "");
    EXPECT_TRUE(text_of(trace, MAREY_ARG_INPUT_DIMS, "bare", 20).ptr == NULL);
    EXPECT_VIEW(text_of(trace, MAREY_ARG_CALL_STACK, "late", 100), "a.py(1): f;b\"c\"");
    /* One text has one id. */
    const uint32_t *dims = marey_trace_arg_texts(trace, MAREY_ARG_INPUT_DIMS);
    EXPECT_U64(dims[made_slice(trace, "late", 100)], dims[made_slice(trace, "early", 0)]);
    /* The columns are of one type each. */
    EXPECT_TRUE(marey_trace_arg_texts(trace, MAREY_ARG_EXTERNAL_ID) == NULL);
    EXPECT_TRUE(marey_trace_arg_ints(trace, MAREY_ARG_INPUT_DIMS) == NULL);
    EXPECT_FALSE(provider.is_released);
    marey_trace_free(trace);
    EXPECT_TRUE(provider.is_released);
}

/* An integer that has a fraction is none. */
static void args_take_no_fraction_for_an_integer(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = make_with_args(&provider);
    EXPECT_STATUS(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID), NULL),
                  MAREY_OK);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "odd", 60), MAREY_UNKNOWN);
    marey_trace_free(trace);
}

static void args_are_walked_for_what_is_missing_only(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = make_with_args(&provider);
    const uint64_t id = MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID);
    const uint64_t dims = MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS);
    const uint64_t stack = MAREY_ARG_BIT(MAREY_ARG_CALL_STACK);
    EXPECT_STATUS(marey_trace_decode_args(trace, id | dims, NULL), MAREY_OK);
    const int64_t *column = marey_trace_arg_ints(trace, MAREY_ARG_EXTERNAL_ID);
    const struct marey_str text = text_of(trace, MAREY_ARG_INPUT_DIMS, "late", 100);
    EXPECT_STATUS(marey_trace_decode_args(trace, id | dims, NULL), MAREY_OK);
    EXPECT_STATUS(marey_trace_decode_args(trace, 0, NULL), MAREY_OK);
    EXPECT_U64(provider.n_walks, 1);
    EXPECT_STATUS(marey_trace_decode_args(trace, id | stack, NULL), MAREY_OK);
    EXPECT_U64(provider.n_walks, 2);
    EXPECT_TRUE(marey_trace_arg_ints(trace, MAREY_ARG_EXTERNAL_ID) == column);
    EXPECT_TRUE(text_of(trace, MAREY_ARG_INPUT_DIMS, "late", 100).ptr == text.ptr);
    EXPECT_VIEW(text_of(trace, MAREY_ARG_CALL_STACK, "late", 100), "a.py(1): f;b\"c\"");
    marey_trace_free(trace);
}

static void args_one_by_one_are_those_of_one_walk(void **state)
{
    (void)state;
    struct made_provider providers[2] = {{.n = 0}, {.n = 0}};
    struct marey_trace *whole = make_with_args(&providers[0]);
    struct marey_trace *apart = make_with_args(&providers[1]);
    EXPECT_STATUS(marey_trace_decode_args(whole, MAREY_ARG_BIT(MAREY_N_ARGS) - 1, NULL), MAREY_OK);
    for (int arg = MAREY_N_ARGS; arg-- > 0;)
        EXPECT_STATUS(marey_trace_decode_args(apart, MAREY_ARG_BIT(arg), NULL), MAREY_OK);
    const size_t n = marey_trace_slices(whole).n;
    for (int arg = 0; arg < MAREY_N_ARGS; arg++) {
        const int64_t *ints = marey_trace_arg_ints(whole, (enum marey_arg)arg);
        const uint32_t *texts = marey_trace_arg_texts(whole, (enum marey_arg)arg);
        EXPECT_TRUE((ints == NULL) != (texts == NULL));
        for (size_t i = 0; i < n; i++) {
            if (ints != NULL)
                EXPECT_I64(marey_trace_arg_ints(apart, (enum marey_arg)arg)[i], ints[i]);
            else
                EXPECT_TRUE(marey__str_is(
                    marey_trace_string(whole, texts[i]),
                    marey_trace_string(apart,
                                       marey_trace_arg_texts(apart, (enum marey_arg)arg)[i])));
        }
    }
    marey_trace_free(apart);
    marey_trace_free(whole);
}

static void args_that_cannot_be_read_leave_no_column(void **state)
{
    (void)state;
    struct made_provider provider = {.status = MAREY_CHANGED};
    struct marey_trace *trace = make_with_args(&provider);
    const uint64_t id = MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID);
    EXPECT_STATUS(marey_trace_decode_args(trace, id, NULL), MAREY_CHANGED);
    EXPECT_TRUE(marey_trace_arg_ints(trace, MAREY_ARG_EXTERNAL_ID) == NULL);
    provider.status = MAREY_OK;
    EXPECT_STATUS(marey_trace_decode_args(trace, id, NULL), MAREY_OK);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "late", 100), 7);
    EXPECT_STATUS(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_N_ARGS), NULL), MAREY_INVALID);
    marey_trace_free(trace);
}

static void args_without_a_provider_are_absent(void **state)
{
    (void)state;
    struct make_trace make;
    struct marey_memory_records records = {.n = 5};
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "a", 0, 1);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_STATUS(marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_N_ARGS) - 1, NULL), MAREY_OK);
    EXPECT_I64(int_of(trace, MAREY_ARG_EXTERNAL_ID, "a", 0), MAREY_UNKNOWN);
    EXPECT_TRUE(text_of(trace, MAREY_ARG_INPUT_DIMS, "a", 0).ptr == NULL);
    EXPECT_STATUS(marey_trace_memory_records(trace, &records, NULL), MAREY_OK);
    EXPECT_U64(records.n, 0);
    marey_trace_free(trace);
}

struct walked {
    size_t n;
    size_t stop_at;
    struct marey_str args[8];
};

static enum marey_status take(void *user, size_t i, struct marey_str args)
{
    struct walked *walked = user;
    EXPECT_U64(i, walked->n);
    if (walked->n == walked->stop_at)
        return MAREY_LIMIT;
    walked->args[walked->n++] = args;
    return MAREY_OK;
}

static void walk_gives_args_as_they_are(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct marey_trace *trace = make_with_args(&provider);
    const uint64_t offsets[] = {0, 200, 300};
    struct walked walked = {.stop_at = 8};
    EXPECT_STATUS(marey_trace_walk_args(trace, offsets, 3, take, &walked, NULL), MAREY_OK);
    EXPECT_U64(walked.n, 3);
    EXPECT_TRUE(marey__str_starts(walked.args[0], "{\"External id\": 7"));
    EXPECT_TRUE(walked.args[1].ptr == NULL);
    EXPECT_VIEW(walked.args[2], "{}");

    walked = (struct walked){.stop_at = 1};
    EXPECT_STATUS(marey_trace_walk_args(trace, offsets, 3, take, &walked, NULL), MAREY_LIMIT);
    EXPECT_U64(walked.n, 1);
    marey_trace_free(trace);
}

/* ---- [memory] records ---------------------------------------------------------- */

static void add_memory(struct make_trace *make, int64_t ts_ns, const char *name, const char *args)
{
    const struct marey_new_point point = {
        .ts_ns = ts_ns,
        .offset = MAREY_OFFSET(make->source_idx, make->next_byte),
        .track_idx = make->track_idx,
        .name_id = marey__intern_c(marey__builder_strings(make->builder), name),
        .cat_id = marey__builder_category(make->builder, marey__str("cpu_instant_event")),
    };
    make->last_offset = point.offset;
    make->next_byte += 100;
    marey__builder_add_instant(make->builder, &point);
    if (args != NULL)
        make_args(make, args);
}

static void memory_records_become_columns(void **state)
{
    (void)state;
    struct made_provider provider = {0};
    struct make_trace make;
    struct marey_memory_records records = {0};
    make_trace_begin(&make, NULL);
    make.provider = &provider;
    make_thread(&make, "1", "1");
    add_memory(&make, 20, "[memory]",
               "{\"Total Allocated\": 0, \"Total Reserved\": 5, \"Bytes\": -64, \"Addr\": 4096, "
               "\"Device Id\": -1, \"Device Type\": 0}");
    add_memory(&make, 15, "[OutOfMemory]", "{\"Bytes\": 9}");
    add_memory(&make, 10, "[memory]", "{\"Bytes\": 64, \"Device Id\": 1, \"Device Type\": 1}");
    add_memory(&make, 30, "[memory]", NULL);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_STATUS(marey_trace_memory_records(trace, &records, NULL), MAREY_OK);
    EXPECT_U64(records.n, 3);
    const struct marey_instants instants = marey_trace_instants(trace);
    EXPECT_I64(instants.ts_ns[records.instant_idx[0]], 10);
    EXPECT_I64(records.bytes[0], 64);
    EXPECT_I64(records.device_type[0], 1);
    EXPECT_I64(records.device_id[0], 1);
    EXPECT_I64(records.addr[0], MAREY_UNKNOWN);
    EXPECT_I64(instants.ts_ns[records.instant_idx[1]], 20);
    EXPECT_I64(records.bytes[1], -64);
    EXPECT_I64(records.addr[1], 4096);
    EXPECT_I64(records.device_id[1], -1);
    EXPECT_I64(records.total_allocated[1], 0);
    EXPECT_I64(records.bytes[2], MAREY_UNKNOWN);
    EXPECT_STATUS(marey_trace_memory_records(trace, &records, NULL), MAREY_OK);
    EXPECT_U64(provider.n_walks, 1);
    marey_trace_free(trace);
}

/* ---- want of memory ---------------------------------------------------------------- */

static enum marey_status ask_for_all(void *ctx, const struct marey_alloc *alloc)
{
    struct made_provider *provider = ctx;
    struct make_trace make;
    struct marey_trace *trace = NULL;
    struct marey_memory_records records;
    struct marey_ledger ledger;
    const int64_t *self_ns = NULL;
    *provider = (struct made_provider){0};
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    make.provider = provider;
    make_thread(&make, "1", "1");
    for (int i = 0; i < 50; i++) {
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", i, 200 - i, (uint64_t)i);
        make_args(&make, "{\"External id\": 7, \"Input Dims\": [[2]], \"Call stack\": \"a\\n\"}");
    }
    if (!marey__builder_failed(make.builder) && make.track_idx != MAREY_NONE)
        add_memory(&make, 5, "[memory]", "{\"Bytes\": 64}");
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 600, 700, 1);

    enum marey_status status = make_trace_finish(&make, &trace, NULL);
    if (status == MAREY_OK)
        status = marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_N_ARGS) - 1, NULL);
    if (status == MAREY_OK)
        status = marey_trace_memory_records(trace, &records, NULL);
    if (status == MAREY_OK)
        status = marey_trace_self_ns(trace, &self_ns, NULL);
    if (status == MAREY_OK)
        status = marey_trace_ledger(trace, &ledger, NULL);
    marey_trace_free(trace);
    return status;
}

static void lazy_columns_survive_want_of_memory(void **state)
{
    (void)state;
    static struct made_provider provider;
    EXPECT_TRUE(alloc_fail_sweep(ask_for_all, &provider) > 50);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(args_become_columns),
        cmocka_unit_test(shapes_are_integers_in_lists),
        cmocka_unit_test(args_take_no_fraction_for_an_integer),
        cmocka_unit_test(args_are_walked_for_what_is_missing_only),
        cmocka_unit_test(args_one_by_one_are_those_of_one_walk),
        cmocka_unit_test(args_that_cannot_be_read_leave_no_column),
        cmocka_unit_test(args_without_a_provider_are_absent),
        cmocka_unit_test(walk_gives_args_as_they_are),
        cmocka_unit_test(memory_records_become_columns),
        cmocka_unit_test(lazy_columns_survive_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
