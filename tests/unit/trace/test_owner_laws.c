/*
 * Tests of src/trace/owner.c on random and on deep threads: launches and owners agree with
 * a slow reference that climbs from each slice to the top.
 */
#include "base/str.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_trace.h"

enum {
    N_SLICES = 200,
    N_CORRELATIONS = 12,
    N_DEEP = 100000, /* a climb for each would be 10^10 steps: the test would not end */
};

/* ---- the reference ---- */

struct reference {
    struct marey_trace *trace;
    struct marey_slices slices;
    struct marey_links links;
    bool is_launch[8 * N_SLICES]; /* by link */
};

static bool is_launch_call(const struct reference *ref, size_t link)
{
    const uint32_t i = ref->links.slice_idx[link];
    const enum marey_kind kind = marey_trace_slice_kind(ref->trace, i);
    const struct marey_str name = marey_trace_string(ref->trace, ref->slices.name_id[i]);
    return (kind == MAREY_KIND_RUNTIME || kind == MAREY_KIND_DRIVER) &&
           marey__str_is(name, marey__str("xLaunch"));
}

static bool is_open(const struct reference *ref, uint32_t outer, uint32_t inner)
{
    const int64_t dur_ns = ref->slices.dur_ns[outer];
    return dur_ns > 0 && ref->slices.start_ns[outer] + dur_ns > ref->slices.start_ns[inner] &&
           marey_trace_slice_track(ref->trace, outer) == marey_trace_slice_track(ref->trace, inner);
}

/* Links come in order of slices, so an outer call is known before those inside it. */
static void find_launches(struct reference *ref)
{
    for (size_t i = 0; i < ref->links.n; i++) {
        ref->is_launch[i] = is_launch_call(ref, i);
        for (size_t outer = 0; outer < i; outer++)
            if (ref->is_launch[outer] &&
                ref->links.correlation[outer] == ref->links.correlation[i] &&
                is_open(ref, ref->links.slice_idx[outer], ref->links.slice_idx[i]))
                ref->is_launch[i] = false;
    }
}

/* The latest that began no later than the operation, else the first. */
static uint32_t launch_of(const struct reference *ref, size_t operation)
{
    const int64_t *start_ns = ref->slices.start_ns;
    const int64_t now_ns = start_ns[ref->links.slice_idx[operation]];
    uint32_t before = MAREY_NONE;
    uint32_t after = MAREY_NONE;
    for (size_t i = 0; i < ref->links.n; i++) {
        const uint32_t idx = ref->links.slice_idx[i];
        if (!ref->is_launch[i] || ref->links.correlation[i] != ref->links.correlation[operation])
            continue;
        if (start_ns[idx] <= now_ns && (before == MAREY_NONE || start_ns[idx] >= start_ns[before]))
            before = idx;
        if (start_ns[idx] > now_ns && (after == MAREY_NONE || start_ns[idx] < start_ns[after]))
            after = idx;
    }
    return before != MAREY_NONE ? before : after;
}

static uint32_t owner_of(const struct reference *ref, uint32_t launch)
{
    uint32_t annotation = MAREY_NONE;
    if (launch == MAREY_NONE)
        return MAREY_NONE;
    for (uint32_t up = ref->slices.parent_idx[launch]; up != MAREY_NONE;
         up = ref->slices.parent_idx[up]) {
        const enum marey_kind kind = marey_trace_slice_kind(ref->trace, up);
        if (kind == MAREY_KIND_OP || kind == MAREY_KIND_OTHER)
            return up;
        if (kind == MAREY_KIND_ANNOTATION && annotation == MAREY_NONE)
            annotation = up;
    }
    return annotation != MAREY_NONE ? annotation : launch;
}

static void expect_reference(struct marey_trace *trace)
{
    static struct reference ref;
    struct marey_owners owners = {0};
    ref.trace = trace;
    ref.slices = marey_trace_slices(trace);
    ref.links = marey_trace_links(trace);
    find_launches(&ref);
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    for (size_t i = 0; i < ref.links.n; i++) {
        if (marey_trace_slice_kind(trace, ref.links.slice_idx[i]) != MAREY_KIND_KERNEL)
            continue;
        const uint32_t launch = launch_of(&ref, i);
        EXPECT_U64(owners.launch_idx[i], launch);
        EXPECT_U64(owners.owner_idx[i], owner_of(&ref, launch));
    }
}

/* ---- random threads ---- */

/* A thread that goes deep: starts go up while most ends go down, some cross. */
static void draw_thread(struct make_trace *make, uint64_t *seed, const char *thread, bool has_ops)
{
    static const char *const other[] = {"python_function", "user_annotation", "overhead", "cpu_op"};
    make_thread(make, "1", thread);
    for (int64_t i = 0; i < N_SLICES; i++) {
        const bool is_short = make_random_below(seed, 4) == 0;
        const int64_t start_ns = i + (int64_t)make_random_below(seed, 20);
        const int64_t end_ns = start_ns + (int64_t)make_random_below(seed, is_short ? 10 : 500);
        if (make_random_below(seed, 2) == 0)
            make_call(make, is_short ? "cuda_driver" : "cuda_runtime",
                      make_random_below(seed, 5) == 0 ? "xFree" : "xLaunch", start_ns, end_ns,
                      1 + make_random_below(seed, N_CORRELATIONS));
        else
            make_slice(make, other[make_random_below(seed, has_ops ? 4 : 3)], "s", start_ns,
                       end_ns);
    }
}

