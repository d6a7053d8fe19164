/*
 * test_intake.c - a session becomes a trace: ranges find their ends, args are written when asked
 * for, what is missing is in the ledger.
 */
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/str.h"
#include "intake/intake.h"
#include "marey/aggregate.h"
#include "marey/export.h"
#include "marey/import.h"
#include "record/tls.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/ledger.h"
#include "support/make_op.h"

static struct marey_site outer = MAREY_SITE("outer");
static struct marey_site inner = MAREY_SITE("inner");
static struct marey_site mark = MAREY_SITE("mark");

static struct marey_session *start(uint32_t wants)
{
    const struct marey_session_options options = {.size = sizeof options, .wants = wants};
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    return session;
}

/* Stops, makes the trace, frees the session: the trace keeps what it needs. */
static struct marey_trace *finish(struct marey_session *session)
{
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_stop(session, &err), &err);
    EXPECT_OK(marey_session_trace(session, NULL, &trace, &err), &err);
    marey_session_free(session);
    return trace;
}

/* The n-th slice of that name, in the trace's order; fails the case if it is not there. */
static uint32_t find(const struct marey_trace *trace, const char *name, int n)
{
    const struct marey_slices slices = marey_trace_slices(trace);

    for (uint32_t i = 0; i < slices.n; i++)
        if (marey__str_is_c(marey_trace_string(trace, slices.name_id[i]), name) && n-- == 0)
            return i;
    EXPECT_FAIL(name);
    return MAREY_NONE;
}

static uint32_t parent_of(const struct marey_trace *trace, uint32_t slice_idx)
{
    return marey_trace_slices(trace).parent_idx[slice_idx];
}

static enum marey_status copy_args(void *user, size_t i, struct marey_str args)
{
    (void)i;
    char *out = user;
    EXPECT_TRUE(args.len < 2000);
    memcpy(out, args.ptr, args.len);
    out[args.len] = '\0';
    return MAREY_OK;
}

static void expect_args(struct marey_trace *trace, uint64_t offset, const char *want)
{
    char args[2000] = "";
    struct marey_error err = {0};

    EXPECT_OK(marey_trace_walk_args(trace, &offset, 1, copy_args, args, &err), &err);
    const char *after_id = strchr(args, ','); /* the id depends on what ran before */
    if (strncmp(args, "{\"External id\": ", 16) == 0)
        EXPECT_STR(after_id != NULL ? after_id + 2 : "", want);
    else
        EXPECT_STR(args, want);
}

static void intake_nests_ranges(void **state)
{
    (void)state;
    struct marey_session *session = start(0);
    marey_range_begin(&outer);
    marey_range_begin(&inner);
    marey_range_end();
    marey_range_begin(&inner);
    marey_range_end();
    marey_range_end();
    marey_range_begin(&inner);
    marey_range_end();
    struct marey_trace *trace = finish(session);

    EXPECT_U64(marey_trace_slices(trace).n, 4 + 1); /* and the window */
    const uint32_t first = find(trace, "outer", 0);
    EXPECT_U64(parent_of(trace, find(trace, "inner", 0)), first);
    EXPECT_U64(parent_of(trace, find(trace, "inner", 1)), first);
    EXPECT_U64(parent_of(trace, find(trace, "inner", 2)), MAREY_NONE);
    EXPECT_I64(marey_trace_slice_kind(trace, first), MAREY_KIND_ANNOTATION);
    EXPECT_I64(marey_trace_slice_kind(trace, find(trace, "Marey (0)", 0)), MAREY_KIND_WINDOW);

    struct marey_ledger ledger = {0};
    EXPECT_OK(marey_trace_ledger(trace, &ledger, NULL), NULL);
    EXPECT_U64(ledger.n_rows, ledger_count(trace, "clock_unsure")); /* where the machine is slow */
    marey_trace_free(trace);
}

/* Longer than any counter's step: some go on by 10 ns and more at a time. */
static void let_time_pass(void)
{
    const int64_t until_ns = marey__clock_system_ns(CLOCK_MONOTONIC) + 1000;

    while (marey__clock_system_ns(CLOCK_MONOTONIC) < until_ns)
        continue;
}

static void intake_finds_ends_by_token(void **state)
{
    (void)state;
    struct marey_session *session = start(0);
    marey_range_begin_named(marey__str("a"), 1);
    marey_range_begin_named(marey__str("b"), 2);
    let_time_pass();
    marey_range_end_token(1); /* before its child: a generator that is closed late */
    let_time_pass();
    marey_range_end_token(2);
    marey_range_end_token(3); /* nobody's */
    struct marey_trace *trace = finish(session);
    const struct marey_slices slices = marey_trace_slices(trace);
    const uint32_t a = find(trace, "a", 0);
    const uint32_t b = find(trace, "b", 0);

    EXPECT_U64(slices.parent_idx[b], a);
    EXPECT_TRUE(slices.start_ns[a] + slices.dur_ns[a] < slices.start_ns[b] + slices.dur_ns[b]);
    EXPECT_TRUE((slices.flags[b] & MAREY_SLICE_CROSSES) != 0);
    EXPECT_U64(ledger_count(trace, "crossing"), 1);
    EXPECT_U64(ledger_count(trace, "began_before"), 1);
    marey_trace_free(trace);
}

