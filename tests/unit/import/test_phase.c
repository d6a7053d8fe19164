/*
 * Tests of src/import/kineto.c: what each phase becomes, and what is set aside or counted.
 */
#include "read_text.h"

#include <stdio.h>

#define AT(ph, rest) "{\"ph\":\"" ph "\",\"pid\":1,\"tid\":1,\"name\":\"n\",\"cat\":\"c\"," rest "}"

static void pairs_become_slices(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(AT("B", "\"ts\":1") "," AT("B", "\"ts\":2") "," AT(
        "E", "\"ts\":3") ","
                         "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":9}"));
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 2);
    EXPECT_I64(slices.dur_ns[0], 8000);
    EXPECT_I64(slices.dur_ns[1], 1000);
    EXPECT_U64(slices.parent_idx[1], 0);
    EXPECT_TRUE((slices.flags[0] & MAREY_SLICE_FROM_BEGIN) != 0);
    EXPECT_U64(ledger_count(trace, "no_name"), 0);
    marey_trace_free(trace);
}

#define BEGIN(cat, ts, args)                                                                       \
    "{\"ph\":\"B\",\"cat\":\"" cat "\",\"name\":\"n\",\"pid\":0,\"tid\":7,\"ts\":" ts              \
    ",\"args\":{" args "}}"
#define END(ts, rest) "{\"ph\":\"E\",\"pid\":0,\"tid\":7,\"ts\":" ts rest "}"
#define STREAM "\"device\":0,\"context\":1,\"stream\":7"

/* Process and thread as written are enough for an end: it ends what began there last. With a
 * category, what is open on the track of that comes first. */
static void an_end_finds_its_begin_on_any_track(void **state)
{
    static const struct {
        const char *text;
        int64_t host_ns; /* 0: there is none */
        int64_t device_ns;
        unsigned n_unmatched;
    } cases[] = {
        {LIST(BEGIN("kernel", "1", STREAM) "," END("9", "")), 0, 8000, 0},
        {LIST(BEGIN("kernel", "1", STREAM) "," END("9", ",\"cat\":\"kernel\"")), 0, 8000, 0},
        {LIST(BEGIN("cpu_op", "1", "") "," BEGIN("kernel", "2",
                                                 STREAM) "," END("4", "") "," END("9", "")),
         8000, 2000, 0},
        {LIST(BEGIN("kernel", "1", STREAM) "," BEGIN("cpu_op", "2",
                                                     "") "," END("4", "") "," END("9", "")),
         2000, 8000, 0},
        {LIST(BEGIN("cpu_op", "1", "") "," BEGIN("kernel", "2", STREAM) "," END(
             "4", ",\"cat\":\"cpu_op\"") "," END("9", "") "," END("10", "")),
         3000, 7000, 1},
        {LIST(BEGIN("kernel", "1", STREAM) "," END("4", ",\"cat\":\"cpu_op\"") "," END("9", "")), 0,
         8000, 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct marey_trace *trace = read_text(cases[i].text);
        const struct marey_slices slices = marey_trace_slices(trace);
        const size_t n = cases[i].host_ns == 0 ? 1 : 2;
        EXPECT_U64(slices.n, n);
        EXPECT_I64(slices.dur_ns[n - 1], cases[i].device_ns);
        EXPECT_I64(slices.dur_ns[0], n == 1 ? cases[i].device_ns : cases[i].host_ns);
        EXPECT_U64(ledger_count(trace, "unmatched_end"), cases[i].n_unmatched);
        EXPECT_U64(ledger_count(trace, "unclosed_begin"), 0);
        marey_trace_free(trace);
    }
}

static void instants_and_counters_are_points(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text(LIST(AT("i", "\"ts\":1,\"s\":\"t\"") "," AT("i", "\"ts\":2,\"s\":\"g\"") "," AT(
            "I", "\"ts\":3") "," AT("n", "\"ts\":4,\"id\":1") "," AT("C",
                                                                     "\"ts\":5,\"args\":{\"v\":"
                                                                     "1}") "," AT("C",
                                                                                  "\"ts\":6,"
                                                                                  "\"args\":{\"v\":"
                                                                                  "2}")));
    const struct marey_instants instants = marey_trace_instants(trace);
    EXPECT_U64(instants.n, 4);
    EXPECT_U64(instants.scope[0], 't');
    EXPECT_U64(instants.scope[1], 'g');
    EXPECT_U64(instants.scope[2], 0);
    EXPECT_I64(instants.ts_ns[3], 4000);
    EXPECT_U64(marey_trace_counters(trace).n, 2);
    EXPECT_U64(marey_trace_slices(trace).n, 0);
    EXPECT_U64(ledger_count(trace, "no_events"), 0);
    marey_trace_free(trace);
}

static void flows_keep_ids_of_any_form(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(AT("s", "\"ts\":1,\"id\":5") "," AT(
        "f",
        "\"ts\":2,\"id\":5,\"bp\":"
        "\"e\"") "," AT("t",
                        "\"ts\":"
                        "3,"
                        "\"id\":"
                        "\"0x10"
                        "\"") "," AT("f",
                                     "\"ts\":4,\"id\":\"0x10\"") "," AT("f",
                                                                        "\"ts\":5,\"id\":"
                                                                        "\"0x11\"") "," AT("s",
                                                                                           "\""
                                                                                           "ts"
                                                                                           "\""
                                                                                           ":"
                                                                                           "6")));
    const struct marey_flows flows = marey_trace_flows(trace);
    EXPECT_U64(flows.n, 5);
    EXPECT_U64(flows.id[0], 5);
    EXPECT_U64(flows.id[1], 5);
    EXPECT_TRUE(flows.id[2] == flows.id[3]);
    EXPECT_TRUE(flows.id[2] != flows.id[4]);
    EXPECT_TRUE(flows.id[2] >> 63 == 1);
    EXPECT_U64(ledger_count(trace, "other_phase"), 1); /* a flow without an id ties nothing */
    marey_trace_free(trace);
}

