/*
 * test_sessions.c - several sessions, recorded one after another, become one trace: what a thread
 * recorded in any lies on one track, what was not recorded is a gap.
 */
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

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

static struct marey_session *start(uint32_t wants)
{
    const struct marey_session_options options = {.size = sizeof options, .wants = wants};
    struct marey_session *session = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_session_start(&options, &session, &err), &err);
    return session;
}

static void stop(struct marey_session *session)
{
    struct marey_error err = {0};
    EXPECT_OK(marey_session_stop(session, &err), &err);
}

static struct marey_trace *trace_of(struct marey_session *const *sessions, size_t n)
{
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    EXPECT_OK(marey_sessions_trace(sessions, n, NULL, &trace, &err), &err);
    return trace;
}

static void free_all(struct marey_session *const *sessions, size_t n)
{
    for (size_t i = 0; i < n; i++)
        marey_session_free(sessions[i]);
}

static uint32_t find(const struct marey_trace *trace, const char *name, int n)
{
    const struct marey_slices slices = marey_trace_slices(trace);

    for (uint32_t i = 0; i < slices.n; i++)
        if (marey__str_is_c(marey_trace_string(trace, slices.name_id[i]), name) && n-- == 0)
            return i;
    EXPECT_FAIL(name);
    return MAREY_NONE;
}

static int64_t end_of(const struct marey_trace *trace, uint32_t slice_idx)
{
    const struct marey_slices slices = marey_trace_slices(trace);
    return slices.start_ns[slice_idx] + slices.dur_ns[slice_idx];
}

static void record_pair(void)
{
    marey_range_begin(&outer);
    marey_range_begin(&inner);
    marey_range_end();
    marey_range_end();
}

/* The tracks of threads that recorded; the windows have one of their own. */
static size_t count_threads(const struct marey_trace *trace)
{
    size_t n = 0;
    (void)marey_trace_tracks(trace, &n);
    return n - 1;
}

static size_t count_names(const struct marey_trace *trace)
{
    size_t n = 0;
    size_t n_names = 0;
    const struct marey_meta_record *records = marey_trace_meta_records(trace, &n);

    for (size_t i = 0; i < n; i++)
        n_names += marey__str_is_c(marey_trace_string(trace, records[i].name_id), "thread_name");
    return n_names;
}

static void sessions_lie_behind_one_another(void **state)
{
    (void)state;
    struct marey_session *sessions[3];
    size_t n_gaps = 0;
    size_t n_sources = 0;

    for (int i = 0; i < 3; i++) {
        sessions[i] = start(0);
        record_pair();
        stop(sessions[i]);
        record_pair(); /* in no session */
    }
    struct marey_trace *trace = trace_of(sessions, 3);
    free_all(sessions, 3);

    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 6 + 3); /* and the windows */
    EXPECT_U64(count_threads(trace), 1);
    EXPECT_U64(count_names(trace), 1);
    const struct marey_source *source = marey_trace_sources(trace, &n_sources);
    EXPECT_U64(n_sources, 1);
    EXPECT_U64(source->n_records, 9);
    const struct marey_gap *gaps = marey_trace_gaps(trace, &n_gaps);
    EXPECT_U64(n_gaps, 2);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = {"Marey (0)", "Marey (1)", "Marey (2)"};
        const uint32_t window = find(trace, names[i], 0);
        const uint32_t out = find(trace, "outer", i);
        EXPECT_I64(marey_trace_slice_kind(trace, window), MAREY_KIND_WINDOW);
        EXPECT_U64(slices.parent_idx[find(trace, "inner", i)], out);
        EXPECT_TRUE(slices.start_ns[out] >= slices.start_ns[window]);
        EXPECT_TRUE(end_of(trace, out) <= end_of(trace, window));
        if (i > 0)
            EXPECT_I64(gaps[i - 1].end_ns, slices.start_ns[window]);
        if (i < 2)
            EXPECT_I64(gaps[i].start_ns, end_of(trace, window));
    }
    EXPECT_U64(ledger_count(trace, "not_recorded"), 2);
    struct marey_grade grade;
    EXPECT_OK(marey_trace_grade(trace, &grade, NULL), NULL);
    EXPECT_TRUE(grade.letter == 'A' || strcmp(grade.because, "clock_unsure") == 0);
    marey_trace_free(trace);
}

