/*
 * Tests of single records: order of keys, spacing, ids, names, args, phases.
 */
#include <stdio.h>

#include "read_text.h"

static void expect_one_slice(const char *json)
{
    struct marey_trace *trace = read_text(json);
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_U64(slices.n, 1);
    EXPECT_VIEW(name_of(trace, 0), "op");
    EXPECT_I64(slices.start_ns[0], 1500);
    EXPECT_I64(slices.dur_ns[0], 2250);
    EXPECT_U64(marey_trace_slice_kind(trace, 0), MAREY_KIND_OP);
    size_t n = 0;
    const struct marey_track *track = marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 1);
    EXPECT_VIEW(marey_trace_string(trace, track->process_id), "1");
    EXPECT_VIEW(marey_trace_string(trace, track->thread_id), "2");
    marey_trace_free(trace);
}

static void any_order_and_spacing_is_read(void **state)
{
    (void)state;
    expect_one_slice(LIST("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":2,"
                          "\"ts\":1.5,\"dur\":2.25,\"args\":{}}"));
    expect_one_slice(LIST("{\"args\":{\"a\":[1,{\"b\":\"}\"}]},\"dur\":2.25,\"ts\":1.5,\"tid\":2,"
                          "\"pid\":1,\"name\":\"op\",\"cat\":\"cpu_op\",\"ph\":\"X\"}"));
    expect_one_slice(" \n{ \"traceEvents\" :\t[ {\r\n \"tid\" : \"2\" , \"ph\" : \"X\" , \"dur\" "
                     ": 2.25 , \"name\" : \"op\" ,\"ts\" : 1.5 , \"pid\" : \"1\" , \"cat\" : "
                     "\"cpu_op\" } ] } \n");
    expect_one_slice("[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":2,"
                     "\"ts\":1.5,\"dur\":2.25}]");
}

static void unknown_members_are_passed(void **state)
{
    (void)state;
    expect_one_slice(LIST("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,\"tid\":2,"
                          "\"ts\":1.5,\"dur\":2.25,\"tts\":9,\"cname\":\"good\",\"sf\":null,"
                          "\"stack\":[\"a\",\"]\"],\"is_x\":true}"));
}

static void escaped_keys_mean_what_they_spell(void **state)
{
    (void)state;
    expect_one_slice(
        LIST("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"n\\u0061me\":\"op\",\"pid\":1,"
             "\"tid\":2,\"ts\":1.5,\"dur\":2.25,\"\\u006eope\":3,\"na\\/me\":\"no\"}"));
    expect_one_slice(
        LIST("{\"\\u0070h\":\"\\u0058\",\"cat\":\"cpu\\u005fop\",\"name\":\"o\\u0070\","
             "\"pid\":\"\\u0031\",\"t\\u0069d\":2,\"ts\":1.5,\"d\\u0075r\":2.25}"));
    expect_one_slice(
        "{\"trace\\u0045vents\":[{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"op\",\"pid\":1,"
        "\"tid\":2,\"ts\":1.5,\"dur\":2.25}]}");
}

static void the_last_of_two_equal_keys_wins(void **state)
{
    (void)state;
    expect_one_slice(LIST("{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"no\",\"name\":\"op\","
                          "\"pid\":1,\"tid\":2,\"ts\":1.5,\"dur\":2.25}"));
}

static void numbers_and_text_are_one_id(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        LIST("{\"ph\":\"X\",\"name\":\"a\",\"pid\":7,\"tid\":\"8\",\"ts\":1,\"dur\":1},"
             "{\"ph\":\"X\",\"name\":\"b\",\"pid\":\"7\",\"tid\":8,\"ts\":3,\"dur\":1},"
             "{\"ph\":\"X\",\"name\":\"c\",\"pid\":7,\"tid\":-8,\"ts\":5,\"dur\":1},"
             "{\"ph\":\"X\",\"name\":\"d\",\"pid\":\"\",\"tid\":\"\",\"ts\":5,\"dur\":1}"));
    size_t n = 0;
    (void)marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 3);
    EXPECT_U64(marey_trace_slices(trace).n, 4);
    marey_trace_free(trace);
}

/* ---- names ------------------------------------------------------------------------------ */