static void flows_without_an_id_are_counted(void **state)
{
    (void)state;
    static const char *const ids[] = {"null", "\"\"", "[]", "[1]", "{}", "{\"local\":\"0x5\"}"};
    for (size_t i = 0; i < sizeof ids / sizeof ids[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "[{\"ph\":\"s\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"id\":%s}]",
                       ids[i]);
        struct marey_trace *trace = read_text(text);
        EXPECT_U64(marey_trace_flows(trace).n, 0);
        EXPECT_U64(ledger_count(trace, "other_phase"), 1);
        marey_trace_free(trace);
    }
}

static void args_of_ends_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *args;
        unsigned n;
    } cases[] = {
        {"{}", 0},
        {"null", 0},
        {"{\"device\":0,\"context\":1,\"str\\u0065am\":7}", 0},
        {"{\"result\":5}", 1},
        {"{\"device\":0,\"result\":5}", 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[256];
        (void)snprintf(text, sizeof text,
                       "[{\"ph\":\"B\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1},"
                       "{\"ph\":\"E\",\"pid\":1,\"tid\":1,\"ts\":2,\"args\":%s}]",
                       cases[i].args);
        struct marey_trace *trace = read_text(text);
        EXPECT_U64(marey_trace_slices(trace).n, 1);
        EXPECT_U64(ledger_count(trace, "end_args"), cases[i].n);
        marey_trace_free(trace);
    }
}

static void asynchronous_spans_pair_by_id(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(AT("b", "\"ts\":0,\"id\":1") "," AT(
        "b",
        "\"ts\":5,"
        "\"id\":2") "," AT("e",
                           "\"ts\":"
                           "10,"
                           "\"id\":"
                           "1") "," AT("e",
                                       "\"ts\":15,\"id\":2") "," AT("S",
                                                                    "\"ts\":20,\"id\":"
                                                                    "\"x\"") "," AT("F",
                                                                                    "\"ts"
                                                                                    "\":"
                                                                                    "22,"
                                                                                    "\"id"
                                                                                    "\":"
                                                                                    "\"x"
                                                                                    "\"") "," AT("b",
                                                                                                 "\"ts"
                                                                                                 "\":"
                                                                                                 "3"
                                                                                                 "0"
                                                                                                 ","
                                                                                                 "\"id"
                                                                                                 "\":"
                                                                                                 "1"
                                                                                                 ","
                                                                                                 "\"sc"
                                                                                                 "o"
                                                                                                 "p"
                                                                                                 "e"
                                                                                                 "\":"
                                                                                                 "\"s"
                                                                                                 "\"") "," AT("b",
                                                                                                              "\"ts\":31,\"id2\":{\"local\":1}")));
    size_t n = 0;
    const struct marey_async_span *span = marey_trace_async_spans(trace, &n);
    EXPECT_U64(n, 5);
    EXPECT_U64(marey_trace_slices(trace).n, 0);
    EXPECT_I64(span[0].dur_ns, 10000);
    EXPECT_I64(span[1].dur_ns, 10000);
    EXPECT_I64(span[2].dur_ns, 2000);
    EXPECT_VIEW(marey_trace_string(trace, span[2].id_text), "x");
    EXPECT_I64(span[3].dur_ns, MAREY_UNKNOWN);
    EXPECT_VIEW(marey_trace_string(trace, span[3].id_text), "s/1");
    EXPECT_VIEW(marey_trace_string(trace, span[4].id_text), "{\"local\":1}");
    marey_trace_free(trace);
}

