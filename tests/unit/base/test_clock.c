/*
 * test_clock.c - ticks become nanoseconds on the line through two moments.
 */
#include "base/clock.h"
#include "support/expect.h"

static struct marey_clock_pair pair(uint64_t ticks, int64_t ns)
{
    return (struct marey_clock_pair){.ticks = ticks, .monotonic_ns = ns, .epoch_ns = 5000 + ns};
}

static void clock_line_meets_both_ends(void **state)
{
    (void)state;
    const struct marey_clock_pair from = pair(1000, 0);
    const struct marey_clock_pair to = pair(1000 + 3000000000U, 1000000000);
    const struct marey_clock_line line = marey__clock_line(&from, &to);

    EXPECT_I64(marey__clock_line_ns(&line, 1000), 5000);
    EXPECT_TRUE(marey__clock_line_ns(&line, 1000 + 3000000000U) - 1000005000 >= -1);
    EXPECT_TRUE(marey__clock_line_ns(&line, 1000 + 3000000000U) <= 1000005000);
    EXPECT_I64(marey__clock_line_ns(&line, 1000 + 3000), 5999); /* 1000 less a rounded-off part */
}

static void clock_line_is_exact_when_a_tick_is_a_nanosecond(void **state)
{
    (void)state;
    const struct marey_clock_pair from = pair(77, 10);
    const struct marey_clock_pair to = pair(77 + 1000, 1010);
    const struct marey_clock_line line = marey__clock_line(&from, &to);

    EXPECT_I64(marey__clock_line_ns(&line, 77 + 123456789), 5010 + 123456789);
    EXPECT_I64(marey__clock_line_ns(&line, 70), 5003);
}

static void clock_line_takes_a_tick_for_a_nanosecond_without_a_second_moment(void **state)
{
    (void)state;
    const struct marey_clock_pair from = pair(77, 10);
    const struct marey_clock_line line = marey__clock_line(&from, &from);

    EXPECT_I64(marey__clock_line_ns(&line, 80), 5013);
}

static void clock_line_stays_exact_over_a_week(void **state)
{
    (void)state;
    const int64_t week_ns = 7 * 24 * 3600 * MAREY_NS_PER_S;
    const struct marey_clock_pair from = pair(0, 0);
    const struct marey_clock_pair to = pair((uint64_t)week_ns / 10 * 29, week_ns);
    const struct marey_clock_line line = marey__clock_line(&from, &to);
    const int64_t off = marey__clock_line_ns(&line, (uint64_t)week_ns / 10 * 29) - 5000 - week_ns;

    EXPECT_TRUE(off <= 0 && off >= -2);
}

static void clock_pair_is_narrow_and_goes_on(void **state)
{
    (void)state;
    for (int i = 0; i < 2; i++) {
        const bool is_tsc = i == 1 && marey__clock_has_tsc();
        const struct marey_clock_pair first = marey__clock_pair(is_tsc);
        const struct marey_clock_pair second = marey__clock_pair(is_tsc);
        EXPECT_TRUE(first.width_ns > 0);
        EXPECT_TRUE(second.ticks > first.ticks);
        EXPECT_TRUE(second.monotonic_ns > first.monotonic_ns);
        EXPECT_TRUE(first.epoch_ns > INT64_C(1700000000) * MAREY_NS_PER_S);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_line_meets_both_ends),
        cmocka_unit_test(clock_line_is_exact_when_a_tick_is_a_nanosecond),
        cmocka_unit_test(clock_line_takes_a_tick_for_a_nanosecond_without_a_second_moment),
        cmocka_unit_test(clock_line_stays_exact_over_a_week),
        cmocka_unit_test(clock_pair_is_narrow_and_goes_on),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
