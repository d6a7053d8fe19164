/*
 * Tests of src/trace/builder.c, finish.c, tracks.c, columns.c: what an importer adds and
 * what the trace then says.
 */
#include <stdio.h>
#include <string.h>

#include "base/str.h"
#include "support/alloc_fail.h"
#include "support/expect.h"
#include "support/ledger.h"
#include "support/make_trace.h"

static void expect_slice(const struct marey_trace *trace, const char *name, int64_t start_ns,
                         int64_t dur_ns)
{
    const uint32_t idx = made_slice(trace, name, start_ns);
    EXPECT_I64(marey_trace_slices(trace).dur_ns[idx], dur_ns);
}

static void expect_parent(const struct marey_trace *trace, const char *name, int64_t start_ns,
                          const char *parent, int64_t parent_ns)
{
    const uint32_t idx = made_slice(trace, name, start_ns);
    EXPECT_U64(marey_trace_slices(trace).parent_idx[idx],
               parent == NULL ? MAREY_NONE : made_slice(trace, parent, parent_ns));
}

/* ---- begin and end ------------------------------------------------------------ */

static void pairs_become_slices(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "a", 0);
    make_begin(&make, "cpu_op", "b", 1);
    make_thread(&make, "1", "2"); /* another thread has a stack of its own */
    make_begin(&make, "cpu_op", "x", 1);
    make_thread(&make, "1", "1");
    make_end(&make, "b", 3);
    make_end(&make, NULL, 10);
    make_thread(&make, "1", "2");
    make_end(&make, "x", 5);
    struct marey_trace *trace = make_trace_end(&make);
    expect_slice(trace, "a", 0, 10);
    expect_slice(trace, "b", 1, 2);
    expect_slice(trace, "x", 1, 4);
    expect_parent(trace, "b", 1, "a", 0);
    expect_parent(trace, "x", 1, NULL, 0);
    EXPECT_U64(marey_trace_slices(trace).flags[made_slice(trace, "a", 0)], MAREY_SLICE_FROM_BEGIN);
    EXPECT_U64(ledger_count(trace, "name_mismatch"), 0);
    marey_trace_free(trace);
}

/* N8: open until the end of the whole trace, which another thread may set. */
static void begin_without_end_is_open_to_the_end(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "a", 0);
    make_begin(&make, "cpu_op", "b", 1);
    make_end(&make, NULL, 2);
    struct marey_trace *trace = make_trace_end(&make);
    expect_slice(trace, "a", 0, 2);
    expect_slice(trace, "b", 1, 1);
    EXPECT_TRUE(marey_trace_slices(trace).flags[made_slice(trace, "a", 0)] & MAREY_SLICE_OPEN);
    EXPECT_FALSE(marey_trace_slices(trace).flags[made_slice(trace, "b", 1)] & MAREY_SLICE_OPEN);
    EXPECT_U64(ledger_count(trace, "unclosed_begin"), 1);
    marey_trace_free(trace);

    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "a", 5);
    make_thread(&make, "1", "2");
    make_slice(&make, "cpu_op", "other", 0, 40);
    trace = make_trace_end(&make);
    expect_slice(trace, "a", 5, 35);
    marey_trace_free(trace);
}

/* N9 */
static void end_without_begin_is_counted(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_end(&make, NULL, 5);
    make_begin(&make, "cpu_op", "x", 10);
    make_end(&make, "x", 20);
    make_end(&make, "x", 21);
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(marey_trace_slices(trace).n, 1);
    expect_slice(trace, "x", 10, 10);
    EXPECT_U64(ledger_count(trace, "unmatched_end"), 2);
    marey_trace_free(trace);
}

/* N10: the stack decides, the names are counted. */
static void ends_in_the_wrong_order_follow_the_stack(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "a", 0);
    make_begin(&make, "cpu_op", "b", 1);
    make_end(&make, "a", 2);
    make_end(&make, "b", 3);
    struct marey_trace *trace = make_trace_end(&make);
    expect_slice(trace, "a", 0, 3);
    expect_slice(trace, "b", 1, 1);
    EXPECT_U64(ledger_count(trace, "name_mismatch"), 2);
    marey_trace_free(trace);
}

