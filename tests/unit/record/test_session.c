/*
 * test_session.c - what sessions see: their time, their wants, losses; and a forked child.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/str.h"
#include "record/session.h"
#include "record/tls.h"
#include "support/expect.h"
#include "support/make_op.h"

static struct marey_site range = MAREY_SITE("range");
static struct marey_site mark = MAREY_SITE("mark");

static struct marey_session *start(const struct marey_session_options *options)
{
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(options, &session, &err), &err);
    return session;
}

static void stop(struct marey_session *session)
{
    struct marey_error err = {0};
    EXPECT_OK(marey_session_stop(session, &err), &err);
}

static struct marey_session_stats stats_of(struct marey_session *session)
{
    struct marey_session_stats stats;
    marey_session_get_stats(session, &stats);
    return stats;
}

static void record(int n)
{
    for (int i = 0; i < n; i++) {
        marey_range_begin(&range);
        marey_range_end();
    }
}

static void session_sees_its_own_time(void **state)
{
    (void)state;
    record(3);
    struct marey_session *session = start(NULL);
    record(5);
    stop(session);
    record(7);

    const struct marey_session_stats stats = stats_of(session);
    EXPECT_U64(stats.n_records, 10);
    EXPECT_U64(stats.n_lost, 0);
    EXPECT_U64(stats.n_threads, 1);
    EXPECT_I64(stats.first_lost_ns, MAREY_UNKNOWN);
    EXPECT_TRUE(stats.stop_ns > stats.start_ns);
    EXPECT_TRUE(stats.clock_error_ns > 0);
    EXPECT_TRUE(stats.range_cost_ns > 0);
    stop(session); /* again: nothing */
    EXPECT_U64(stats_of(session).n_records, 10);
    marey_session_free(session);
    marey_session_free(NULL);
}

/* What is moved out of the session may be moved back, though others have gone since. */
static void a_session_may_end_at_its_mark(void **state)
{
    (void)state;
    struct marey_error err = {0};
    struct marey_session *session = start(NULL);
    record(2);
    EXPECT_OK(marey_session_mark(session, &err), &err);
    record(20000);
    EXPECT_STATUS(marey_session_end_at_mark(session, true, &err), MAREY_INVALID);
    struct marey_session *other = start(NULL);
    stop(session);
    stop(other);
    const int64_t stop_ns = stats_of(session).stop_ns;
    EXPECT_STATUS(marey_session_mark(session, &err), MAREY_INVALID);

    EXPECT_OK(marey_session_end_at_mark(session, true, &err), &err);
    EXPECT_U64(stats_of(session).n_records, 4);
    EXPECT_TRUE(stats_of(session).stop_ns < stop_ns);
    marey_session_free(other);
    EXPECT_OK(marey_session_end_at_mark(session, false, &err), &err);
    EXPECT_U64(stats_of(session).n_records, 40004);
    EXPECT_I64(stats_of(session).stop_ns, stop_ns);
    EXPECT_OK(marey_session_end_at_mark(session, true, &err), &err);
    marey_session_free(session);

    session = start(NULL); /* which is marked at its start */
    record(3);
    stop(session);
    EXPECT_OK(marey_session_end_at_mark(session, true, &err), &err);
    EXPECT_U64(stats_of(session).n_records, 0);
    marey_session_free(session);
}

static void usage_is_what_the_stats_say(void **state)
{
    (void)state;
    struct marey_session *session = start(NULL);
    struct marey_session_usage usage;
    record(20000);
    marey_session_get_usage(session, &usage);
    EXPECT_I64(usage.stop_ns, MAREY_UNKNOWN);
    EXPECT_U64(usage.held_bytes, stats_of(session).held_bytes);
    stop(session);
    marey_session_get_usage(session, &usage);
    const struct marey_session_stats stats = stats_of(session);
    EXPECT_U64(usage.held_bytes, stats.held_bytes);
    EXPECT_U64(usage.pool_bytes, stats.pool_bytes);
    EXPECT_U64(usage.n_lost, 0);
    EXPECT_I64(usage.start_ns, stats.start_ns);
    EXPECT_I64(usage.stop_ns, stats.stop_ns);
    marey_session_free(session);
}