static void intake_cuts_what_is_open_at_the_stop(void **state)
{
    (void)state;
    marey_range_end();
    struct marey_session *before = start(0);
    marey_range_begin(&outer);
    struct marey_session *session = start(0);
    marey_range_begin(&inner);
    struct marey_trace *trace = finish(session);
    marey_range_end();
    marey_range_end();
    struct marey_trace *whole = finish(before);

    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 2); /* outer began before */
    const uint32_t idx = find(trace, "inner", 0);
    EXPECT_I64(slices.flags[idx], MAREY_SLICE_OPEN);
    const uint32_t window = find(trace, "Marey (0)", 0);
    EXPECT_I64(slices.start_ns[idx] + slices.dur_ns[idx],
               slices.start_ns[window] + slices.dur_ns[window]);
    EXPECT_U64(ledger_count(trace, "unclosed_begin"), 1);

    EXPECT_U64(marey_trace_slices(whole).n, 3);
    EXPECT_I64(marey_trace_slices(whole).flags[find(whole, "outer", 0)], 0);
    marey_trace_free(trace);
    marey_trace_free(whole);
}

static void intake_hides_what_the_session_did_not_ask_for(void **state)
{
    (void)state;
    const struct marey_sink *sink = marey_recorder_sink();
    const uint64_t inputs[] = {MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0), 5};
    const struct marey_op op = {.name = "aten::add", .sequence = 3, .token = 9};
    struct marey_session *ranges = start(MAREY_WANT_RANGES);
    struct marey_session *ops = start(MAREY_WANT_OPS);
    struct marey_session *all = start(MAREY_WANT_OPS | MAREY_WANT_RANGES | MAREY_WANT_INPUTS);

    marey_range_begin(&outer);
    EXPECT_TRUE(make_op_begin(&op, inputs, 2));
    marey_mark(&mark);
    sink->op_end(9);
    marey_range_end();
    struct marey_trace *of_all = finish(all);
    struct marey_trace *of_ops = finish(ops);
    struct marey_trace *of_ranges = finish(ranges);

    EXPECT_U64(marey_trace_slices(of_ranges).n, 2);
    EXPECT_U64(marey_trace_instants(of_ranges).n, 1);
    EXPECT_U64(marey_trace_slices(of_ops).n, 3); /* torch's CPU activity has annotations too */
    EXPECT_U64(marey_trace_instants(of_ops).n, 0);
    EXPECT_U64(marey_trace_slices(of_all).n, 3);

    const uint32_t idx = find(of_ops, "aten::add", 0);
    EXPECT_I64(marey_trace_slice_kind(of_ops, idx), MAREY_KIND_OP);
    expect_args(of_ops, marey_trace_slices(of_ops).offset[idx],
                "\"Sequence number\": 3, \"Fwd thread id\": 0}");
    expect_args(of_all, marey_trace_slices(of_all).offset[find(of_all, "aten::add", 0)],
                "\"Sequence number\": 3, \"Fwd thread id\": 0, \"Input Dims\": [[]], "
                "\"Input Strides\": [[]], \"Input type\": [\"Scalar\"], "
                "\"Concrete Inputs\": [\"5\"]}");
    marey_trace_free(of_all);
    marey_trace_free(of_ops);
    marey_trace_free(of_ranges);
}

/* With operators come the ranges of the program, whether another session asks for them or not. */
static void intake_shows_ranges_beside_operators(void **state)
{
    (void)state;
    struct marey_session *ops = start(MAREY_WANT_OPS);

    marey_range_begin(&outer);
    marey_mark(&mark);
    marey_range_end();
    struct marey_session *ranges = start(MAREY_WANT_RANGES);
    marey_range_begin(&inner);
    struct marey_trace *of_ranges = finish(ranges);
    marey_range_end();
    struct marey_trace *trace = finish(ops);
    const struct marey_slices slices = marey_trace_slices(trace);

    EXPECT_U64(slices.n, 2 + 1); /* and the window */
    EXPECT_U64(slices.flags[find(trace, "outer", 0)] & MAREY_SLICE_OPEN, 0);
    EXPECT_U64(slices.flags[find(trace, "inner", 0)] & MAREY_SLICE_OPEN, 0);
    EXPECT_U64(marey_trace_instants(trace).n, 0);
    marey_trace_free(trace);
    marey_trace_free(of_ranges);
}

