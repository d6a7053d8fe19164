/*
 * test_clock.c - ticks become nanoseconds on the line through two moments.
 */
#include "base/clock.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "support/expect.h"

#define LOOK_NS 10

/* A clock that moves by LOOK_NS a look, and by what is lost before that look: a thread that is off
 * its core. It is the system's where nothing tells what is lost. */
static struct {
    int n_looks;
    int64_t now_ns;
    int64_t (*lost_ns)(int look);
} made_up;

/* In place of the C library's.
 * NOLINTNEXTLINE(readability-inconsistent-declaration-parameter-name) */
int clock_gettime(clockid_t id, struct timespec *ts)
{
    if (made_up.lost_ns == NULL)
        return (int)syscall(SYS_clock_gettime, id, ts);
    made_up.now_ns += LOOK_NS + made_up.lost_ns(made_up.n_looks++);
    ts->tv_sec = made_up.now_ns / MAREY_NS_PER_S;
    ts->tv_nsec = made_up.now_ns % MAREY_NS_PER_S;
    return 0;
}

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

/* A bracket looks six times: system, ticks, system, epoch, ticks, system. */
#define N_LOOKS 6
#define SURE_BRACKET 3

/* In the one bracket a little goes between the ticks, in all others much outside of them. */
static int64_t lost_before_the_ticks(int look)
{
    if (look / N_LOOKS == SURE_BRACKET)
        return look % N_LOOKS == 2 ? 100 : 0;
    return look % N_LOOKS == 1 ? 100000 : 0;
}

static int64_t lost_behind_the_ticks(int look)
{
    if (look / N_LOOKS == SURE_BRACKET)
        return look % N_LOOKS == 4 ? 100 : 0;
    return look % N_LOOKS == 5 ? 100000 : 0;
}

static void expect_sure(int64_t (*lost_ns)(int look))
{
    made_up.n_looks = 0;
    made_up.now_ns = 1000;
    made_up.lost_ns = lost_ns;
    const struct marey_clock_pair best = marey__clock_pair(false);
    made_up.lost_ns = NULL;

    EXPECT_I64(best.width_ns, (N_LOOKS - 1) * LOOK_NS + 100);
    EXPECT_TRUE(best.ticks < (uint64_t)best.epoch_ns + 100);
    EXPECT_TRUE(best.ticks + 100 > (uint64_t)best.monotonic_ns);
}

static void clock_pair_is_of_the_moment_whose_bound_is_narrow(void **state)
{
    (void)state;
    expect_sure(lost_before_the_ticks);
    expect_sure(lost_behind_the_ticks);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clock_line_meets_both_ends),
        cmocka_unit_test(clock_line_is_exact_when_a_tick_is_a_nanosecond),
        cmocka_unit_test(clock_line_takes_a_tick_for_a_nanosecond_without_a_second_moment),
        cmocka_unit_test(clock_line_stays_exact_over_a_week),
        cmocka_unit_test(clock_pair_is_narrow_and_goes_on),
        cmocka_unit_test(clock_pair_is_of_the_moment_whose_bound_is_narrow),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
