/*
 * test_schedule.c - what a step does, and which sessions come of a schedule.
 */
#include <pthread.h>

#include "marey/record.h"
#include "record/pool.h"
#include "support/expect.h"

#define N MAREY_ACTION_NONE
#define W MAREY_ACTION_WARMUP
#define R MAREY_ACTION_RECORD
#define S MAREY_ACTION_RECORD_AND_SAVE

static void expect_actions(struct marey_schedule schedule, const enum marey_action *want, size_t n)
{
    for (size_t i = 0; i < n; i++)
        EXPECT_I64(marey_schedule_action(&schedule, i), want[i]);
}

static void schedule_goes_round(void **state)
{
    (void)state;
    const enum marey_action once[] = {N, W, R, S, N, N, N};
    const enum marey_action skipped[] = {N, N, N, W, S, N, W, S, N, W};
    const enum marey_action first_wait[] = {N, W, S, N, W, S, N, N, N, N};
    const enum marey_action always[] = {S, S, S};

    expect_actions((struct marey_schedule){.wait = 1, .warmup = 1, .active = 2, .repeat = 1}, once,
                   7);
    expect_actions((struct marey_schedule){.wait = 1, .warmup = 1, .active = 1, .skip_first = 2},
                   skipped, 10);
    expect_actions((struct marey_schedule){.wait = 1,
                                           .warmup = 1,
                                           .active = 1,
                                           .repeat = 2,
                                           .skip_first = 1,
                                           .skip_first_wait = true},
                   first_wait, 6);
    expect_actions((struct marey_schedule){.active = 1}, always, 3);
}

/* Torch: step / (wait + warmup + active) >= repeat, so a first cycle without its wait ends the
 * last one sooner. */
static void schedule_counts_a_skipped_wait_as_torch_does(void **state)
{
    (void)state;
    const struct marey_schedule schedule = {
        .wait = 2, .warmup = 0, .active = 1, .repeat = 1, .skip_first_wait = true};

    EXPECT_I64(marey_schedule_action(&schedule, 0), S);
    EXPECT_I64(marey_schedule_action(&schedule, 1), N);
    EXPECT_I64(marey_schedule_action(&schedule, 3), N);
}

static void schedule_waits_as_long_as_it_is_told(void **state)
{
    (void)state;
    const struct marey_schedule long_wait = {.wait = UINT64_MAX, .active = 1};
    const struct marey_schedule long_warmup = {
        .wait = UINT64_C(1) << 63, .warmup = (UINT64_C(1) << 63) - 1, .active = 1};
    const struct marey_schedule often = {.active = 2, .repeat = UINT64_C(1) << 63};

    EXPECT_I64(marey_schedule_action(&long_wait, 0), N);
    EXPECT_I64(marey_schedule_action(&long_wait, UINT64_MAX - 1), N);
    EXPECT_I64(marey_schedule_action(&long_warmup, 5), N);
    EXPECT_I64(marey_schedule_action(&long_warmup, UINT64_C(1) << 63), W);
    EXPECT_I64(marey_schedule_action(&often, 7), S);
}

struct delivered {
    size_t n;
    uint64_t n_records[8];
    struct marey_session *kept;
};

static void on_ready(void *user, struct marey_session *session, uint64_t n_cycle, bool *keep)
{
    struct delivered *delivered = user;
    struct marey_session_stats stats;

    EXPECT_U64(n_cycle, delivered->n);
    marey_session_get_stats(session, &stats);
    delivered->n_records[delivered->n++] = stats.n_records;
    if (n_cycle == 1) {
        *keep = true;
        delivered->kept = session;
    }
}

static void run_steps(const struct marey_schedule *schedule, int n_steps,
                      struct delivered *delivered)
{
    static struct marey_site work = MAREY_SITE("work");
    struct marey_cycles *cycles = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_cycles_start(schedule, NULL, on_ready, delivered, &cycles, &err), &err);
    for (int i = 0; i < n_steps; i++) {
        marey_range_begin(&work);
        marey_range_end();
        EXPECT_OK(marey_cycles_step(cycles, &err), &err);
    }
    marey_cycles_finish(cycles);
}