/* T12: begin and end are in order by rule, so going back is a clock's fault. */
static void clock_that_steps_back_is_said(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_begin(&make, "cpu_op", "a", 100);
    make_end(&make, "a", 101);
    make_begin(&make, "cpu_op", "b", 102);
    make_end(&make, "b", 55);
    make_begin(&make, "cpu_op", "c", 56);
    make_end(&make, "c", 60);
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_quarantined *rows = marey_trace_quarantined(trace, &n);
    EXPECT_U64(marey_trace_slices(trace).n, 2);
    expect_slice(trace, "a", 100, 1);
    expect_slice(trace, "c", 56, 4);
    EXPECT_U64(n, 1);
    EXPECT_STR(rows[0].reason, "negative_dur");
    EXPECT_I64(rows[0].start_ns, 102);
    EXPECT_I64(rows[0].dur_ns, -47);
    EXPECT_U64(ledger_count(trace, "negative_dur"), 1);
    EXPECT_U64(ledger_count(trace, "clock_stepped_back"), 1);
    marey_trace_free(trace);
}

/* ---- asynchronous spans --------------------------------------------------------- */

static void add_async(struct make_trace *make, const char *name, const char *id, int64_t ts_ns,
                      char phase)
{
    const struct marey_new_point point = {
        .ts_ns = ts_ns,
        .offset = MAREY_OFFSET(make->source_idx, make->next_byte),
        .track_idx = make->track_idx,
        .name_id = marey__intern_c(marey__builder_strings(make->builder), name),
        .cat_id = marey__builder_category(make->builder, marey__str("cpu_op")),
    };
    make->next_byte += 100;
    marey__builder_add_async(make->builder, &point,
                             marey__intern_c(marey__builder_strings(make->builder), id), phase);
}

/* N13, and one id used again and again, nested too. */
static void async_pairs_meet_by_id(void **state)
{
    (void)state;
    static const int64_t want[][2] = {{0, 10}, {5, 10}, {20, 10}, {22, 2}, {40, MAREY_UNKNOWN}};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    add_async(&make, "io", "1", 0, 'b');
    add_async(&make, "io", "2", 5, 'b');
    add_async(&make, "io", "1", 10, 'e');
    add_async(&make, "io", "2", 15, 'e');
    add_async(&make, "io", "1", 20, 'b');
    add_async(&make, "io", "1", 22, 'b');
    add_async(&make, "io", "1", 24, 'e');
    add_async(&make, "io", "1", 30, 'e');
    add_async(&make, "io", "3", 35, 'e');
    add_async(&make, "io", "2", 40, 'b');
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_async_span *spans = marey_trace_async_spans(trace, &n);
    EXPECT_U64(n, 5);
    for (size_t i = 0; i < n; i++) {
        EXPECT_I64(spans[i].start_ns, want[i][0]);
        EXPECT_I64(spans[i].dur_ns, want[i][1]);
    }
    EXPECT_VIEW(marey_trace_string(trace, spans[1].id_text), "2");
    EXPECT_U64(spans[0].end_offset, 200);
    EXPECT_U64(spans[4].end_offset, UINT64_MAX);
    EXPECT_U64(marey_trace_slices(trace).n, 0);
    EXPECT_U64(ledger_count(trace, "unmatched_end"), 1);
    marey_trace_free(trace);
}