static void names_are_unescaped(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text(LIST(X("a\\\"b\\\\c\\/d\\n\\u00e9\\ud83d\\ude00", "1", "1")));
    EXPECT_VIEW(name_of(trace, 0), "a\"b\\c/d\n\xc3\xa9\xf0\x9f\x98\x80");
    EXPECT_U64(ledger_count(trace, "bad_utf8"), 0);
    marey_trace_free(trace);
}

static void damaged_names_are_repaired_and_counted(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(X(
        "a\xff"
        "b",
        "1", "1") "," X("a\xff"
                        "b",
                        "3", "1") "," X("\\ud800x", "5", "1") "," X("\xe4\xb8", "7",
                                                                    "1") "," X("t\tb", "9", "1")));
    EXPECT_U64(ledger_count(trace, "bad_utf8"), 4);
    EXPECT_U64(ledger_count(trace, "control_char"), 1);
    EXPECT_VIEW(name_of(trace, 0), "a\xef\xbf\xbd"
                                   "b");
    EXPECT_VIEW(name_of(trace, 2), "\xef\xbf\xbdx");
    EXPECT_VIEW(name_of(trace, 3), "\xef\xbf\xbd");
    EXPECT_VIEW(name_of(trace, 4), "t\tb");
    marey_trace_free(trace);
}

static void damage_in_any_text_of_a_record_counts(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(
        "{\"ph\":\"X\",\"cat\":\"c\xff\",\"name\":\"a\",\"pid\":1,\"tid\":1,\"ts\":1,\"dur\":1},"
        "{\"ph\":\"X\",\"cat\":\"c\",\"name\":\"a\",\"pid\":\"\xff\",\"tid\":\"\t\",\"ts\":1,"
        "\"dur\":1}"));
    EXPECT_U64(ledger_count(trace, "bad_utf8"), 2);
    EXPECT_U64(ledger_count(trace, "control_char"), 1);
    marey_trace_free(trace);
}

/* A string with one wrong escape was not escaped at all. */
static void back_slashes_of_wrong_escapes_are_kept(void **state)
{
    static const struct {
        const char *raw;
        const char *name;
        uint64_t n_bad;
    } rows[] = {
        {"C:\\x\\new", "C:\\x\\new", 1},
        {"C:\\new", "C:\new", 0},
        {"a\\q\\\"b\\\"", "a\\q\"b\"", 1},
        {"\\u00zz\\t", "\\u00zz\\t", 1},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char json[256];
        (void)snprintf(json, sizeof json, LIST(X("%s", "1", "2")), rows[i].raw);
        struct marey_trace *trace = read_text(json);
        EXPECT_VIEW(name_of(trace, 0), rows[i].name);
        EXPECT_U64(ledger_count(trace, "bad_escape"), rows[i].n_bad);
        marey_trace_free(trace);
    }
}

static void long_names_are_told_apart(void **state)
{
    (void)state;
    struct marey_trace *trace =
        read_text(LIST(X("0123456789abcdef0123456789abcdef0123456789abcdef-1", "1", "1") "," X(
            "0123456789abcdef0123456789abcdef0123456789abcdef-2", "3",
            "1") "," X("0123456789abcdef0123456789abcdef0123456789abcdef-1", "5",
                       "1") "," X("", "7", "1") "," X("0123456789abcdef", "9",
                                                      "1") "," X("01234567", "11", "1")));
    const struct marey_slices slices = marey_trace_slices(trace);
    EXPECT_TRUE(slices.name_id[0] != slices.name_id[1]);
    EXPECT_TRUE(slices.name_id[0] == slices.name_id[2]);
    EXPECT_VIEW(name_of(trace, 3), "");
    EXPECT_VIEW(name_of(trace, 4), "0123456789abcdef");
    EXPECT_VIEW(name_of(trace, 5), "01234567");
    marey_trace_free(trace);
}

/* ---- device records ---------------------------------------------------------------------- */

#define KERNEL(name, pid, tid, ts, args)                                                           \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":" pid ",\"tid\":" tid          \
    ",\"ts\":" ts ",\"dur\":1,\"args\":" args "}"