/* Half of all ranges have nothing inside, not even a mark: their ends follow at once. */
static void intake_finds_ends_that_follow_at_once(void **state)
{
    (void)state;
    const struct marey_sink *sink = marey_recorder_sink();
    const uint64_t inputs[] = {MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0), 5};
    const struct marey_op op = {.name = "aten::add", .sequence = 3, .token = 9};
    struct marey_session *ranges = start(MAREY_WANT_RANGES);
    struct marey_session *all = start(MAREY_WANT_OPS | MAREY_WANT_RANGES | MAREY_WANT_INPUTS);

    marey_range_begin(&outer);
    EXPECT_TRUE(make_op_begin(&op, inputs, 2));
    let_time_pass();
    sink->op_end(9);
    marey_range_begin_named(marey__str("named"), 1);
    let_time_pass();
    marey_range_end_token(1);
    marey_range_begin_named(marey__str("cut"), 2);
    marey_range_end_token(3); /* nobody's */
    marey_range_end();        /* of the outer one */
    struct marey_trace *of_all = finish(all);
    struct marey_trace *of_ranges = finish(ranges);

    EXPECT_U64(marey_trace_slices(of_ranges).n, 3 + 1); /* and the window */
    EXPECT_U64(marey_trace_slices(of_all).n, 4 + 1);
    const struct marey_slices slices = marey_trace_slices(of_all);
    const uint32_t add = find(of_all, "aten::add", 0);
    const uint32_t named = find(of_all, "named", 0);
    EXPECT_TRUE(slices.dur_ns[add] >= 900 && slices.dur_ns[named] >= 900);
    EXPECT_U64((slices.flags[add] | slices.flags[named]) & MAREY_SLICE_OPEN, 0);
    EXPECT_U64(slices.parent_idx[add], find(of_all, "outer", 0));
    EXPECT_U64(slices.parent_idx[named], find(of_all, "outer", 0));
    EXPECT_U64(slices.flags[find(of_all, "cut", 0)] & MAREY_SLICE_OPEN, MAREY_SLICE_OPEN);
    EXPECT_U64(ledger_count(of_all, "began_before"), 1);
    expect_args(of_all, slices.offset[add],
                "\"Sequence number\": 3, \"Fwd thread id\": 0, \"Input Dims\": [[]], "
                "\"Input Strides\": [[]], \"Input type\": [\"Scalar\"], "
                "\"Concrete Inputs\": [\"5\"]}");
    marey_trace_free(of_all);
    marey_trace_free(of_ranges);
}

/* The records of a session that has stopped lie among those of one that runs on. */
static void intake_cuts_at_the_stop_what_ends_at_once(void **state)
{
    (void)state;
    struct marey_error err = {0};
    struct marey_session *longer = start(MAREY_WANT_RANGES);
    struct marey_session *session = start(MAREY_WANT_RANGES);

    marey_range_begin(&inner);
    EXPECT_OK(marey_session_stop(session, &err), &err);
    marey_range_end();
    marey_range_begin(&outer);
    marey_range_end();
    struct marey_trace *trace = finish(session);
    struct marey_trace *whole = finish(longer);

    EXPECT_U64(marey_trace_slices(trace).n, 1 + 1);
    EXPECT_U64(marey_trace_slices(trace).flags[find(trace, "inner", 0)] & MAREY_SLICE_OPEN,
               MAREY_SLICE_OPEN);
    EXPECT_U64(marey_trace_slices(whole).n, 2 + 1);
    EXPECT_U64(marey_trace_slices(whole).flags[find(whole, "inner", 0)] & MAREY_SLICE_OPEN, 0);
    marey_trace_free(whole);
    marey_trace_free(trace);
}