/* Each part has the records of its time, and all of them together each record once. */
static void a_session_may_be_narrowed(void **state)
{
    (void)state;
    struct marey_error err = {0};
    struct marey_session *session = start(NULL);
    record(2);
    struct marey_session *inner = start(NULL);
    record(20000);
    stop(inner);
    record(5);
    EXPECT_STATUS(marey_session_narrow(session, 0, 1, &err), MAREY_INVALID);
    stop(session);
    const struct marey_session_stats all = stats_of(session);
    const struct marey_session_stats part = stats_of(inner);
    EXPECT_STATUS(marey_session_narrow(session, part.stop_ns, part.start_ns, &err), MAREY_INVALID);

    EXPECT_OK(marey_session_narrow(session, part.start_ns, part.stop_ns, &err), &err);
    const struct marey_session_stats same = stats_of(session);
    EXPECT_I64(same.start_ns, part.start_ns);
    EXPECT_TRUE(same.stop_ns - part.stop_ns <= 1 && part.stop_ns - same.stop_ns <= 1);
    uint64_t n = same.n_records;
    EXPECT_OK(marey_session_narrow(session, MAREY_UNKNOWN, part.start_ns, &err), &err);
    n += stats_of(session).n_records;
    EXPECT_OK(marey_session_narrow(session, part.stop_ns, MAREY_UNKNOWN, &err), &err);
    n += stats_of(session).n_records;
    EXPECT_U64(n, all.n_records);

    EXPECT_OK(marey_session_narrow(session, all.stop_ns + 5, all.stop_ns + 9, &err), &err);
    EXPECT_U64(stats_of(session).n_records, 0);
    EXPECT_OK(marey_session_narrow(session, 5, 9, &err), &err); /* long before */
    EXPECT_U64(stats_of(session).n_records, 0);
    EXPECT_OK(marey_session_narrow(session, part.stop_ns, MAREY_UNKNOWN, &err), &err);
    marey_session_free(inner); /* what is not shown is still needed */
    EXPECT_OK(marey_session_narrow(session, MAREY_UNKNOWN, MAREY_UNKNOWN, &err), &err);
    EXPECT_U64(stats_of(session).n_records, all.n_records);
    EXPECT_I64(stats_of(session).start_ns, all.start_ns);
    EXPECT_I64(stats_of(session).stop_ns, all.stop_ns);
    marey_session_free(session);
}

static void sessions_nest_and_overlap(void **state)
{
    (void)state;
    struct marey_session *outer = start(NULL);
    record(1);
    struct marey_session *inner = start(NULL);
    record(2);
    struct marey_session *crossing = start(NULL);
    record(4);
    stop(inner);
    record(8);
    EXPECT_TRUE(stats_of(outer).stop_ns == MAREY_UNKNOWN); /* still runs */
    stop(outer);
    EXPECT_TRUE(marey_is_recording());
    record(16);
    stop(crossing);

    EXPECT_FALSE(marey_is_recording());
    EXPECT_U64(stats_of(outer).n_records, 2 * 15);
    EXPECT_U64(stats_of(inner).n_records, 2 * 6);
    EXPECT_U64(stats_of(crossing).n_records, 2 * 28);
    marey_session_free(outer);
    EXPECT_U64(stats_of(crossing).n_records, 2 * 28);
    marey_session_free(crossing);
    marey_session_free(inner);
}