static void owners_agree_with_a_slow_reference(void **state)
{
    (void)state;
    uint64_t seed = make_seed("owners");
    for (int round = 0; round < 60; round++) {
        struct make_trace make;
        make_trace_begin(&make, NULL);
        draw_thread(&make, &seed, "1", round % 2 == 0);
        draw_thread(&make, &seed, "2", round % 3 == 0);
        make_stream(&make, 0, 7);
        for (int64_t i = 0; i < N_SLICES; i++)
            make_call(&make, "kernel", "k", 4 * i, 4 * i + 1,
                      1 + make_random_below(&seed, N_CORRELATIONS));
        struct marey_trace *trace = make_trace_end(&make);
        expect_reference(trace);
        marey_trace_free(trace);
    }
}

/* ---- deep threads ---- */

/* Slice i of the chain lies in slice i - 1, and launch i in slice i; correlations go
 * against the depth, so that the deepest launch is looked at first. */
static enum marey_status make_chain(const struct marey_alloc *alloc, const char *category,
                                    int64_t n, struct marey_trace **trace)
{
    struct make_trace make;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    make_thread(&make, "1", "1");
    for (int64_t i = 0; i < n; i++) {
        make_slice(&make, category, "chain", 2 * i, 10 * n - 2 * i);
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", 2 * i + 1, 2 * i + 2,
                  (uint64_t)(n - i));
    }
    make_stream(&make, 0, 7);
    for (int64_t i = 0; i < n; i++)
        make_call(&make, "kernel", "k", 20 * n + i, 20 * n + i + 1, (uint64_t)(n - i));
    return make_trace_finish(&make, trace, NULL);
}

/* Kernel i is the i-th after the links of the launches. */
static void expect_owners(const char *category, bool is_owner)
{
    struct marey_trace *trace = NULL;
    struct marey_owners owners = {0};
    EXPECT_STATUS(make_chain(NULL, category, N_DEEP, &trace), MAREY_OK);
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    EXPECT_U64(owners.n, 2 * N_DEEP);
    for (uint32_t i = 0; i < N_DEEP; i++) {
        EXPECT_U64(owners.launch_idx[N_DEEP + i], 2 * i + 1);
        EXPECT_U64(owners.owner_idx[N_DEEP + i], is_owner ? 2 * i : 2 * i + 1);
    }
    marey_trace_free(trace);
}

static void owner_in_a_deep_chain_is_found_at_once(void **state)
{
    (void)state;
    expect_owners("user_annotation", true);
    expect_owners("python_function", false);
    expect_owners("cpu_op", true);
}

/* Each call lies in the one before it; two in three are launches, of two chains of
 * correlations. The innermost repeats the outermost one's. */
static void launch_in_a_deep_chain_is_found_at_once(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int64_t i = 0; i < N_DEEP; i++)
        make_call(&make, "cuda_runtime", i % 3 == 0 ? "cudaFree" : "cudaLaunchKernel", i,
                  10 * N_DEEP - i, (uint64_t)i);
    make_call(&make, "cuda_driver", "cuLaunchKernel", N_DEEP, N_DEEP + 1, 1);
    make_stream(&make, 0, 7);
    for (int64_t i = 0; i < N_DEEP; i++)
        make_call(&make, "kernel", "k", 20 * N_DEEP + i, 20 * N_DEEP + i + 1, (uint64_t)i);
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_owners owners = {0};
    EXPECT_STATUS(marey_trace_owners(trace, &owners, NULL), MAREY_OK);
    for (uint32_t i = 0; i < N_DEEP; i++)
        EXPECT_U64(owners.launch_idx[N_DEEP + 1 + i], i % 3 == 0 ? MAREY_NONE : i);
    marey_trace_free(trace);
}

static enum marey_status own_once(void *ctx, const struct marey_alloc *alloc)
{
    struct marey_owners owners = {0};
    struct marey_trace *trace = NULL;
    enum marey_status status = make_chain(alloc, ctx, 100, &trace);
    if (status == MAREY_OK)
        status = marey_trace_owners(trace, &owners, NULL);
    marey_trace_free(trace);
    return status;
}

static enum marey_status own_nested_once(void *ctx, const struct marey_alloc *alloc)
{
    struct make_trace make;
    struct marey_owners owners = {0};
    struct marey_trace *trace = NULL;
    (void)ctx;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    make_thread(&make, "1", "1");
    for (int64_t i = 0; i < 40; i++)
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", i, 1000 - i, (uint64_t)i);
    enum marey_status status = make_trace_finish(&make, &trace, NULL);
    if (status == MAREY_OK)
        status = marey_trace_owners(trace, &owners, NULL);
    marey_trace_free(trace);
    return status;
}

static void owners_survive_want_of_memory(void **state)
{
    static char annotation[] = "user_annotation";
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(own_once, annotation) > 20);
    EXPECT_TRUE(alloc_fail_sweep(own_nested_once, NULL) > 20);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(owners_agree_with_a_slow_reference),
        cmocka_unit_test(owner_in_a_deep_chain_is_found_at_once),
        cmocka_unit_test(launch_in_a_deep_chain_is_found_at_once),
        cmocka_unit_test(owners_survive_want_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