/* As a pair of B and E does: it leaves the table, and takes no end of another. */
static void async_span_that_ends_before_it_begins_is_set_aside(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    add_async(&make, "outer", "1", 5, 'b');
    add_async(&make, "inner", "1", 24, 'b');
    add_async(&make, "inner", "1", 9, 'e');
    add_async(&make, "outer", "1", 30, 'e');
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_async_span *spans = marey_trace_async_spans(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_VIEW(marey_trace_string(trace, spans[0].name_id), "outer");
    EXPECT_I64(spans[0].dur_ns, 25);
    const struct marey_quarantined *rows = marey_trace_quarantined(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_VIEW(marey_trace_string(trace, rows[0].name_id), "inner");
    EXPECT_I64(rows[0].dur_ns, -15);
    EXPECT_U64(ledger_count(trace, "negative_dur"), 1);
    marey_trace_free(trace);
}

/* ---- tracks --------------------------------------------------------------------- */

static void expect_ids(const struct marey_trace *trace, const struct marey_track *track,
                       const char *process, const char *thread)
{
    if (process != NULL)
        EXPECT_VIEW(marey_trace_string(trace, track->process_id), process);
    else
        EXPECT_U64(track->process_id, MAREY_NONE);
    if (thread != NULL)
        EXPECT_VIEW(marey_trace_string(trace, track->thread_id), thread);
    else
        EXPECT_U64(track->thread_id, MAREY_NONE);
}

static void tracks_are_ordered_by_what_they_are(void **state)
{
    (void)state;
    static const char *const want[][2] = {{"1", "-5"}, {"1", "5"},  {"1", "42"}, {"1", "main"},
                                          {"1", NULL}, {"10", "1"}, {"x", "1"}};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_stream(&make, 1, 7);
    make_slice(&make, "kernel", "k", 0, 1);
    make_stream(&make, 0, 20);
    make_slice(&make, "kernel", "k", 0, 1);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "k", 0, 1);
    for (size_t i = 7; i-- > 0;) {
        make_thread(&make, want[i][0], want[i][1]);
        make_slice(&make, "cpu_op", "a", 0, 1);
        make_slice(&make, "cpu_op", "b", 2, 3);
    }
    make_thread(&make, "1", "5"); /* known already */
    make_slice(&make, "cpu_op", "c", 4, 5);
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    uint32_t next = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 10);
    for (size_t i = 0; i < n; i++) {
        EXPECT_U64(tracks[i].first_slice, next);
        next += tracks[i].n_slices;
        if (i < 7)
            expect_ids(trace, &tracks[i], want[i][0], want[i][1]);
    }
    EXPECT_U64(tracks[1].n_slices, 3);
    EXPECT_I64(tracks[7].device, 0);
    EXPECT_I64(tracks[7].stream, 7);
    EXPECT_I64(tracks[8].stream, 20);
    EXPECT_I64(tracks[9].device, 1);
    EXPECT_U64(marey_trace_slice_track(trace, tracks[9].first_slice), 9);
    EXPECT_U64(marey_trace_slice_track(trace, tracks[1].first_slice + 2), 1);
    marey_trace_free(trace);
}

/* N14 to N17: ranks, signs and kinds keep tracks apart. */
static void tracks_are_apart_by_rank_and_kind(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    marey__builder_source(make.builder)->rank = 5;
    marey__builder_source(make.builder)->rank_is_assumed = false;
    make_thread(&make, "0", "7");
    make_slice(&make, "cpu_op", "five", 0, 1);
    make_stream(&make, 0, 7);
    make_slice(&make, "kernel", "k", 0, 1);
    make_source(&make, 2);
    make_thread(&make, "0", "7");
    make_slice(&make, "cpu_op", "two", 0, 1);
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_U64(tracks[0].source_idx, 1); /* rank 2 goes before rank 5 */
    EXPECT_U64(tracks[1].source_idx, 0);
    EXPECT_U64(tracks[2].kind, MAREY_TRACK_STREAM);
    marey_trace_free(trace);
}

static void add_name(struct make_trace *make, const char *what, const char *process,
                     const char *thread, const char *args)
{
    struct marey_intern *strings = marey__builder_strings(make->builder);
    const struct marey_meta_record record = {
        .name_id = marey__intern_c(strings, what),
        .process_id = marey__intern_c(strings, process),
        .thread_id = marey__intern_c(strings, thread),
        .args_id = marey__intern_c(strings, args),
        .ts_ns = MAREY_UNKNOWN,
    };
    marey__builder_add_meta_record(make->builder, &record);
}

/* N15: a second name does not make a second thread. */
static void tracks_have_the_first_name_given(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    add_name(&make, "process_name", "1", "0", "{\"name\": \"py\\u0074hon\"}");
    add_name(&make, "thread_name", "1", "42", "{\"x\": [1], \"name\": \"worker-a\"}");
    add_name(&make, "thread_name", "1", "42", "{\"name\": \"worker-b\"}");
    add_name(&make, "thread_name", "2", "42", "{\"name\": \"elsewhere\"}");
    add_name(&make, "thread_sort_index", "1", "42", "{\"sort_index\": 7}");
    make_thread(&make, "1", "42");
    make_slice(&make, "cpu_op", "a", 0, 1);
    make_thread(&make, "3", "42");
    make_slice(&make, "cpu_op", "a", 0, 1);
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 2);
    EXPECT_VIEW(marey_trace_string(trace, tracks[0].process_name_id), "python");
    EXPECT_VIEW(marey_trace_string(trace, tracks[0].thread_name_id), "worker-a");
    EXPECT_U64(tracks[1].process_name_id, MAREY_NONE);
    EXPECT_U64(tracks[1].thread_name_id, MAREY_NONE);
    EXPECT_U64(ledger_count(trace, "renamed_thread"), 1);
    (void)marey_trace_meta_records(trace, &n);
    EXPECT_U64(n, 5);
    marey_trace_free(trace);
}