static void device_and_stream_come_from_args(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(LIST(
        KERNEL("a", "0", "\"stream 7\"", "1",
               "{\"device\": 3, \"context\": 1, \"stream\": 7, \"correlation\": 5, \"grid\": [1,"
               "2]}") "," KERNEL("b", "2", "9", "3",
                                 "{\"correlation\": 6}") "," KERNEL("c", "0", "\"stream 7\"", "9",
                                                                    "{\"device\": 3, \"context\": "
                                                                    "1, \"stream\": 7, "
                                                                    "\"correlation\": 8}")));
    size_t n = 0;
    const struct marey_track *tracks = marey_trace_tracks(trace, &n);
    EXPECT_U64(n, 2);
    EXPECT_U64(tracks[0].kind, MAREY_TRACK_STREAM);
    EXPECT_I64(tracks[0].device + tracks[1].device, 5);
    EXPECT_I64(tracks[0].stream + tracks[1].stream, 16);
    const struct marey_links links = marey_trace_links(trace);
    EXPECT_U64(links.n, 3);
    EXPECT_U64(links.correlation[0] + links.correlation[1] + links.correlation[2], 19);
    marey_trace_free(trace);
}

static void wide_correlations_stay_apart(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        LIST(KERNEL("a", "0", "7", "1", "{\"correlation\": 18446744073709551616}") "," KERNEL(
            "b", "0", "7", "3",
            "{\"correlation\": 18446744073709551617}") "," KERNEL("c", "0", "7", "5",
                                                                  "{\"correlation"
                                                                  "\": "
                                                                  "184467440737095"
                                                                  "51616}")));
    const struct marey_links links = marey_trace_links(trace);
    EXPECT_U64(links.n, 3);
    EXPECT_TRUE(links.correlation[0] == links.correlation[2]);
    EXPECT_TRUE(links.correlation[0] != links.correlation[1]);
    marey_trace_free(trace);
}

/* The second one is recognised by the first up to its correlation, which goes on. */
static void a_longer_correlation_is_not_cut(void **state)
{
    (void)state;
    static const struct {
        const char *second;
        uint64_t correlation;
    } rows[] = {{"1234567890123456789", UINT64_C(1234567890123456789)},
                {"9223372036854775809", UINT64_C(9223372036854775809)},
                {"1234567890123456", UINT64_C(1234567890123456)}};
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        char json[1024];
        snprintf(
            json, sizeof json,
            LIST(
                KERNEL("a", "0", "7", "1", "{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":5}") "," KERNEL(
                    "b", "0", "7", "3",
                    "{\"device\":0,\"context\":1,\"stream\":7,\"correlation\":%s}") "," KERNEL("c",
                                                                                               "0",
                                                                                               "7",
                                                                                               "5",
                                                                                               "{\""
                                                                                               "dev"
                                                                                               "ice"
                                                                                               "\":"
                                                                                               "0,"
                                                                                               "\"c"
                                                                                               "ont"
                                                                                               "ext"
                                                                                               "\":"
                                                                                               "1,"
                                                                                               "\"s"
                                                                                               "tre"
                                                                                               "am"
                                                                                               "\":"
                                                                                               "7,"
                                                                                               "\"c"
                                                                                               "orr"
                                                                                               "ela"
                                                                                               "tio"
                                                                                               "n\""
                                                                                               ":1."
                                                                                               "5"
                                                                                               "}")),
            rows[i].second);
        struct marey_trace *trace = read_text(json);
        const struct marey_links links = marey_trace_links(trace);
        EXPECT_U64(links.correlation[0], 5);
        EXPECT_U64(links.correlation[1], rows[i].correlation);
        EXPECT_TRUE(links.correlation[2] >> 63 == 1); /* no integer: a hash of its text */
        marey_trace_free(trace);
    }
}

/* ---- args that say a thing twice, or in escapes --------------------------------------------- */

#define LAUNCHED                                                                                   \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,\"dur\":1,"
#define PLAIN_ARGS                                                                                 \
    "\"args\":{\"External id\":5,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":7,"       \
    "\"registers per thread\":8,\"grid\":[1,2,3],\"queued\":0}}"