static void intake_writes_the_forward_thread_of_backward_nodes(void **state)
{
    (void)state;
    const struct marey_sink *sink = marey_recorder_sink();
    const struct marey_op forward = {.name = "aten::mm", .sequence = 8, .forward_thread = 4};
    const struct marey_op backward = {
        .name = "MmBackward0", .sequence = 8, .forward_thread = 4, .scope = MAREY_SCOPE_BACKWARD};
    const struct marey_op evaluation = {.name = "autograd::engine::evaluate_function: MmBackward0",
                                        .sequence = -1};
    const struct marey_op alone = {.name = "aten::relu", .sequence = 9, .forward_thread = 4};
    struct marey_session *session = start(MAREY_WANT_OPS);
    sink->op_begin(&forward);
    sink->op_end(0);
    sink->op_begin(&forward);
    sink->op_end(0);
    sink->op_begin(&alone);
    sink->op_end(0);
    sink->op_begin(&evaluation);
    sink->op_begin(&backward);
    sink->op_end(0);
    sink->op_end(0);
    struct marey_trace *trace = finish(session);
    struct marey_error err = {0};

    EXPECT_OK(marey_trace_decode_args(trace,
                                      MAREY_ARG_BIT(MAREY_ARG_SEQUENCE) |
                                          MAREY_ARG_BIT(MAREY_ARG_FORWARD_THREAD) |
                                          MAREY_ARG_BIT(MAREY_ARG_EXTERNAL_ID),
                                      &err),
              &err);
    const uint32_t mm = find(trace, "aten::mm", 0);
    const uint32_t node = find(trace, "MmBackward0", 0);
    EXPECT_I64(marey_trace_arg_ints(trace, MAREY_ARG_FORWARD_THREAD)[mm], 0);
    EXPECT_I64(marey_trace_arg_ints(trace, MAREY_ARG_FORWARD_THREAD)[node], 4);
    EXPECT_I64(marey_trace_arg_ints(trace, MAREY_ARG_SEQUENCE)[node], 8);
    EXPECT_I64(marey_trace_arg_ints(trace, MAREY_ARG_SEQUENCE)[parent_of(trace, node)], 8);
    EXPECT_I64(marey_trace_arg_ints(trace, MAREY_ARG_FORWARD_THREAD)[parent_of(trace, node)], 4);
    const int64_t *ids = marey_trace_arg_ints(trace, MAREY_ARG_EXTERNAL_ID);
    EXPECT_TRUE(ids[mm] > 0 && ids[node] > ids[mm]);

    /* An arrow from the latest forward operator to the node. */
    const struct marey_flows flows = marey_trace_flows(trace);
    EXPECT_U64(flows.n, 2);
    EXPECT_I64(flows.ts_ns[0], marey_trace_slices(trace).start_ns[find(trace, "aten::mm", 1)]);
    EXPECT_I64(flows.ts_ns[1], marey_trace_slices(trace).start_ns[node]);
    EXPECT_I64(flows.phase[0], 's');
    EXPECT_I64(flows.phase[1], 'f');
    EXPECT_U64(flows.id[0], flows.id[1]);
    marey_trace_free(trace);
}

/* Numbers at both sides of what a short record holds, with inputs and without. */
static void intake_keeps_sequence_numbers_and_threads_of_any_size(void **state)
{
    (void)state;
    static const int64_t sequence[] = {0, (INT64_C(1) << 40) - 1, INT64_C(1) << 40, INT64_MAX};
    static const uint64_t thread[] = {0, (UINT64_C(1) << 24) - 1, UINT64_C(1) << 24,
                                      (uint64_t)INT64_MAX};
    const uint64_t inputs[] = {MAREY_INPUT_HEAD(MAREY_INPUT_NONE, 0, 0, 0)};
    struct marey_op op = {.name = "MmBackward0", .scope = MAREY_SCOPE_BACKWARD};
    struct marey_session *session = start(MAREY_WANT_OPS | MAREY_WANT_INPUTS);

    for (int i = 0; i < 16; i++) {
        op.sequence = sequence[i / 4];
        op.forward_thread = thread[i % 4];
        marey_recorder_sink()->op_begin(&op);
        marey_recorder_sink()->op_end(0);
        EXPECT_TRUE(make_op_begin(&op, inputs, 1));
        marey_recorder_sink()->op_end(0);
    }
    struct marey_trace *trace = finish(session);
    for (int i = 0; i < 32; i++) {
        char end[240];
        (void)snprintf(end, sizeof end,
                       "\"Sequence number\": %" PRId64 ", \"Fwd thread id\": %" PRIu64 "%s}",
                       sequence[i / 8], thread[i / 2 % 4],
                       i % 2 == 0 ? ""
                                  : ", \"Input Dims\": [[]], \"Input Strides\": [[]], \"Input "
                                    "type\": [\"\"], \"Concrete Inputs\": [\"\"]");
        expect_args(trace, marey_trace_slices(trace).offset[find(trace, "MmBackward0", i)], end);
    }
    marey_trace_free(trace);
}

static void intake_keeps_marks_and_counters(void **state)
{
    (void)state;
    struct marey_session *session = start(0);
    marey_mark(&mark);
    marey_counter_named(marey__str("lo\"ss"), 0.25);
    marey_counter(&mark, 1.0 / 0.0);
    struct marey_trace *trace = finish(session);
    const struct marey_counters counters = marey_trace_counters(trace);

    EXPECT_U64(marey_trace_instants(trace).n, 1);
    EXPECT_VIEW(marey_trace_string(trace, marey_trace_instants(trace).name_id[0]), "mark");
    EXPECT_U64(counters.n, 2);
    expect_args(trace, counters.offset[0], "{\"lo\\\"ss\": 0.25}");
    expect_args(trace, counters.offset[1], "{\"mark\": null}");
    marey_trace_free(trace);
}