static void *work_and_end(void *unused)
{
    (void)unused;
    marey_thread_name(marey__str("guest"));
    record_pair();
    return NULL;
}

/* Each thread lives in one of the sessions only; the first thread in both. */
static void sessions_keep_threads_of_one_of_them(void **state)
{
    (void)state;
    struct marey_session *sessions[2];
    pthread_t thread;

    for (int i = 0; i < 2; i++) {
        sessions[i] = start(0);
        record_pair();
        EXPECT_I64(pthread_create(&thread, NULL, work_and_end, NULL), 0);
        EXPECT_I64(pthread_join(thread, NULL), 0);
        stop(sessions[i]);
    }
    struct marey_trace *trace = trace_of(sessions, 2);
    free_all(sessions, 2);
    EXPECT_U64(marey_trace_slices(trace).n, 8 + 2);
    EXPECT_U64(count_names(trace), 3); /* a log each, should the system use a number again too */
    EXPECT_TRUE(count_threads(trace) == 3 || count_threads(trace) == 2);
    marey_trace_free(trace);
}

static void sessions_cut_a_range_across_a_gap(void **state)
{
    (void)state;
    struct marey_session *sessions[2];

    sessions[0] = start(0);
    marey_range_begin(&outer);
    stop(sessions[0]);
    sessions[1] = start(0);
    record_pair();
    marey_range_end(); /* of the first */
    stop(sessions[1]);
    struct marey_trace *trace = trace_of(sessions, 2);
    free_all(sessions, 2);

    const uint32_t open = find(trace, "outer", 0);
    EXPECT_I64(marey_trace_slices(trace).flags[open], MAREY_SLICE_OPEN);
    EXPECT_I64(end_of(trace, open), end_of(trace, find(trace, "Marey (0)", 0)));
    EXPECT_U64(marey_trace_slices(trace).parent_idx[find(trace, "outer", 1)], MAREY_NONE);
    EXPECT_U64(ledger_count(trace, "unclosed_begin"), 1);
    EXPECT_U64(ledger_count(trace, "began_before"), 1);
    marey_trace_free(trace);
}

static enum marey_status copy_args(void *user, size_t i, struct marey_str args)
{
    char *out = (char *)user + i * 2000;

    EXPECT_TRUE(args.len < 2000);
    if (args.len > 0)
        memcpy(out, args.ptr, args.len);
    out[args.len] = '\0';
    return MAREY_OK;
}

/* Each session's args are found, by what it asked for. */
static void sessions_tell_the_args_of_each(void **state)
{
    (void)state;
    static char args[3][2000];
    const struct marey_sink *sink = marey_recorder_sink();
    const uint32_t wants[] = {MAREY_WANT_OPS | MAREY_WANT_INPUTS, MAREY_WANT_OPS,
                              MAREY_WANT_OPS | MAREY_WANT_INPUTS | MAREY_WANT_CPU};
    struct marey_session *sessions[3];
    struct marey_error err = {0};
    uint64_t offsets[3];

    for (int i = 0; i < 3; i++) {
        const uint64_t inputs[] = {MAREY_INPUT_HEAD(MAREY_INPUT_INT, 0, 0, 0), 100 + (uint64_t)i};
        const struct marey_op op = {.name = "aten::add", .sequence = i, .token = 9};
        sessions[i] = start(wants[i]);
        EXPECT_TRUE(make_op_begin(&op, inputs, 2));
        sink->op_end(9);
        stop(sessions[i]);
    }
    struct marey_trace *trace = trace_of(sessions, 3);
    free_all(sessions, 3);

    for (int i = 0; i < 3; i++)
        offsets[i] = marey_trace_slices(trace).offset[find(trace, "aten::add", i)];
    EXPECT_TRUE(offsets[0] < offsets[1] && offsets[1] < offsets[2]);
    EXPECT_OK(marey_trace_walk_args(trace, offsets, 3, copy_args, args, &err), &err);
    EXPECT_HOLDS(args[0], "\"Sequence number\": 0, ");
    EXPECT_HOLDS(args[0], "\"Concrete Inputs\": [\"100\"]}");
    EXPECT_HOLDS(args[1], "\"Sequence number\": 1, \"Fwd thread id\": 0}");
    EXPECT_HOLDS(args[2], "\"Concrete Inputs\": [\"102\"], \"Thread CPU ns\": ");
    EXPECT_VIEW(marey_trace_meta(trace, "record_shapes"), "1");

    const uint32_t window = find(trace, "Marey (1)", 0);
    const uint64_t offset = marey_trace_slices(trace).offset[window];
    EXPECT_OK(marey_trace_walk_args(trace, &offset, 1, copy_args, args, &err), &err);
    EXPECT_STR(args[0], "");
    marey_trace_free(trace);
}

