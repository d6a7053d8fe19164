/*
 * test_alike.c - args of operators with the same inputs are read once, and are what reading each of
 * them gives.
 */
#include "base/str.h"
#include "intake/intake.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/make_op.h"
#include "support/make_random.h"
#include "trace/alike.h"
#include "trace/model.h"

#define N_OPS 3000

/* Inputs that differ in one word, in their number, or not at all. */
static uint32_t draw_inputs(uint64_t *seed, uint64_t *words)
{
    const uint64_t size = 3 + make_random_below(seed, 2);
    const uint32_t form = (uint32_t)make_random_below(seed, 5);

    words[0] = MAREY_INPUT_HEAD(MAREY_INPUT_TENSOR | MAREY_INPUT_STRIDES, 1, 0, 1);
    words[1] = size;
    words[2] = 1;
    words[3] = MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0);
    words[4] = form == 4 ? UINT64_MAX : 0;
    static const uint32_t n_words[] = {0, 3, 3, 5, 5};
    return n_words[form];
}

static struct marey_session *record(uint32_t wants)
{
    const struct marey_session_options options = {.size = sizeof options, .wants = wants};
    struct marey_session *session = NULL;
    struct marey_error err = {0};
    uint64_t seed = make_seed("alike");

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    for (int i = 0; i < N_OPS; i++) {
        const struct marey_op op = {.name = "op", .sequence = i % 3 == 0 ? -1 : i};
        uint64_t words[5];
        EXPECT_TRUE(make_op_begin(&op, words, draw_inputs(&seed, words)));
        marey_recorder_sink()->op_end(0);
    }
    EXPECT_OK(marey_session_stop(session, &err), &err);
    return session;
}

/* Of two sessions, of which the second did not want inputs, each trace is made twice. */
struct traces {
    struct marey_trace *fast;
    struct marey_trace *slow; /* all args are read */
};

static struct traces make_traces(void)
{
    struct marey_session *sessions[] = {record(MAREY_WANT_OPS | MAREY_WANT_INPUTS | MAREY_WANT_CPU),
                                        record(MAREY_WANT_OPS)};
    struct traces traces = {NULL, NULL};
    struct marey_error err = {0};

    EXPECT_OK(marey_sessions_trace(sessions, 2, NULL, &traces.fast, &err), &err);
    EXPECT_OK(marey_sessions_trace(sessions, 2, NULL, &traces.slow, &err), &err);
    traces.slow->provider.alike = NULL;
    marey_session_free(sessions[0]);
    marey_session_free(sessions[1]);
    return traces;
}

/* What the provider of the fast trace does, and how many args it was asked for. */
static struct marey_args_provider counted;
static size_t n_asked;

static enum marey_status count_walk(void *ctx, const uint64_t *offsets, size_t n, marey_args_fn fn,
                                    void *user, struct marey_error *err)
{
    n_asked += n;
    return counted.walk(ctx, offsets, n, fn, user, err);
}

static void decode(struct traces *traces, uint64_t bits)
{
    struct marey_error err = {0};

    n_asked = 0;
    EXPECT_OK(marey_trace_decode_args(traces->fast, bits, &err), &err);
    EXPECT_OK(marey_trace_decode_args(traces->slow, bits, &err), &err);
}

static void expect_same_texts(const struct traces *traces, enum marey_arg arg)
{
    const uint32_t *fast = marey_trace_arg_texts(traces->fast, arg);
    const uint32_t *slow = marey_trace_arg_texts(traces->slow, arg);
    const size_t n = marey_trace_slices(traces->fast).n;

    EXPECT_U64(n, marey_trace_slices(traces->slow).n);
    for (size_t i = 0; i < n; i++) {
        EXPECT_U64(fast[i] == MAREY_NONE, slow[i] == MAREY_NONE);
        if (fast[i] != MAREY_NONE)
            EXPECT_TRUE(marey__str_is(marey_trace_string(traces->fast, fast[i]),
                                      marey_trace_string(traces->slow, slow[i])));
    }
}

static void args_that_are_alike_are_read_once(void **state)
{
    (void)state;
    struct traces traces = make_traces();
    counted = traces.fast->provider;
    traces.fast->provider.walk = count_walk;

    decode(&traces, MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS));
    EXPECT_U64(n_asked, 6); /* sizes of two values, behind them no number or one of two */
    expect_same_texts(&traces, MAREY_ARG_INPUT_DIMS);

    /* Beside an arg that each has for itself. */
    decode(&traces, MAREY_ARG_BIT(MAREY_N_ARGS) - 1);
    EXPECT_U64(n_asked, 6 + marey_trace_slices(traces.fast).n);
    for (int arg = MAREY_ARG_INPUT_TYPES; arg <= MAREY_ARG_CALL_STACK; arg++)
        expect_same_texts(&traces, (enum marey_arg)arg);
    for (size_t i = 0; i < marey_trace_slices(traces.fast).n; i++)
        EXPECT_I64(marey_trace_arg_ints(traces.fast, MAREY_ARG_SEQUENCE)[i],
                   marey_trace_arg_ints(traces.slow, MAREY_ARG_SEQUENCE)[i]);
    marey_trace_free(traces.fast);
    marey_trace_free(traces.slow);
}

/* Two rows that the table's hash takes for one: what the first words leave is made equal by the
 * second ones. */
static uint64_t hash_step(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 32;
}

static void rows_of_one_hash_are_told_apart(void **state)
{
    (void)state;
    const struct marey_alloc alloc = marey__alloc_default();
    const uint64_t first[] = {1, 5};
    const uint64_t second[] = {2, first[1] ^ hash_step(2, first[0]) ^ hash_step(2, 2)};
    struct marey_alike alike;

    EXPECT_U64(hash_step(hash_step(2, first[0]), first[1]),
               hash_step(hash_step(2, second[0]), second[1]));
    marey__alike_init(&alike, &alloc);
    *marey__alike_put(&alike, first, 2) = 10;
    uint32_t *value = marey__alike_put(&alike, second, 2);
    EXPECT_U64(*value, MAREY_NONE);
    *value = 20;
    EXPECT_U64(*marey__alike_put(&alike, first, 1), MAREY_NONE);
    EXPECT_U64(*marey__alike_put(&alike, first, 2), 10);
    EXPECT_U64(*marey__alike_put(&alike, second, 2), 20);
    EXPECT_U64(*marey__alike_put(&alike, NULL, 0), MAREY_NONE);
    marey__alike_release(&alike);
}

static enum marey_status decode_inputs(void *ctx, const struct marey_alloc *alloc)
{
    struct marey_session *session = ctx;
    const struct marey_intake_options options = {.size = sizeof options, .alloc = alloc};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    enum marey_status status = marey_session_trace(session, &options, &trace, &err);
    if (status == MAREY_OK)
        status = marey_trace_decode_args(trace, MAREY_ARG_BIT(MAREY_ARG_INPUT_DIMS), &err);
    marey_trace_free(trace);
    return status;
}

static void args_that_are_alike_survive_lack_of_memory(void **state)
{
    (void)state;
    struct marey_session *session = record(MAREY_WANT_OPS | MAREY_WANT_INPUTS);

    EXPECT_TRUE(alloc_fail_sweep(decode_inputs, session) > 20);
    marey_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(args_that_are_alike_are_read_once),
        cmocka_unit_test(rows_of_one_hash_are_told_apart),
        cmocka_unit_test(args_that_are_alike_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