/* The args of a kernel that is the third of a list, so that there are templates to fit it. */
static struct marey_trace *read_third(const char *args, const struct marey_reading *reading)
{
    char json[2048];
    (void)snprintf(json, sizeof json,
                   LIST(LAUNCHED PLAIN_ARGS ",\n" LAUNCHED PLAIN_ARGS ",\n" LAUNCHED
                                            "\"args\":%s},\n" LAUNCHED PLAIN_ARGS),
                   args);
    return read_bytes_as(json, strlen(json), reading);
}

static void the_last_of_equal_args_counts(void **state)
{
    static const struct {
        const char *args;
        uint64_t correlation;
        int64_t device;
        int64_t stream;
    } rows[] = {
#define ALL "{\"External id\":5,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":7,"
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"queued\":0}", 7, 0, 7},
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"correlation\":9}", 9, 0, 7},
        {ALL "\"correlation\":9,\"grid\":[1,2,3],\"queued\":0}", 9, 0, 7},
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"queued\":0, \"device\" : 3 }", 7, 3, 7},
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"stream\":\"4\"}", 7, 0, 4},
        {ALL "\"x\":\"correlation\",\"y\":{\"correlation\":1},\"inDevice\":2}", 7, 2, 7},
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"c\\u006frrelation\":9}", 9, 0, 7},
        {ALL "\"registers per thread\":8,\"grid\":[1,2,3],\"correlatio\\u006e\":9}", 9, 0, 7},
        {ALL "\"grid\":[1,2,3],\"correlation\":9,\"correlation\":10,\"name\":\"t\"}", 10, 0, 7},
#undef ALL
        {"{\"d\\u0065vice\":3,\"context\":1,\"stream\":7,\"corr\\u0065lation\":9}", 9, 3, 7},
        {"{\"correlation\":1,\"device\":3,\"stream\":7,\"correlation\":9}", 9, 3, 7},
    };
    static const struct marey_reading ways[] = {
        {0}, {.no_templates = true}, {.portable_only = true}, {.checks_all = true}};
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (size_t way = 0; way < sizeof ways / sizeof ways[0]; way++) {
            struct marey_trace *trace = read_third(rows[i].args, &ways[way]);
            const struct marey_links links = marey_trace_links(trace);
            size_t n = 0;
            const struct marey_track *tracks = marey_trace_tracks(trace, &n);
            uint64_t sum = 0;
            bool has_track = false;
            for (size_t link = 0; link < links.n; link++)
                sum += links.correlation[link];
            for (size_t track = 0; track < n; track++)
                has_track = has_track || (tracks[track].device == rows[i].device &&
                                          tracks[track].stream == rows[i].stream);
            EXPECT_U64(links.n, 4);
            EXPECT_U64(sum, 3 * 7 + rows[i].correlation);
            EXPECT_TRUE(has_track);
            marey_trace_free(trace);
        }
    }
}

static void not_collected_operations_are_set_aside(void **state)
{
    (void)state;
    struct marey_trace *trace = read_text(
        LIST("{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,\"ts\":5,"
             "\"dur\":1},{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"k\",\"pid\":0,\"tid\":7,"
             "\"ts\":0,\"dur\":0}," X("op", "0", "0")));
    EXPECT_U64(ledger_count(trace, "not_collected"), 1);
    EXPECT_U64(marey_trace_slices(trace).n, 2);
    marey_trace_free(trace);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(any_order_and_spacing_is_read),
        cmocka_unit_test(unknown_members_are_passed),
        cmocka_unit_test(escaped_keys_mean_what_they_spell),
        cmocka_unit_test(the_last_of_two_equal_keys_wins),
        cmocka_unit_test(numbers_and_text_are_one_id),
        cmocka_unit_test(names_are_unescaped),
        cmocka_unit_test(damaged_names_are_repaired_and_counted),
        cmocka_unit_test(damage_in_any_text_of_a_record_counts),
        cmocka_unit_test(back_slashes_of_wrong_escapes_are_kept),
        cmocka_unit_test(long_names_are_told_apart),
        cmocka_unit_test(device_and_stream_come_from_args),
        cmocka_unit_test(wide_correlations_stay_apart),
        cmocka_unit_test(a_longer_correlation_is_not_cut),
        cmocka_unit_test(the_last_of_equal_args_counts),
        cmocka_unit_test(not_collected_operations_are_set_aside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