static void metadata_records_are_kept_as_text(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        LIST("{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,\"tid\":1,\"ts\":0,"
             "\"args\":{\"name\":\"main\"}},{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":1,"
             "\"tid\":1,\"ts\":0,\"args\":{\"name\":\"main\"}},{\"ph\":\"M\",\"name\":\"x\"}," X(
                 "op", "1", "1")));
    size_t n = 0;
    const struct marey_meta_record *record = marey_trace_meta_records(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_VIEW(marey_trace_string(trace, record[1].args_id), "{\"name\":\"main\"}");
    EXPECT_I64(record[1].ts_ns, 0);
    EXPECT_U64(record[2].args_id, MAREY_NONE);
    EXPECT_I64(record[2].ts_ns, MAREY_UNKNOWN);
    const struct marey_track *track = marey_trace_tracks(trace, &n);
    EXPECT_VIEW(marey_trace_string(trace, track[0].thread_name_id), "main");
    const struct marey_source *source = marey_trace_sources(trace, &n);
    EXPECT_U64(source->n_records, 4);
    EXPECT_U64(source->n_metadata, 3);
    marey_trace_free(trace);
}

static void phases_that_are_not_held_are_counted(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text(LIST(AT("O", "\"ts\":1") "," AT("N", "\"ts\":1") "," AT("P", "\"ts\":1") "," AT(
            "T",
            "\"ts\""
            ":1,"
            "\"id\""
            ":1") "," AT("v",
                         "\"ts\":1") "," AT("R",
                                            "\"ts\":1") "," AT("Q",
                                                               "\"ts\":1") "," AT("",
                                                                                  "\"ts\":1") "," AT("XX",
                                                                                                     "\"ts\""
                                                                                                     ":1") "," X("a",
                                                                                                                 "1",
                                                                                                                 "1")));
    EXPECT_U64(ledger_count(trace, "other_phase"), 6);
    EXPECT_U64(ledger_count(trace, "unknown_ph"), 3);
    EXPECT_U64(marey_trace_slices(trace).n, 1);
    marey_trace_free(trace);
}

static void impossible_records_are_set_aside(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(
        "{}," X("a", "1", "-2") "," X("b", "1e300", "1") "," X("c", "4611686018427387", "1") "," AT(
            "X", "\"dur\":1") "," AT("X", "\"ts\":null,\"dur\":1") "," AT("X",
                                                                          "\"ts\":\"soon\",\"dur\":"
                                                                          "1") "," X("d", "1",
                                                                                     "1")));
    EXPECT_U64(ledger_count(trace, "empty_record"), 1);
    EXPECT_U64(ledger_count(trace, "negative_dur"), 1);
    EXPECT_U64(ledger_count(trace, "time_range"), 2);
    EXPECT_U64(ledger_count(trace, "no_ts"), 3);
    EXPECT_U64(marey_trace_slices(trace).n, 1);
    size_t n = 0;
    const struct marey_quarantined *row = marey_trace_quarantined(trace, &n);
    EXPECT_U64(n, 7);
    EXPECT_U64(row[0].track_idx, MAREY_NONE);
    EXPECT_I64(row[1].dur_ns, -2000);
    marey_trace_free(trace);
}

