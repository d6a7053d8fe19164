/*
 * Tests of src/trace/owner.c: who launched and who owns a device operation (law 4).
 */
#include <string.h>

#include "support/expect.h"
#include "support/ledger.h"
#include "support/make_trace.h"

struct found {
    uint32_t launch_idx;
    uint32_t owner_idx;
};

/* Launch and owner of the operation of that name and start. */
static struct found find(struct marey_trace *trace, const char *name, int64_t start_ns)
{
    struct marey_owners owners = {0};
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    const struct marey_links links = marey_trace_links(trace);
    const uint32_t slice = made_slice(trace, name, start_ns);
    EXPECT_U64(owners.n, links.n);
    for (size_t i = 0; i < links.n; i++)
        if (links.slice_idx[i] == slice)
            return (struct found){owners.launch_idx[i], owners.owner_idx[i]};
    EXPECT_FAIL("the operation has no link");
    return (struct found){MAREY_NONE, MAREY_NONE};
}

static void expect_owner(struct marey_trace *trace, const char *kernel, int64_t start_ns,
                         const char *launch, int64_t launch_ns, const char *owner, int64_t owner_ns)
{
    const struct found found = find(trace, kernel, start_ns);
    EXPECT_U64(found.launch_idx,
               launch == NULL ? MAREY_NONE : made_slice(trace, launch, launch_ns));
    EXPECT_U64(found.owner_idx, owner == NULL ? MAREY_NONE : made_slice(trace, owner, owner_ns));
}

/* D2 */
static void owner_is_the_innermost_op(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "W", 0, 12);
    make_slice(&make, "cpu_op", "A", 1, 10);
    make_slice(&make, "user_annotation", "inner", 1, 9);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 20, 28, 1);
    struct marey_trace *trace = make_trace_end(&make);
    expect_owner(trace, "k", 20, "cudaLaunchKernel", 2, "A", 1);
    EXPECT_U64(ledger_count(trace, "no_launch"), 0);
    EXPECT_U64(ledger_count(trace, "no_kernel"), 0);
    marey_trace_free(trace);
}

static void owner_without_op_is_the_annotation_then_the_call(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "user_annotation", "outer", 0, 100);
    make_slice(&make, "user_annotation", "note", 1, 50);
    make_slice(&make, "python_function", "f", 2, 40);
    make_call(&make, "cuda_runtime", "cudaMemcpyAsync", 3, 4, 1);
    make_call(&make, "cuda_runtime", "cudaMemsetAsync", 200, 201, 2);
    make_slice(&make, NULL, "uncategorised", 300, 310);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 301, 302, 3);
    make_stream(&make, 0, 7);
    make_call(&make, "gpu_memcpy", "copy", 20, 28, 1);
    make_call(&make, "gpu_memset", "set", 220, 228, 2);
    make_call(&make, "kernel", "k", 320, 328, 3);
    struct marey_trace *trace = make_trace_end(&make);
    expect_owner(trace, "copy", 20, "cudaMemcpyAsync", 3, "note", 1);
    expect_owner(trace, "set", 220, "cudaMemsetAsync", 200, "cudaMemsetAsync", 200);
    expect_owner(trace, "k", 320, "cudaLaunchKernel", 301, "uncategorised", 300);
    marey_trace_free(trace);
}

static void launch_is_the_outermost_call_of_a_correlation(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 0, 10, 1);
    make_call(&make, "cuda_driver", "cuLaunchKernel", 2, 8, 1);
    make_call(&make, "cuda_runtime", "hipGetDevice", 20, 30, 2); /* no launch */
    make_call(&make, "cuda_driver", "cuLaunchKernelEx", 22, 28, 2);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 40, 41, 1);
    make_call(&make, "kernel", "k2", 50, 51, 2);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(find(trace, "k1", 40).launch_idx, made_slice(trace, "cudaLaunchKernel", 0));
    EXPECT_U64(find(trace, "k2", 50).launch_idx, made_slice(trace, "cuLaunchKernelEx", 22));
    EXPECT_U64(ledger_count(trace, "no_kernel"), 0);
    EXPECT_U64(ledger_count(trace, "correlation_reused"), 0);
    marey_trace_free(trace);
}

/* What lies between the two changes nothing: an operator, a Python function, another call. */
static void launch_is_the_outermost_through_what_lies_between(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 0, 100, 1);
    make_slice(&make, "cpu_op", "between", 1, 90);
    make_call(&make, "cuda_driver", "cuLaunchKernel", 2, 80, 1);
    make_call(&make, "cuda_runtime", "cudaMemcpyAsync", 3, 70, 2);
    make_slice(&make, "python_function", "f", 4, 60);
    make_call(&make, "cuda_driver", "cuLaunchKernel", 5, 50, 1);
    make_call(&make, "cuda_driver", "cuMemcpyAsync", 6, 40, 2);
    make_call(&make, "cuda_driver", "cuLaunchKernel", 200, 300, 1); /* after it: its own */
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 120, 130, 1);
    make_call(&make, "gpu_memcpy", "c", 140, 150, 2);
    struct marey_trace *trace = make_trace_end(&make);
    expect_owner(trace, "k", 120, "cudaLaunchKernel", 0, "cudaLaunchKernel", 0);
    expect_owner(trace, "c", 140, "cudaMemcpyAsync", 3, "between", 1);
    EXPECT_U64(ledger_count(trace, "correlation_reused"), 1);
    EXPECT_U64(ledger_count(trace, "no_kernel"), 1);
    marey_trace_free(trace);
}

