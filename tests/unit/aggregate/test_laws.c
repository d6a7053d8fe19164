/*
 * Tests of src/aggregate/laws.c: both sides of the laws of conservation.
 */
#include "marey/aggregate.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_trace.h"

static struct marey_law_checks check(struct marey_trace *trace)
{
    struct marey_law_checks laws = {0};
    EXPECT_STATUS(marey_trace_check_laws(trace, &laws, NULL), MAREY_OK);
    return laws;
}

static struct marey_trace *make(const struct marey_alloc *alloc)
{
    struct make_trace made;
    make_trace_begin(&made, alloc);
    make_thread(&made, "1", "1");
    make_slice(&made, "cpu_op", "A", 0, 100);
    make_slice(&made, "cpu_op", "B", 50, 120); /* crosses */
    make_timed(&made, "cpu_op", "open", 60, MAREY_UNKNOWN);
    make_call(&made, "cuda_runtime", "cudaLaunchKernel", 10, 20, 1);
    make_thread(&made, "1", "2");
    make_slice(&made, "cpu_op", "C", 0, 5);
    make_stream(&made, 0, 7);
    make_call(&made, "kernel", "owned", 30, 40, 1);
    make_call(&made, "kernel", "nobody's", 35, 42, 99); /* and overlaps */
    return make_trace_end(&made);
}

static void laws_hold_over_crossings_overlaps_and_unknowns(void **state)
{
    (void)state;
    struct marey_trace *trace = make(NULL);
    const struct marey_law_checks laws = check(trace);
    EXPECT_I64(laws.self_sum_ns, 120 + 5 + 12);
    EXPECT_I64(laws.union_ns, 120 + 5 + 12);
    EXPECT_I64(laws.device_sum_ns, 17);
    EXPECT_I64(laws.owned_plus_unowned_ns, 17);
    marey_trace_free(trace);
}

static void laws_of_nothing_are_zero(void **state)
{
    (void)state;
    struct make_trace made;
    make_trace_begin(&made, NULL);
    struct marey_trace *trace = make_trace_end(&made);
    const struct marey_law_checks laws = check(trace);
    EXPECT_I64(laws.self_sum_ns, 0);
    EXPECT_I64(laws.union_ns, 0);
    EXPECT_I64(laws.device_sum_ns, 0);
    EXPECT_I64(laws.owned_plus_unowned_ns, 0);
    marey_trace_free(trace);
}

static void sums_beyond_64_bits_are_unknown(void **state)
{
    (void)state;
    const int64_t far = INT64_MAX - 1000;
    struct make_trace made;
    make_trace_begin(&made, NULL);
    make_thread(&made, "1", "1");
    make_slice(&made, "cpu_op", "A", 0, far);
    make_thread(&made, "1", "2");
    make_slice(&made, "cpu_op", "A", 0, far);
    make_stream(&made, 0, 7);
    make_call(&made, "kernel", "k", 0, 10, 1);
    struct marey_trace *trace = make_trace_end(&made);
    const struct marey_law_checks laws = check(trace);
    EXPECT_I64(laws.self_sum_ns, MAREY_UNKNOWN);
    EXPECT_I64(laws.union_ns, MAREY_UNKNOWN);
    EXPECT_I64(laws.device_sum_ns, 10);
    EXPECT_I64(laws.owned_plus_unowned_ns, 10);
    marey_trace_free(trace);
}

static enum marey_status check_with(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    struct make_trace made;
    struct marey_trace *trace = NULL;
    struct marey_law_checks laws = {.self_sum_ns = -1};

    if (!make_trace_try_begin(&made, alloc)) {
        marey__builder_free(made.builder);
        return MAREY_NOMEM;
    }
    make_thread(&made, "1", "1");
    make_slice(&made, "cpu_op", "A", 0, 100);
    make_slice(&made, "cpu_op", "B", 50, 120);
    enum marey_status status = make_trace_finish(&made, &trace, NULL);
    if (status == MAREY_OK)
        status = marey_trace_check_laws(trace, &laws, NULL);
    EXPECT_I64(laws.self_sum_ns, status == MAREY_OK ? 120 : -1);
    marey_trace_free(trace);
    return status;
}

static void want_of_memory_leaves_the_answer_alone(void **state)
{
    (void)state;
    alloc_fail_sweep(check_with, NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(laws_hold_over_crossings_overlaps_and_unknowns),
        cmocka_unit_test(laws_of_nothing_are_zero),
        cmocka_unit_test(sums_beyond_64_bits_are_unknown),
        cmocka_unit_test(want_of_memory_leaves_the_answer_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