/* The recorder times itself, with what is wanted then; nobody sees what it wrote for that. */
static void session_tells_what_a_range_costs(void **state)
{
    (void)state;
    static const uint32_t wants[] = {MAREY_WANT_OPS, MAREY_WANT_RANGES | MAREY_WANT_CPU,
                                     MAREY_WANT_OPS | MAREY_WANT_INPUTS};
    struct marey_session *outer = start(NULL);
    record(3);
    const struct marey_log *log = marey__log;

    for (size_t i = 0; i < sizeof wants / sizeof *wants; i++) {
        const struct marey_session_options options = {.size = sizeof options, .wants = wants[i]};
        struct marey_session *session = start(&options);
        EXPECT_TRUE(marey__log == log);
        EXPECT_TRUE(stats_of(session).range_cost_ns > 0);
        EXPECT_U64(stats_of(session).n_records, 0);
        marey_session_free(session);
    }
    EXPECT_U64(stats_of(outer).n_records, 6);
    EXPECT_U64(stats_of(outer).n_lost, 0);
    marey_session_free(outer);

    const struct marey_session_options alone = {.size = sizeof alone, .wants = MAREY_WANT_OPS};
    const struct marey_session_options none = {.size = sizeof none, .wants = MAREY_WANT_INPUTS};
    struct marey_session *ops = start(&alone);
    EXPECT_TRUE(stats_of(ops).range_cost_ns > 0);
    marey_session_free(ops);
    struct marey_session *inputs = start(&none);
    EXPECT_I64(stats_of(inputs).range_cost_ns, MAREY_UNKNOWN);
    marey_session_free(inputs);
}

static void session_counts_what_finds_no_room(void **state)
{
    (void)state;
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = 2 * MAREY_CHUNK_BYTES};
    struct marey_session *session = start(&options);
    const int n = 3 * (int)(MAREY_CHUNK_WORDS / 4);

    record(n);
    stop(session);
    const struct marey_session_stats stats = stats_of(session);
    EXPECT_U64(stats.n_records + stats.n_lost, 2 * (uint64_t)n);
    EXPECT_TRUE(stats.n_lost > 0);
    EXPECT_TRUE(stats.first_lost_ns > stats.start_ns && stats.first_lost_ns < stats.stop_ns);
    EXPECT_U64(stats.pool_bytes, 2 * MAREY_CHUNK_BYTES);
    marey_session_free(session);

    session = start(NULL); /* there is room again */
    record(n);
    stop(session);
    EXPECT_U64(stats_of(session).n_records, 2 * (uint64_t)n);
    EXPECT_U64(stats_of(session).n_lost, 0);
    marey_session_free(session);
}

static uint64_t total_of(struct marey_session *session)
{
    return stats_of(session).n_records + stats_of(session).n_lost;
}

/* The gap began before the session; of its records the session's are those lost in it. */
static void session_counts_its_own_losses_of_a_gap(void **state)
{
    (void)state;
    const struct marey_session_options small = {.size = sizeof small,
                                                .pool_bytes = 2 * MAREY_CHUNK_BYTES};
    struct marey_session *before = start(&small);
    record(3 * (int)(MAREY_CHUNK_WORDS / 4));
    struct marey_session *session = start(&small);
    record(500);
    EXPECT_U64(stats_of(session).n_lost, 1000); /* while the gap is open */
    struct marey_session *inner = start(&small);
    record(100);
    stop(inner);
    record(50);
    EXPECT_U64(stats_of(inner).n_lost, 200); /* and goes on beyond its stop */
    struct marey_session *larger = start(NULL);
    record(5);
    stop(larger);
    stop(session);
    stop(before);

    const struct marey_session_stats stats = stats_of(session);
    EXPECT_U64(stats.n_lost, 1300); /* when it is closed */
    EXPECT_U64(stats_of(inner).n_lost, 200);
    EXPECT_U64(total_of(session), 1310);
    EXPECT_U64(total_of(before), 2 * (3 * (MAREY_CHUNK_WORDS / 4)) + 1310);
    EXPECT_TRUE(stats.first_lost_ns >= stats.start_ns - 1);
    EXPECT_U64(stats_of(larger).n_lost, 0);
    EXPECT_U64(stats_of(larger).n_records, 10);
    marey_session_free(larger);
    marey_session_free(inner);
    marey_session_free(session);
    marey_session_free(before);
}