/* ---- times, metadata, the ledger ---------------------------------------------------- */

/* T13, T14: base times are of their source, and may come last. */
static void base_times_are_added_per_source(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "first", -5, 3);
    make_begin(&make, "cpu_op", "open", 10);
    make_slice(&make, "cpu_op", "last of its file", 12, 17);
    make_source(&make, 1);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "second", -5, 3);
    make_slice(&make, "cpu_op", "last", 20, 30);
    add_async(&make, "io", "1", 4, 'b');
    marey__builder_source(make.builder)->base_ns = 1000;
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    expect_slice(trace, "first", -5, 8);
    expect_slice(trace, "second", 995, 8);
    expect_slice(trace, "open", 10, 7); /* not to the end of the other file */
    EXPECT_I64(marey_trace_async_spans(trace, &n)[0].start_ns, 1004);
    EXPECT_I64(marey_trace_sources(trace, &n)[1].base_ns, 1000);
    EXPECT_U64(n, 2);
    marey_trace_free(trace);
}

static void base_time_that_overflows_sets_aside(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    make_slice(&make, "cpu_op", "fits", -10, 0);
    make_slice(&make, "cpu_op", "over", 0, 10);
    marey__builder_source(make.builder)->base_ns = INT64_MAX;
    struct marey_trace *trace = make_trace_end(&make);
    EXPECT_U64(marey_trace_slices(trace).n, 1);
    expect_slice(trace, "fits", INT64_MAX - 10, 10);
    EXPECT_U64(ledger_count(trace, "time_range"), 1);
    marey_trace_free(trace);
}