static void sessions_tell_what_one_of_them_lost(void **state)
{
    (void)state;
    const struct marey_session_options small = {.size = sizeof small,
                                                .pool_bytes = 2 * MAREY_CHUNK_BYTES};
    struct marey_session *sessions[3];
    struct marey_session_stats stats;
    struct marey_error err = {0};

    sessions[0] = start(0);
    record_pair();
    stop(sessions[0]);
    EXPECT_OK(marey_session_start(&small, &sessions[1], &err), &err);
    for (int i = 0; i < 10000; i++)
        record_pair();
    stop(sessions[1]);
    sessions[2] = start(0);
    record_pair();
    stop(sessions[2]);
    marey_session_get_stats(sessions[1], &stats);
    struct marey_trace *trace = trace_of(sessions, 3);
    free_all(sessions, 3);

    EXPECT_TRUE(stats.n_lost > 0);
    EXPECT_U64(ledger_count(trace, "lost"), stats.n_lost);
    EXPECT_TRUE(marey__str_holds(marey_trace_meta(trace, "marey"), "\"whole_ns\": "));
    const uint32_t last = find(trace, "Marey (2)", 0);
    const struct marey_slices slices = marey_trace_slices(trace);
    size_t n_in_last = 0;
    for (size_t i = 0; i < slices.n; i++)
        n_in_last += slices.start_ns[i] > slices.start_ns[last];
    EXPECT_U64(n_in_last, 2);
    marey_trace_free(trace);
}

static void sessions_may_run_at_the_end(void **state)
{
    (void)state;
    struct marey_session *sessions[2];

    sessions[0] = start(0);
    stop(sessions[0]);
    sessions[1] = start(0);
    marey_range_begin(&outer);
    struct marey_trace *trace = trace_of(sessions, 2);
    marey_range_end();
    free_all(sessions, 2);
    EXPECT_I64(marey_trace_slices(trace).flags[find(trace, "outer", 0)], MAREY_SLICE_OPEN);
    EXPECT_U64(ledger_count(trace, "not_recorded"), 1);
    marey_trace_free(trace);
}

static void sessions_refuse_what_overlaps(void **state)
{
    (void)state;
    struct marey_session *before = start(0);
    struct marey_session *within = start(0);
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    stop(within);
    stop(before);
    struct marey_session *after = start(0);
    stop(after);
    struct marey_session *const overlapping[] = {before, within};
    struct marey_session *const twice[] = {after, after};
    struct marey_session *const backward[] = {after, before};
    EXPECT_STATUS(marey_sessions_trace(overlapping, 2, NULL, &trace, &err), MAREY_INVALID);
    EXPECT_HOLDS(err.message, "session 1 begins before the one in front of it has stopped");
    EXPECT_STATUS(marey_sessions_trace(twice, 2, NULL, &trace, &err), MAREY_INVALID);
    EXPECT_STATUS(marey_sessions_trace(backward, 2, NULL, &trace, &err), MAREY_INVALID);
    EXPECT_STATUS(marey_sessions_trace(NULL, 0, NULL, &trace, &err), MAREY_INVALID);
    EXPECT_TRUE(trace == NULL);
    EXPECT_U64(before->n_refs + within->n_refs + after->n_refs, 3);
    marey_session_free(before);
    marey_session_free(within);
    marey_session_free(after);
}