/* What is lost needs more room than the chunk has. Small records would still fit, and stand before
 * the gap that tells the loss, as if they had been before it: they are lost too, until there is
 * another chunk. */
static void session_records_nothing_between_a_loss_and_its_gap(void **state)
{
    (void)state;
    const struct marey_session_options one = {
        .size = sizeof one, .wants = 7, .pool_bytes = MAREY_CHUNK_BYTES};
    const struct marey_session_options more = {
        .size = sizeof more, .wants = 7, .pool_bytes = 8 * MAREY_CHUNK_BYTES};
    const uint64_t inputs[MAREY_MAX_INPUT_WORDS] = {0};
    const struct marey_op large = {.name = "op", .sequence = -1};
    struct marey_session *first = start(&one);

    while (stats_of(first).n_lost == 0) {
        do
            marey_mark(&mark);
        while (marey__log->end - marey__log_at(marey__log) > 100);
        (void)make_op_begin(&large, inputs, MAREY_MAX_INPUT_WORDS);
    }
    EXPECT_U64(stats_of(first).n_lost, 1);
    struct marey_session *session = start(&one);
    record(1); /* would fit */
    EXPECT_U64(stats_of(session).n_lost, 2);
    struct marey_session *larger = start(&more);
    record(3 * (int)(MAREY_CHUNK_WORDS / 4));
    stop(session);
    const uint64_t n = stats_of(session).n_records;
    EXPECT_U64(n, 6 * (uint64_t)(MAREY_CHUNK_WORDS / 4));
    marey_session_free(first);
    marey_session_free(larger);
    struct marey_session *other = start(&more);
    record(4 * (int)(MAREY_CHUNK_WORDS / 4));
    EXPECT_U64(stats_of(session).n_records, n); /* nothing of it was given back */
    marey_session_free(other);
    marey_session_free(session);
}

/* Three words for the begin of an operator that has a sequence number, two for another, four where
 * the number is too large; two for each end. */
static void session_takes_few_words_for_an_operator(void **state)
{
    (void)state;
    static const struct {
        int64_t sequence;
        long n_words;
    } expected[] = {{7, 5}, {-1, 4}, {INT64_C(1) << 40, 6}};
    const struct marey_sink *sink = marey_recorder_sink();
    const struct marey_session_options ops = {.size = sizeof ops, .wants = MAREY_WANT_OPS};
    struct marey_session *session = start(&ops);

    sink->op_begin(&(struct marey_op){.name = "op", .sequence = -1}); /* the name and a chunk */
    sink->op_end(0);
    for (size_t i = 0; i < 3; i++) {
        const struct marey_op op = {.name = "op", .sequence = expected[i].sequence};
        const uint64_t *before = marey__log_at(marey__log);
        sink->op_begin(&op);
        sink->op_end(0);
        EXPECT_I64(marey__log_at(marey__log) - before, expected[i].n_words);
    }
    EXPECT_U64(stats_of(session).n_records, 8);
    marey_session_free(session);
}

static void session_gives_its_chunks_back(void **state)
{
    (void)state;
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = 8 * MAREY_CHUNK_BYTES};

    for (int i = 0; i < 50; i++) {
        struct marey_session *session = start(&options);
        record(3 * (int)(MAREY_CHUNK_WORDS / 4));
        stop(session);
        EXPECT_U64(stats_of(session).n_lost, 0);
        marey_session_free(session);
    }
}

/* A kept session does not keep what others recorded later. */
static void session_keeps_only_its_own_chunks(void **state)
{
    (void)state;
    const struct marey_session_options options = {.size = sizeof options,
                                                  .pool_bytes = 12 * MAREY_CHUNK_BYTES};
    struct marey_session *kept = start(&options);
    record(100);
    stop(kept);

    for (int i = 0; i < 50; i++) {
        struct marey_session *session = start(&options);
        record(3 * (int)(MAREY_CHUNK_WORDS / 4));
        stop(session);
        EXPECT_U64(stats_of(session).n_lost, 0);
        marey_session_free(session);
    }
    EXPECT_U64(stats_of(kept).n_records, 200);
    marey_session_free(kept);
}

