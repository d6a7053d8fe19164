/*
 * Tests of the exact percentiles against sorting.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/averages_parts.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_trace.h"

enum { MOST = 20000 };

static int compare(const void *a, const void *b)
{
    const int64_t x = *(const int64_t *)a;
    const int64_t y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

/* Durations as they come, and such as no clock gives. */
static int64_t draw(uint64_t *seed, uint32_t form)
{
    const int64_t any = (int64_t)(make_random(seed) >> 1);
    switch (form) {
    case 0:
        return 7;
    case 1:
        return any % 3;
    case 2:
        return 2000 + any % 500;
    case 3:
        return any % 100 == 0 ? INT64_C(17460000000) : 14000 + any % 100;
    case 4:
        return any >> make_random_below(seed, 63);
    case 5:
        return any;
    case 6:
        return INT64_MAX - any % 5;
    case 7:
        return (INT64_C(1) << make_random_below(seed, 63)) - any % 2;
    default:
        return any % 1000000;
    }
}

static const struct marey_rank ranks[] = {{1, 2}, {99, 100}, {1, 1}, {0, 1}, {1, 1000}};
enum { N_RANKS = sizeof ranks / sizeof *ranks };

static void expect_ranks(const int64_t *results, const int64_t *sorted, size_t n, int64_t less)
{
    for (size_t r = 0; r < N_RANKS; r++) {
        /* The least nth with nth / n >= p / q. */
        size_t nth = 1;
        while (nth * ranks[r].q < n * ranks[r].p)
            nth++;
        if (results[r] != sorted[nth - 1] - less)
            print_error("n %zu, rank %" PRIu32 "/%" PRIu32 "\n", n, ranks[r].p, ranks[r].q);
        EXPECT_I64(results[r], sorted[nth - 1] - less);
    }
}

/* Also as what they are more than the least of them, if that fits. True if it did. */
static bool expect_narrow_ranks(const int64_t *values, const int64_t *sorted, size_t n,
                                uint32_t *bins)
{
    static uint32_t narrow[MOST];
    static uint32_t scratch[MOST];
    int64_t results[N_RANKS];

    if (sorted[n - 1] - sorted[0] > UINT32_MAX)
        return false;
    for (size_t i = 0; i < n; i++)
        narrow[i] = (uint32_t)(values[i] - sorted[0]);
    marey__select_ranks_narrow(narrow, n, ranks, N_RANKS, results, scratch, bins);
    expect_ranks(results, sorted, n, sorted[0]);
    return true;
}

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    static int64_t values[MOST];
    static int64_t sorted[MOST];
    static int64_t scratch[MOST];
    static uint32_t bins[MAREY_RANK_BINS];
    uint64_t seed = make_seed("percentiles");
    uint32_t n_narrow = 0;

    for (uint32_t round = 0; round < 400; round++) {
        const size_t n = round < 130 ? round + 1 : 1 + make_random_below(&seed, MOST);
        for (size_t i = 0; i < n; i++)
            values[i] = draw(&seed, round % 9);
        memcpy(sorted, values, n * sizeof *values);
        qsort(sorted, n, sizeof *sorted, compare);
        n_narrow += expect_narrow_ranks(values, sorted, n, bins);

        int64_t results[N_RANKS];
        marey__select_ranks_wide(values, n, ranks, N_RANKS, results, scratch, bins);
        expect_ranks(results, sorted, n, 0);
    }
    EXPECT_TRUE(n_narrow > 100 && n_narrow < 400);
}

/* Two groups: the durations of one differ by at most 2^32 - 1, those of the other by one more. */
static struct marey_trace *make_groups(const struct marey_alloc *alloc, int n)
{
    const int64_t narrow = INT64_C(5) << 32;
    struct make_trace make;
    int64_t at = 0;

    make_trace_begin(&make, alloc);
    make_thread(&make, "1", "1");
    for (int i = 0; i < n; i++) {
        const int64_t more = i == 0 ? 0 : (INT64_C(1) << 32) - 1 - (n - 1 - i);
        make_slice(&make, "cpu_op", "narrow", at, at + narrow + more);
        at += narrow + more;
        make_slice(&make, "cpu_op", "wide", at, at + more + (i > 0));
        at += more + 1;
    }
    return make_trace_end(&make);
}

static void percentiles_are_exact_in_either_width(void **state)
{
    (void)state;
    enum { N = 200 };
    struct marey_trace *trace = make_groups(NULL, N);
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    struct marey_averages *averages = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_averages_new(trace, &options, &averages, &err), &err);
    size_t n_rows = 0;
    const struct marey_average *rows = marey_averages_rows(averages, &n_rows);
    EXPECT_U64(n_rows, 2);
    for (size_t i = 0; i < 2; i++) {
        const bool is_narrow = rows[i].max_ns > INT64_C(5) << 32;
        const int64_t base = is_narrow ? INT64_C(5) << 32 : 1;
        EXPECT_I64(rows[i].p50_ns, base + (INT64_C(1) << 32) - 1 - (N - 1 - (N / 2 - 1)));
        EXPECT_I64(rows[i].p99_ns, base + (INT64_C(1) << 32) - 1 - (N - 1 - (N * 99 / 100 - 1)));
    }
    marey_averages_free(averages);
    marey_trace_free(trace);
}

/* A group's place, its duration and as much beside it again, four bytes each. */
static void percentiles_take_four_bytes_a_duration(void **state)
{
    (void)state;
    enum { N = 50000 };
    struct alloc_fail heap = {0};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    struct make_trace make;

    make_trace_begin(&make, &alloc);
    make_thread(&make, "1", "1");
    for (int i = 0; i < N; i++)
        make_slice(&make, "cpu_op", "a", 100 * i, 100 * i + i % 90);
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_averages_options options = {.size = sizeof options, .percentiles = true};
    struct marey_averages *averages = NULL;
    struct marey_error err = {0};
    const uint64_t before = heap.bytes_live;
    heap.bytes_peak = before;
    EXPECT_OK(marey_averages_new(trace, &options, &averages, &err), &err);
    EXPECT_TRUE(heap.bytes_peak - before < (3 * 4 + 2) * N);
    marey_averages_free(averages);
    marey_trace_free(trace);
    EXPECT_U64(heap.n_live, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
        cmocka_unit_test(percentiles_are_exact_in_either_width),
        cmocka_unit_test(percentiles_take_four_bytes_a_duration),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