static void metadata_is_kept_as_text(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    EXPECT_TRUE(
        marey__builder_set_meta(make.builder, marey__str("schemaVersion"), marey__str("1")));
    make_source(&make, 1);
    EXPECT_TRUE(
        marey__builder_set_meta(make.builder, marey__str("schemaVersion"), marey__str("2")));
    EXPECT_TRUE(
        marey__builder_set_meta(make.builder, marey__str("with_stack"), marey__str("{\"a\": 1}")));
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_meta *metas = marey_trace_metas(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_U64(metas[1].source_idx, 1);
    EXPECT_VIEW(marey_trace_meta(trace, "schemaVersion"), "1");
    EXPECT_VIEW(marey_trace_meta(trace, "with_stack"), "{\"a\": 1}");
    EXPECT_TRUE(marey_trace_meta(trace, "absent").ptr == NULL);
    EXPECT_U64(ledger_count(trace, "no_events"), 1);
    marey_trace_free(trace);
}

static void ledger_counts_and_gives_examples(void **state)
{
    (void)state;
    struct make_trace make;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    struct marey_account *account = marey__builder_account(make.builder);
    for (uint64_t i = 0; i < 20; i++)
        marey__account_note(account, MAREY_REASON_UNKNOWN_PH, 100 + i);
    marey__account_note(account, MAREY_REASON_RANK_ASSUMED, 7);
    make_slice(&make, "cpu_op", "P", 0, 10);
    make_slice(&make, "cpu_op", "C", 5, 15);
    marey__builder_source(make.builder)->n_records = 22;
    struct marey_trace *trace = make_trace_end(&make);
    struct marey_ledger ledger = {0};
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    EXPECT_U64(ledger.n_rows, 3);
    EXPECT_U64(ledger.n_read, 22);
    EXPECT_U64(ledger.n_used, 2);
    EXPECT_STR(ledger.rows[0].reason, "unknown_ph");
    EXPECT_U64(ledger.rows[0].map, MAREY_LEDGER_QUARANTINED);
    EXPECT_U64(ledger.rows[0].count, 20);
    EXPECT_U64(ledger.rows[0].n_examples, MAREY_LEDGER_EXAMPLES);
    EXPECT_U64(ledger.rows[0].example_offset[3], 103);
    EXPECT_STR(ledger.rows[1].reason, "crossing");
    EXPECT_U64(ledger.rows[1].map, MAREY_LEDGER_FINDING);
    EXPECT_U64(ledger.rows[1].example_offset[0], 100);
    EXPECT_STR(ledger.rows[2].reason, "rank_assumed");
    marey_trace_free(trace);
}

static void reasons_have_names_and_meanings(void **state)
{
    (void)state;
    struct marey_account account = {0};
    struct marey_ledger_row rows[MAREY_N_REASONS];
    for (int i = 0; i < MAREY_N_REASONS; i++)
        marey__account_note(&account, (enum marey_reason)i, (uint64_t)i);
    EXPECT_U64(marey__account_rows(&account, rows), MAREY_N_REASONS);
    for (int i = 0; i < MAREY_N_REASONS; i++) {
        EXPECT_STR(rows[i].reason, marey__reason_name((enum marey_reason)i));
        EXPECT_TRUE(rows[i].meaning != NULL && rows[i].meaning[0] != '\0');
        EXPECT_U64(rows[i].example_offset[0], i);
        for (int k = 0; k < i; k++)
            EXPECT_TRUE(strcmp(rows[i].reason, rows[k].reason) != 0);
    }
}

/* ---- categories and points ------------------------------------------------------------ */

static void categories_mean_kinds(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        enum marey_kind kind;
    } cases[] = {
        {"cpu_op", MAREY_KIND_OP},
        {"Operator", MAREY_KIND_OP},
        {"Kernel", MAREY_KIND_KERNEL},
        {"gpu_memcpy", MAREY_KIND_MEMCPY},
        {"Memcpy", MAREY_KIND_MEMCPY},
        {"Memset", MAREY_KIND_MEMSET},
        {"cuda_runtime", MAREY_KIND_RUNTIME},
        {"Runtime", MAREY_KIND_RUNTIME},
        {"cuda_driver", MAREY_KIND_DRIVER},
        {"user_annotation", MAREY_KIND_ANNOTATION},
        {"gpu_user_annotation", MAREY_KIND_DEVICE_ANNOTATION},
        {"python_function", MAREY_KIND_PYTHON},
        {"overhead", MAREY_KIND_OVERHEAD},
        {"Trace", MAREY_KIND_WINDOW},
        {"cuda_sync", MAREY_KIND_SYNC},
        {"cpu_instant_event", MAREY_KIND_MEMORY},
        {"ac2g", MAREY_KIND_FLOW},
        {"what is this", MAREY_KIND_OTHER},
        {"", MAREY_KIND_OTHER},
    };
    const struct marey_alloc alloc = marey__alloc_default();
    struct marey_builder *builder = marey__builder_new(&alloc);
    EXPECT_TRUE(builder != NULL);
    EXPECT_TRUE(marey__builder_begin_source(builder, "a") == 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const uint8_t id = marey__builder_category(builder, marey__str(cases[i].text));
        EXPECT_U64(marey__builder_kind(builder, id), cases[i].kind);
        EXPECT_U64(marey__builder_category(builder, marey__str(cases[i].text)), id);
    }
    const uint8_t none = marey__builder_category(builder, (struct marey_str){NULL, 0});
    EXPECT_U64(marey__builder_kind(builder, none), MAREY_KIND_OTHER);
    marey__builder_free(builder);
    for (int kind = 0; kind < MAREY_N_KINDS; kind++)
        EXPECT_TRUE(marey_kind_name((enum marey_kind)kind)[0] != '\0');
}