static void sessions_are_refused_in_a_child(void **state)
{
    (void)state;
    struct marey_session *sessions[2];

    for (int i = 0; i < 2; i++) {
        sessions[i] = start(0);
        record_pair();
        stop(sessions[i]);
    }
    const pid_t child = fork();
    EXPECT_TRUE(child >= 0);
    if (child == 0) {
        struct marey_trace *trace = NULL;
        _exit(marey_sessions_trace(sessions, 2, NULL, &trace, NULL) == MAREY_INVALID ? 0 : 1);
    }
    int status = 1;
    EXPECT_I64(waitpid(child, &status, 0), child);
    EXPECT_I64(status, 0);
    free_all(sessions, 2);
}

/* Of a key that several have the last counts; each key stands once. */
static void sessions_join_their_metadata(void **state)
{
    (void)state;
    struct marey_session *sessions[2];
    struct marey_error err = {0};
    size_t n = 0;
    size_t n_jobs = 0;

    for (int i = 0; i < 2; i++) {
        sessions[i] = start(0);
        EXPECT_OK(marey_session_add_meta(sessions[i], marey__str("job"),
                                         marey__str(i == 0 ? "1" : "2"), &err),
                  &err);
        EXPECT_OK(marey_session_add_meta(sessions[i], marey__str(i == 0 ? "first" : "second"),
                                         marey__str("true"), &err),
                  &err);
        stop(sessions[i]);
    }
    struct marey_trace *trace = trace_of(sessions, 2);
    free_all(sessions, 2);
    const struct marey_meta *metas = marey_trace_metas(trace, &n);
    for (size_t i = 0; i < n; i++)
        n_jobs += marey__str_is_c(marey_trace_string(trace, metas[i].key_id), "job");
    EXPECT_U64(n_jobs, 1);
    EXPECT_VIEW(marey_trace_meta(trace, "job"), "2");
    EXPECT_VIEW(marey_trace_meta(trace, "first"), "true");
    EXPECT_VIEW(marey_trace_meta(trace, "second"), "true");
    marey_trace_free(trace);
}

/* A file of it has the same slices, gaps and account. */
static void sessions_read_back_from_a_file(void **state)
{
    (void)state;
    struct marey_session *sessions[3];
    struct marey_trace *again = NULL;
    struct marey_text text = {0};
    struct marey_error err = {0};
    size_t n = 0;
    size_t n_again = 0;

    for (int i = 0; i < 3; i++) {
        sessions[i] = start(0);
        record_pair();
        marey_range_begin(&outer);
        stop(sessions[i]);
        marey_range_end();
    }
    struct marey_trace *trace = trace_of(sessions, 3);
    free_all(sessions, 3);
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    EXPECT_OK(marey_import_bytes((struct marey_str){text.ptr, text.len}, NULL, &again, &err), &err);

    const struct marey_slices a = marey_trace_slices(trace);
    const struct marey_slices b = marey_trace_slices(again);
    EXPECT_U64(a.n, b.n);
    EXPECT_TRUE(memcmp(a.start_ns, b.start_ns, a.n * sizeof *a.start_ns) == 0);
    EXPECT_TRUE(memcmp(a.dur_ns, b.dur_ns, a.n * sizeof *a.dur_ns) == 0);
    EXPECT_TRUE(memcmp(a.parent_idx, b.parent_idx, a.n * sizeof *a.parent_idx) == 0);
    const struct marey_gap *gaps = marey_trace_gaps(trace, &n);
    const struct marey_gap *gaps_again = marey_trace_gaps(again, &n_again);
    EXPECT_U64(n_again, n);
    EXPECT_U64(n, 2);
    for (size_t i = 0; i < n; i++) {
        EXPECT_U64(gaps_again[i].source_idx, 0);
        EXPECT_I64(gaps_again[i].start_ns, gaps[i].start_ns);
        EXPECT_I64(gaps_again[i].end_ns, gaps[i].end_ns);
    }
    EXPECT_U64(ledger_count(again, "not_recorded"), 2);
    EXPECT_U64(ledger_count(again, "unclosed_begin"), 3);
    EXPECT_U64(ledger_count(again, "unclosed_begin"), ledger_count(trace, "unclosed_begin"));
    marey_trace_free(again);
    marey_text_release(&text);
    marey_trace_free(trace);
}