/* The chunk that its thread has is full, and an older session's: it takes nothing of the pool once
 * that one is gone, before the session begins or while it runs. */
static void session_has_the_room_of_one_that_goes(void **state)
{
    (void)state;
    const struct marey_session_options one = {.size = sizeof one, .pool_bytes = MAREY_CHUNK_BYTES};
    const int n = (int)(MAREY_CHUNK_WORDS / 4) - 2;

    for (int goes_first = 0; goes_first < 2; goes_first++) {
        struct marey_session *older = start(&one);
        record(3 * n);
        stop(older);
        struct marey_session *warming = start(&one);
        record(10);
        EXPECT_U64(stats_of(warming).n_lost, 20); /* there is no room beside the older one */
        if (goes_first == 1)
            marey_session_free(older);
        struct marey_session *session = start(&one);
        marey_session_free(warming);
        if (goes_first == 0)
            marey_session_free(older);
        record(n);
        EXPECT_U64(stats_of(session).n_lost, 0);
        EXPECT_U64(stats_of(session).n_records, 2 * (uint64_t)n);
        record(n); /* the bound holds all the same */
        EXPECT_TRUE(stats_of(session).n_lost > 0);
        marey_session_free(session);
    }
}

/* The chunk of this thread's log that a reader of the session begins with. */
static const struct marey_chunk *begin_of(const struct marey_session *session)
{
    struct marey_position_walk walk = {.session = session};
    const struct marey_chunk *chunk = NULL;

    marey__recorder_lock();
    for (const struct marey_log *log = marey__recorder.logs; log != NULL; log = log->next) {
        const struct marey_chunk *first = marey__position_in(&walk, log).chunk;
        if (log == marey__log)
            chunk = first;
    }
    marey__recorder_unlock();
    return chunk;
}

/* What a short session costs does not grow with the long one around it. */
static void session_begins_in_the_chunk_of_its_moment(void **state)
{
    (void)state;
    struct marey_session *around = start(NULL);
    record(5 * (int)(MAREY_CHUNK_WORDS / 4));
    const struct marey_chunk *last = marey__log->chunk;
    struct marey_session *session = start(NULL);
    record(5 * (int)(MAREY_CHUNK_WORDS / 4));
    stop(session);

    EXPECT_TRUE(begin_of(around) != last);
    EXPECT_TRUE(begin_of(session) == last);
    EXPECT_U64(stats_of(session).n_records, 10 * (uint64_t)(MAREY_CHUNK_WORDS / 4));
    marey_session_free(around);
    EXPECT_U64(stats_of(session).n_records, 10 * (uint64_t)(MAREY_CHUNK_WORDS / 4));
    marey_session_free(session);
}

#define N_SESSIONS 6

/* Sessions begin, stop and go in any order: each sees its own records, and no chunk stays taken
 * but the one that this thread writes to. */
static void sessions_in_any_order_see_all_and_leave_nothing(void **state)
{
    (void)state;
    struct marey_session *session[N_SESSIONS] = {NULL};
    uint64_t n_records[N_SESSIONS] = {0};
    bool is_running[N_SESSIONS] = {false};
    uint32_t random = 12345;

    record(1);
    for (int i = 0; i < 600; i++) {
        random = random * 1664525U + 1013904223U;
        const int k = (int)(random >> 16) % N_SESSIONS;
        if (session[k] == NULL) {
            session[k] = start(NULL);
            n_records[k] = 0;
            is_running[k] = true;
        } else if (is_running[k]) {
            stop(session[k]);
            is_running[k] = false;
        } else {
            marey_session_free(session[k]);
            session[k] = NULL;
        }
        const int n = (int)(random >> 20) % 3000;
        record(n);
        for (int j = 0; j < N_SESSIONS; j++) {
            n_records[j] += is_running[j] ? 2 * (uint64_t)n : 0;
            if (session[j] != NULL && j == k)
                EXPECT_U64(stats_of(session[j]).n_records, n_records[j]);
        }
    }
    for (int j = 0; j < N_SESSIONS; j++)
        marey_session_free(session[j]);
    EXPECT_U64(atomic_load(&marey__recorder.pool->n_used), 1);
}