static void cycles_deliver_each_active_phase(void **state)
{
    (void)state;
    const struct marey_schedule schedule = {.wait = 1, .warmup = 1, .active = 2, .repeat = 2};
    struct delivered delivered = {0};

    run_steps(&schedule, 12, &delivered);
    EXPECT_U64(delivered.n, 2);
    for (int i = 0; i < 2; i++) /* two steps, each with one range inside: begins and ends */
        EXPECT_U64(delivered.n_records[i], 8);

    struct marey_session_stats stats;
    marey_session_get_stats(delivered.kept, &stats);
    EXPECT_U64(stats.n_records, 8);
    marey_session_free(delivered.kept);
    EXPECT_FALSE(marey_is_recording());
}

static void cycles_deliver_a_cycle_that_is_cut_short(void **state)
{
    (void)state;
    const struct marey_schedule schedule = {.wait = 1, .warmup = 1, .active = 5};
    struct delivered delivered = {0};

    run_steps(&schedule, 3, &delivered); /* steps 2 and, unfinished by a step, 3 */
    EXPECT_U64(delivered.n, 1);
    EXPECT_U64(delivered.n_records[0], 6);

    struct delivered none = {0};
    run_steps(&schedule, 1, &none);
    EXPECT_U64(none.n, 0);
}

#define CYCLE_BYTES (UINT64_C(4) * MAREY_CHUNK_BYTES)
#define N_OF_STEP ((CYCLE_BYTES - MAREY_CHUNK_BYTES / 2) / 32) /* ranges, of 32 bytes each */

static void on_large_cycle(void *user, struct marey_session *session, uint64_t n_cycle, bool *keep)
{
    struct marey_session_stats stats;
    (void)user;
    (void)n_cycle;
    (void)keep;

    marey_session_get_stats(session, &stats);
    EXPECT_U64(stats.n_lost, 0);
    EXPECT_U64(stats.n_records, 2 * (N_OF_STEP + 1)); /* and the step's own range */
}

static void *run_large_steps(void *unused)
{
    static struct marey_site work = MAREY_SITE("work");
    const struct marey_schedule schedule = {.warmup = 1, .active = 1, .repeat = 3};
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = CYCLE_BYTES};
    struct marey_cycles *cycles = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_cycles_start(&schedule, &options, on_large_cycle, NULL, &cycles, &err), &err);
    for (int i = 0; i < 6; i++) {
        for (uint64_t n = 0; n < (i % 2 == 0 ? 2 : 1) * N_OF_STEP; n++) {
            marey_range_begin(&work);
            marey_range_end();
        }
        EXPECT_OK(marey_cycles_step(cycles, &err), &err);
    }
    marey_cycles_finish(cycles);
    return unused;
}

/* A warm-up fills the pool, and loses. What a thread keeps of it, one that has recorded nothing
 * before, takes nothing of the cycle. */
static void cycles_have_the_whole_pool_after_a_warm_up(void **state)
{
    (void)state;
    pthread_t thread;

    EXPECT_I64(pthread_create(&thread, NULL, run_large_steps, NULL), 0);
    EXPECT_I64(pthread_join(thread, NULL), 0);
}

static void cycles_refuse_a_schedule_without_active_steps(void **state)
{
    (void)state;
    struct marey_cycles *cycles = NULL;
    struct marey_error err = {0};

    EXPECT_STATUS(
        marey_cycles_start(&(struct marey_schedule){.wait = 1}, NULL, NULL, NULL, &cycles, &err),
        MAREY_INVALID);
    EXPECT_HOLDS(err.message, "active");
    EXPECT_TRUE(cycles == NULL);
    marey_cycles_finish(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedule_goes_round),
        cmocka_unit_test(schedule_counts_a_skipped_wait_as_torch_does),
        cmocka_unit_test(schedule_waits_as_long_as_it_is_told),
        cmocka_unit_test(cycles_deliver_each_active_phase),
        cmocka_unit_test(cycles_deliver_a_cycle_that_is_cut_short),
        cmocka_unit_test(cycles_have_the_whole_pool_after_a_warm_up),
        cmocka_unit_test(cycles_refuse_a_schedule_without_active_steps),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