/* Cycles before them that were let go: the trace says so, and a file of it. */
static void sessions_tell_how_many_were_let_go(void **state)
{
    (void)state;
    const struct marey_intake_options options = {.size = sizeof options, .n_let_go = 98};
    struct marey_session *session = start(0);
    struct marey_trace *trace = NULL;
    struct marey_trace *again = NULL;
    struct marey_text text = {0};
    struct marey_grade grade = {0};
    struct marey_error err = {0};

    record_pair();
    stop(session);
    EXPECT_OK(marey_sessions_trace(&session, 1, &options, &trace, &err), &err);
    marey_session_free(session);
    EXPECT_U64(ledger_count(trace, "let_go"), 98);
    EXPECT_OK(marey_trace_grade(trace, &grade, &err), &err);
    EXPECT_U64((unsigned char)grade.letter, 'C');
    EXPECT_OK(marey_export_chrome_text(trace, NULL, &text, &err), &err);
    EXPECT_OK(marey_import_bytes((struct marey_str){text.ptr, text.len}, NULL, &again, &err), &err);
    EXPECT_U64(ledger_count(again, "lost_before"), 98);
    EXPECT_OK(marey_trace_grade(again, &grade, &err), &err);
    EXPECT_U64((unsigned char)grade.letter, 'C');
    marey_trace_free(again);
    marey_text_release(&text);
    marey_trace_free(trace);
}

struct sweep {
    struct marey_session *sessions[3];
};

static enum marey_status make_trace(void *ctx, const struct marey_alloc *alloc)
{
    const struct sweep *sweep = ctx;
    const struct marey_intake_options options = {.size = sizeof options, .alloc = alloc};
    struct marey_trace *trace = NULL;
    struct marey_error err = {0};

    const enum marey_status status =
        marey_sessions_trace(sweep->sessions, 3, &options, &trace, &err);
    marey_trace_free(trace);
    return status;
}

static void sessions_survive_lack_of_memory(void **state)
{
    (void)state;
    struct sweep sweep;

    for (int i = 0; i < 3; i++) {
        sweep.sessions[i] = start(MAREY_WANT_RANGES | MAREY_WANT_CPU);
        record_pair();
        stop(sweep.sessions[i]);
    }
    EXPECT_TRUE(alloc_fail_sweep(make_trace, &sweep) > 20);
    for (int i = 0; i < 3; i++)
        EXPECT_U64(sweep.sessions[i]->n_refs, 1);
    free_all(sweep.sessions, 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sessions_lie_behind_one_another),
        cmocka_unit_test(sessions_keep_threads_of_one_of_them),
        cmocka_unit_test(sessions_cut_a_range_across_a_gap),
        cmocka_unit_test(sessions_tell_the_args_of_each),
        cmocka_unit_test(sessions_tell_what_one_of_them_lost),
        cmocka_unit_test(sessions_may_run_at_the_end),
        cmocka_unit_test(sessions_refuse_what_overlaps),
        cmocka_unit_test(sessions_are_refused_in_a_child),
        cmocka_unit_test(sessions_join_their_metadata),
        cmocka_unit_test(sessions_read_back_from_a_file),
        cmocka_unit_test(sessions_tell_how_many_were_let_go),
        cmocka_unit_test(sessions_survive_lack_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