static void session_sees_marks_and_counters(void **state)
{
    (void)state;
    struct marey_session *session = start(NULL);

    marey_mark(&mark);
    marey_mark_named(marey__str("named"));
    marey_counter(&mark, 0.5);
    marey_counter_named(marey__str("loss"), 1e300);
    marey_range_begin_named(marey__str("named"), 5);
    marey_range_end_token(5);
    stop(session);
    EXPECT_U64(stats_of(session).n_records, 6);
    marey_session_free(session);
}

static void session_refuses_what_makes_no_sense(void **state)
{
    (void)state;
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_STATUS(marey_session_start(&(struct marey_session_options){.size = 3}, &session, &err),
                  MAREY_INVALID);
    EXPECT_HOLDS(err.message, "another header");
    EXPECT_STATUS(marey_session_start(
                      &(struct marey_session_options){.size = sizeof(struct marey_session_options),
                                                      .wants = 1U << 20},
                      &session, &err),
                  MAREY_INVALID);
    EXPECT_TRUE(session == NULL);

    session = start(NULL);
    EXPECT_OK(marey_session_add_meta(session, marey__str("a"), marey__str("{\"b\": 1}"), &err),
              &err);
    EXPECT_OK(marey_session_add_meta(session, marey__str("a"), marey__str("2"), &err), &err);
    EXPECT_STATUS(marey_session_add_meta(session, marey__str("a"), marey__str("{"), &err),
                  MAREY_INVALID);
    EXPECT_STATUS(marey_session_add_meta(session, marey__str("a"), marey__str("1 2"), &err),
                  MAREY_INVALID);
    EXPECT_U64(session->n_metas, 1);
    EXPECT_STR(session->metas[0].json, "2");
    marey_session_free(session);
}

/* What is accepted must come out as JSON that every reader takes; test_intake.c reads it back. */
static void session_refuses_metadata_that_would_break_a_file(void **state)
{
    (void)state;
    static const char *const broken[] = {"",      "01",      "[1 2]",       "[1,]",     "{\"a\"}",
                                         "\"a",   "\"\\q\"", "\"a\nb\"",    "\"\xff\"", "nan",
                                         "{1:2}", "1:2",     "\"\\ud800\"", "[",        "'a'"};
    static const char *const own[] = {"traceEvents",     "marey",        "baseTimeNanoseconds",
                                      "displayTimeUnit", "mareyMended",  "schemaVersion",
                                      "record_shapes",   "mareyLeftOut", "deviceProperties"};
    struct marey_session *session = start(NULL);
    struct marey_error err = {0};

    for (size_t i = 0; i < sizeof broken / sizeof *broken; i++) {
        EXPECT_STATUS(marey_session_add_meta(session, marey__str("k"), marey__str(broken[i]), &err),
                      MAREY_INVALID);
        EXPECT_HOLDS(err.message, "metadata 'k' is not one JSON value: ");
        EXPECT_STATUS(marey_check_meta(marey__str("k"), marey__str(broken[i]), &err),
                      MAREY_INVALID);
    }
    for (size_t i = 0; i < sizeof own / sizeof *own; i++) {
        EXPECT_STATUS(marey_session_add_meta(session, marey__str(own[i]), marey__str("1"), &err),
                      MAREY_INVALID);
        EXPECT_HOLDS(err.message, "take another key");
    }
    EXPECT_STATUS(marey_session_add_meta(session, marey__str("k\xff"), marey__str("1"), &err),
                  MAREY_INVALID);
    EXPECT_HOLDS(err.message, "a key of metadata is not UTF-8 at byte 1");
    EXPECT_U64(session->n_metas, 0);
    marey_session_free(session);
}