/* Late categories lose their name, never their meaning, and the ledger says so. */
static void categories_past_the_cap_keep_their_kind(void **state)
{
    (void)state;
    struct make_trace make;
    char text[32];
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int i = 0; i < 400; i++) {
        (void)snprintf(text, sizeof text, "category %d", i);
        make_slice(&make, text, "a", i, i + 1);
    }
    make_slice(&make, "kernel", "k", 500, 501);
    make_slice(&make, "Kernel", "k", 502, 503);
    struct marey_trace *trace = make_trace_end(&make);
    size_t n = 0;
    const struct marey_category *categories = marey_trace_categories(trace, &n);
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(n, 256 - MAREY_N_KINDS + 2);
    EXPECT_U64(slices.n, 402);
    EXPECT_VIEW(marey_trace_string(trace, categories[slices.cat_id[3]].name_id), "category 3");
    EXPECT_VIEW(marey_trace_string(trace, categories[slices.cat_id[399]].name_id), "other");
    EXPECT_U64(marey_trace_slice_kind(trace, 399), MAREY_KIND_OTHER);
    EXPECT_U64(marey_trace_slice_kind(trace, 400), MAREY_KIND_KERNEL);
    EXPECT_U64(marey_trace_slice_kind(trace, 401), MAREY_KIND_KERNEL);
    struct marey_ledger ledger;
    EXPECT_STATUS(marey_trace_ledger(trace, &ledger, NULL), MAREY_OK);
    size_t n_many = 0;
    for (size_t i = 0; i < ledger.n_rows; i++)
        n_many += strcmp(ledger.rows[i].reason, "many_labels") == 0 ? ledger.rows[i].count : 0;
    EXPECT_U64(n_many, 400 - (256 - MAREY_N_KINDS) + 2);
    marey_trace_free(trace);
}

static struct marey_new_point new_point(struct make_trace *make, const char *category,
                                        const char *name, int64_t ts_ns)
{
    const struct marey_new_point point = {
        .ts_ns = ts_ns,
        .offset = MAREY_OFFSET(make->source_idx, make->next_byte),
        .track_idx = make->track_idx,
        .name_id = marey__intern_c(marey__builder_strings(make->builder), name),
        .cat_id = marey__builder_category(make->builder, marey__str(category)),
        .scope = 't',
    };
    make->next_byte += 100;
    return point;
}

static void points_are_ordered_by_track_time_name(void **state)
{
    (void)state;
    static const char *const threads[] = {"2", "1"};
    struct make_trace make;
    make_trace_begin(&make, NULL);
    for (int i = 0; i < 8; i++) {
        make_thread(&make, "1", threads[i % 2]);
        const struct marey_new_point point =
            new_point(&make, "cpu_instant_event", i < 4 ? "z" : "a", 10 - i / 4 - i % 4 / 2);
        marey__builder_add_instant(make.builder, &point);
        marey__builder_add_counter(make.builder, &point);
        marey__builder_add_flow(make.builder, &point, (uint64_t)i / 2, i % 2 == 0 ? 's' : 'f');
    }
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_instants instants = marey_trace_instants(trace);
    const struct marey_counters counters = marey_trace_counters(trace);
    const struct marey_flows flows = marey_trace_flows(trace);
    size_t n_labels = 0;
    const struct marey_flow_label *labels = marey_trace_flow_labels(trace, &n_labels);
    EXPECT_U64(instants.n, 8);
    EXPECT_U64(counters.n, 8);
    EXPECT_U64(flows.n, 8);
    EXPECT_U64(n_labels, 2);
    for (size_t i = 1; i < 8; i++) {
        EXPECT_TRUE(instants.track_idx[i - 1] <= instants.track_idx[i]);
        if (instants.track_idx[i - 1] == instants.track_idx[i]) {
            EXPECT_TRUE(instants.ts_ns[i - 1] <= instants.ts_ns[i]);
            if (instants.ts_ns[i - 1] == instants.ts_ns[i])
                EXPECT_TRUE(marey__str_compare(marey_trace_string(trace, instants.name_id[i - 1]),
                                               marey_trace_string(trace, instants.name_id[i])) <=
                            0);
            EXPECT_TRUE(flows.ts_ns[i - 1] <= flows.ts_ns[i]);
        }
        EXPECT_U64(counters.offset[i], instants.offset[i]);
    }
    EXPECT_VIEW(marey_trace_string(trace, labels[flows.label_idx[0]].cat_name_id),
                "cpu_instant_event");
    EXPECT_U64(instants.scope[0], 't');
    EXPECT_U64(flows.phase[0], 'f'); /* thread 1 has the odd records */
    marey_trace_free(trace);
}

/* ---- memory --------------------------------------------------------------------------- */

