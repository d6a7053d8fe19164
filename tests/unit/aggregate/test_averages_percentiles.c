/*
 * Tests of the exact percentiles against sorting.
 */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "aggregate/averages_parts.h"
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

static void percentiles_are_those_of_the_sorted_values(void **state)
{
    (void)state;
    static const struct marey_rank ranks[] = {{1, 2}, {99, 100}, {1, 1}, {0, 1}, {1, 1000}};
    enum { N_RANKS = sizeof ranks / sizeof *ranks };
    static int64_t values[MOST];
    static int64_t sorted[MOST];
    static int64_t scratch[MOST];
    static uint32_t bins[MAREY_RANK_BINS];
    uint64_t seed = make_seed("percentiles");

    for (uint32_t round = 0; round < 400; round++) {
        const size_t n = round < 130 ? round + 1 : 1 + make_random_below(&seed, MOST);
        for (size_t i = 0; i < n; i++)
            values[i] = draw(&seed, round % 9);
        memcpy(sorted, values, n * sizeof *values);
        qsort(sorted, n, sizeof *sorted, compare);

        int64_t results[N_RANKS];
        marey__select_ranks(values, n, ranks, N_RANKS, results, scratch, bins);
        for (size_t r = 0; r < N_RANKS; r++) {
            /* The least nth with nth / n >= p / q. */
            size_t nth = 1;
            while (nth * ranks[r].q < n * ranks[r].p)
                nth++;
            if (results[r] != sorted[nth - 1])
                print_error("round %" PRIu32 ", n %zu, rank %" PRIu32 "/%" PRIu32 "\n", round, n,
                            ranks[r].p, ranks[r].q);
            EXPECT_I64(results[r], sorted[nth - 1]);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(percentiles_are_those_of_the_sorted_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