/* The exit status tells which expectation of the child failed. */
static int in_child(struct marey_session *parents)
{
    struct marey_session_stats stats;
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    if (marey_is_recording())
        return 1;
    record(3);
    if (marey_session_stop(parents, &err) != MAREY_INVALID || strstr(err.message, "parent") == NULL)
        return 2;
    if (marey_session_start(NULL, &session, &err) != MAREY_OK)
        return 3;
    record(4);
    if (marey_session_stop(session, &err) != MAREY_OK)
        return 4;
    marey_session_get_stats(session, &stats);
    marey_session_free(session);
    marey_session_free(parents);
    return stats.n_records == 8 ? 0 : 5;
}

static void session_of_the_parent_is_not_the_childs(void **state)
{
    (void)state;
    struct marey_session *session = start(NULL);
    record(2);
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0)
        _exit(in_child(session));
    record(2);

    int status = 0;
    EXPECT_I64(waitpid(pid, &status, 0), pid);
    EXPECT_TRUE(WIFEXITED(status));
    EXPECT_I64(WEXITSTATUS(status), 0);
    stop(session);
    EXPECT_U64(stats_of(session).n_records, 8);
    marey_session_free(session);
}

static void sink_records_operators_with_their_inputs(void **state)
{
    (void)state;
    const struct marey_sink *sink = marey_recorder_sink();
    const struct marey_session_options options = {
        .size = sizeof options, .wants = MAREY_WANT_OPS | MAREY_WANT_INPUTS | MAREY_WANT_CPU};
    const uint64_t inputs[] = {MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0), 5};
    const struct marey_op op = {.name = "aten::add", .sequence = 3, .token = 9};
    struct marey_session *session = start(&options);

    EXPECT_U64(sink->version, MAREY_SINK_VERSION);
    EXPECT_TRUE(make_op_begin(&op, inputs, 2));
    sink->op_end(9);
    record(1); /* the program's ranges come with operators */
    uint64_t *words = sink->op_open(&op);
    EXPECT_TRUE(words != NULL);
    EXPECT_TRUE(sink->text("double", 6) != 0);
    EXPECT_TRUE(sink->op_open(&op) == NULL); /* what interrupts it is dropped, and counted */
    sink->op_begin(&op);
    sink->op_close(words, 0);
    sink->op_end(9);
    stop(session);
    EXPECT_U64(stats_of(session).n_records, 6);
    EXPECT_U64(stats_of(session).n_lost, 2);
    EXPECT_TRUE(sink->op_open(&op) == NULL);
    EXPECT_TRUE(sink->text("float", 5) != 0);
    EXPECT_U64(sink->text("float", 5), sink->text("float", 5));
    marey_session_free(session);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(session_sees_its_own_time),
        cmocka_unit_test(a_session_may_end_at_its_mark),
        cmocka_unit_test(usage_is_what_the_stats_say),
        cmocka_unit_test(a_session_may_be_narrowed),
        cmocka_unit_test(sessions_nest_and_overlap),
        cmocka_unit_test(session_tells_what_a_range_costs),
        cmocka_unit_test(session_counts_what_finds_no_room),
        cmocka_unit_test(session_counts_its_own_losses_of_a_gap),
        cmocka_unit_test(session_records_nothing_between_a_loss_and_its_gap),
        cmocka_unit_test(session_takes_few_words_for_an_operator),
        cmocka_unit_test(session_gives_its_chunks_back),
        cmocka_unit_test(session_keeps_only_its_own_chunks),
        cmocka_unit_test(session_has_the_room_of_one_that_goes),
        cmocka_unit_test(session_begins_in_the_chunk_of_its_moment),
        cmocka_unit_test(sessions_in_any_order_see_all_and_leave_nothing),
        cmocka_unit_test(session_sees_marks_and_counters),
        cmocka_unit_test(session_refuses_what_makes_no_sense),
        cmocka_unit_test(session_refuses_metadata_that_would_break_a_file),
        cmocka_unit_test(session_of_the_parent_is_not_the_childs),
        cmocka_unit_test(sink_records_operators_with_their_inputs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