static void *work_on_another_thread(void *unused)
{
    (void)unused;
    marey_thread_name(marey__str("loader"));
    marey_range_begin(&inner);
    marey_range_end();
    return NULL;
}

static void intake_gives_each_thread_a_named_track(void **state)
{
    (void)state;
    pthread_t thread;
    size_t n = 0;
    struct marey_session *session = start(0);
    marey_range_begin(&outer);
    EXPECT_I64(pthread_create(&thread, NULL, work_on_another_thread, NULL), 0);
    EXPECT_I64(pthread_join(thread, NULL), 0);
    marey_range_end();
    struct marey_trace *trace = finish(session);
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);

    EXPECT_U64(n, 3);
    size_t n_named = 0;
    for (size_t i = 0; i < n; i++) {
        const struct marey_str name = marey_trace_string(trace, tracks[i].thread_name_id);
        n_named += name.ptr != NULL && marey__str_holds(name, "(loader)");
    }
    EXPECT_U64(n_named, 1);
    EXPECT_U64(parent_of(trace, find(trace, "inner", 0)), MAREY_NONE);
    marey_trace_free(trace);
}

static const char *meaning_of(struct marey_trace *trace, const char *reason)
{
    struct marey_ledger ledger = {0};

    EXPECT_OK(marey_trace_ledger(trace, &ledger, NULL), NULL);
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (strcmp(ledger.rows[i].reason, reason) == 0)
            return ledger.rows[i].meaning;
    return "";
}

static void *end_on_another_thread(void *unused)
{
    (void)unused;
    marey_range_end_token(7);
    return NULL;
}

static void intake_says_that_a_range_ended_on_another_thread(void **state)
{
    (void)state;
    pthread_t thread;
    struct marey_session *session = start(0);
    marey_range_begin_named(marey__str("moves"), 7);
    EXPECT_I64(pthread_create(&thread, NULL, end_on_another_thread, NULL), 0);
    EXPECT_I64(pthread_join(thread, NULL), 0);
    struct marey_trace *trace = finish(session);

    EXPECT_I64(marey_trace_slices(trace).flags[find(trace, "moves", 0)], MAREY_SLICE_OPEN);
    EXPECT_U64(ledger_count(trace, "unclosed_begin"), 1);
    EXPECT_U64(ledger_count(trace, "began_before"), 1);
    EXPECT_HOLDS(meaning_of(trace, "unclosed_begin"), "never end on their thread");
    EXPECT_HOLDS(meaning_of(trace, "began_before"), "or on another thread");
    marey_trace_free(trace);
}

/* Whether it ended or not, and only the name in that scope. */
static void intake_carries_what_is_asynchronous(void **state)
{
    (void)state;
    const struct marey_sink *sink = marey_recorder_sink();
    struct marey_op op = {
        .name = "gloo", .sequence = -1, .token = 3, .scope = MAREY_SCOPE_USER | MAREY_SCOPE_ASYNC};
    struct marey_session *session = start(MAREY_WANT_RANGES | MAREY_WANT_OPS);
    sink->op_begin(&op);
    sink->op_end(op.token);
    op.scope = MAREY_SCOPE_USER;
    sink->op_begin(&op);
    sink->op_end(op.token);
    op.scope |= MAREY_SCOPE_ASYNC;
    sink->op_begin(&op);
    struct marey_trace *trace = finish(session);
    const struct marey_slices slices = marey_trace_slices(trace);

    EXPECT_I64(slices.flags[find(trace, "gloo", 0)], MAREY_SLICE_ASYNC);
    EXPECT_I64(slices.flags[find(trace, "gloo", 1)], 0);
    EXPECT_I64(slices.flags[find(trace, "gloo", 2)], MAREY_SLICE_ASYNC | MAREY_SLICE_OPEN);
    EXPECT_I64(marey_trace_slice_kind(trace, find(trace, "gloo", 0)), MAREY_KIND_ANNOTATION);
    marey_trace_free(trace);
}

static void intake_tells_cpu_time(void **state)
{
    (void)state;
    struct marey_session *session = start(MAREY_WANT_RANGES | MAREY_WANT_CPU);
    char args[2000] = "";
    marey_range_begin(&outer);
    marey_range_begin(&inner);
    for (volatile int i = 0; i < 200000; i++)
        continue;
    marey_range_end();
    marey_range_end();
    struct marey_trace *trace = finish(session);
    const struct marey_slices slices = marey_trace_slices(trace);

    int64_t cpu_ns[2];
    const char *names[2] = {"outer", "inner"};
    for (int i = 0; i < 2; i++) {
        const uint32_t idx = find(trace, names[i], 0);
        EXPECT_OK(marey_trace_walk_args(trace, &slices.offset[idx], 1, copy_args, args, NULL),
                  NULL);
        const char *at = strstr(args, "\"Thread CPU ns\": ");
        EXPECT_TRUE(at != NULL);
        cpu_ns[i] = strtoll(at + 17, NULL, 10);
    }
    EXPECT_TRUE(cpu_ns[1] > 0);
    EXPECT_TRUE(cpu_ns[0] >= cpu_ns[1]);
    marey_trace_free(trace);
}