/* D3 */
static void overhead_owns_nothing(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "A", 0, 10);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 7);
    make_slice(&make, "overhead", "Command Buffer Full", 1, 9);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 20, 28, 7);
    struct marey_trace *trace = make_trace_end(&make);
    expect_owner(trace, "k", 20, "cudaLaunchKernel", 2, "A", 0);
    marey_trace_free(trace);
}

/* D6 */
static void launch_is_the_latest_one_before(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 1010, 1013, 1);
    make_call(&make, "kernel", "k", 10, 20, 1);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 1002, 1004, 1);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(find(trace, "k", 10).launch_idx, made_slice(trace, "cudaLaunchKernel", 2));
    EXPECT_U64(find(trace, "k", 1010).launch_idx, made_slice(trace, "cudaLaunchKernel", 1002));
    EXPECT_U64(ledger_count(trace, "correlation_reused"), 1);
    EXPECT_U64(ledger_count(trace, "kernel_before_launch"), 0);
    marey_trace_free(trace);
}

/* T9: all launches began later, so the first one is it. */
static void launch_after_its_kernel_is_said(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 100, 102, 1);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 200, 202, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k", 98, 99, 1);
    make_call(&make, "kernel", "j", 200, 205, 1); /* begins with it: not before */
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_owners owners = {0};
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    EXPECT_U64(find(trace, "k", 98).launch_idx, made_slice(trace, "cudaLaunchKernel", 100));
    EXPECT_U64(find(trace, "j", 200).launch_idx, made_slice(trace, "cudaLaunchKernel", 200));
    EXPECT_U64(owners.n_before_launch, 1);
    EXPECT_U64(ledger_count(trace, "kernel_before_launch"), 1);
    marey_trace_free(trace);
}

/* D7 */
static void launch_is_of_the_same_source(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k0", 10, 20, 1);
    make_source(&make, 1);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 3, 5, 1);
    make_stream(&make, 0, 7);
    make_call(&make, "kernel", "k1", 10, 20, 1);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(find(trace, "k0", 10).launch_idx, made_slice(trace, "cudaLaunchKernel", 2));
    EXPECT_U64(find(trace, "k1", 10).launch_idx, made_slice(trace, "cudaLaunchKernel", 3));
    marey_trace_free(trace);
}

/* D8 */
static void launch_of_a_graph_owns_all(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "region", 0, 8);
    make_call(&make, "cuda_runtime", "cudaGraphLaunch", 2, 7, 5);
    make_stream(&make, 0, 7);
    for (int64_t i = 0; i < 3; i++)
        make_call(&make, "kernel", "k", 12 + 10 * i, 16 + 10 * i, 5);
    struct marey_trace *trace = make_trace_end(&make);
    for (int64_t i = 0; i < 3; i++)
        expect_owner(trace, "k", 12 + 10 * i, "cudaGraphLaunch", 2, "region", 0);
    EXPECT_U64(ledger_count(trace, "no_kernel"), 0);
    marey_trace_free(trace);
}

/* D9, D10, D11 */
static void what_is_missing_is_counted(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 12, 14, 2);
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 15, 16, 3); /* nothing came of it */
    make_call(&make, "cuda_runtime", "cudaStreamIsCapturing", 20, 21, 8);
    make_call(&make, "cuda_runtime", "cudaDeviceSynchronize", 22, 23, 9);
    make_call(&make, "cuda_runtime", "cudaMemsetAsync", 24, 25, 10); /* nor of this */
    make_call(&make, "cuda_driver", "cuMemsetD32Async", 26, 27, 11);
    make_stream(&make, 0, 7);
    make_call(&make, "gpu_memset", "Memset (Device)", 40, 41, 11);
    make_call(&make, "kernel", "early", 0, 8, 1);
    make_call(&make, "kernel", "k", 20, 25, 2);
    make_slice(&make, "kernel", "lonely", 30, 31); /* no correlation at all */
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_owners owners = {0};
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    EXPECT_U64(owners.n_without_launch, 2);
    EXPECT_U64(owners.n_without_kernel, 2);
    EXPECT_U64(owners.n_launches, 4);
    expect_owner(trace, "early", 0, NULL, 0, NULL, 0);
    EXPECT_U64(ledger_count(trace, "no_launch"), 2);
    EXPECT_U64(ledger_count(trace, "no_kernel"), 1);
    EXPECT_U64(ledger_count(trace, "no_fill"), 1);
    marey_trace_free(trace);
}

static void calls_have_no_owner(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2, 4, 1);
    struct marey_trace *trace = make_trace_end(&make);
    expect_owner(trace, "cudaLaunchKernel", 2, NULL, 0, NULL, 0);
    EXPECT_U64(marey_trace_links(trace).correlation[0], 1);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owner_is_the_innermost_op),
        cmocka_unit_test(owner_without_op_is_the_annotation_then_the_call),
        cmocka_unit_test(launch_is_the_outermost_call_of_a_correlation),
        cmocka_unit_test(launch_is_the_outermost_through_what_lies_between),
        cmocka_unit_test(overhead_owns_nothing),
        cmocka_unit_test(launch_is_the_latest_one_before),
        cmocka_unit_test(launch_after_its_kernel_is_said),
        cmocka_unit_test(launch_is_of_the_same_source),
        cmocka_unit_test(launch_of_a_graph_owns_all),
        cmocka_unit_test(what_is_missing_is_counted),
        cmocka_unit_test(calls_have_no_owner),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