static void missing_members_are_found(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(AT("X", "\"ts\":1") "," AT(
        "X",
        "\"ts\":2,\"dur\":null") ","
                                 "{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":3,\"dur\":1},"
                                 "{\"ph\":\"X\",\"pid\":1,\"name\":\"n\",\"ts\":4,\"dur\":1},"
                                 "{\"ph\":\"C\",\"pid\":1,\"name\":\"n\",\"ts\":4,\"args\":{}}"));
    EXPECT_U64(ledger_count(trace, "no_dur"), 1);
    EXPECT_U64(ledger_count(trace, "bad_dur"), 1);
    EXPECT_U64(ledger_count(trace, "no_name"), 1);
    EXPECT_U64(ledger_count(trace, "no_tid"), 1);
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 4);
    EXPECT_I64(slices.dur_ns[0], MAREY_UNKNOWN);
    EXPECT_U64(slices.name_id[2], MAREY_NONE);
    marey_trace_free(trace);
}

static void numbers_in_quotes_are_read_and_counted(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(X("a", "\"1.5\"", "\"3\"") "," X(
        "b", "7", "\"1e0\"") "," X("c", "\"\\u0039\"", "\"\\u0032.\\u0035\"")));
    EXPECT_U64(ledger_count(trace, "number_as_text"), 3);
    EXPECT_I64(marey_trace_slices(trace).start_ns[0], 1500);
    EXPECT_I64(marey_trace_slices(trace).dur_ns[0], 3000);
    EXPECT_I64(marey_trace_slices(trace).dur_ns[1], 1000);
    EXPECT_I64(marey_trace_slices(trace).start_ns[2], 9000);
    EXPECT_I64(marey_trace_slices(trace).dur_ns[2], 2500);
    marey_trace_free(trace);
}

static void damage_of_what_is_set_aside_is_not_counted(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text(LIST(X("a\xff\t", "\" 5 \"", "\"1\"") "," X("b\\x", "0.-05", "-1")));
    EXPECT_U64(ledger_count(trace, "no_ts"), 1);
    EXPECT_U64(ledger_count(trace, "negative_dur"), 1);
    EXPECT_U64(ledger_count(trace, "number_as_text"), 0);
    EXPECT_U64(ledger_count(trace, "bad_number"), 0);
    EXPECT_U64(ledger_count(trace, "bad_utf8"), 0);
    EXPECT_U64(ledger_count(trace, "control_char"), 0);
    EXPECT_U64(ledger_count(trace, "bad_escape"), 0);
    marey_trace_free(trace);
}

static void old_spellings_of_categories_are_known(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        LIST("{\"ph\":\"X\",\"cat\":\"Kernel\",\"name\":\"k\",\"pid\":0,\"tid\":\"stream 7\","
             "\"ts\":1,\"dur\":1,\"args\":{\"device\":0,\"stream\":7,\"correlation\":1}},"
             "{\"ph\":\"X\",\"cat\":\"Runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
             "\"ts\":1,\"dur\":1,\"args\":{\"correlation\":1}}"));
    EXPECT_U64(marey_trace_slice_kind(trace, 0), MAREY_KIND_RUNTIME);
    EXPECT_U64(marey_trace_slice_kind(trace, 1), MAREY_KIND_KERNEL);
    EXPECT_U64(marey_trace_links(trace).n, 2);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pairs_become_slices),
        cmocka_unit_test(an_end_finds_its_begin_on_any_track),
        cmocka_unit_test(instants_and_counters_are_points),
        cmocka_unit_test(flows_keep_ids_of_any_form),
        cmocka_unit_test(flows_without_an_id_are_counted),
        cmocka_unit_test(args_of_ends_are_counted),
        cmocka_unit_test(asynchronous_spans_pair_by_id),
        cmocka_unit_test(metadata_records_are_kept_as_text),
        cmocka_unit_test(phases_that_are_not_held_are_counted),
        cmocka_unit_test(impossible_records_are_set_aside),
        cmocka_unit_test(missing_members_are_found),
        cmocka_unit_test(numbers_in_quotes_are_read_and_counted),
        cmocka_unit_test(damage_of_what_is_set_aside_is_not_counted),
        cmocka_unit_test(old_spellings_of_categories_are_known),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