/* Records without room: what was open is cut, what ended later is not there. */
static void intake_says_what_was_lost(void **state)
{
    (void)state;
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = 2 * MAREY_CHUNK_BYTES};
    struct marey_session *session = NULL;
    struct marey_session_stats stats;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    marey_range_begin(&outer);
    for (int i = 0; i < 10000; i++) {
        marey_range_begin(&inner);
        marey_range_end();
    }
    marey_range_end();
    EXPECT_OK(marey_session_stop(session, &err), &err);
    marey_session_get_stats(session, &stats);
    struct marey_trace *trace = finish(session);
    const struct marey_slices slices = marey_trace_slices(trace);
    const uint32_t idx = find(trace, "outer", 0);

    EXPECT_TRUE(stats.n_lost > 0);
    EXPECT_U64(ledger_count(trace, "lost"), stats.n_lost);
    EXPECT_TRUE((slices.flags[idx] & MAREY_SLICE_OPEN) != 0);
    EXPECT_I64(slices.start_ns[idx] + slices.dur_ns[idx], stats.first_lost_ns);

    struct marey_averages *averages = NULL;
    struct marey_text text = {0};
    EXPECT_OK(marey_averages_new(trace, NULL, &averages, &err), &err);
    EXPECT_OK(marey_table_text(averages, NULL, &text, &err), &err);
    EXPECT_HOLDS(text.ptr, "1 recording: window ");
    EXPECT_HOLDS(text.ptr, " (recorded whole for the session's first ");
    marey_text_release(&text);
    marey_averages_free(averages);

    /* A file of it says the same. */
    struct marey_trace *again = NULL;
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    EXPECT_OK(marey_import_bytes((struct marey_str){text.ptr, text.len}, NULL, &again, &err), &err);
    EXPECT_U64(ledger_count(again, "lost"), stats.n_lost);
    EXPECT_U64(ledger_count(again, "unclosed_begin"), ledger_count(trace, "unclosed_begin"));
    const uint64_t n_open = ledger_count(again, "unclosed_begin");
    EXPECT_TRUE(n_open == 1 || n_open == 2); /* the inner one too, if the loss began in it */
    marey_trace_free(again);
    marey_text_release(&text);
    marey_trace_free(trace);
}

static struct marey_session *start_small(void)
{
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = 4 * MAREY_CHUNK_BYTES};
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    return session;
}

static void record_inner(int n)
{
    for (int i = 0; i < n; i++) {
        marey_range_begin(&inner);
        marey_range_end();
    }
}

/* Another session goes and makes room: the thread records on, but what ended meanwhile is not
 * known. */
static void intake_cuts_at_a_loss_what_was_open_then(void **state)
{
    (void)state;
    struct marey_session_stats stats;
    struct marey_error err = {0};
    struct marey_session *former = start_small();

    record_inner(3000);
    EXPECT_OK(marey_session_stop(former, &err), &err);
    struct marey_session *session = start_small();
    marey_range_begin(&outer);
    record_inner(20000);
    marey_range_end(); /* lost */
    marey_session_free(former);
    let_time_pass();
    marey_range_begin_named(marey__str("later"), 0);
    marey_range_end();
    EXPECT_OK(marey_session_stop(session, &err), &err);
    marey_session_get_stats(session, &stats);
    struct marey_trace *trace = finish(session);
    const struct marey_slices slices = marey_trace_slices(trace);
    const uint32_t idx = find(trace, "outer", 0);

    EXPECT_TRUE(stats.n_lost > 0);
    EXPECT_TRUE((slices.flags[idx] & MAREY_SLICE_OPEN) != 0);
    EXPECT_I64(slices.start_ns[idx] + slices.dur_ns[idx], stats.first_lost_ns);
    EXPECT_U64(slices.parent_idx[find(trace, "later", 0)], MAREY_NONE);
    marey_trace_free(trace);
}

