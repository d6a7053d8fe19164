/*
 * test_path.c - what records, asks nothing: no allocation, no call into the system, no page
 * fault, once a thread has recorded, names are known and memory is warm.
 *
 * Not a unit test: it stands in for malloc, so sanitizers and Valgrind do not run it.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "count_asked.h"
#include "marey/record.h"
#include "support/expect.h"
#include "support/make_op.h"

#define N_TIMES 100000
#define N_TRIES 5 /* a fault may be the system's own doing, a defect makes one each time */

static struct marey_site range_site = MAREY_SITE("range");
static struct marey_site mark_site = MAREY_SITE("mark");
static struct marey_site counter_site = MAREY_SITE("counter");

/* ---- what is run ---------------------------------------------------------------------------- */

static void record_pair(void)
{
    marey_range_begin(&range_site);
    marey_range_end();
}

static void record_named_pair(void)
{
    marey_range_begin_named((struct marey_str){"a name made at run time", 23}, 0);
    marey_range_end();
}

static void record_token_pair(void)
{
    marey_range_begin_named((struct marey_str){"with a token", 12}, 7);
    marey_range_end_token(7);
}

static void record_mark(void)
{
    marey_mark(&mark_site);
    marey_mark_named((struct marey_str){"named mark", 10});
}

static void record_counter(void)
{
    marey_counter(&counter_site, 1.5);
    marey_counter_named((struct marey_str){"named counter", 13}, 2.5);
}

static void record_op(void)
{
    static const uint64_t inputs[] = {
        MAREY_INPUT_HEAD(MAREY_INPUT_TENSOR, 2, 0, 0), 64, 64,
        MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0),    1,
    };
    const struct marey_op op = {
        .name = "aten::add",
        .sequence = 5,
        .forward_thread = 1,
        .token = 3,
        .scope = MAREY_SCOPE_FUNCTION,
    };

    (void)make_op_begin(&op, inputs, sizeof inputs / sizeof inputs[0]);
    marey_recorder_sink()->op_end(3);
}

struct recording {
    void (*once)(void);
    uint32_t wants;
    bool is_idle; /* no session runs */
    struct marey_session *session;
};

static void record(void *ctx)
{
    const struct recording *recording = ctx;

    for (int i = 0; i < N_TIMES; i++)
        recording->once();
}

/* The first session touches the memory that the second finds. */
static void warm_up(void *ctx)
{
    struct recording *recording = ctx;
    const struct marey_session_options options = {
        .size = sizeof options, .wants = recording->wants, .pool_bytes = UINT64_C(256) << 20};

    for (int i = 0; i < 2; i++) {
        marey_session_free(recording->session);
        recording->session = NULL;
        if (marey_session_start(&options, &recording->session, NULL) != MAREY_OK)
            abort();
        record(recording);
    }
    marey_session_free(recording->session);
    recording->session = NULL;
    if (recording->is_idle)
        return;
    if (marey_session_start(&options, &recording->session, NULL) != MAREY_OK)
        abort();
    recording->once(); /* takes the first chunk */
}

static uint64_t count_records(void *ctx)
{
    struct recording *recording = ctx;
    struct marey_session_stats stats = {0};

    if (recording->session == NULL)
        return 0;
    marey_session_get_stats(recording->session, &stats);
    return stats.n_lost > 0 ? 0 : stats.n_records;
}

/* ---- expectations ---------------------------------------------------------------------------- */

static struct asked ask(const struct asked_work *work)
{
    struct asked asked = {0};
    const enum asked_outcome outcome = count_asked(work, &asked);

    if (outcome == ASKED_REFUSED)
        EXPECT_SKIP("the system allows no seccomp filter");
    EXPECT_I64(outcome, ASKED_COUNTED);
    return asked;
}

static void expect_nothing_asked(struct recording recording, uint64_t n_records_once)
{
    const struct asked_work work = {warm_up, record, count_records, &recording};
    struct asked asked = {0};

    for (int i = 0; i < N_TRIES; i++) {
        asked = ask(&work);
        if (asked.n_faults == 0)
            break;
    }
    EXPECT_I64(asked.first_call, -1);
    EXPECT_U64(asked.n_calls, 0);
    EXPECT_U64(asked.n_allocations, 0);
    EXPECT_U64(asked.n_faults, 0);
    EXPECT_U64(asked.result, n_records_once == 0 ? 0 : n_records_once * (N_TIMES + 1));
}

/* ---- the counting itself -----------------------------------------------------------------------
 */

static void *volatile fresh;
static void *volatile block; /* the first of a thread needs a call */

static void prepare_to_ask(void *ctx)
{
    (void)ctx;
    block = malloc(100);
    free(block);
    fresh = mmap(NULL, 8 << 12, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void ask_for_all(void *ctx)
{
    (void)ctx;
    block = malloc(100);
    free(block);
    (void)syscall(SYS_getppid);
    (void)syscall(SYS_gettid);
    *(volatile char *)fresh = 1;
}

static void counting_sees_what_is_asked(void **state)
{
    (void)state;
    const struct asked_work work = {.prepare = prepare_to_ask, .run = ask_for_all};
    const struct asked asked = ask(&work);

    EXPECT_U64(asked.n_allocations, 2);
    EXPECT_U64(asked.n_calls, 2);
    EXPECT_I64(asked.first_call, SYS_getppid);
    EXPECT_TRUE(asked.n_faults >= 1);
}

/* ---- the path ----------------------------------------------------------------------------------
 */

/* Elsewhere a clock reading may be a call. */
static void skip_without_counter(void)
{
    struct marey_session *session = NULL;
    struct marey_session_stats stats = {0};

    EXPECT_STATUS(marey_session_start(NULL, &session, NULL), MAREY_OK);
    marey_session_get_stats(session, &stats);
    marey_session_free(session);
    if (!stats.is_tsc)
        EXPECT_SKIP("the time stamp counter is not to be trusted here");
}

static void ranges_ask_nothing(void **state)
{
    (void)state;
    skip_without_counter();
    expect_nothing_asked((struct recording){.once = record_pair}, 2);
    expect_nothing_asked((struct recording){.once = record_named_pair}, 2);
    expect_nothing_asked((struct recording){.once = record_token_pair}, 2);
}

static void points_ask_nothing(void **state)
{
    (void)state;
    skip_without_counter();
    expect_nothing_asked((struct recording){.once = record_mark}, 2);
    expect_nothing_asked((struct recording){.once = record_counter}, 2);
}

static void operators_ask_nothing(void **state)
{
    (void)state;
    skip_without_counter();
    expect_nothing_asked(
        (struct recording){.once = record_op, .wants = MAREY_WANT_OPS | MAREY_WANT_INPUTS}, 2);
}

static void nothing_is_asked_when_no_session_runs(void **state)
{
    (void)state;
    expect_nothing_asked((struct recording){.once = record_pair, .is_idle = true}, 0);
    expect_nothing_asked((struct recording){.once = record_named_pair, .is_idle = true}, 0);
    expect_nothing_asked((struct recording){.once = record_op, .is_idle = true}, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counting_sees_what_is_asked),
        cmocka_unit_test(ranges_ask_nothing),
        cmocka_unit_test(points_ask_nothing),
        cmocka_unit_test(operators_ask_nothing),
        cmocka_unit_test(nothing_is_asked_when_no_session_runs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