/* Adds of everything, enough for columns to grow. */
static enum marey_status build_all(void *ctx, const struct marey_alloc *alloc)
{
    (void)ctx;
    struct make_trace make;
    struct marey_trace *trace = NULL;
    const struct marey_intern *strings = NULL;
    if (!make_trace_try_begin(&make, alloc)) {
        marey__builder_free(make.builder);
        return MAREY_NOMEM;
    }
    strings = marey__builder_strings(make.builder);
    for (int i = 0; i < 700 && !marey__builder_failed(make.builder); i++) {
        make_thread(&make, "1", i % 2 == 0 ? "1" : "2");
        make_call(&make, "cuda_runtime", "cudaLaunchKernel", 1000 - i, 1001 - i, (uint64_t)i);
        if (marey__builder_failed(make.builder) || make.track_idx == MAREY_NONE)
            break;
        const struct marey_new_point point = new_point(&make, "fwdbwd", "fwdbwd", i % 7);
        if (point.name_id == MAREY_NONE)
            break;
        marey__builder_add_instant(make.builder, &point);
        marey__builder_add_flow(make.builder, &point, 7, 's');
        marey__builder_add_async(make.builder, &point, 1 + (uint32_t)i % 2, i % 3 ? 'e' : 'b');
    }
    make_begin(&make, "cpu_op", "open", 5);
    EXPECT_TRUE(strings != NULL);
    const enum marey_status status = make_trace_finish(&make, &trace, NULL);
    marey_trace_free(trace);
    return status;
}

static void builder_survives_want_of_memory(void **state)
{
    (void)state;
    EXPECT_TRUE(alloc_fail_sweep(build_all, NULL) > 50);
}

/* An allocator that keeps blocks large: they are given back as large as they are. */
static void builder_needs_no_block_to_shrink(void **state)
{
    (void)state;
    struct alloc_fail heap = {.keeps_shrunk = true};
    const struct marey_alloc alloc = alloc_fail_make(&heap);
    EXPECT_STATUS(build_all(NULL, &alloc), MAREY_OK);
    EXPECT_U64(heap.n_live, 0);
}

static void footprint_tells_what_columns_take(void **state)
{
    (void)state;
    struct make_trace make;
    const int64_t *self_ns = NULL;
    make_trace_begin(&make, NULL);
    make_thread(&make, "1", "1");
    for (int i = 0; i < 10000; i++)
        make_slice(&make, "cpu_op", "a", i, i + 1);
    struct marey_trace *trace = make_trace_end(&make);
    const struct marey_footprint before = marey_trace_footprint(trace);
    EXPECT_TRUE(before.column_bytes >= 34 * 10000 && before.column_bytes <= 48 * 10000);
    EXPECT_U64(before.lazy_bytes, 0);
    EXPECT_STATUS(marey_trace_self_ns(trace, &self_ns, NULL), MAREY_OK);
    EXPECT_U64(marey_trace_footprint(trace).lazy_bytes, 8 * 10000);
    marey_trace_free(trace);
    marey_trace_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_become_slices),
        cmocka_unit_test(begin_without_end_is_open_to_the_end),
        cmocka_unit_test(end_without_begin_is_counted),
        cmocka_unit_test(ends_in_the_wrong_order_follow_the_stack),
        cmocka_unit_test(clock_that_steps_back_is_said),
        cmocka_unit_test(async_pairs_meet_by_id),
        cmocka_unit_test(async_span_that_ends_before_it_begins_is_set_aside),
        cmocka_unit_test(tracks_are_ordered_by_what_they_are),
        cmocka_unit_test(tracks_are_apart_by_rank_and_kind),
        cmocka_unit_test(tracks_have_the_first_name_given),
        cmocka_unit_test(base_times_are_added_per_source),
        cmocka_unit_test(base_time_that_overflows_sets_aside),
        cmocka_unit_test(metadata_is_kept_as_text),
        cmocka_unit_test(ledger_counts_and_gives_examples),
        cmocka_unit_test(reasons_have_names_and_meanings),
        cmocka_unit_test(categories_mean_kinds),
        cmocka_unit_test(categories_past_the_cap_keep_their_kind),
        cmocka_unit_test(points_are_ordered_by_track_time_name),
        cmocka_unit_test(builder_survives_want_of_memory),
        cmocka_unit_test(builder_needs_no_block_to_shrink),
        cmocka_unit_test(footprint_tells_what_columns_take),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
