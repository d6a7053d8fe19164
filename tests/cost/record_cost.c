/*
 * record_cost.c - what recording costs in instructions, one function a stage; as
 * spine_cost.c, but without a file.
 *
 * A stage does its thing N_TIMES with names known and memory at hand. Valgrind's processor has
 * no time stamp counter to be trusted, so the recorder is told here that there is one: its
 * path is the one that is to be counted.
 */
#include <stdio.h>
#include <stdlib.h>

#include "marey/intake.h"
#include "record/tls.h"
#include "support/make_op.h"

#define N_TIMES 10000

/* Stages keep their names and are not merged, so that callgrind sees each. */
#define STAGE __attribute__((noinline)) static

/* Makes a stage unlike another one with the same statements. */
#define UNLIKE(text) __asm__ volatile("# " text)

static struct marey_site range_site = MAREY_SITE("range");
static struct marey_site mark_site = MAREY_SITE("mark");
static struct marey_site counter_site = MAREY_SITE("counter");

static void must(enum marey_status status, const struct marey_error *err)
{
    if (status == MAREY_OK)
        return;
    fprintf(stderr, "record-cost: %s\n", err->message);
    exit(1);
}

static struct marey_session *start(uint32_t wants)
{
    const struct marey_session_options options = {.size = sizeof options, .wants = wants};
    struct marey_error err = {0};
    struct marey_session *session = NULL;
    must(marey_session_start(&options, &session, &err), &err);
    return session;
}

/* ---- stages ------------------------------------------------------------------------------ */

static void record_pairs(void)
{
    for (int i = 0; i < N_TIMES; i++) {
        marey_range_begin(&range_site);
        marey_range_end();
    }
}

STAGE void stage_range_pair(void)
{
    record_pairs();
}

/* While no session runs. */
STAGE void stage_idle_pair(void)
{
    UNLIKE("stage_range_pair");
    record_pairs();
}

STAGE void stage_named_pair(void)
{
    for (int i = 0; i < N_TIMES; i++) {
        marey_range_begin_named((struct marey_str){"forward", 7}, 0);
        marey_range_end();
    }
}

STAGE void stage_mark(void)
{
    for (int i = 0; i < N_TIMES; i++)
        marey_mark(&mark_site);
}

STAGE void stage_counter(void)
{
    for (int i = 0; i < N_TIMES; i++)
        marey_counter(&counter_site, (double)i);
}

static void record_op_pairs(const struct marey_op *op)
{
    const struct marey_sink *sink = marey_recorder_sink();

    for (int i = 0; i < N_TIMES; i++) {
        sink->op_begin(op);
        sink->op_end(op->token);
    }
}

static const struct marey_op plain_op = {
    .name = "aten::addmm", .sequence = 7, .forward_thread = 1, .token = 3};

STAGE void stage_op_pair(void)
{
    record_op_pairs(&plain_op);
}

STAGE void stage_idle_op_pair(void)
{
    UNLIKE("stage_op_pair");
    record_op_pairs(&plain_op);
}

/* Three matrices and two numbers. */
STAGE void stage_op_pair_inputs(void)
{
    static const uint64_t matrix = MAREY_INPUT_HEAD(MAREY_INPUT_TENSOR, 2, 0, 1);
    static const uint64_t number = MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 2);
    const uint64_t inputs[] = {matrix, 64, 64,     matrix, 64,     64, matrix,
                               64,     64, number, 1,      number, 1};
    for (int i = 0; i < N_TIMES; i++) {
        (void)make_op_begin(&plain_op, inputs, sizeof inputs / sizeof inputs[0]);
        marey_recorder_sink()->op_end(plain_op.token);
    }
}

STAGE struct marey_trace *stage_intake(struct marey_session *session)
{
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    must(marey_session_trace(session, NULL, &trace, &err), &err);
    return trace;
}

/* Of operators with inputs and sequence numbers, half of them in another. */
STAGE struct marey_trace *stage_intake_ops(struct marey_session *session)
{
    UNLIKE("stage_intake");
    struct marey_error err = {0};
    struct marey_trace *trace = NULL;
    must(marey_session_trace(session, NULL, &trace, &err), &err);
    return trace;
}

/* ---- the whole ----------------------------------------------------------------------------- */

/* Before anything was recorded, so that no time is of another clock. */
static void trust_counter(void)
{
    marey_session_free(start(MAREY_WANT_RANGES)); /* chooses the clock */
    marey__recorder_lock();
    marey__recorder.is_tsc = true;
    marey__recorder.epoch_ticks = marey__clock_ticks(true);
    marey__recorder_unlock();
}

/* Chunks of this session are the next one's, names are known after it. */
static void warm_up(void)
{
    struct marey_session *session = start(MAREY_WANT_RANGES);

    marey_mark(&mark_site);
    marey_counter(&counter_site, 0);
    for (int i = 0; i < 3; i++)
        record_pairs();
    (void)marey_session_stop(session, NULL);
    marey_session_free(session);
}

static void record_ranges(void)
{
    struct marey_session *session = start(MAREY_WANT_RANGES);

    stage_range_pair();
    stage_named_pair();
    stage_mark();
    stage_counter();
    (void)marey_session_stop(session, NULL);
    stage_idle_pair();
    stage_idle_op_pair();
    marey_session_free(session);
}

static void record_operators(void)
{
    struct marey_session *session = start(MAREY_WANT_OPS | MAREY_WANT_INPUTS);

    stage_op_pair();
    stage_op_pair_inputs();
    (void)marey_session_stop(session, NULL);
    marey_session_free(session);
}

/* Each operator that makes a node of autograd has the next number. */
static void record_nested(void)
{
    static const uint64_t number = MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 2);
    const uint64_t inputs[] = {number, 1};
    struct marey_op op = plain_op;

    for (int i = 0; i < N_TIMES / 2; i++) {
        op.sequence++;
        (void)make_op_begin(&op, inputs, 2);
        (void)make_op_begin(&op, inputs, 2);
        marey_recorder_sink()->op_end(op.token);
        marey_recorder_sink()->op_end(op.token);
    }
}

static void take_in_operators(void)
{
    struct marey_session *session = start(MAREY_WANT_OPS | MAREY_WANT_INPUTS);
    record_nested();
    (void)marey_session_stop(session, NULL);
    struct marey_trace *trace = stage_intake_ops(session);
    printf("%zu slices\n", marey_trace_slices(trace).n);
    marey_trace_free(trace);
    marey_session_free(session);
}

static void take_in(void)
{
    struct marey_session *session = start(MAREY_WANT_RANGES);

    record_pairs();
    (void)marey_session_stop(session, NULL);
    struct marey_trace *trace = stage_intake(session);
    printf("%zu slices\n", marey_trace_slices(trace).n);
    marey_trace_free(trace);
    marey_session_free(session);
}

int main(void)
{
    trust_counter();
    warm_up();
    record_ranges();
    record_operators();
    take_in();
    take_in_operators();
    return 0;
}