/* Of a running session: what was published so far. */
static void intake_reads_a_session_that_runs(void **state)
{
    (void)state;
    struct marey_session *session = start(0);
    struct marey_trace *early = NULL;
    struct marey_error err = {0};

    marey_range_begin(&outer);
    EXPECT_OK(marey_session_trace(session, NULL, &early, &err), &err);
    marey_range_end();
    struct marey_trace *late = finish(session);
    EXPECT_U64(marey_trace_slices(early).n, 2);
    EXPECT_I64(marey_trace_slices(early).flags[find(early, "outer", 0)], MAREY_SLICE_OPEN);
    EXPECT_I64(marey_trace_slices(late).flags[find(late, "outer", 0)], 0);
    marey_trace_free(early);
    marey_trace_free(late);
}

static void intake_carries_metadata_and_rank(void **state)
{
    (void)state;
    struct marey_session *session = start(0);
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    size_t n = 0;
    const struct marey_intake_options options = {
        .size = sizeof options, .rank = 3, .world_size = 8, .has_rank = true};

    EXPECT_OK(marey_session_add_meta(session, marey__str("job"), marey__str("\"a\""), &err), &err);
    EXPECT_OK(marey_session_trace(session, &options, &trace, &err), &err);
    EXPECT_STATUS(
        marey_session_trace(session, &(struct marey_intake_options){.size = 1}, &trace, &err),
        MAREY_INVALID);
    marey_session_free(session);
    EXPECT_VIEW(marey_trace_meta(trace, "job"), "\"a\"");
    EXPECT_VIEW(marey_trace_meta(trace, "schemaVersion"), "1");
    EXPECT_TRUE(marey__str_holds(marey_trace_meta(trace, "marey"), "\"range_cost_ns\": "));
    EXPECT_I64(marey_trace_sources(trace, &n)->rank, 3);
    EXPECT_I64(marey_trace_sources(trace, &n)->world_size, 8);
    marey_trace_free(trace);
}

/* Through a file and back: the same values, none of them mended. */
static void intake_writes_metadata_that_reads_back(void **state)
{
    (void)state;
    static const char deep[] = "[[[[[[[[{\"a\":[[[[{}]]]]}]]]]]]]]";
    static const struct {
        struct marey_str key;
        const char *json;
    } cases[] = {
        {{"plain", 5}, "{\"a\": [1, -0.5e-3, true, null], \"b\": \"\"}"},
        {{"k\0\"\\\n\xc3\xa4", 7}, "\"\\ud83d\\ude00 \xf0\x9f\x98\x80 \\u0000 \x7f \\/\""},
        {{"", 0}, "-0"},
        {{"large", 5}, "1e999"},
        {{"traceName", 9}, "\"a\""},
        {{"deep", 4}, deep},
    };
    struct marey_session *session = start(0);
    struct marey_trace *again = NULL;
    struct marey_text text = {0};
    struct marey_error err = {0};
    size_t n = 0;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        EXPECT_OK(marey_session_add_meta(session, cases[i].key, marey__str(cases[i].json), &err),
                  &err);
    struct marey_trace *trace = finish(session);
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    EXPECT_TRUE(strstr(text.ptr, "mareyMended") == NULL);
    EXPECT_OK(marey_import_bytes((struct marey_str){text.ptr, text.len}, NULL, &again, &err), &err);

    const struct marey_meta *metas = marey_trace_metas(again, &n);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t k = 0;
        while (k < n && !marey__str_is(marey_trace_string(again, metas[k].key_id), cases[i].key))
            k++;
        EXPECT_TRUE(k < n);
        EXPECT_VIEW(marey_trace_string(again, metas[k].json_id), cases[i].json);
    }
    marey_trace_free(again);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* A range around three chunks of ranges, four of marks and three of ranges: the chunk in the middle
 * promises no slice. */
#define N_UNEVEN (2 * (3 * MAREY_CHUNK_WORDS / 4) + 1)

static struct marey_session *record_unevenly(void)
{
    struct marey_session *session = start(MAREY_WANT_RANGES);

    marey_range_begin(&outer);
    for (int part = 0; part < 3; part++)
        for (uint32_t i = 0; i < (part == 1 ? MAREY_CHUNK_WORDS / 2 * 4 : N_UNEVEN / 2); i++) {
            if (part == 1) {
                marey_mark(&mark);
                continue;
            }
            marey_range_begin(&inner);
            marey_range_end();
        }
    marey_range_end();
    return session;
}

static void intake_finds_room_for_more_than_it_expects(void **state)
{
    (void)state;
    struct marey_trace *trace = finish(record_unevenly());
    const struct marey_slices slices = marey_trace_slices(trace);
    const uint32_t around = find(trace, "outer", 0);
    uint32_t n = 0;

    EXPECT_U64(slices.n, N_UNEVEN + 1); /* and the window */
    for (uint32_t i = 0; i < slices.n; i++) {
        EXPECT_U64(slices.flags[i], 0);
        n += slices.parent_idx[i] == around && slices.dur_ns[i] >= 0;
        EXPECT_TRUE(i <= around + 1 || slices.parent_idx[i] != around ||
                    slices.start_ns[i] >= slices.start_ns[i - 1] + slices.dur_ns[i - 1]);
    }
    EXPECT_U64(n, N_UNEVEN - 1);
    marey_trace_free(trace);
}

/* Each step of a program has a name of its own, for ever. */
static void a_trace_does_not_grow_by_names_of_others(void **state)
{
    (void)state;
    struct alloc_fail of_few = {0};
    struct alloc_fail of_many = {0};
    struct alloc_fail *const counts[] = {&of_few, &of_many};
    char name[32];

    for (int i = 0; i < 2; i++) {
        const struct marey_alloc alloc = alloc_fail_make(counts[i]);
        const struct marey_intake_options options = {.size = sizeof options, .alloc = &alloc};
        struct marey_session *session = start(MAREY_WANT_RANGES);
        struct marey_trace *trace = NULL;
        struct marey_error err = {0};
        marey_range_begin(&outer);
        marey_range_end();
        EXPECT_OK(marey_session_stop(session, &err), &err);
        EXPECT_OK(marey_session_trace(session, &options, &trace, &err), &err);
        (void)find(trace, "outer", 0);
        marey_trace_free(trace);
        marey_session_free(session);
        session = start(MAREY_WANT_RANGES);
        for (int n = 0; i == 0 && n < 100000; n++) {
            (void)snprintf(name, sizeof name, "of others %d", n);
            marey_range_begin_named(marey__str(name), 1);
            marey_range_end_token(1);
        }
        EXPECT_OK(marey_session_stop(session, &err), &err);
        marey_session_free(session);
    }
    /* A chunk that others began may hold up to so many bytes of slices. */
    EXPECT_TRUE(of_many.bytes_peak < of_few.bytes_peak + (1 << 17));
}

struct sweep {
    struct marey_session *session;
};

static enum marey_status make_trace(void *ctx, const struct marey_alloc *alloc)
{
    const struct sweep *sweep = ctx;
    const struct marey_intake_options options = {.size = sizeof options, .alloc = alloc};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};
    char args[2000];

    enum marey_status status = marey_session_trace(sweep->session, &options, &trace, &err);
    if (status == MAREY_OK) {
        const struct marey_slices slices = marey_trace_slices(trace);
        status = marey_trace_walk_args(trace, &slices.offset[0], 1, copy_args, args, &err);
    }
    marey_trace_free(trace);
    return status;
}

static void intake_survives_lack_of_memory(void **state)
{
    (void)state;
    struct sweep sweep = {.session = start(MAREY_WANT_RANGES | MAREY_WANT_CPU)};
    for (int i = 0; i < 20; i++) {
        marey_range_begin(&outer);
        marey_counter(&mark, i);
        marey_range_begin(&inner);
        marey_range_end();
        marey_range_end();
    }
    EXPECT_TRUE(alloc_fail_sweep(make_trace, &sweep) > 20);
    EXPECT_U64(sweep.session->n_refs, 1);
    marey_session_free(sweep.session);

    sweep.session = record_unevenly(); /* rows move while ranges are open */
    EXPECT_TRUE(alloc_fail_sweep(make_trace, &sweep) > 20);
    marey_session_free(sweep.session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(intake_nests_ranges),
        cmocka_unit_test(intake_finds_ends_by_token),
        cmocka_unit_test(intake_cuts_what_is_open_at_the_stop),
        cmocka_unit_test(intake_hides_what_the_session_did_not_ask_for),
        cmocka_unit_test(intake_shows_ranges_beside_operators),
        cmocka_unit_test(intake_finds_ends_that_follow_at_once),
        cmocka_unit_test(intake_cuts_at_the_stop_what_ends_at_once),
        cmocka_unit_test(intake_writes_the_forward_thread_of_backward_nodes),
        cmocka_unit_test(intake_keeps_sequence_numbers_and_threads_of_any_size),
        cmocka_unit_test(intake_keeps_marks_and_counters),
        cmocka_unit_test(intake_gives_each_thread_a_named_track),
        cmocka_unit_test(intake_says_that_a_range_ended_on_another_thread),
        cmocka_unit_test(intake_carries_what_is_asynchronous),
        cmocka_unit_test(intake_tells_cpu_time),
        cmocka_unit_test(intake_says_what_was_lost),
        cmocka_unit_test(intake_cuts_at_a_loss_what_was_open_then),
        cmocka_unit_test(intake_reads_a_session_that_runs),
        cmocka_unit_test(intake_carries_metadata_and_rank),
        cmocka_unit_test(intake_writes_metadata_that_reads_back),
        cmocka_unit_test(intake_finds_room_for_more_than_it_expects),
        cmocka_unit_test(a_trace_does_not_grow_by_names_of_others),
        cmocka_unit_test(intake_survives_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
